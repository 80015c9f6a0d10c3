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

    // MARK: Another key

    /// What keys for one purpose are derived from.
    var root: Secret { HMACSHA256.derive("latch derived keys 1", octets: 32, from: secret) }

    /// The machine's own key for what `purpose` names.
    package func signingKey(_ purpose: String) -> Ed25519SigningKey { Ed25519SigningKey(derived: purpose, from: root) }

    /// Where a key waits that is to take this one's place.
    private static func next(of file: String) -> String { file + ".new" }

    /// One that was made, and waits for its place; nil where there is none. Of a credential there never is one.
    ///
    /// - Throws: As ``load(credentialsDirectory:file:mayCreate:)`` does.
    var next: Self? {
        get throws(StoreError) {
            let file = Self.next(of: path)
            guard try StateFile.size(file) != nil else { return nil }
            try StateFile.check(file)
            return try Self.read(file)
        }
    }

    /// The key that is to take the place of the one in `file`: one that waits already, or a new one. On disk when this returns.
    ///
    /// - Throws: As ``load(credentialsDirectory:file:mayCreate:)`` does.
    package static func makeNext(of file: String) throws(StoreError) -> Self {
        try load(credentialsDirectory: nil, file: next(of: file), mayCreate: true)
    }

    /// The key that waits is the one in `file` from now on. Gives the old one's new name.
    ///
    /// - Throws: A ``StoreError``: what the disk says.
    package static func putInPlace(of file: String) throws(StoreError) -> String {
        let next = next(of: file)
        // Who was killed as he named a key that he had made has left it a second name, which would outlive the key.
        for name in [file, next] { try Draft.removeAbandoned(of: name) }
        var number = 1
        while try StateFile.status("\(file).old-\(number)") != nil { number += 1 }
        // Cut off in between, the old one has its second name already.
        if number > 1, let last = try StateFile.status("\(file).old-\(number - 1)"),
            let present = try StateFile.status(file), last.st_ino == present.st_ino
        {
            number -= 1
        } else {
            guard link(file, "\(file).old-\(number)") == 0 else { throw StateFile.error(file) }
        }
        if let present = try StateFile.status(file) {
            // As its owner wants it: 0400, and root's.
            let descriptor = try StateFile.open(next, O_RDONLY)
            guard fchown(descriptor.fd, present.st_uid, present.st_gid) == 0,
                fchmod(descriptor.fd, present.st_mode & 0o700) == 0
            else { throw StateFile.error(next) }
        }
        try StateFile.rename(next, to: file)
        return "\(file).old-\(number)"
    }

    /// On disk under another name before it gets its own: under its own name it is whole whenever the process is killed.
    /// When two processes start at once, the link of the first one stands.
    private static func create(_ path: String) throws(StoreError) {
        let directory = StateFile.directory(of: path)
        guard try StateFile.directoryStatus(directory) != nil else { throw .directoryMissing(path: directory) }
        try Draft.removeAbandoned(of: path)
        let draft = Draft.path(of: path)
        try StateFile.removeIfPresent(draft)
        do throws(StoreError) {
            let file = try StateFile.open(draft, O_WRONLY | O_CREAT | O_EXCL)
            try StateFile.giveToOwner(of: directory, file, path: draft)
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
