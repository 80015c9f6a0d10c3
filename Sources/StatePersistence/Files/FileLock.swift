import CLinux
import Glibc

/// An advisory lock on a file of its own beside the database, which the kernel releases when its holder dies.
///
/// Every commit and checkpoint of the database is made under it. SQLite's own locks would do, but for a bug in 3.7.0 to
/// 3.51.2: a commit that starts the log afresh during another connection's second checkpoint can corrupt the file. Under
/// one lock there never is such a moment.
final class FileLock {
    private var file: Descriptor
    private let path: String

    /// `subject` is the database that the lock stands for.
    init(beside subject: String) throws(StoreError) {
        path = subject
        file = try Self.open(subject)
    }

    private static func open(_ subject: String) throws(StoreError) -> Descriptor {
        let name = subject + ".lock"
        let file = try StateFile.open(name, O_RDWR | O_CREAT)
        try StateFile.giveToOwner(of: StateFile.directory(of: subject), file, path: name)
        return file
    }

    /// When waiting ends.
    struct Deadline {
        private let nanoseconds: UInt64

        init(milliseconds: UInt64) {
            nanoseconds = latch_clock_nanoseconds(CLOCK_MONOTONIC) + milliseconds * 1_000_000
        }

        var hasPassed: Bool { latch_clock_nanoseconds(CLOCK_MONOTONIC) >= nanoseconds }

        var remainingMilliseconds: Int32 {
            let now = latch_clock_nanoseconds(CLOCK_MONOTONIC)
            return now < nanoseconds ? Int32(clamping: (nanoseconds - now) / 1_000_000) : 0
        }
    }

    /// Throws `busy` when others hold it for longer than `milliseconds`.
    func acquire(waiting milliseconds: UInt64) throws(StoreError) {
        try acquire(until: Deadline(milliseconds: milliseconds))
    }

    /// The file under the lock's name is locked when this returns: somebody may have removed the one that was open, and then
    /// others lock another one.
    func acquire(until deadline: Deadline) throws(StoreError) {
        try wait(until: deadline)
        while try !isNamed {
            file = try Self.open(path)
            try wait(until: deadline)
        }
    }

    private var isNamed: Bool {
        get throws(StoreError) {
            var opened = stat()
            guard fstat(file.fd, &opened) == 0 else { throw StateFile.error(path) }
            guard let named = try StateFile.status(path + ".lock") else { return false }
            return named.st_ino == opened.st_ino && named.st_dev == opened.st_dev
        }
    }

    /// flock has no time limit of its own and the loop must not stand still for ever, so it asks again at growing intervals.
    private func wait(until deadline: Deadline) throws(StoreError) {
        var pauseMicroseconds: useconds_t = 50
        while flock(file.fd, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw StateFile.error(path) }
            guard !deadline.hasPassed else { throw .busy(path: path) }
            usleep(pauseMicroseconds)
            pauseMicroseconds = min(pauseMicroseconds * 2, 1_000)
        }
    }

    func release() { flock(file.fd, LOCK_UN) }
}
