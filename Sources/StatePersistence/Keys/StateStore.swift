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
    /// - Throws: A ``StoreError`` of the key or of the database. Whatever is refused is left as it was.
    package init(
        path: String, machineKeyFile: String, credentialsDirectory: String?, components: [SchemaComponent],
        limits: DatabaseLimits = DatabaseLimits(), check: FileCheck = .whole
    ) throws {
        let isFirstLaunch = try !DatabaseFile.exists(path)
        let key = try MachineKey.load(
            credentialsDirectory: credentialsDirectory, file: machineKeyFile, mayCreate: isFirstLaunch)
        func open() throws -> Self {
            let database = try Database(path: path, components: components, limits: limits, check: check) {
                (connection) throws(StoreError) in try KeyWrap.look(key, at: connection)
            }
            return Self(database: database, keys: try KeyWrap(key, for: database))
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
