import BluetoothCrypto
import CLinux
import Glibc

/// What the database's secrets are wrapped with: 32 octets that belong to the machine. As a credential they are kept apart
/// from the database, so that a copy of the one is worth nothing without the other. The file that is made where there is
/// neither a credential nor a key's path lies beside the database: a copy of the directory has both.
package struct MachineKey: Sendable {
    /// The name of the systemd credential (`LoadCredentialEncrypted=latch.machine-key`).
    package static let credentialName = "latch.machine-key"

    let secret: Secret
    /// Where it came from, for errors.
    let path: String

    /// From the credential, when systemd handed one in, else from `file`. A file that does not exist is made when
    /// `mayCreate`: not when there is a database already, whose secrets no new key can open.
    ///
    /// `credentialsDirectory` is the environment's `CREDENTIALS_DIRECTORY`.
    ///
    /// - Throws: ``StoreError/machineKeyMissing(path:)``, ``StoreError/machineKeyMalformed(path:)``,
    /// ``StoreError/tooOpen(path:mode:allowed:)``, or why the file cannot be read or made.
    package static func load(credentialsDirectory: String?, file: String, mayCreate: Bool) throws(StoreError) -> Self {
        if let credentialsDirectory {
            let credential = credentialsDirectory + "/" + credentialName
            // Its mode is systemd's business: the access list that lets the service in shows as group bits.
            if try StateFile.size(credential) != nil { return try read(credential) }
        }
        if try StateFile.size(file) == nil {
            guard mayCreate else { throw .machineKeyMissing(path: file) }
            try create(file)
        } else if mayCreate {
            // Secrets are about to be wrapped with a key that is there: an operator's, or one whose maker was killed before
            // its name was on disk.
            try StateFile.synchronize(file)
            try StateFile.synchronizeName(of: file)
        }
        try StateFile.check(file)
        return try read(file)
    }

    private static func read(_ path: String) throws(StoreError) -> Self {
        let file = try StateFile.open(path, O_RDONLY)
        var octets = try StateFile.read(file, path: path, limit: AESGCM.keyOctets + 1)
        guard octets.count == AESGCM.keyOctets else {
            octets.wipe()
            throw .machineKeyMalformed(path: path)
        }
        return Self(secret: Secret(wiping: &octets), path: path)
    }

    /// On disk under another name before it gets its own: under its own name it is whole whenever the process is killed.
    /// When two processes start at once, the link of the first one stands.
    private static func create(_ path: String) throws(StoreError) {
        let directory = StateFile.directory(of: path)
        guard try StateFile.status(directory) != nil else { throw .directoryMissing(path: directory) }
        let draft = path + ".new-\(latch_thread_id())"
        try StateFile.removeIfPresent(draft)
        do throws(StoreError) {
            let file = try StateFile.open(draft, O_WRONLY | O_CREAT | O_EXCL)
            var octets = SystemRandom.bytes(AESGCM.keyOctets)
            defer { octets.wipe() }
            try StateFile.write(octets, to: file, path: draft)
            guard fsync(file.fd) == 0 else { throw StateFile.error(draft) }
            guard link(draft, path) == 0 || errno == EEXIST else { throw StateFile.error(path) }
        } catch {
            try? StateFile.removeIfPresent(draft)
            throw error
        }
        try StateFile.removeIfPresent(draft)
        try StateFile.synchronizeDirectory(directory)
    }
}
