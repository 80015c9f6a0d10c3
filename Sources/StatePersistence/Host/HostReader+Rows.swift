import BluetoothCore
import BluetoothHost
import GATT
import SecurityManager

/// Reads rows by their keys, behind a launch. A damaged row is told and left out.
extension HostReader {
    /// Bonds that have yet to prove themselves, or were being made.
    func unproven() throws(StoreError) -> [Bond] {
        try bonds(
            """
            SELECT id, state, peer_address_kind, peer_address, keys, key_size, ediv, rand, secure_connections, model,
                credential, remote_sign_counter, local_sign_counter_reserved, mac
            FROM host_bond INDEXED BY host_bond_unproven WHERE identity = ? AND state < 2 ORDER BY id
            """
        ).rows
    }

    func bond(_ id: BondID) throws(StoreError) -> Bond? {
        try bonds(
            """
            SELECT id, state, peer_address_kind, peer_address, keys, key_size, ediv, rand, secure_connections, model,
                credential, remote_sign_counter, local_sign_counter_reserved, mac
            FROM host_bond WHERE identity = ? AND id = ?
            """, .integer(id.rawValue)
        ).rows.first
    }

    /// In no order. Without statistics SQLite takes the table's own key for as good as the index.
    func bonds(with peer: IdentityAddress) throws(StoreError) -> [Bond] {
        try bonds(
            """
            SELECT id, state, peer_address_kind, peer_address, keys, key_size, ediv, rand, secure_connections, model,
                credential, remote_sign_counter, local_sign_counter_reserved, mac
            FROM host_bond INDEXED BY host_bond_peer
            WHERE identity = ? AND peer_address = ? AND peer_address_kind = ?
            """, SQLValue(peer.address.bits), SQLValue(peer.address.kind.rawValue)
        ).rows
    }

    func bonds(after cursor: BondCursor?, limit: Int) throws(StoreError) -> BondPage<Bond> {
        try bonds(
            """
            SELECT id, state, peer_address_kind, peer_address, keys, key_size, ediv, rand, secure_connections, model,
                credential, remote_sign_counter, local_sign_counter_reserved, mac, rowid
            FROM host_bond NOT INDEXED WHERE identity = ? AND rowid > ? ORDER BY rowid LIMIT ?
            """, .integer(cursor?.position ?? .min), SQLValue(limit), limit: limit, position: 14)
    }

    /// Without the row's MAC: an address identifies and never authenticates (``AddressResolution``), so that an altered mark lets
    /// nobody do more than a replayed address does. Whoever needs the bond reads its row whole.
    func marks(after cursor: BondCursor?, limit: Int) throws(StoreError) -> BondPage<BondMark> {
        try page(
            """
            SELECT id, peer_address_kind, peer_address, keys, credential, rowid
            FROM host_bond NOT INDEXED WHERE identity = ? AND rowid > ? AND state > 0 ORDER BY rowid LIMIT ?
            """, [.integer(cursor?.position ?? .min), SQLValue(limit)], limit: limit, position: 5
        ) { (row) throws(StoreError) in
            let id = BondID(try row.integer(0))
            return BondMark(
                id: id, identity: try Self.peer(of: row, kind: 1, bits: 2),
                peerIRK: try bondKeys(row, 3, of: id).peerIRK, isNamed: !row.isNull(4))
        }
    }

    func confirmedBonds(after cursor: BondCursor?, limit: Int) throws(StoreError) -> BondPage<BondID> {
        try page(
            """
            SELECT id, rowid FROM host_bond NOT INDEXED WHERE identity = ? AND rowid > ? AND state = ? ORDER BY rowid LIMIT ?
            """, [.integer(cursor?.position ?? .min), SQLValue(BondState.confirmed.rawValue), SQLValue(limit)],
            limit: limit, position: 1
        ) { (row) throws(StoreError) in BondID(try row.integer(0)) }
    }

