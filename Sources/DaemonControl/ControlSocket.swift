import CLinux
import Glibc

/// Why a daemon cannot open its control socket, in one line that says what to do.
package struct ControlSocketError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Reason: Sendable {
        /// Another daemon of this role lives in the directory.
        case alreadyRunning
        /// The path cannot be bound.
        case unusable
    }

    package var reason: Reason
    package let description: String
}

/// A unix stream socket that only its owner and root can speak to, and its lock file: the lock belongs to the process
/// that holds it and goes with it, so that a socket left behind by a kill is told from one in use.
struct ControlSocket: ~Copyable {
    let descriptor: Int32
    private let lock: Int32
    private let path: String

    /// Connections that wait to be accepted.
    static let backlogConnections: Int32 = 16

    init(binding path: String) throws(ControlSocketError) {
        var address = sockaddr_un()
        guard latch_unix_address(&address, path) == 0 else {
            throw ControlSocketError(
                reason: .unusable,
                description: "control socket \(path): the path is longer than the 107 octets that a unix socket can "
                    + "have: choose a state directory with a shorter path")
        }
        let lock = try Self.takeLock(beside: path)
        do throws(ControlSocketError) {
            descriptor = try Self.listen(at: &address, path: path)
        } catch {
            close(lock)
            throw error
        }
        self.lock = lock
        self.path = path
    }

    deinit {
        // The name goes before the lock, so that a successor's socket is never the one that is removed.
        unlink(path)
        close(descriptor)
        // A process that was forked just now has it open still.
        flock(lock, LOCK_UN)
        close(lock)
    }

    private static func takeLock(beside path: String) throws(ControlSocketError) -> Int32 {
        let lock = latch_open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw unusable(path + ".lock", "cannot be opened") }
        // Root may run a daemon once in another user's directory, who has to be able to open this later.
        var directory = stat()
        if geteuid() == 0, stat(Self.directory(of: path), &directory) == 0 {
            _ = fchown(lock, directory.st_uid, directory.st_gid)
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let isHeld = errno == EWOULDBLOCK
            let failure = unusable(path + ".lock", "cannot be locked")
            close(lock)
            throw isHeld
                ? ControlSocketError(
                    reason: .alreadyRunning,
                    description: "control socket \(path): another daemon of this role is running here: stop it, or "
                        + "give this one a state directory of its own with --state")
                : failure
        }
        return lock
    }

    private static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    private static func listen(at address: inout sockaddr_un, path: String) throws(ControlSocketError) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | latch_socket_flags(), 0)
        guard descriptor >= 0 else { throw unusable(path, "cannot be made") }
        unlink(path)
        // No moment at which others could connect: the mode is the socket's before it has a name. The process's umask stays
        // alone, since other threads make files too.
        guard fchmod(descriptor, 0o600) == 0 else {
            let failure = unusable(path, "cannot be given its mode")
            close(descriptor)
            throw failure
        }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0, Glibc.listen(descriptor, backlogConnections) == 0 else {
            let failure = unusable(path, "cannot be bound")
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    private static func unusable(_ path: String, _ what: String) -> ControlSocketError {
        ControlSocketError(
            reason: .unusable,
            description: "control socket \(path) \(what): \(String(cString: strerror(errno))): the state directory "
                + "must exist and be writable for this user")
    }

    /// A connection that waits, if its user may speak to this daemon. nil when none waits any more.
    func accept() -> Accepted? {
        let client = latch_accept(descriptor)
        guard client >= 0 else { return nil }
        var user: uid_t = 0
        let isKnown = latch_peer_user(client, &user) == 0
        return isKnown && (user == 0 || user == geteuid()) ? .client(client) : .stranger(client)
    }

    /// Ends a connection for its client, too, when a process that was forked just now has it open still.
    static func hangUp(_ descriptor: Int32) {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    enum Accepted {
        case client(Int32)
        /// Another user's, or one whose user the kernel does not say. The caller hangs up.
        case stranger(Int32)
    }
}
