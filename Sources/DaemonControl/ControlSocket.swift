import CLinux
import Glibc

/// Why a daemon cannot open its control socket, in one line that says what to do.
package struct ControlSocketError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Reason: Sendable {
        /// Another daemon of this role lives in the directory.
        case alreadyRunning
        /// The path cannot be bound.
        case unusable
        /// The configuration asks for what cannot be: no restart mends it.
        case misconfigured
    }

    package var reason: Reason
    package let description: String

    /// By `errno`.
    static func unusable(_ path: String, _ what: String) -> Self {
        Self(
            reason: .unusable,
            description: "control socket \(path) \(what): \(String(cString: strerror(errno))): its directory "
                + "must exist and be writable for this user")
    }
}

/// A unix stream socket that only its owner and root can speak to, and the members of a group if one is named. With it its
/// lock file: the lock belongs to the process that holds it and goes with it, so that a socket left behind by a kill is told
/// from one in use.
struct ControlSocket: ~Copyable {
    let descriptor: Int32
    private let lock: Int32
    private let path: String
    private let group: ControlGroup?

    /// Connections that wait to be accepted.
    static let backlogConnections: Int32 = 16

    init(binding path: String, for group: ControlGroup? = nil) throws(ControlSocketError) {
        var address = sockaddr_un()
        guard latch_unix_address(&address, path) == 0 else { throw Self.tooLong(path) }
        // One that is not there is told below.
        try ControlDirectory(of: path)?.require(for: path, group)
        let lock = try Self.takeLock(beside: path)
        do throws(ControlSocketError) {
            descriptor = try Self.listen(at: &address, path: path, for: group)
        } catch {
            close(lock)
            throw error
        }
        self.lock = lock
        self.path = path
        self.group = group
    }

    static func requireLength(of path: String) throws(ControlSocketError) {
        var address = sockaddr_un()
        guard latch_unix_address(&address, path) == 0 else { throw tooLong(path) }
    }

    private static func tooLong(_ path: String) -> ControlSocketError {
        ControlSocketError(
            reason: .unusable,
            description: "control socket \(path): the path is longer than the 107 octets that a unix socket can "
                + "have: choose a directory with a shorter path")
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
        guard lock >= 0 else { throw .unusable(path + ".lock", "cannot be opened") }
        // Root may run a daemon once in another user's directory, who has to be able to open this later.
        var directory = stat()
        if geteuid() == 0, stat(ControlDirectory.path(of: path), &directory) == 0 {
            _ = fchown(lock, directory.st_uid, directory.st_gid)
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let isHeld = errno == EWOULDBLOCK
            let failure = ControlSocketError.unusable(path + ".lock", "cannot be locked")
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

    private static func listen(
        at address: inout sockaddr_un, path: String, for group: ControlGroup?
    ) throws(ControlSocketError) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | latch_socket_flags(), 0)
        guard descriptor >= 0 else { throw .unusable(path, "cannot be made") }
        unlink(path)
        // No moment at which others could connect: the mode is the socket's before it has a name. The process's umask stays
        // alone, since other threads make files too.
        guard fchmod(descriptor, 0o600) == 0 else {
            let failure = ControlSocketError.unusable(path, "cannot be given its mode")
            close(descriptor)
            throw failure
        }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        do throws(ControlSocketError) {
            guard bound == 0 else { throw .unusable(path, "cannot be bound") }
            // Nobody connects before it listens: the group is let in at once and as a whole, or not at all.
            if let group { try give(path, to: group) }
            guard Glibc.listen(descriptor, backlogConnections) == 0 else { throw .unusable(path, "cannot be bound") }
        } catch {
            if bound == 0 { unlink(path) }
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// By its name, since what is done to a socket's descriptor does not reach the name. Nobody but this user and root can put
    /// another file there (``ControlDirectory``).
    private static func give(_ path: String, to group: ControlGroup) throws(ControlSocketError) {
        try group.take(path)
        guard chmod(path, 0o660) == 0 else { throw .unusable(path, "cannot be given its mode") }
    }

    /// A connection that waits, if its user may speak to this daemon. nil when none waits any more.
    func accept() -> Accepted? {
        let client = latch_accept(descriptor)
        guard client >= 0 else { return nil }
        return userToHear(client).map { .client(client, user: $0) } ?? .stranger(client)
    }

    /// The socket's mode says the same, unless somebody has changed it.
    private func userToHear(_ client: Int32) -> uid_t? {
        var user: uid_t = 0
        guard latch_peer_user(client, &user) == 0 else { return nil }
        if user == 0 || user == geteuid() { return user }
        return group.map { latch_peer_is_member(client, $0.id) == 1 } == true ? user : nil
    }

    /// Ends a connection for its client, too, when a process that was forked just now has it open still.
    static func hangUp(_ descriptor: Int32) {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    enum Accepted {
        case client(Int32, user: uid_t)
        /// Another user's, or one whose user the kernel does not say. The caller hangs up.
        case stranger(Int32)
    }
}
