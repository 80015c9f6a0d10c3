import BluetoothCore
import CLinux
import Glibc
import StrikeControl

/// What is heard of a strike's keeper.
package enum StrikeNews: Hashable, Sendable {
    case report(StrikeReport)
    /// The connection has ended.
    case gone
}

/// The way to a strike's keeper. ``StrikeSocketLink`` is a unix socket.
package protocol StrikeLink: AnyObject {
    /// Readable while there is something to hear; the same one for all its life.
    var descriptor: Int32 { get }
    /// Connects and says hello. Why that is not possible at present, or nil.
    func connect() -> String?
    /// False where the connection has ended: then nothing has been sent.
    func send(_ request: StrikeRequest) -> Bool
    /// What has been heard, one thing; nil for nothing yet.
    func next() -> StrikeNews?
    /// Returns when there is something to hear, or when this time is over.
    func wait(milliseconds: UInt64)
}

/// The keeper's unix socket.
package final class StrikeSocketLink: StrikeLink {
    package struct Failure: Error, Equatable {
        /// errno
        package let number: Int32
    }

    private let path: String
    package let descriptor: Int32
    /// -1 without a connection.
    private var connection: Int32 = -1

    /// - Throws: ``Failure`` where the kernel gives no descriptor.
    package init(path: String) throws(Failure) {
        self.path = path
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw Failure(number: errno) }
    }

    deinit {
        hangUp()
        close(descriptor)
    }

    package func connect() -> String? {
        hangUp()
        var address = sockaddr_un()
        guard latch_unix_address(&address, path) == 0 else { return reason(errno) }
        let made = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | latch_socket_flags(), 0)
        guard made >= 0 else { return reason(errno) }
        let status = latch_connect_unix(made, &address)
        guard status == 0, latch_epoll_add(descriptor, made, EPOLLIN.rawValue, 0) == 0 else {
            defer { close(made) }
            return reason(errno)
        }
        connection = made
        return send(.hello(version: StrikeProtocol.version)) ? nil : reason(EPIPE)
    }

    private func reason(_ code: Int32) -> String { "\(path): \(String(cString: strerror(code)))" }

    package func send(_ request: StrikeRequest) -> Bool {
        guard connection >= 0 else { return false }
        let octets = request.encoded
        // It waits for nobody: a keeper that takes no message is none.
        guard Glibc.send(connection, octets, octets.count, latch_message_flags()) == octets.count else {
            hangUp()
            return false
        }
        return true
    }

    package func next() -> StrikeNews? {
        guard connection >= 0 else { return nil }
        var octets = [UInt8](repeating: 0, count: StrikeProtocol.messageMaximumOctets + 1)
        let count = recv(connection, &octets, octets.count, 0)
        if count < 0, errno == EAGAIN || errno == EINTR { return nil }
        guard count > 0, let report = try? StrikeReport(exactly: Array(octets[..<count])) else {
            hangUp()
            return .gone
        }
        return .report(report)
    }

    package func wait(milliseconds: UInt64) {
        var interest = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = latch_poll(&interest, 1, milliseconds * 1_000_000)
    }

    private func hangUp() {
        guard connection >= 0 else { return }
        close(connection)
        connection = -1
    }
}
