import CLinux
import Glibc

/// Puts a backup in a database's place, while no daemon runs.
package enum StateRestoration {
    package struct Outcome: Equatable, Sendable {
        /// Where the database is now that was there; nil where there was none.
        package var replaced: String?
        /// Whether the machine key that is here belongs to the backup; nil where there is none here.
        package var isKeyRight: Bool?
    }

    /// What another process's daemon of `identities` would use is not touched. The backup is copied, checked and flushed before anything else; a
    /// kill at any moment leaves the database that was there or the backup's, each of them whole.
    ///
    /// - Throws: ``StoreError/identityClaimed(path:pid:)`` while a daemon runs; ``StoreError/wrongMachineKey(path:)``; why the backup is none, or
    /// what the disk says. Then nothing has changed.
    package static func perform(
        _ backup: String, at path: String, identities: [String], machineKeyFile: String,
        credentialsDirectory: String?, components: [SchemaComponent]
    ) throws(StoreError) -> Outcome {
        let source = try StateInspector(path: backup)
        let faults = try source.check(components: components).faults
        guard faults.isEmpty else { throw .corrupt(path: backup, reason: faults.joined(separator: "; ")) }
        let isKeyRight = try look(source, machineKeyFile, credentialsDirectory)
        var claims: [RestoreClaim] = []
        for identity in identities {
            claims.append(try RestoreClaim(identity: identity, beside: path, components: components))
        }
        defer { withExtendedLifetime(claims) {} }
        // Of restores that were killed, whatever number they had come to.
        let beginning = StateFile.name(of: path) + asideEnding
        try Draft.removeAll(in: StateFile.directory(of: path)) { $0.hasPrefix(beginning) }
        var replaced = try copyAside(path)
        // A log without its database is something that is there as well.
        let hasLog = try StateFile.size(path + "-wal") ?? 0 > 0
        let isThere = try StateFile.status(path) != nil
        let isDamaged = (isThere || hasLog) && replaced == nil
        let lock = try FileLock(beside: path)
        try lock.acquire(waiting: DatabaseLimits().openWaitMilliseconds)
        defer { lock.release() }
        let draft = DatabaseFile.draft(of: path)
        try DatabaseFile.removeDraft(of: path)
        do throws(StoreError) {
            try DatabaseFile.copy(source.connection, to: draft, owner: StateFile.directory(of: path))
            if isDamaged { replaced = try nameAside(path) } else { try endLog(of: path) }
            try StateFile.rename(draft, to: path)
        } catch {
            try? DatabaseFile.removeDraft(of: path)
            // Nothing has been replaced. A second name stays, where there is one: the file that it is of may have moved.
            if !isDamaged, let replaced { try? StateFile.removeIfPresent(replaced) }
            throw error
        }
        return Outcome(replaced: replaced, isKeyRight: isKeyRight)
    }

    private static func look(
        _ source: StateInspector, _ file: String, _ credentials: String?
    ) throws(StoreError) -> Bool? {
        let key: MachineKey
        do throws(StoreError) {
            key = try MachineKey.load(credentialsDirectory: credentials, file: file, mayCreate: false)
        } catch .machineKeyMissing {
            return nil
        }
        try KeyWrap.look(key, at: source.connection)
        return true
    }

    /// A copy of what is there, log and all, under a name of its own; nil where there is nothing, or nothing that can be read.
    private static func copyAside(_ path: String) throws(StoreError) -> String? {
        guard try StateFile.status(path) != nil else { return nil }
        while true {
            let target = try freeName(aside: path)
            do throws(StoreError) {
                try StateBackup.make(of: path, at: target)
                return target
            } catch {
                switch error {
                // Somebody else has just taken the name.
                case .backupExists: continue
                case .corrupt, .notADatabase, .foreign: return nil
                default: throw error
                }
            }
        }
    }

    /// What cannot be read is kept as it is, under another name beside its own, until the backup takes that. Its log is not for the backup, and
    /// moves behind it. A kill in between leaves a file of two names, which every launch refuses: none reads it without its log.
    private static func nameAside(_ path: String) throws(StoreError) -> String {
        // Where the log alone is left, a launch would begin anew as soon as that has moved.
        if try StateFile.status(path) == nil { try makeEmpty(path) }
        let target = try secondName(of: path)
        if try StateFile.status(target) == nil {
            guard link(path, target) == 0 else { throw StateFile.error(target) }
        }
        try StateFile.synchronizeDirectory(StateFile.directory(of: path))
        if try StateFile.size(path + "-wal") != nil { try StateFile.rename(path + "-wal", to: target + "-wal") }
        try StateFile.removeIfPresent(path + "-shm")
        return target
    }

    /// No database, and refused as none.
    private static func makeEmpty(_ path: String) throws(StoreError) {
        let file = try StateFile.open(path, O_WRONLY | O_CREAT | O_EXCL)
        try StateFile.giveToOwner(of: StateFile.directory(of: path), file, path: path)
    }

    /// A free one, or the one that it got before a kill, whose log is then the one that moved, or is to move yet.
    private static func secondName(of path: String) throws(StoreError) -> String {
        let hasLog = try StateFile.size(path + "-wal") != nil
        let file = try StateFile.status(path)
        return try freeName(aside: path) { other, hasLogAside in
            other.st_ino == file?.st_ino && other.st_dev == file?.st_dev && !(hasLog && hasLogAside)
        }
    }

    /// Behind the database's name, and before a number.
    private static let asideEnding = ".replaced-"

    /// The first name under which neither a file nor a log stands, or whose file `isIts` takes, by its status and whether it has a log.
    private static func freeName(
        aside path: String, or isIts: (stat, Bool) -> Bool = { _, _ in false }
    ) throws(StoreError) -> String {
        var number = 1
        while true {
            let name = path + asideEnding + "\(number)"
            let hasLog = try StateFile.status(name + "-wal") != nil
            if let file = try StateFile.status(name) {
                if isIts(file, hasLog) { return name }
            } else if !hasLog {
                return name
            }
            number += 1
        }
    }

    /// What stands in the log of what is there would be taken for the backup's. It is moved first, so that a kill loses nothing of it.
    private static func endLog(of path: String) throws(StoreError) {
        if try StateFile.status(path) != nil {
            let connection = try Connection(path: path, access: .readWrite)
            connection.setBusyTimeout(milliseconds: Int32(DatabaseLimits.openWaitMaximumMilliseconds))
            try connection.execute(DatabaseFile.settings)
            _ = try connection.checkpoint(truncating: true)
        }
        guard try StateFile.size(path + "-wal") ?? 0 == 0 else { throw .logHeld(path: path) }
        for suffix in ["-wal", "-shm"] { try StateFile.removeIfPresent(path + suffix) }
    }
}
