import CLinux
import Glibc

/// One client of the control socket: one request at a time, answered line by line.
final class ControlConnection {
    /// The user whose process the client is. The kernel said so when the client connected.
    let user: uid_t
    let arrival: UInt64
    private(set) var exchange: ControlExchange?
    var onClosed: (() -> Void)?

    private let descriptor: Int32
    private let loop: any ReadinessLoop
    private let handler: ControlServer.Handler
    private let release: ControlServer.Release
    private var unreleased = 0
    private var framer = LineFramer()
    private var unsent: [UInt8] = []
    private var closesWhenSent = false
    /// What it says is no protocol: nothing more is read as one.
    private var isDeaf = false
    private var isOpen = true

    init(
        descriptor: Int32, user: uid_t, arrival: UInt64, loop: any ReadinessLoop,
        release: @escaping ControlServer.Release,
        handler: @escaping ControlServer.Handler
    ) {
        self.descriptor = descriptor
        self.user = user
        self.arrival = arrival
        self.loop = loop
        self.release = release
        self.handler = handler
    }

    func start() -> Bool {
        loop.watch(descriptor, for: .readable) { [weak self] readiness in self?.ready(readiness) }
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        loop.unwatch(descriptor)
        ControlSocket.hangUp(descriptor)
        exchange?.abandon()
        exchange = nil
        onClosed?()
        onClosed = nil
    }

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        if isOpen, readiness.contains(.readable) || readiness.contains(.hangup) { readOnce() }
    }

    /// One buffer for each readiness, so that no client keeps the loop to itself.
    private func readOnce() {
        var buffer = [UInt8](repeating: 0, count: LineFramer.maximumLineOctets)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count > 0 { return take(buffer[..<count]) }
        if count == 0 || (errno != EAGAIN && errno != EINTR) { close() }
    }

    private func take(_ octets: ArraySlice<UInt8>) {
        do throws(LineFramer.LineTooLong) {
            for line in try framer.receive(octets) where isOpen && !isDeaf { request(line) }
        } catch {
            refuse(
                ControlFailure(.malformed, "a request has at most \(LineFramer.maximumLineOctets) octets"), isLast: true
            )
        }
    }

    private func request(_ line: [UInt8]) {
        guard exchange == nil else {
            return refuse(ControlFailure(.busy, "the request before is not answered yet: use a connection of its own"))
        }
        let exchange = ControlExchange(connection: self)
        self.exchange = exchange
        handler(line, exchange)
    }

    /// Behind the replies that wait for the commit.
    private func refuse(_ failure: ControlFailure, isLast: Bool = false) {
        isDeaf = isDeaf || isLast
        tell(ControlReply.error(failure).line, isLast: isLast)
    }

    /// Whether nobody waits for anything here.
    var isIdle: Bool { exchange == nil && unreleased == 0 }

    /// Whatever a reply says may rest on what is not on disk yet. The next request need not wait for that.
    fileprivate func send(_ reply: ControlReply) {
        if reply.isFinal { exchange = nil }
        tell(reply.line)
    }

    private func tell(_ line: [UInt8], isLast: Bool = false) {
        unreleased += 1
        release { [weak self] in
            guard let self else { return }
            unreleased -= 1
            closesWhenSent = closesWhenSent || isLast
            write(line)
        }
    }

    /// The daemon ends: nothing is committed any more that a reply could wait for.
    func end(with failure: ControlFailure) {
        if exchange?.isOpen == true { write(ControlReply.error(failure).line) }
        // It is not the client who has gone.
        exchange?.onAbandoned = nil
        close()
    }

    private func write(_ octets: [UInt8]) {
        guard isOpen else { return }
        guard unsent.count + octets.count <= ControlServer.maximumUnreadOctets else { return close() }
        unsent += octets
        flush()
    }

    private func flush() {
        guard isOpen else { return }
        while !unsent.isEmpty {
            let sent = unsent.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, latch_message_flags())
            }
            if sent > 0 {
                unsent.removeFirst(sent)
            } else if errno == EAGAIN {
                return loop.change(descriptor, to: [.readable, .writable])
            } else if errno != EINTR {
                return close()
            }
        }
        if closesWhenSent { return close() }
        loop.change(descriptor, to: .readable)
    }
}

/// One request being answered. Whoever holds it may answer later; a client that went away is nobody's fault.
package final class ControlExchange {
    private weak var connection: ControlConnection?
    /// The user whose process the client is. The kernel said so when the client connected.
    package let user: UInt32
    /// Called once if the client goes before its answer is complete.
    package var onAbandoned: (() -> Void)?

    fileprivate init(connection: ControlConnection) {
        self.connection = connection
        user = connection.user
    }

    package var isOpen: Bool { connection != nil }

    package func event(_ name: String, _ fields: JSONObject = [:]) { connection?.send(.event(name, fields)) }

    package func finish(_ result: JSONObject = [:]) { end(.result(result)) }

    package func fail(_ failure: ControlFailure) { end(.error(failure)) }

    private func end(_ reply: ControlReply) {
        let ending = connection
        connection = nil
        onAbandoned = nil
        ending?.send(reply)
    }

    fileprivate func abandon() {
        connection = nil
        let abandoned = onAbandoned
        onAbandoned = nil
        abandoned?()
    }
}
