import BluetoothCore
import BluetoothHost
import GATT
import SecurityManager

/// Reads everything of one local identity, table by table and in the order of its keys.
struct HostReader {
    let database: Database
    let keys: KeyWrap
    let identity: Int64

    func snapshot() throws(StoreError) -> HostSnapshot {
        var snapshot = HostSnapshot()
        snapshot.identity = try localIdentity()
        snapshot.bonds = try bonds()
        snapshot.gattClients = try clients()
        snapshot.peers = try peers()
        snapshot.restorations = try restorations(decodes: false)
        return snapshot
    }

    /// What ``HostStore/launch()`` gives.
    func launchSnapshot() throws(StoreError) -> HostSnapshot {
        var snapshot = HostSnapshot()
        snapshot.identity = try localIdentity()
        snapshot.bonds = try unproven()
        snapshot.restorations = try restorations(decodes: true)
        return snapshot
    }

    private func localIdentity() throws(StoreError) -> LocalIdentity? {
        var found: LocalIdentity?
        try forEachRow("SELECT address_kind, address, irk FROM host_identity WHERE id = ?") {
            (row) throws(StoreError) in
            // Named, and not made yet.
            guard !(row.isNull(0) && row.isNull(1) && row.isNull(2)) else { return }
            guard let address = IdentityAddress(try row.address(kind: 0, bits: 1)) else { throw row.misfit(1) }
            let irk = try keys.unwrapSecret(try row.blob(2), table: "host_identity", column: "irk", row: "\(identity)")
            found = LocalIdentity(address: address, irk: irk)
        }
        return found
    }

    private func bonds() throws(StoreError) -> [Bond] {
        var bonds: [Bond] = []
        try forEachRow(
            """
            SELECT id, state, peer_address_kind, peer_address, keys, key_size, ediv, rand, secure_connections, model,
                credential, remote_sign_counter, local_sign_counter_reserved, mac
            FROM host_bond WHERE identity = ? ORDER BY id
            """
        ) { (row) throws(StoreError) in bonds.append(try bond(row)) }
        return bonds
    }

    func bond(_ row: Row) throws(StoreError) -> Bond {
        let id = BondID(try row.integer(0))
        guard let state = BondState(rawValue: try row.integer(1)) else { throw row.misfit(1) }
        guard let model = AssociationModel(rawValue: try row.integer(9)) else { throw row.misfit(9) }
        let peer = try Self.peer(of: row, kind: 2, bits: 3)
        let kept = try bondKeys(row, 4, of: id)
        try requireAuthentic(row, of: id)
        return Bond(
            id: id, identity: peer, peerIRK: kept.peerIRK, ltk: kept.ltk, keySize: try row.integer(5),
            ediv: try row.integer(6), rand: try row.integer(7), localCSRK: kept.localCSRK, remoteCSRK: kept.remoteCSRK,
            secureConnections: try row.bool(8), model: model, state: state, credential: try row.optionalText(10),
            applicationSecret: kept.application, lastRemoteSignCounter: try row.optionalInteger(11),
            localSignCounterReserved: try row.integer(12))
    }

    /// Of a row with the columns of ``BondRowMAC``, the two counters and the MAC.
    func requireAuthentic(_ row: Row, of id: BondID) throws(StoreError) {
        guard try BondRowMAC.isAuthentic(row, mac: 13, identity: identity, keys.rows) else {
            throw .rowAltered(
                path: database.path, table: BondKeys.table.description,
                row: BondKeys.row(identity: identity, bond: id))
        }
    }

    static func peer(of row: Row, kind: Int32, bits: Int32) throws(StoreError) -> IdentityAddress? {
        guard !row.isNull(bits) else { return nil }
        guard let peer = IdentityAddress(try row.address(kind: kind, bits: bits)) else { throw row.misfit(bits) }
        return peer
    }

    func bondKeys(_ row: Row, _ column: Int32, of id: BondID) throws(StoreError) -> BondKeys {
        var message = try keys.unwrap(
            try row.blob(column), table: BondKeys.table, column: BondKeys.column,
            row: BondKeys.row(identity: identity, bond: id))
        defer { message.wipe() }
        guard let kept = try? BondKeys(decoding: message) else { throw row.misfit(column) }
        return kept
    }

    private func clients() throws(StoreError) -> [GATTClientRecord] {
        var clients: [UInt64: GATTClientRecord] = [:]
        try forEachRow("SELECT bond, supported_features, aware_database_hash FROM host_client WHERE identity = ?") {
            (row) throws(StoreError) in
            let bond: UInt64 = try row.integer(0)
            clients[bond] = GATTClientRecord(
                bond: bond, supportedFeatures: try row.blob(1), awareDatabaseHash: try row.optionalBlob(2))
        }
        try forEachRow("SELECT bond, handle, value FROM host_client_configuration WHERE identity = ?") {
            (row) throws(StoreError) in
            let bond: UInt64 = try row.integer(0)
            clients[bond, default: GATTClientRecord(bond: bond)]
                .configurations[AttributeHandle(try row.integer(1))] = ClientCharacteristicConfiguration(
                    rawValue: try row.integer(2))
        }
        return clients.values.filter { $0 != GATTClientRecord(bond: $0.bond) }.sorted { $0.bond < $1.bond }
    }

    private func peers() throws(StoreError) -> [PeerRecord] {
        var peers: [PeerRecord] = []
        try forEachRow(
            """
            SELECT identifier, address_kind, address, name, remote_database, database_hash
            FROM host_peer WHERE identity = ? ORDER BY identifier
            """
        ) { (row) throws(StoreError) in peers.append(try Self.peer(row)) }
        return peers
    }

    static func peer(_ row: Row) throws(StoreError) -> PeerRecord {
        PeerRecord(
            identifier: PeerIdentifier(bits: try row.uint128(0)), address: try row.address(kind: 1, bits: 2),
            name: try row.optionalText(3), remoteDatabase: try row.optionalBlob(4),
            databaseHash: try row.optionalBlob(5))
    }

    func forEachRow(_ sql: StaticString, _ body: (Row) throws(StoreError) -> Void) throws(StoreError) {
        try database.statement(sql).forEachRow([.integer(identity)], body)
    }
}

extension Row {
    func address(kind: Int32, bits: Int32) throws(StoreError) -> DeviceAddress {
        guard let kept = DeviceAddress.Kind(rawValue: try integer(kind)) else { throw misfit(kind) }
        let number: UInt64 = try integer(bits)
        // Core 5.4, Vol 6, Part B, 1.3 (Device address): 48 bits.
        guard number < 1 << 48 else { throw misfit(bits) }
        return DeviceAddress(kind: kept, bits: number)
    }
}
