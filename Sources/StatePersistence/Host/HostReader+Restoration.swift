import BluetoothCore
import BluetoothHost
import GATT
import SecurityManager

/// Reads what is kept for managers. A damaged row is told and left out: it costs what it is about, and no other manager.
extension HostReader {
    /// Of every manager that something is kept for. `decodes`: services that mean nothing are damaged too.
    func restorations(decodes: Bool) throws(StoreError) -> [RestoreKey: RestorationRecord] {
        var managers: [(id: Int64, key: RestoreKey, rest: UInt64?)] = []
        let statement = try database.statement(
            "SELECT id, role, identifier, rest FROM host_restoration WHERE identity = ?")
        _ = try database.forEachWhole("host_restoration", "", statement, [.integer(identity)]) {
            (row) throws(StoreError) in
            guard let role = RestoreKey.Role(rawValue: try row.text(1)) else { throw row.misfit(1) }
            let id: Int64 = try row.integer(0)
            // Without its place it runs, until nobody claims it.
            let rest: UInt64?? = database.whole("host_restoration", "\(id)") { () throws(StoreError) in
                try row.isNull(3) ? nil : number(row, 3)
            }
            managers.append((id, RestoreKey(role: role, identifier: try row.text(2)), rest ?? nil))
        }
        var restorations: [RestoreKey: RestorationRecord] = [:]
        for (id, key, rest) in managers {
            var record = try restoration(id, decodes: decodes)
            record.rest = rest
            if record != RestorationRecord() { restorations[key] = record }
        }
        return restorations
    }

    /// A number that is counted on from.
    private func number(_ row: Row, _ column: Int32) throws(StoreError) -> UInt64 {
        let number: UInt64 = try row.integer(column)
        guard number < Self.unreachableNumber else { throw row.misfit(column) }
        return number
    }

    /// Nobody ever counts so far.
    private static let unreachableNumber: UInt64 = 1 << 62

    private func restoration(_ id: Int64, decodes: Bool) throws(StoreError) -> RestorationRecord {
        var record = RestorationRecord()
        try each(
            "host_pending_connection",
            "SELECT peer, options, asked_at_seconds FROM host_pending_connection WHERE restoration = ? ORDER BY peer",
            id
        ) { (row) throws(StoreError) in
            record.pendingConnections.append(
                PendingConnection(
                    peer: PeerIdentifier(bits: try row.uint128(0)), options: try row.integer(1),
                    askedAtSeconds: try row.integer(2)))
        }
        try each(
            "host_subscription",
            """
            SELECT peer, value_handle, ccc_handle, kind FROM host_subscription
            WHERE restoration = ? ORDER BY peer, value_handle
            """, id
        ) { (row) throws(StoreError) in
            guard let kind = SubscriptionRecord.Kind(rawValue: try row.integer(3)) else { throw row.misfit(3) }
            record.subscriptions.append(
                SubscriptionRecord(
                    peer: PeerIdentifier(bits: try row.uint128(0)), valueHandle: AttributeHandle(try row.integer(1)),
                    cccHandle: AttributeHandle(try row.integer(2)), kind: kind))
        }
        try each(
            "host_published_service",
            "SELECT handle, definition FROM host_published_service WHERE restoration = ? ORDER BY handle", id
        ) { (row) throws(StoreError) in
            let encoded = try row.blob(1)
            guard !decodes || (try? ServiceDefinition(exactly: encoded)) != nil else { throw row.misfit(1) }
            record.services.append(
                PublishedServiceRecord(handle: AttributeHandle(try row.integer(0)), encoded: encoded))
        }
        try each(
            "host_queued_update",
            """
            SELECT sequence, bond, value_handle, is_indication, value FROM host_queued_update
            WHERE restoration = ? ORDER BY sequence
            """, id
        ) { (row) throws(StoreError) in
            record.queuedUpdates.append(
                QueuedUpdate(
                    sequence: try number(row, 0), bond: BondID(try row.integer(1)),
                    valueHandle: AttributeHandle(try row.integer(2)), isIndication: try row.bool(3),
                    value: try row.blob(4)))
        }
        record.scan = try scan(id)
        record.advertising = try advertising(id)
        return record
    }

    /// A scan for fewer services than was asked for is another scan: with one of them it is gone as a whole.
    private func scan(_ id: Int64) throws(StoreError) -> ScanRecord? {
        var scan: ScanRecord?
        var isWhole = try each(
            "host_scan",
            "SELECT allow_duplicates, procedure, is_passive FROM host_scan WHERE restoration = ?", id
        ) { (row) throws(StoreError) in
            guard let procedure = DiscoveryProcedure(rawValue: try row.integer(1)) else { throw row.misfit(1) }
            scan = ScanRecord(
                services: [], allowDuplicates: try row.bool(0), procedure: procedure, isPassive: try row.bool(2))
        }
        isWhole =
            try each(
                "host_scan_service", "SELECT uuid FROM host_scan_service WHERE restoration = ? ORDER BY position", id
            ) { (row) throws(StoreError) in scan?.services.append(BluetoothUUID(bits: try row.uint128(0))) } && isWhole
        return isWhole ? scan : nil
    }

    /// The same holds for an advertisement.
    private func advertising(_ id: Int64) throws(StoreError) -> AdvertisingRecord? {
        var advertising: AdvertisingRecord?
        var isWhole = try each(
            "host_advertising",
            """
            SELECT local_name, discoverability, connectability, limited_boot, limited_until, tx_power_level,
                includes_appearance, manufacturer_data
            FROM host_advertising WHERE restoration = ?
            """, id
        ) { (row) throws(StoreError) in
            var record = AdvertisingRecord(localName: try row.optionalText(0), services: [])
            guard let discoverability = DiscoverableMode(rawValue: try row.integer(1)) else { throw row.misfit(1) }
            guard let connectability = ConnectableMode(rawValue: try row.integer(2)) else { throw row.misfit(2) }
            record.discoverability = discoverability
            record.connectability = connectability
            if !row.isNull(3) {
                record.limitedUntil = BootDeadline(
                    boot: BootID(bits: try row.uint128(3)), at: Instant(nanoseconds: try row.integer(4)))
            }
            record.txPowerLevel = try row.optionalInteger(5)
            record.includesAppearance = try row.bool(6)
            record.manufacturerData = try row.optionalBlob(7)
            advertising = record
        }
        isWhole =
            try each(
                "host_advertised_service",
                "SELECT uuid FROM host_advertised_service WHERE restoration = ? ORDER BY position", id
            ) { (row) throws(StoreError) in advertising?.services.append(BluetoothUUID(bits: try row.uint128(0))) }
            && isWhole
        isWhole =
            try each(
                "host_advertised_service_data",
                "SELECT uuid, data FROM host_advertised_service_data WHERE restoration = ? ORDER BY position", id
            ) { (row) throws(StoreError) in
                advertising?.serviceData.append(
                    AdvertisedServiceData(service: BluetoothUUID(bits: try row.uint128(0)), octets: try row.blob(1)))
            } && isWhole
        isWhole =
            try each(
                "host_solicited_service",
                "SELECT uuid FROM host_solicited_service WHERE restoration = ? ORDER BY position", id
            ) { (row) throws(StoreError) in
                advertising?.solicitedServices.append(BluetoothUUID(bits: try row.uint128(0)))
            } && isWhole
        return isWhole ? advertising : nil
    }

    @discardableResult
    private func each(
        _ table: StaticString, _ sql: StaticString, _ restoration: Int64, _ body: (Row) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        try database.forEachWhole(table, "\(restoration)", try database.statement(sql), [.integer(restoration)], body)
    }
}
