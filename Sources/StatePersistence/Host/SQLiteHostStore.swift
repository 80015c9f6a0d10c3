import BluetoothCore
import BluetoothHost
import SecurityManager

/// What one local identity keeps, in the tables of ``SchemaComponent/host``.
///
/// In: facts (``HostMutation``), written in the transaction that the coordinator opens for all. Out: at launch, one
/// ``HostSnapshot``, and later the rows that it left (``HostRows``). Several identities may share a database, each with its own name. What each fact means is said by
/// ``KeptHostFacts``; a contract test holds the two together.
package final class SQLiteHostStore: HostStore {
    let database: Database
    let keys: KeyWrap
    /// Which of the file's identities: "lock", "key".
    package let name: String
    private(set) var pending: [HostMutation] = [] { didSet { isPending = !pending.isEmpty } }
    /// Asked for several times in each iteration.
    private var isPending = false
    /// The identity's row, once it is known to be on disk.
    private var identity: Int64?
    /// The same within the transaction that is being written.
    private var writtenIdentity: Int64?

    package init(_ state: StateStore, name: String) {
        database = state.database
        keys = state.keys
        self.name = name
    }

    /// Everything that is kept of this identity; an empty snapshot at the first launch.
    ///
    /// - Throws: A ``StoreError``: a damaged row, a secret that does not open, or what the disk says.
    package func load() throws -> HostSnapshot {
        identity = try findIdentity()
        guard let identity else { return HostSnapshot() }
        return try HostReader(database: database, keys: keys, identity: identity).snapshot()
    }

    /// What is needed to be on the air.
    ///
    /// - Throws: A ``StoreError``: a damaged row of the identity or of a manager, or what the disk says. A bond's damaged row
    /// is told to ``Database/onDamagedRow`` and left out.
    package func launch() throws -> HostSnapshot {
        identity = try findIdentity()
        guard let reader else { return HostSnapshot() }
        return try reader.launchSnapshot()
    }

    /// Whether the database keeps something of this identity too: one of another process, if it is not the own one's name.
    ///
    /// - Throws: A ``StoreError`` when the file cannot be read.
    package func hasIdentity(named name: String) throws(StoreError) -> Bool {
        try database.statement("SELECT 1 FROM host_identity WHERE name = ?").firstRow([.text(name)]) {
            (_) throws(StoreError) in true
        } == true
    }

    package var rows: (any HostRows)? { self }

    /// nil at the first launch, until the identity is on disk.
    var reader: HostReader? { identity.map { HostReader(database: database, keys: keys, identity: $0) } }

    package func append(_ mutation: HostMutation) { pending.append(mutation) }

    /// After a read that failed, too: the commit that this calls for throws why.
    package var hasPending: Bool { isPending || database.hasFailed }

    /// Writes the facts that were appended, inside the transaction that the coordinator has opened.
    ///
    /// - Throws: A ``StoreError``; the transaction is then rolled back, and the facts stay pending.
    package func writePending() throws {
        let identity = try self.identity ?? makeIdentity()
        writtenIdentity = identity
        let writer = HostWriter(database: database, keys: keys, identity: identity)
        for mutation in pending { try writer.write(mutation) }
    }

    package func didCommit() {
        identity = writtenIdentity
        pending.removeAll(keepingCapacity: true)
    }

    private func findIdentity() throws(StoreError) -> Int64? {
        let found = try database.statement("SELECT id FROM host_identity WHERE name = ?")
            .firstRow([.text(name)]) { (row) throws(StoreError) in try row.integer(0, as: Int64.self) }
        // Another identity in the place of one whose name cannot be read would be a stranger to every peer.
        if found == nil {
            try database.statement("SELECT name FROM host_identity")
                .forEachRow { (row) throws(StoreError) in _ = try row.text(0) }
        }
        return found
    }

    private func makeIdentity() throws(StoreError) -> Int64 {
        if let found = try findIdentity() { return found }
        try database.statement("INSERT INTO host_identity (name) VALUES (?)").run([.text(name)])
        return database.lastInsertedRow
    }
}
