import BluetoothCore
import BluetoothHost
import GATT
import SecurityManager

/// Writes facts of one local identity inside an open transaction.
struct HostWriter {
    let database: Database
    let keys: KeyWrap
    let identity: Int64

    func write(_ mutation: HostMutation) throws(StoreError) {
        switch mutation {
        case .localIdentity(let new): try write(new)
        case .bond(let mutation): try write(mutation)
        case .gatt(let mutation): try write(mutation)
        case .peer(let peer): try write(peer)
        case .peerForgotten(let peer):
            try run("DELETE FROM host_peer WHERE identity = ? AND identifier = ?", SQLValue(peer.bits))
        case .pendingConnection(let key, let connection): try write(connection, of: key)
        case .pendingConnectionEnded(let key, let peer):
            try end("DELETE FROM host_pending_connection WHERE restoration = ? AND peer = ?", key, SQLValue(peer.bits))
        case .subscription(let key, let subscription): try write(subscription, of: key)
        case .subscriptionEnded(let key, let peer, let handle):
            try end(
                "DELETE FROM host_subscription WHERE restoration = ? AND peer = ? AND value_handle = ?", key,
                SQLValue(peer.bits), SQLValue(handle.rawValue))
        case .scan(let key, let scan): try write(scan, of: key)
        case .servicePublished(let key, let service):
            let statement: StaticString = """
                INSERT INTO host_published_service (restoration, handle, definition) VALUES (?, ?, ?)
                ON CONFLICT (restoration, handle) DO UPDATE SET definition = excluded.definition
                """
            try database.statement(statement)
                .run([try restoration(key), SQLValue(service.handle.rawValue), .blob(service.encoded)])
        case .serviceRemoved(let key, let handle):
            try end(
                "DELETE FROM host_published_service WHERE restoration = ? AND handle = ?", key,
                SQLValue(handle.rawValue))
        case .advertising(let key, let advertising): try write(advertising, of: key)
        case .updateQueued(let key, let update): try write(update, of: key)
        case .updateDelivered(let key, let sequence):
            try end(
                "DELETE FROM host_queued_update WHERE restoration = ? AND sequence = ?", key, SQLValue(sequence))
        case .managerRested(let key, let rest?):
            try database.statement("UPDATE host_restoration SET rest = ?2 WHERE id = ?1")
                .run([try restoration(key), SQLValue(rest)])
        case .managerRested(let key, nil): try end("UPDATE host_restoration SET rest = NULL WHERE id = ?", key)
        case .managerForgotten(let key):
            if let restoration = try findRestoration(key) { try ManagerRows.forget(restoration, in: database) }
        }
    }

    // MARK: Of the identity

    private func write(_ new: LocalIdentity) throws(StoreError) {
        let irk = keys.wrap(new.irk, table: "host_identity", column: "irk", row: "\(identity)")
        try database.statement("UPDATE host_identity SET address_kind = ?, address = ?, irk = ? WHERE id = ?")
            .run([
                SQLValue(new.address.address.kind.rawValue), SQLValue(new.address.address.bits), .blob(irk),
                .integer(identity),
            ])
    }

    private func write(_ mutation: BondMutation) throws(StoreError) {
        switch mutation {
        case .upsert(let bond): try write(bond)
        case .remoteSignCounter(let id, let counter):
            try run(
                "UPDATE host_bond SET remote_sign_counter = ?3 WHERE identity = ?1 AND id = ?2", .integer(id.rawValue),
                SQLValue(counter))
        case .localSignCounterReserved(let id, let bound):
            try run(
                "UPDATE host_bond SET local_sign_counter_reserved = ?3 WHERE identity = ?1 AND id = ?2",
                .integer(id.rawValue), SQLValue(bound))
        case .promoted(let id): try promote(id)
        case .delete(let id):
            try run("DELETE FROM host_bond WHERE identity = ? AND id = ?", .integer(id.rawValue))
        }
    }

    private func write(_ bond: Bond) throws(StoreError) {
        var message = BondKeys(bond).encoded()
        let wrapped = keys.wrap(
            message, table: BondKeys.table, column: BondKeys.column,
            row: BondKeys.row(identity: identity, bond: bond.id))
        message.wipe()
        let columns: [SQLValue] = [
            .integer(bond.id.rawValue), SQLValue(bond.state.rawValue),
            SQLValue(optional: bond.identity?.address.kind.rawValue), SQLValue(optional: bond.identity?.address.bits),
            .blob(wrapped), SQLValue(bond.keySize), SQLValue(bond.ediv), SQLValue(bond.rand),
            SQLValue(bond.secureConnections), SQLValue(bond.model.rawValue), SQLValue(bond.credential),
        ]
        let statement: StaticString = """
            INSERT INTO host_bond (
                identity, id, state, peer_address_kind, peer_address, keys, key_size, ediv, rand, secure_connections,
                model, credential, remote_sign_counter, local_sign_counter_reserved, mac
            ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (identity, id) DO UPDATE SET
                state = excluded.state, peer_address_kind = excluded.peer_address_kind,
                peer_address = excluded.peer_address, keys = excluded.keys, key_size = excluded.key_size,
                ediv = excluded.ediv, rand = excluded.rand, secure_connections = excluded.secure_connections,
                model = excluded.model, credential = excluded.credential,
                remote_sign_counter = excluded.remote_sign_counter,
                local_sign_counter_reserved = excluded.local_sign_counter_reserved, mac = excluded.mac
            """
        try database.statement(statement)
            .run(
                [.integer(identity)] + columns + [
                    SQLValue(optional: bond.lastRemoteSignCounter), SQLValue(bond.localSignCounterReserved),
                    .blob(BondRowMAC.mac(columns, identity: identity, keys.rows)),
                ])
    }

