import BluetoothCrypto

/// What can be said of a state's files without a database that is open.
package enum StateFiles {
    /// - Throws: What a launch would say of an empty file, or of a log without one.
    package static func exists(_ database: String) throws(StoreError) -> Bool { try DatabaseFile.exists(database) }

    /// - Throws: What a launch would say of the file's directory, mode and names.
    package static func check(database path: String) throws(StoreError) {
        let directory = StateFile.directory(of: path)
        guard try StateFile.directoryStatus(directory) != nil else { throw .directoryMissing(path: directory) }
        try StateFile.check(path)
        try StateFile.requireOneName(path)
    }

    /// Whether there is a machine key that only its owner may read, and it has a key's length. It is read, and forgotten.
    ///
    /// - Throws: As ``MachineKey/load(credentialsDirectory:file:mayCreate:)`` does for a database that is there.
    package static func checkMachineKey(credentialsDirectory: String?, file: String) throws(StoreError) {
        _ = try MachineKey.load(credentialsDirectory: credentialsDirectory, file: file, mayCreate: false)
    }
}
