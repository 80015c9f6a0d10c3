import BluetoothCore
import CLinux
import CommandInterface
import DaemonControl
import Glibc
import StrikeControl

/// The keeper's unix socket: the lock's user may speak to it, and nobody else.
struct StrikeSocket: ~Copyable {
    static let backlogConnections: Int32 = 4

    let descriptor: Int32
    private let lock: Int32
    private let user: uid_t

    /// - Throws: ``Failure``, with the remedy.
    init(_ plan: StrikePlan) throws(Failure) {
        let path = plan.socketPath
        let peer = try StrikePeer(plan)
        let lock = try Self.takeLock(path)
        do throws(Failure) {
            descriptor = try Self.listen(plan, peer.group)
        } catch {
            close(lock)
            throw error
        }
        self.lock = lock
        user = peer.user
    }

    /// A socket that a kill has left behind is told from one in use by a lock, which goes with its process.
    private static func takeLock(_ path: String) throws(Failure) -> Int32 {
        let lock = latch_open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else {
            throw unusable(path + ".lock", "its directory must exist and be writable for this user")
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            close(lock)
            throw Failure(
                .unavailable,
                "socket \(path): another keeper is running here: stop it, or name another path in [socket]")
        }
        return lock
    }

    deinit {
        close(descriptor)
        close(lock)
    }

    private static func listen(_ plan: StrikePlan, _ group: ControlGroup?) throws(Failure) -> Int32 {
        let path = plan.socketPath
        var address = sockaddr_un()
        guard latch_unix_address(&address, path) == 0 else { throw unusable(path, "choose a shorter path") }
        let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | latch_socket_flags(), 0)
        guard descriptor >= 0 else { throw unusable(path, "raise LimitNOFILE=") }
        unlink(path)
        // No moment at which others could connect: the mode is the socket's before it has a name.
        let isMade =
            fchmod(descriptor, 0o600) == 0
            && withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                }
            }
        guard isMade else {
            let failure = unusable(path, "its directory must exist and be writable for this user")
            close(descriptor)
            throw failure
        }
        do throws(ControlSocketError) {
            try group?.take(path)
        } catch {
            close(descriptor)
            throw plan.refusal(ofGroup: error)
        }
        // By its name, since the umask takes from what is bound: the unit's leaves nothing to a group.
        guard chmod(path, 0o660) == 0 else {
            let failure = unusable(path, "its directory must be this user's")
            close(descriptor)
            throw failure
        }
        guard Glibc.listen(descriptor, backlogConnections) == 0 else {
            let failure = unusable(path, "name another path in [socket]")
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    private static func unusable(_ path: String, _ remedy: String) -> Failure {
        Failure(.unavailable, "socket \(path): \(String(cString: strerror(errno))): \(remedy)")
    }

    enum Arrival {
        case daemon(DaemonConnection)
        /// The user, if the kernel says it.
        case stranger(uid_t?)
    }

    /// Who has connected; nil when nobody waits any more.
    func accept() -> Arrival? {
        let peer = latch_accept(descriptor)
        guard peer >= 0 else { return nil }
        var who: uid_t = 0
        guard latch_peer_user(peer, &who) == 0 else {
            close(peer)
            return .stranger(nil)
        }
        guard who == user else {
            close(peer)
            return .stranger(who)
        }
        return .daemon(DaemonConnection(peer))
    }
}

/// One connection of the lock's daemon.
final class DaemonConnection {
    enum Heard: Equatable {
        case request(StrikeRequest)
        case nothing
        /// It has ended, or says what is no message.
        case end
    }

    let descriptor: Int32
    private var isGreeted = false

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// One message. The first one is a hello of this version.
    func receive() -> Heard {
        var octets = [UInt8](repeating: 0, count: StrikeProtocol.messageMaximumOctets + 1)
        let count = recv(descriptor, &octets, octets.count, 0)
        if count < 0 { return errno == EAGAIN || errno == EINTR ? .nothing : .end }
        guard count > 0, let request = try? StrikeRequest(exactly: Array(octets[..<count])) else { return .end }
        switch request {
        case .hello(StrikeProtocol.version): isGreeted = true
        case .hello:
            send(.unsupported(version: StrikeProtocol.version))
            return .end
        case .order: guard isGreeted else { return .end }
        }
        return .request(request)
    }

    /// False where it does not take it: a daemon that reads nothing is none.
    @discardableResult func send(_ report: StrikeReport) -> Bool {
        let octets = report.encoded
        return Glibc.send(descriptor, octets, octets.count, latch_message_flags()) == octets.count
    }
}
