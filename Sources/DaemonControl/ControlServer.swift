import CLinux
import Glibc

/// A daemon's control socket on the daemon's own loop.
///
/// In: connections of operators, and lines of JSON, one request each. Out: the request and its ``ControlExchange`` for
/// the daemon's handler, and the lines of the answer for the client, after the commit.
///
/// Every bound is small and named: a client that misbehaves loses its connection, and the daemon nothing.
package final class ControlServer {
    /// Connections at once. One more displaces the oldest that waits for nothing; if all wait, it is turned away.
    package static let maximumClients = 16
    /// Octets that a client may leave unread before it loses its connection.
    package static let maximumUnreadOctets = 256 * 1024
    /// Connections taken from the backlog in one iteration of the loop.
    static let maximumAcceptsPerIteration = 32

    /// Takes one request line; it answers by the exchange, now or later.
    package typealias Handler = (_ line: [UInt8], _ exchange: ControlExchange) -> Void
    /// Lets a reply go, in the order of the calls, as soon as everything that the daemon has done so far is on disk: never,
    /// if it does not get there.
    package typealias Release = (_ reply: @escaping () -> Void) -> Void

    private let socket: ControlSocket
    private let loop: any ReadinessLoop
    private let release: Release
    private let handler: Handler
    private var clients: [Int32: ControlConnection] = [:]
    private var arrivals: UInt64 = 0
    private var isClosed = false

    /// From its return on clients can connect: the daemon's own user, root, and the members of `group`.
    ///
    /// - Throws: ``ControlSocketError`` when the socket cannot be bound or given to the group, another daemon listens there,
    /// or the loop cannot watch it.
    package init(
        path: String, group: ControlGroup? = nil, loop: any ReadinessLoop, release: @escaping Release,
        handler: @escaping Handler
    ) throws(ControlSocketError) {
        socket = try ControlSocket(binding: path, for: group)
        self.loop = loop
        self.release = release
        self.handler = handler
        let watched = loop.watch(socket.descriptor, for: .readable) { [weak self] _ in self?.acceptWaiting() }
        guard watched else {
            throw ControlSocketError(reason: .unusable, description: "control socket \(path): the loop cannot watch it")
        }
    }

    /// Looks whether a server could be there. `mayBeMissing`: who starts the daemon makes the socket's directory.
    ///
    /// - Throws: ``ControlSocketError``, with the remedy.
    package static func check(path: String, group: String?, mayBeMissing: Bool) throws(ControlSocketError) {
        try ControlSocket.requireLength(of: path)
        var members: ControlGroup?
        if let group { members = try ControlGroup(named: group) }
        guard let directory = ControlDirectory(of: path) else {
            if mayBeMissing { return }
            throw ControlSocketError(
                reason: .unusable,
                description:
                    "control socket \(path): there is no directory \(ControlDirectory.path(of: path)): make it, or "
                    + "name a socket in another one")
        }
        try directory.require(for: path, members)
    }

    package var clientCount: Int { clients.count }

    /// Ends every exchange with `stopping` and closes. The socket's name goes when the server does.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        loop.unwatch(socket.descriptor)
        for client in clients.values {
            client.end(with: ControlFailure(.stopping, "the daemon is ending"))
        }
        clients.removeAll()
    }

    private func acceptWaiting() {
        for _ in 0..<Self.maximumAcceptsPerIteration {
            guard !isClosed, let accepted = socket.accept() else { return }
            switch accepted {
            case .stranger(let descriptor): ControlSocket.hangUp(descriptor)
            case .client(let descriptor, let user): admit(descriptor, of: user)
            }
        }
    }

    private func admit(_ descriptor: Int32, of user: uid_t) {
        if clients.count >= Self.maximumClients {
            let idle = clients.values.filter(\.isIdle).min { $0.arrival < $1.arrival }
            guard let idle else {
                let line = ControlReply.error(ControlFailure(.busy, "too many clients at once: try again")).line
                _ = send(descriptor, line, line.count, latch_message_flags())
                ControlSocket.hangUp(descriptor)
                return
            }
            idle.close()
        }
        arrivals += 1
        let connection = ControlConnection(
            descriptor: descriptor, user: user, arrival: arrivals, loop: loop, release: release, handler: handler)
        connection.onClosed = { [weak self] in self?.clients[descriptor] = nil }
        clients[descriptor] = connection
        if !connection.start() { connection.close() }
    }
}
