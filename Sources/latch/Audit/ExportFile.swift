import CLinux
import CommandInterface
import Glibc

/// A new file of mode 0600, whole and on disk or not there; or standard output.
final class ExportFile {
    /// Octets that are gathered for one write.
    private static let gathered = 1 << 16

    private let path: String
    private let descriptor: Int32
    private var octets: [UInt8] = []
    private var isFinished = false

    /// - Throws: ``Failure`` when it exists, or cannot be made.
    convenience init(_ path: String) throws(Failure) {
        guard path != "-" else {
            self.init(path, STDOUT_FILENO)
            return
        }
        let descriptor = latch_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        // Before there is an object: its end would take the file away that is there.
        guard descriptor >= 0 else {
            throw Self.failure(path, errno == EEXIST ? "it exists, and nothing is written over" : Self.reason())
        }
        self.init(path, descriptor)
    }

    private init(_ path: String, _ descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        guard path != "-" else { return }
        close(descriptor)
        if !isFinished { unlink(path) }
    }

    /// - Throws: ``Failure`` when the disk, or whoever reads, takes no more.
    func line(_ text: String) throws(Failure) {
        octets += text.utf8
        octets.append(UInt8(ascii: "\n"))
        if octets.count >= Self.gathered { try flush() }
    }

    /// - Throws: ``Failure`` when it is not all on disk.
    func finish() throws(Failure) {
        try flush()
        guard path == "-" || fsync(descriptor) == 0 else { throw Self.failure(path, Self.reason()) }
        isFinished = true
    }

    private func flush() throws(Failure) {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure(path, Self.reason()) }
            rest = rest.dropFirst(count)
        }
        octets.removeAll(keepingCapacity: true)
    }

    private static func reason() -> String { String(cString: strerror(errno)) }

    private static func failure(_ path: String, _ reason: String) -> Failure {
        Failure(.refused, "cannot write \(path == "-" ? "to standard output" : path): \(reason)")
    }
}
