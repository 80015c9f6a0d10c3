/// The database together with the key that its secrets are wrapped with: what every store of a process is made from.
package struct StateStore {
    package let database: Database
    package let keys: KeyWrap

    /// Makes `directory`, and what is missing above it, so that only its owner may enter it; one that is there and open to
    /// others is refused.
    ///
    /// - Throws: ``StoreError/tooOpen(path:mode:allowed:)``, or why the directory cannot be made.
    package static func prepareDirectory(_ directory: String) throws { try StateFile.prepareDirectories(directory) }

    /// Opens both, or makes both at the first launch.
    ///
    /// Rows of bonds that an earlier version wrote, without MACs, get them at the first launch that authenticates rows, and
    /// never again: those of `identity`, or of all. Not where `adoptsRows` is false: then something outside of the file
    /// knows that they had them.
    ///
    /// - Throws: A ``StoreError`` of the key or of the database. Whatever is refused is left as it was.
    package init(
        path: String, machineKeyFile: String, credentialsDirectory: String?, components: [SchemaComponent],
        limits: DatabaseLimits = DatabaseLimits(), check: FileCheck = .whole, identity: String? = nil,
        adoptsRows: () throws -> Bool = { true }
    ) throws {
        let isFirstLaunch = try !DatabaseFile.exists(path)
        let key = try MachineKey.load(
            credentialsDirectory: credentialsDirectory, file: machineKeyFile, mayCreate: isFirstLaunch)
        func open() throws -> Self {
            let database = try Database(path: path, components: components, limits: limits, check: check) {
                (connection) throws(StoreError) in try KeyWrap.look(key, at: connection)
            }
            let keys = try KeyWrap(key, for: database)
            if components.contains(where: { $0.name == SchemaComponent.host.name }) {
                let adoption = BondAdoption(database: database, keys: keys, identity: identity)
                if try adoption.isDue(), try adoptsRows() { try database.transaction { try adoption.perform() } }
            }
            return Self(database: database, keys: keys)
        }
        do { self = try open() } catch let error as StoreError {
            guard case .full = error, try RoomAhead.give(beside: path) else { throw error }
            self = try open()
        }
        RoomAhead.keep(beside: path)
    }

    private init(database: Database, keys: KeyWrap) {
        self.database = database
        self.keys = keys
    }
}