    /// Only a row that is authentic gets another state, and a MAC for it: a damaged one stays damaged.
    private func promote(_ id: BondID) throws(StoreError) {
        let statement: StaticString = """
            SELECT id, state, peer_address_kind, peer_address, keys, key_size, ediv, rand, secure_connections, model,
                credential, mac
            FROM host_bond WHERE identity = ? AND id = ? AND state = ?
            """
        var columns: [SQLValue]?
        try database.statement(statement)
            .forEachRow([.integer(identity), .integer(id.rawValue), SQLValue(BondState.unconfirmed.rawValue)]) {
                (row) throws(StoreError) in
                guard try BondRowMAC.isAuthentic(row, mac: 11, identity: identity, keys.rows) else { return }
                columns = try row.values(BondRowMAC.columns)
            }
        guard var columns else { return }
        columns[1] = SQLValue(BondState.confirmed.rawValue)
        try run(
            "UPDATE host_bond SET state = ?3, mac = ?4 WHERE identity = ?1 AND id = ?2", .integer(id.rawValue),
            columns[1], .blob(BondRowMAC.mac(columns, identity: identity, keys.rows)))
    }

    /// The WHERE of each INSERT drops facts about bonds that are not kept.
    private func write(_ mutation: GATTMutation) throws(StoreError) {
        switch mutation {
        case .clientCharacteristicConfiguration(let bond, let handle, let value) where value.isEmpty:
            try run(
                "DELETE FROM host_client_configuration WHERE identity = ? AND bond = ? AND handle = ?", SQLValue(bond),
                SQLValue(handle.rawValue))
        case .clientCharacteristicConfiguration(let bond, let handle, let value):
            try run(
                """
                INSERT INTO host_client_configuration (identity, bond, handle, value)
                SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM host_bond WHERE identity = ?1 AND id = ?2)
                ON CONFLICT (identity, bond, handle) DO UPDATE SET value = excluded.value
                """, SQLValue(bond), SQLValue(handle.rawValue), SQLValue(value.rawValue))
        case .clientSupportedFeatures(let bond, let value):
            try run(
                """
                INSERT INTO host_client (identity, bond, supported_features)
                SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM host_bond WHERE identity = ?1 AND id = ?2)
                ON CONFLICT (identity, bond) DO UPDATE SET supported_features = excluded.supported_features
                """, SQLValue(bond), .blob(value))
        case .changeAware(let bond, let hash):
            try run(
                """
                INSERT INTO host_client (identity, bond, supported_features, aware_database_hash)
                SELECT ?1, ?2, x'', ?3 WHERE EXISTS (SELECT 1 FROM host_bond WHERE identity = ?1 AND id = ?2)
                ON CONFLICT (identity, bond) DO UPDATE SET aware_database_hash = excluded.aware_database_hash
                """, SQLValue(bond), .blob(hash))
        case .handlesRemoved(let range):
            try run(
                "DELETE FROM host_client_configuration WHERE identity = ? AND handle BETWEEN ? AND ?",
                SQLValue(range.lowerBound.rawValue), SQLValue(range.upperBound.rawValue))
        }
    }

    private func write(_ peer: PeerRecord) throws(StoreError) {
        try run(
            """
            INSERT INTO host_peer (identity, identifier, address_kind, address, name, remote_database, database_hash)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (identity, identifier) DO UPDATE SET
                address_kind = excluded.address_kind, address = excluded.address, name = excluded.name,
                remote_database = excluded.remote_database, database_hash = excluded.database_hash
            """,
            SQLValue(peer.identifier.bits), SQLValue(peer.address.kind.rawValue), SQLValue(peer.address.bits),
            SQLValue(peer.name), SQLValue(peer.remoteDatabase), SQLValue(peer.databaseHash))
    }

    // MARK: Of a manager

    private func write(_ connection: PendingConnection, of key: RestoreKey) throws(StoreError) {
        try database.statement("INSERT OR REPLACE INTO host_pending_connection VALUES (?, ?, ?, ?)")
            .run([
                try restoration(key), SQLValue(connection.peer.bits), SQLValue(connection.options),
                .integer(connection.askedAtSeconds),
            ])
    }

