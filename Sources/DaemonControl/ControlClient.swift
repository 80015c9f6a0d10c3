import BluetoothCore
import CLinux
import Glibc

/// Why an operator's command got no answer.
package enum ControlClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Nothing listens at the path.
    case notRunning(path: String)
    case notPermitted(path: String)
    case pathTooLong(path: String)
    /// Others can write to the socket's directory: what listens there may be anybody's.
    case openDirectory(path: String, directory: String)
    /// What listens there is neither the user's who has the directory nor root's.
    case stranger(path: String, user: UInt32)
    case timeout(path: String)
    /// The daemon went away in the middle of its answer.
    case closed(path: String)
    /// What came back is no reply.
    case malformed(path: String)
    case failed(path: String, errno: Int32)

    package var description: String {
        switch self {
        case .notRunning(let path):
            "no daemon is listening on \(path): start it with the `run` command, or name "
                + "its place with --state, --config or --socket"
        case .notPermitted(let path):
            "\(path) may not be opened: only the daemon's own user, root and the members of the group that its "
                + "configuration names may speak to it"
        case .openDirectory(let path, let directory):
            "\(path): other users can write to its directory \(directory), so anybody may listen there: nothing was asked"
        case .stranger(let path, let user):
            "\(path): user \(user) listens there, whose daemon this is not: nothing was asked"
        case .pathTooLong(let path): "\(path): longer than the 107 octets that a unix socket's path can have"
        case .timeout(let path): "the daemon at \(path) did not answer in time"
        case .closed(let path): "the daemon at \(path) went away before its answer was complete"
        case .malformed(let path): "what listens on \(path) does not speak the control protocol"
        case .failed(let path, let number): "\(path): \(String(cString: strerror(number)))"
        }
    }
}