    private func bonds(
        _ sql: StaticString, _ arguments: SQLValue..., limit: Int = .max, position: Int32 = 0
    ) throws(StoreError) -> BondPage<Bond> {
        try page(sql, arguments, limit: limit, position: position) { (row) throws(StoreError) in try bond(row) }
    }

    /// Rows that begin with a bond's identifier. Damaged ones count as rows.
    private func page<T>(
        _ sql: StaticString, _ arguments: [SQLValue], limit: Int, position: Int32,
        _ read: (Row) throws(StoreError) -> T
    ) throws(StoreError) -> BondPage<T> {
        var page = BondPage<T>()
        var last: Int64 = 0
        var count = 0
        try database.statement(sql).forEachRow([.integer(identity)] + arguments) { (row) throws(StoreError) in
            // A rowid, or not looked at.
            last = (try? row.integer(position)) ?? last
            count += 1
            let found: T? = database.whole(BondKeys.table, "\(identity) \(row.name(0))") { () throws(StoreError) in
                try read(row)
            }
            if let found { page.rows.append(found) }
        }
        if count >= limit { page.next = BondCursor(position: last) }
        return page
    }

    func bondState(_ id: BondID) throws(StoreError) -> BondState? {
        var state: BondState?
        try database.statement(
            """
            SELECT id, state, peer_address_kind, peer_address, keys, key_size, ediv, rand, secure_connections, model,
                credential, remote_sign_counter, local_sign_counter_reserved, mac
            FROM host_bond WHERE identity = ? AND id = ?
            """
        ).forEachRow([.integer(identity), .integer(id.rawValue)]) { (row) throws(StoreError) in
            let name = BondKeys.row(identity: identity, bond: id)
            state = database.whole(BondKeys.table, name) { () throws(StoreError) in
                guard let state = BondState(rawValue: try row.integer(1)) else { throw row.misfit(1) }
                try requireAuthentic(row, of: id)
                return state
            }
        }
        return state
    }

    func isKept(_ id: BondID) throws(StoreError) -> Bool {
        try database.statement("SELECT 1 FROM host_bond WHERE identity = ? AND id = ?")
            .firstRow([.integer(identity), .integer(id.rawValue)]) { (_) throws(StoreError) in true } ?? false
    }

    func hasBonds() throws(StoreError) -> Bool {
        try database.statement("SELECT 1 FROM host_bond WHERE identity = ? AND state > 0 LIMIT 1")
            .firstRow([.integer(identity)]) { (_) throws(StoreError) in true } ?? false
    }

    func bonds(enrolledFor credential: String) throws(StoreError) -> [BondID] {
        var found: [BondID] = []
        try database.statement(
            "SELECT id FROM host_bond WHERE identity = ? AND credential = ? AND state > 0 ORDER BY id"
        ).forEachRow([.integer(identity), .text(credential)]) { (row) throws(StoreError) in
            let id: Int64? = database.whole(BondKeys.table, "\(identity) \(row.name(0))") { () throws(StoreError) in
                try row.integer(0)
            }
            if let id { found.append(BondID(id)) }
        }
        return found
    }

    func client(_ bond: UInt64) throws(StoreError) -> GATTClientRecord {
        let key: [SQLValue] = [.integer(identity), SQLValue(bond)]
        let name = BondKeys.row(identity: identity, bond: BondID(Int64(bitPattern: bond)))
        var client = GATTClientRecord(bond: bond)
        try database.statement(
            "SELECT supported_features, aware_database_hash FROM host_client WHERE identity = ? AND bond = ?"
        ).forEachRow(key) { (row) throws(StoreError) in
            _ = database.whole("host_client", name) { () throws(StoreError) in
                let features = try row.blob(0)
                client.awareDatabaseHash = try row.optionalBlob(1)
                client.supportedFeatures = features
            }
        }
        try database.statement(
            "SELECT handle, value FROM host_client_configuration WHERE identity = ? AND bond = ?"
        ).forEachRow(key) { (row) throws(StoreError) in
            let configuration = database.whole("host_client_configuration", name) {
                () throws(StoreError) in
                (
                    AttributeHandle(try row.integer(0)),
                    ClientCharacteristicConfiguration(rawValue: try row.integer(1))
                )
            }
            if let (handle, value) = configuration { client.configurations[handle] = value }
        }
        return client
    }

