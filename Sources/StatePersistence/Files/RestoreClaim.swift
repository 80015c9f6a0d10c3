import CLinux
import Glibc

#if LATCH_PLANTS
import BluetoothCore
#endif

/// One process's claim to an identity of a database, for as long as this lives; the kernel ends it with the process. Without
/// it two processes would be on the air as one device, use its sign counters twice and write one audit.
///
/// Taken before the database is opened, so that the second process changes nothing. A name given to the file in another way
/// (a relative path, a link to a directory above it) leads to the same claim, which lies beside the file; a link in the
/// file's own place and a second name are refused when it is opened.
package final class RestoreClaim {
    private let file: Descriptor

    /// Takes the claim. Makes the database's directory when it is missing, as opening would.
    ///
    /// - Throws: ``StoreError/identityClaimed(path:pid:)``, with the holder's process id, when another process has it;
    /// else why the file cannot be made.
    ///
    /// `components` is what this process knows of a database's schema; without it the process counts as one of an older version,
    /// beside which nothing is migrated. `patienceMilliseconds`: how long somebody else may have it.
    package init(
        identity: String, beside database: String, components: [SchemaComponent]? = nil,
        patienceMilliseconds: Int = RestoreClaim.lookMilliseconds
    ) throws(StoreError) {
        try StateFile.prepareDirectory(StateFile.directory(of: database))
        // Never removed: the next one to open it must meet those who have it open.
        let path = "\(database).claim-\(identity)"
        file = try StateFile.open(path, O_RDWR | O_CREAT)
        try StateFile.giveToOwner(of: StateFile.directory(of: database), file, path: path)
        var attempts = 0
        while flock(file.fd, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw StateFile.error(path) }
            #if LATCH_PLANTS
            if Plant.active == .claim { break }
            #endif
            // A launch of another identity may be looking whether anybody has it (`RunningSteps`).
            attempts += 1
            if attempts <= patienceMilliseconds {
                usleep(1_000)
                continue
            }
            let text = String(decoding: try StateFile.read(file, path: path, limit: 16), as: UTF8.self)
            throw .identityClaimed(path: database, pid: Int32(text.prefix { $0.isNumber }) ?? 0)
        }
        guard ftruncate(file.fd, 0) == 0 else { throw StateFile.error(path) }
        let steps = components.map { RunningSteps.text([.store] + $0) } ?? ""
        try StateFile.write(Array("\(getpid()) \(identity)\n\(steps)".utf8), to: file, path: path)
    }

    /// The process that has the claim now; nil for nobody.
    ///
    /// - Throws: A ``StoreError`` when the claim's file cannot be read.
    package static func holder(of identity: String, beside database: String) throws(StoreError) -> Int32? {
        let path = "\(database).claim-\(identity)"
        guard try StateFile.size(path) != nil else { return nil }
        let file = try StateFile.open(path, O_RDONLY)
        let text = String(decoding: try StateFile.read(file, path: path, limit: 16), as: UTF8.self)
        if flock(file.fd, LOCK_SH | LOCK_NB) == 0 {
            flock(file.fd, LOCK_UN)
            return nil
        }
        guard errno == EWOULDBLOCK else { throw StateFile.error(path) }
        return Int32(text.prefix { $0.isNumber }) ?? 0
    }

    /// A look at a claim takes microseconds.
    package static let lookMilliseconds = 20

    // Closing is not enough: a process that was forked just now has the file open still.
    deinit { flock(file.fd, LOCK_UN) }
}
