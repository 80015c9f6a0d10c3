import CLinux
import Glibc

/// A listening unix stream socket that leaves no file behind.
final class UnixListener {
    let descriptor: FileDescriptor
    private let path: String

    /// A socket file that nobody serves any more is removed; anything else in the way is left alone.
    init(path: String) throws(RadioServerError) {
        var address = sockaddr_un()
        guard !path.isEmpty, latch_unix_address(&address, path) == 0 else {
            throw RadioServerError(description: "\(path.isEmpty ? "an empty path" : path) is no path for a unix socket")
        }
        try Self.clear(path, address)
        let descriptor = try Self.socket()
        // Set before the file exists, so that nobody else ever gets in.
        guard fchmod(descriptor.number, 0o600) == 0, Self.call(bind, descriptor.number, address) == 0,
            listen(descriptor.number, 64) == 0
        else { throw .errno("cannot listen on \(path)") }
        self.descriptor = descriptor
        self.path = path
    }

    deinit { unlink(path) }

    /// The next connection that waits, non-blocking; nil when there is none.
    func accept() -> Int32? {
        let connection = latch_accept(descriptor.number)
        return connection >= 0 ? connection : nil
    }

    private static func clear(_ path: String, _ address: sockaddr_un) throws(RadioServerError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw RadioServerError(description: "\(path) is in the way and is no socket")
        }
        let probe = try socket()
        guard call(connect, probe.number, address) != 0, Glibc.errno == ECONNREFUSED else {
            throw RadioServerError(description: "\(path) is in use")
        }
        guard unlink(path) == 0 else { throw .errno("cannot remove the stale \(path)") }
    }

    private static func socket() throws(RadioServerError) -> FileDescriptor {
        try FileDescriptor(
            Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | latch_socket_flags(), 0), "cannot make a socket")
    }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32, _ socket: Int32, _ address: sockaddr_un
    ) -> Int32 {
        withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                function(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