    /// The bonds of which anything is remembered.
    func clients() throws(StoreError) -> [UInt64] {
        var found: [UInt64] = []
        try forEachRow(
            """
            SELECT bond FROM host_client WHERE identity = ?1
            UNION SELECT bond FROM host_client_configuration WHERE identity = ?1
            """
        ) { (row) throws(StoreError) in
            let bond: UInt64? = database.whole("host_client", "\(identity) \(row.name(0))") { () throws(StoreError) in
                try row.integer(0)
            }
            if let bond { found.append(bond) }
        }
        return found
    }

    func peer(_ identifier: PeerIdentifier) throws(StoreError) -> PeerRecord? {
        try peers(
            """
            SELECT identifier, address_kind, address, name, remote_database, database_hash
            FROM host_peer WHERE identity = ? AND identifier = ?
            """, SQLValue(identifier.bits)
        ).first
    }

    /// In no order.
    func peers(at address: DeviceAddress) throws(StoreError) -> [PeerRecord] {
        try peers(
            """
            SELECT identifier, address_kind, address, name, remote_database, database_hash
            FROM host_peer INDEXED BY host_peer_address WHERE identity = ? AND address = ? AND address_kind = ?
            """, SQLValue(address.bits), SQLValue(address.kind.rawValue))
    }

    func peerNames() throws(StoreError) -> [PeerName] {
        var found: [PeerName] = []
        try forEachRow("SELECT identifier, name FROM host_peer WHERE identity = ?") { (row) throws(StoreError) in
            let peer = database.whole("host_peer", "\(identity) \(row.name(0))") { () throws(StoreError) in
                PeerName(
                    identifier: PeerIdentifier(bits: try row.uint128(0)), name: row.isNull(1) ? nil : try row.text(1))
            }
            if let peer { found.append(peer) }
        }
        return found
    }

    func peersWithoutBond(after cursor: PeerIdentifier?, limit: Int) throws(StoreError) -> PeerPage {
        var (page, count) = (PeerPage(), 0)
        try database.statement(
            """
            SELECT identifier, EXISTS (
                SELECT 1 FROM host_bond INDEXED BY host_bond_peer
                WHERE identity = ?1 AND peer_address = p.address AND peer_address_kind = p.address_kind
            ) FROM host_peer AS p WHERE identity = ?1 AND identifier > ?2 ORDER BY identifier LIMIT ?3
            """
        ).forEachRow([.integer(identity), cursor.map { SQLValue($0.bits) } ?? .blob([]), SQLValue(limit)]) {
            (row) throws(StoreError) in
            count += 1
            let name = "\(identity) \(row.name(0))"
            let peer = database.whole("host_peer", name) { () throws(StoreError) in
                (identifier: PeerIdentifier(bits: try row.uint128(0)), isBonded: try row.bool(1))
            }
            guard let peer else { return }
            if count == limit { page.next = peer.identifier }
            if !peer.isBonded { page.peers.append(peer.identifier) }
        }
        return page
    }

    private func peers(_ sql: StaticString, _ arguments: SQLValue...) throws(StoreError) -> [PeerRecord] {
        var found: [PeerRecord] = []
        try database.statement(sql).forEachRow([.integer(identity)] + arguments) { (row) throws(StoreError) in
            let name = "\(identity) \(row.name(0))"
            let peer = database.whole("host_peer", name) { () throws(StoreError) in try Self.peer(row) }
            if let peer { found.append(peer) }
        }
        return found
    }
}