    private func write(_ subscription: SubscriptionRecord, of key: RestoreKey) throws(StoreError) {
        try database.statement("INSERT OR REPLACE INTO host_subscription VALUES (?, ?, ?, ?, ?)")
            .run([
                try restoration(key), SQLValue(subscription.peer.bits), SQLValue(subscription.valueHandle.rawValue),
                SQLValue(subscription.cccHandle.rawValue), SQLValue(subscription.kind.rawValue),
            ])
    }

    private func write(_ scan: ScanRecord?, of key: RestoreKey) throws(StoreError) {
        try end("DELETE FROM host_scan WHERE restoration = ?", key)
        guard let scan else { return }
        let restoration = try restoration(key)
        let statement: StaticString = """
            INSERT INTO host_scan (restoration, allow_duplicates, procedure, is_passive) VALUES (?, ?, ?, ?)
            """
        try database.statement(statement)
            .run([
                restoration, SQLValue(scan.allowDuplicates), SQLValue(scan.procedure.rawValue),
                SQLValue(scan.isPassive),
            ])
        for (position, uuid) in scan.services.enumerated() {
            try database.statement("INSERT INTO host_scan_service VALUES (?, ?, ?)")
                .run([restoration, SQLValue(position), SQLValue(uuid.bits)])
        }
    }

    private func write(_ advertising: AdvertisingRecord?, of key: RestoreKey) throws(StoreError) {
        try end("DELETE FROM host_advertising WHERE restoration = ?", key)
        guard let advertising else { return }
        let restoration = try restoration(key)
        let statement: StaticString = """
            INSERT INTO host_advertising (
                restoration, local_name, discoverability, connectability, limited_boot, limited_until, tx_power_level,
                includes_appearance, manufacturer_data
            ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        try database.statement(statement)
            .run([
                restoration, SQLValue(advertising.localName), SQLValue(advertising.discoverability.rawValue),
                SQLValue(advertising.connectability.rawValue),
                advertising.limitedUntil.map { SQLValue($0.boot.bits) } ?? .null,
                SQLValue(optional: advertising.limitedUntil?.at.nanoseconds),
                SQLValue(optional: advertising.txPowerLevel), SQLValue(advertising.includesAppearance),
                SQLValue(advertising.manufacturerData),
            ])
        for (position, uuid) in advertising.services.enumerated() {
            try database.statement("INSERT INTO host_advertised_service VALUES (?, ?, ?)")
                .run([restoration, SQLValue(position), SQLValue(uuid.bits)])
        }
        for (position, data) in advertising.serviceData.enumerated() {
            try database.statement("INSERT INTO host_advertised_service_data VALUES (?, ?, ?, ?)")
                .run([restoration, SQLValue(position), SQLValue(data.service.bits), .blob(data.octets)])
        }
        for (position, uuid) in advertising.solicitedServices.enumerated() {
            try database.statement("INSERT INTO host_solicited_service VALUES (?, ?, ?)")
                .run([restoration, SQLValue(position), SQLValue(uuid.bits)])
        }
    }

    private func write(_ update: QueuedUpdate, of key: RestoreKey) throws(StoreError) {
        let statement: StaticString = """
            INSERT INTO host_queued_update (
                restoration, sequence, identity, bond, value_handle, is_indication, value
            ) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM host_bond WHERE identity = ?3 AND id = ?4)
            ON CONFLICT (restoration, sequence) DO UPDATE SET
                bond = excluded.bond, value_handle = excluded.value_handle, is_indication = excluded.is_indication,
                value = excluded.value
            """
        try database.statement(statement)
            .run([
                try restoration(key), SQLValue(update.sequence), .integer(identity), .integer(update.bond.rawValue),
                SQLValue(update.valueHandle.rawValue), SQLValue(update.isIndication), .blob(update.value),
            ])
    }

    /// Runs a statement whose first parameter is the identity.
    private func run(_ sql: StaticString, _ arguments: SQLValue...) throws(StoreError) {
        try database.statement(sql).run([.integer(identity)] + arguments)
    }

    /// Runs a statement whose first parameter is the manager's row, if there is one.
    private func end(_ sql: StaticString, _ key: RestoreKey, _ arguments: SQLValue...) throws(StoreError) {
        guard let restoration = try findRestoration(key) else { return }
        try database.statement(sql).run([.integer(restoration)] + arguments)
    }

    private func restoration(_ key: RestoreKey) throws(StoreError) -> SQLValue {
        if let found = try findRestoration(key) { return .integer(found) }
        try ManagerRows.forgetEmpty(of: identity, in: database)
        try run(
            "INSERT INTO host_restoration (identity, role, identifier) VALUES (?, ?, ?)", .text(key.role.rawValue),
            .text(key.identifier))
        return .integer(database.lastInsertedRow)
    }

    private func findRestoration(_ key: RestoreKey) throws(StoreError) -> Int64? {
        try database.statement("SELECT id FROM host_restoration WHERE identity = ? AND role = ? AND identifier = ?")
            .firstRow([.integer(identity), .text(key.role.rawValue), .text(key.identifier)]) {
                (row) throws(StoreError) in try row.integer(0)
            }
    }
}
