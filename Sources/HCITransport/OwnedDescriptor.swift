import CLinux
import Glibc

/// A file descriptor with one owner, closed when the owner lets go of it.
package struct OwnedDescriptor: ~Copyable, Sendable {
    package let rawValue: Int32

    /// Takes `rawValue` over.
    package init(_ rawValue: Int32) { self.rawValue = rawValue }

    deinit { close(rawValue) }

    /// Never blocks, and is not inherited by children.
    borrowing func makeNonblocking() -> Bool {
        let flags = latch_fcntl(rawValue, F_GETFL, 0)
        guard flags >= 0, latch_fcntl(rawValue, F_SETFL, flags | O_NONBLOCK) == 0 else { return false }
        let descriptorFlags = latch_fcntl(rawValue, F_GETFD, 0)
        return descriptorFlags >= 0 && latch_fcntl(rawValue, F_SETFD, descriptorFlags | FD_CLOEXEC) == 0
    }

    /// SOCK_STREAM, SOCK_RAW, …; nil when it is no socket.
    var socketType: Int32? {
        var type: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(rawValue, SOL_SOCKET, SO_TYPE, &type, &length) == 0 ? type : nil
    }
}

/// What the system says an error number means.
func systemMessage(_ number: Int32) -> String { String(cString: strerror(number)) }
