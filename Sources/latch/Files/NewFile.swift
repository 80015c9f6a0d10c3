import CLinux
import CommandInterface
import Glibc

/// A file of mode 0600 that this program makes for its user: in the place of no other one, and behind no link. It is taken away
/// with this object, unless it is kept.
final class NewFile {
    private let path: String
    /// As failures call it.
    private let name: String
    private let descriptor: Int32
    private var isKept = false

    /// An empty file. `kind`: what failures say in front of its path.
    ///
    /// - Throws: ``Failure`` when it exists, or cannot be made.
    init(_ path: String, kind: String = "") throws(Failure) {
        let name = kind + path
        let descriptor = latch_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        // Before there is an object: its end would take the file away that is there.
        guard descriptor >= 0 else {
            throw Self.failure(name, errno == EEXIST ? "it exists, and nothing is written over" : Self.reason())
        }
        // Whatever the umask has left of it.
        fchmod(descriptor, 0o600)
        (self.path, self.name, self.descriptor) = (path, name, descriptor)
    }

    deinit {
        close(descriptor)
        if !isKept { unlink(path) }
    }

    /// - Throws: ``Failure`` when the disk takes no more.
    func write(_ octets: [UInt8]) throws(Failure) { try Self.write(octets, to: descriptor, named: name) }

    /// It is on disk, and stays.
    ///
    /// - Throws: ``Failure`` when it is not all on disk.
    func keep() throws(Failure) {
        guard fsync(descriptor) == 0 else { throw Self.failure(name, Self.reason()) }
        isKept = true
    }

    /// - Throws: ``Failure`` when whoever is behind the descriptor takes no more.
    static func write(_ octets: [UInt8], to descriptor: Int32, named name: String) throws(Failure) {
        guard WholeWrite.write(octets, to: descriptor) else { throw failure(name, reason()) }
    }

    private static func reason() -> String { String(cString: strerror(errno)) }

    static func failure(_ name: String, _ reason: String) -> Failure {
        Failure(.refused, "cannot write \(name): \(reason)")
    }
}
