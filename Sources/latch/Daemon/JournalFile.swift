import CLinux
import Glibc

/// A file of lines that has an end: the lines before it are kept in `PATH.1`, and those before these are forgotten.
struct JournalFile: ~Copyable {
    private let path: String
    private let octetsMaximum: Int
    private var descriptor: Int32
    /// nil for what has no end, a terminal or a pipe.
    private var octets: Int?

    /// nil, and `errno`, when it cannot be opened.
    init?(_ path: String, octetsMaximum: Int) {
        let descriptor = Self.open(path)
        guard descriptor >= 0 else { return nil }
        self.path = path
        self.octetsMaximum = octetsMaximum
        self.descriptor = descriptor
        octets = Self.size(descriptor)
    }

    deinit { close(descriptor) }

    /// One line, one write: a kill leaves whole lines. False, and `errno`, when it is not in the file.
    mutating func write(_ line: [UInt8]) -> Bool {
        if let octets, octets > 0, octets + line.count > octetsMaximum, !makeWay() { return false }
        let written = Glibc.write(descriptor, line, line.count)
        octets? += max(0, written)
        return written == line.count
    }

    /// A kill in between leaves the old lines in `PATH.1`, and no file until the next launch.
    private mutating func makeWay() -> Bool {
        // Who took the file away, as those do who rotate logs, has made way already.
        guard rename(path, path + ".1") == 0 || errno == ENOENT else { return false }
        let next = Self.open(path)
        guard next >= 0 else { return false }
        close(descriptor)
        descriptor = next
        octets = Self.size(next)
        return true
    }

    private static func open(_ path: String) -> Int32 {
        latch_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    }

    private static func size(_ descriptor: Int32) -> Int? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }
}
