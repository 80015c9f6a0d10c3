import CLinux
import Glibc

/// How much of a database is looked at before anything of it is used.
///
/// The form of all pages can only be checked by reading all of them, and a door does not stay shut for so long because many
/// people have its key. A large file is checked while the daemon runs already (``Database/checkWhole(then:)``). Until then
/// everything that is read is read through pages that SQLite checks as it reads them, and rows are checked one by one. A file
/// that was found damaged so is checked first by every later launch, until it is sound.
package enum FileCheck: Sendable {
    /// Before everything else, however long it takes.
    case whole
    /// As much as takes no time: all of a small file.
    case brief

    /// A household's file. Checking so much, 256 pages, takes a millisecond.
    static let briefOctetsMaximum = 1024 * 1024

    func isWhole(_ path: String) throws(StoreError) -> Bool {
        switch self {
        case .whole: return true
        case .brief:
            let log = try StateFile.size(path + "-wal") ?? 0
            let octets = try StateFile.size(path) ?? 0
            if octets + log <= Self.briefOctetsMaximum { return true }
            return try StateFile.size(Self.mark(path)) != nil
        }
    }

    /// There while the last check of the whole file has found damage.
    private static func mark(_ path: String) -> String { path + ".damaged" }

    static func rememberDamage(of path: String) throws(StoreError) {
        _ = try StateFile.open(mark(path), O_WRONLY | O_CREAT)
        try StateFile.synchronizeDirectory(StateFile.directory(of: path))
    }

    static func forgetDamage(of path: String) throws(StoreError) {
        if try StateFile.size(mark(path)) != nil { try StateFile.removeIfPresent(mark(path)) }
    }
}

extension Database {
    /// Checks all of the file on a thread of its own, so that the loop waits for none of it; once, where opening has not done
    /// so. `then` is called on that thread, with what was wrong, when nothing more of the file is open there. Damage is
    /// remembered beside the file before `then` hears of it.
    ///
    /// - Throws: ``StoreError/io(path:reason:)`` when there is no thread to be had.
    package func checkWhole(then: @escaping @Sendable (StoreError?) -> Void) throws(StoreError) {
        let job = Job(path: path, waitMilliseconds: DatabaseLimits().openWaitMilliseconds, then: then)
        let context = Unmanaged.passRetained(job)
        var thread = pthread_t()
        let status = pthread_create(&thread, nil, { Job.run($0) }, context.toOpaque())
        guard status == 0 else {
            context.release()
            throw .io(path: path, reason: "no thread to check it: \(String(cString: strerror(status)))")
        }
        pthread_detach(thread)
    }

    private final class Job: Sendable {
        let path: String
        let waitMilliseconds: UInt64
        let then: @Sendable (StoreError?) -> Void

        init(path: String, waitMilliseconds: UInt64, then: @escaping @Sendable (StoreError?) -> Void) {
            self.path = path
            self.waitMilliseconds = waitMilliseconds
            self.then = then
        }

        static func run(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
            guard let context else { return nil }
            let job = Unmanaged<Job>.fromOpaque(context).takeRetainedValue()
            job.then(job.fault())
            return nil
        }

        /// Pages in the check's own cache: it reads each once.
        private static let cachedPages = 64

        private func fault() -> StoreError? {
            do throws(StoreError) {
                let connection = try Connection(path: path, access: .readOnly)
                connection.setBusyTimeout(milliseconds: Int32(clamping: waitMilliseconds))
                try connection.execute("PRAGMA cache_size = \(Self.cachedPages)")
                try DatabaseFile.requireSound(connection)
                return nil
            } catch {
                // Not remembered is not forgotten: this process ends, and the next one meets the damage again.
                if error.isDamage { try? FileCheck.rememberDamage(of: path) }
                return error
            }
        }
    }
}

extension StoreError {
    /// Of the file, and not of the moment.
    var isDamage: Bool {
        switch self {
        case .corrupt, .notADatabase: true
        default: false
        }
    }
}
