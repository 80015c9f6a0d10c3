import BluetoothCore
import BluetoothHost
import SecurityManager

extension HostReader {
    /// Of every manager that something is kept for.
    func restorations() throws(StoreError) -> [RestoreKey: RestorationRecord] {
        var keys: [Int64: (RestoreKey, rest: UInt64?)] = [:]
        try forEachRow("SELECT id, role, identifier, rest FROM host_restoration WHERE identity = ?") {
            (row) throws(StoreError) in
            guard let role = RestoreKey.Role(rawValue: row.text(1)) else { throw row.misfit(1) }
            keys[try row.integer(0)] = (
                RestoreKey(role: role, identifier: row.text(2)), rest: try row.optionalInteger(3)
            )
        }
        var restorations: [RestoreKey: RestorationRecord] = [:]
        for (id, (key, rest)) in keys {
            var record = try restoration(id)
            record.rest = rest
            if record != RestorationRecord() { restorations[key] = record }
        }
        return restorations
    }

    private func restoration(_ id: Int64) throws(StoreError) -> RestorationRecord {
        var record = RestorationRecord()
        try each(
            "SELECT peer, options, asked_at_seconds FROM host_pending_connection WHERE restoration = ? ORDER BY peer",
            id
        ) { (row) throws(StoreError) in
            record.pendingConnections.append(
                PendingConnection(
                    peer: PeerIdentifier(bits: try row.uint128(0)), options: try row.integer(1),
                    askedAtSeconds: try row.integer(2)))
        }
        try each(
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
        try each("SELECT handle, definition FROM host_published_service WHERE restoration = ? ORDER BY handle", id) {
            (row) throws(StoreError) in
            record.services.append(
                PublishedServiceRecord(handle: AttributeHandle(try row.integer(0)), encoded: row.blob(1)))
        }
        try each(
            """
            SELECT sequence, bond, value_handle, is_indication, value FROM host_queued_update
            WHERE restoration = ? ORDER BY sequence
            """, id
        ) { (row) throws(StoreError) in
            record.queuedUpdates.append(
                QueuedUpdate(
                    sequence: try row.integer(0), bond: BondID(try row.integer(1)),
                    valueHandle: AttributeHandle(try row.integer(2)), isIndication: try row.bool(3), value: row.blob(4))
            )
        }
        record.scan = try scan(id)
        record.advertising = try advertising(id)
        return record
    }

    private func scan(_ id: Int64) throws(StoreError) -> ScanRecord? {
        var scan: ScanRecord?
        try each("SELECT allow_duplicates, procedure, is_passive FROM host_scan WHERE restoration = ?", id) {
            (row) throws(StoreError) in
            guard let procedure = DiscoveryProcedure(rawValue: try row.integer(1)) else { throw row.misfit(1) }
            scan = ScanRecord(
                services: [], allowDuplicates: try row.bool(0), procedure: procedure, isPassive: try row.bool(2))
        }
        try each("SELECT uuid FROM host_scan_service WHERE restoration = ? ORDER BY position", id) {
            (row) throws(StoreError) in scan?.services.append(BluetoothUUID(bits: try row.uint128(0)))
        }
        return scan
    }

    private func advertising(_ id: Int64) throws(StoreError) -> AdvertisingRecord? {
        var advertising: AdvertisingRecord?
        try each(
            """
            SELECT local_name, discoverability, connectability, limited_boot, limited_until, tx_power_level,
                includes_appearance, manufacturer_data
            FROM host_advertising WHERE restoration = ?
            """, id
        ) { (row) throws(StoreError) in
            var record = AdvertisingRecord(localName: row.optionalText(0), services: [])
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
            record.manufacturerData = row.optionalBlob(7)
            advertising = record
        }
        try each("SELECT uuid FROM host_advertised_service WHERE restoration = ? ORDER BY position", id) {
            (row) throws(StoreError) in advertising?.services.append(BluetoothUUID(bits: try row.uint128(0)))
        }
        try each("SELECT uuid, data FROM host_advertised_service_data WHERE restoration = ? ORDER BY position", id) {
            (row) throws(StoreError) in
            advertising?.serviceData.append(
                AdvertisedServiceData(service: BluetoothUUID(bits: try row.uint128(0)), octets: row.blob(1)))
        }
        try each("SELECT uuid FROM host_solicited_service WHERE restoration = ? ORDER BY position", id) {
            (row) throws(StoreError) in advertising?.solicitedServices.append(BluetoothUUID(bits: try row.uint128(0)))
        }
        return advertising
    }

    private func each(_ sql: StaticString, _ restoration: Int64, _ body: (Row) throws(StoreError) -> Void)
        throws(StoreError)
    {
        try database.statement(sql).forEachRow([.integer(restoration)], body)
    }
}
