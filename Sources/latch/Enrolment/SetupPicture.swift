import CLinux
import CommandInterface
import Glibc

/// A file of a setup code's picture, for as long as the window is open: of mode 0600, in the place of no other file, and where nobody else
/// can put one in its place. It goes with the window, whose code is worth nothing then.
final class SetupPicture {
    private let path: String
    private let descriptor: Int32

    /// Makes an empty file, before anybody opens a window for it.
    ///
    /// - Throws: ``Failure`` when it exists, cannot be made, or lies where others may write.
    init(_ path: String) throws(Failure) {
        let directory = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        var status = stat()
        guard stat(directory, &status) == 0 else { throw Self.failure(path, String(cString: strerror(errno))) }
        let others = status.st_mode & 0o022 != 0
        guard !others || status.st_mode & 0o1000 != 0 else {
            throw Self.failure(
                path,
                "other users can write to \(directory) and put a code of theirs in its place: name a file elsewhere")
        }
        let descriptor = latch_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw Self.failure(
                path, errno == EEXIST ? "it exists, and nothing is written over" : String(cString: strerror(errno)))
        }
        // Whatever the umask has left of it.
        fchmod(descriptor, 0o600)
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    /// - Throws: ``Failure`` when the disk takes no more.
    func write(_ text: String) throws(Failure) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure(path, String(cString: strerror(errno))) }
            rest = rest.dropFirst(count)
        }
    }

    private static func failure(_ path: String, _ reason: String) -> Failure {
        Failure(.refused, "cannot write the setup code's picture \(path): \(reason)")
    }
}
