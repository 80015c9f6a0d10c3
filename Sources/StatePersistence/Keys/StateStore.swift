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
        func open(_ key: MachineKey) throws -> Self {
            try Self(path: path, key: key, components: components, limits: limits, check: check) { (database, keys) in
                guard components.contains(where: { $0.name == SchemaComponent.host.name }) else { return }
                let adoption = BondAdoption(database: database, keys: keys, identity: identity)
                if try adoption.isDue(), try adoptsRows() { try database.transaction { try adoption.perform() } }
            }
        }
        func openWithRoom(_ key: MachineKey) throws -> Self {
            do { return try open(key) } catch let error as StoreError {
                guard case .full = error, try RoomAhead.give(beside: path) else { throw error }
                return try open(key)
            }
        }
        do { self = try openWithRoom(key) } catch StoreError.wrongMachineKey(let wrong) {
            // Another key was on its way to its place, and the power went behind the commit (`MachineKeyRotation`).
            guard let next = try key.next else { throw StoreError.wrongMachineKey(path: wrong) }
            self = try openWithRoom(next)
        }
        RoomAhead.keep(beside: path)
    }

    /// Opens the database with this key and with no other.
    ///
    /// - Throws: A ``StoreError``; whatever is refused is left as it was.
    package init(path: String, key: MachineKey, components: [SchemaComponent]) throws {
        try self.init(
            path: path, key: key, components: components, limits: DatabaseLimits(), check: .whole
        ) { _, _ in }
    }

    private init(
        path: String, key: MachineKey, components: [SchemaComponent], limits: DatabaseLimits, check: FileCheck,
        then: (Database, KeyWrap) throws -> Void
    ) throws {
        let database = try Database(path: path, components: components, limits: limits, check: check) {
            (connection) throws(StoreError) in try KeyWrap.look(key, at: connection)
        }
        let keys = try KeyWrap(key, for: database)
        try then(database, keys)
        self.init(database: database, keys: keys)
    }

    private init(database: Database, keys: KeyWrap) {
        self.database = database
        self.keys = keys
    }
}