/// An operator's side of the control socket: asks, and blocks for each line until a deadline.
package struct ControlClient: ~Copyable {
    private let descriptor: Int32
    private let path: String
    private var framer: LineFramer
    private var lines: [[UInt8]]

    /// Connects without waiting, to a daemon of root, of this process's user, or of `owner`: who has the socket's directory
    /// unless it is said.
    ///
    /// - Throws: ``ControlClientError``: nobody listens, it may not be opened, the path is too long, or somebody else may be
    /// listening there.
    package init(connectingTo path: String, of owner: uid_t? = nil) throws(ControlClientError) {
        var address = sockaddr_un()
        guard latch_unix_address(&address, path) == 0 else { throw .pathTooLong(path: path) }
        guard let directory = ControlDirectory(of: path) else { throw Self.connectFailure(errno, path: path) }
        guard !directory.isOpenToOthers else { throw .openDirectory(path: path, directory: directory.path) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | latch_socket_flags(), 0)
        guard descriptor >= 0 else { throw .failed(path: path, errno: errno) }
        let connected = latch_connect_unix(descriptor, &address)
        guard connected == 0 else {
            let number = errno
            close(descriptor)
            throw Self.connectFailure(number, path: path)
        }
        var user: uid_t = 0
        guard latch_peer_user(descriptor, &user) == 0 else {
            let number = errno
            close(descriptor)
            throw .failed(path: path, errno: number)
        }
        guard [0, geteuid(), owner ?? directory.owner].contains(user) else {
            close(descriptor)
            throw .stranger(path: path, user: user)
        }
        self.descriptor = descriptor
        self.path = path
        framer = LineFramer(maximumLineOctets: ControlReply.maximumLineOctets)
        lines = []
    }

    deinit { close(descriptor) }

    private static func connectFailure(_ number: Int32, path: String) -> ControlClientError {
        switch number {
        case ENOENT, ECONNREFUSED, ENOTDIR: .notRunning(path: path)
        case EACCES, EPERM: .notPermitted(path: path)
        // A unix socket with a full backlog says EAGAIN to those who do not wait.
        case EAGAIN: .timeout(path: path)
        default: .failed(path: path, errno: number)
        }
    }

    /// Sends the whole request.
    ///
    /// - Throws: ``ControlClientError/timeout(path:)`` at the deadline, ``ControlClientError/closed(path:)`` when the
    /// daemon goes away.
    package mutating func send(_ request: some ControlRequest, deadline: Instant) throws(ControlClientError) {
        var octets = request.line[...]
        while !octets.isEmpty {
            let sent = octets.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, latch_message_flags())
            }
            if sent > 0 {
                octets.removeFirst(sent)
            } else if errno == EAGAIN {
                try wait(for: Int16(POLLOUT), until: deadline)
            } else if errno != EINTR {
                throw .closed(path: path)
            }
        }
    }

    /// The next line of the answer. No deadline waits for as long as the daemon lives.
    ///
    /// - Throws: ``ControlClientError``: no line in time, the daemon went away, or what came is no reply.
    package mutating func next(deadline: Instant?) throws(ControlClientError) -> ControlReply {
        while lines.isEmpty { try receive(deadline: deadline) }
        guard let reply = ControlReply(line: lines.removeFirst()) else { throw .malformed(path: path) }
        return reply
    }

    /// The next line of the answer; nil as soon as `descriptor` is readable, if that is before.
    ///
    /// - Throws: ``ControlClientError``: the daemon went away, or what came is no reply.
    package mutating func next(unlessReadable descriptor: Int32) throws(ControlClientError) -> ControlReply? {
        while lines.isEmpty {
            var interests = [self.descriptor, descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            _ = poll(&interests, 2, -1)
            if interests[1].revents != 0 { return nil }
            if interests[0].revents != 0 { try receive(deadline: nil) }
        }
        return try next(deadline: nil)
    }

    private mutating func receive(deadline: Instant?) throws(ControlClientError) {
        var buffer = [UInt8](repeating: 0, count: LineFramer.maximumLineOctets)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count > 0 {
            do throws(LineFramer.LineTooLong) { lines = try framer.receive(buffer[..<count]) } catch {
                throw .malformed(path: path)
            }
        } else if count == 0 {
            throw .closed(path: path)
        } else if errno == EAGAIN {
            try wait(for: Int16(POLLIN), until: deadline)
        } else if errno != EINTR {
            throw .closed(path: path)
        }
    }

    private func wait(for events: Int16, until deadline: Instant?) throws(ControlClientError) {
        var milliseconds: Int32 = -1
        if let deadline {
            let now = Instant(nanoseconds: latch_boottime_nanoseconds())
            guard now < deadline else { throw .timeout(path: path) }
            // Rounded up: a wait of less than a millisecond is not a busy loop.
            milliseconds = Int32(clamping: deadline.milliseconds(since: now) + 1)
        }
        var interest = pollfd(fd: descriptor, events: events, revents: 0)
        _ = poll(&interest, 1, milliseconds)
    }
}

extension ControlClient {
    /// Asks once, hands every event to `event`, and returns the result.
    ///
    /// - Throws: ``ControlFailure`` when the daemon refuses, ``ControlClientError`` when it does not answer; what `event` throws.
    package static func ask(
        _ path: String, _ request: some ControlRequest, deadline: Instant?, event: (String, JSONObject) throws -> Void
    ) throws -> JSONObject {
        var client = try ControlClient(connectingTo: path)
        return try client.ask(request, deadline: deadline, event: event)
    }

    /// The same over a connection that may ask again.
    package mutating func ask(
        _ request: some ControlRequest, deadline: Instant?,
        event: (String, JSONObject) throws -> Void = { _, _ in }
    ) throws -> JSONObject {
        let sendDeadline = Instant(nanoseconds: latch_boottime_nanoseconds()).advanced(byMilliseconds: 5_000)
        try send(request, deadline: min(sendDeadline, deadline ?? sendDeadline))
        while true {
            switch try next(deadline: deadline) {
            case .event(let name, let fields): try event(name, fields)
            case .result(let result): return result
            case .error(let failure): throw failure
            }
        }
    }
}
