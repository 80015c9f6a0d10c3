import CLinux
import Glibc

/// An open way to a controller: a nonblocking descriptor, and whether its reads are packets or a stream of octets.
package struct Transport: ~Copyable, Sendable {
    package enum Framing: Sendable {
        /// H4: packets follow each other without boundaries.
        case stream
        /// One packet, indicator first, in each read and write.
        case packets
    }

    package let descriptor: OwnedDescriptor
    package let framing: Framing
    /// What errors call it.
    package let name: String
    /// The peer has not accepted yet: ``finishConnecting()`` once the descriptor is writable.
    package let isConnecting: Bool

    package init(
        _ descriptor: consuming OwnedDescriptor, framing: Framing, name: String, isConnecting: Bool = false
    ) {
        self.descriptor = descriptor
        self.framing = framing
        self.name = name
        self.isConnecting = isConnecting
    }

    /// Opens what `address` names, without waiting for anybody.
    ///
    /// - Throws: ``TransportError``, which says whether waiting mends it.
    package static func open(_ address: TransportAddress) throws(TransportError) -> Transport {
        let name = "\(address)"
        return switch address {
        case .unix(let path): try connectUnix(path, name)
        case .tcp(let host, let port): try connectTCP(host, port, name)
        case .serial(let device, let baud, let flowControl):
            Transport(try openSerial(device, baud: baud, flowControl: flowControl), framing: .stream, name: name)
        case .userChannel(let adapter, let takes):
            Transport(try openUserChannel(adapter, takes: takes, name), framing: .packets, name: name)
        case .inherited(let number): try adopt(number, name)
        }
    }

    /// To be called once the descriptor of a connection that was begun is writable.
    ///
    /// - Throws: ``TransportError`` when the peer has not accepted.
    package borrowing func finishConnecting() throws(TransportError) {
        var number: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor.rawValue, SOL_SOCKET, SO_ERROR, &number, &length)
        if number != 0 { throw Self.connectError(number, name) }
    }

    private static func connectUnix(_ path: String, _ name: String) throws(TransportError) -> Transport {
        var address = sockaddr_un()
        guard latch_unix_address(&address, path) == 0 else {
            let limit = MemoryLayout.size(ofValue: address.sun_path) - 1
            throw TransportError(
                .malformedAddress,
                "unix:\(path): a socket's path has at most \(limit) octets, this one \(path.utf8.count); move it or"
                    + " link to it")
        }
        let descriptor = try makeSocket(AF_UNIX, name)
        let raw = descriptor.rawValue
        let result = latch_connect_unix(raw, &address)
        guard result == 0 else { throw connectError(errno, name) }
        return Transport(descriptor, framing: .stream, name: name)
    }

    private static func connectTCP(_ host: String, _ port: UInt16, _ name: String) throws(TransportError) -> Transport {
        var address = sockaddr_storage()
        let length = latch_tcp_address(&address, host, port)
        guard length > 0 else {
            throw TransportError(
                .malformedAddress, "\(name): \"\(host)\" is no numeric IPv4 or IPv6 address; names are not resolved")
        }
        let descriptor = try makeSocket(Int32(address.ss_family), name)
        let raw = descriptor.rawValue
        // HCI is small packets that wait for each other: Nagle's algorithm would hold each back.
        var on: Int32 = 1
        guard setsockopt(raw, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw TransportError(system: errno, "\(name): TCP_NODELAY")
        }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(raw, $0, socklen_t(length)) }
        }
        guard result == 0 || errno == EINPROGRESS else { throw connectError(errno, name) }
        return Transport(descriptor, framing: .stream, name: name, isConnecting: result != 0)
    }

    private static func makeSocket(_ family: Int32, _ name: String) throws(TransportError) -> OwnedDescriptor {
        let raw = socket(family, latch_stream() | latch_socket_flags(), 0)
        guard raw >= 0 else { throw TransportError(system: errno, "\(name): no socket") }
        return OwnedDescriptor(raw)
    }

    private static func connectError(_ number: Int32, _ name: String) -> TransportError {
        switch number {
        case ENOENT: TransportError(.notFound, "\(name): no such socket; start the controller that makes it")
        case ECONNREFUSED: TransportError(.refused, "\(name): nobody listens there; start the controller")
        case ETIMEDOUT, EHOSTUNREACH, ENETUNREACH:
            TransportError(.timedOut, "\(name): \(systemMessage(number)); is the controller's host up?")
        case EACCES, EPERM:
            TransportError(
                .notPermitted, "\(name): not permitted; let this user write to the socket and enter its directory")
        case EAGAIN: TransportError(.busy, "\(name): too many wait to be accepted there; try again later")
        default: TransportError(system: number, name)
        }
    }

    /// What can have a controller at its other end: no file, no pipe, none that listens, nothing to wait with.
    private static func isConnection(_ number: Int32) -> Bool {
        var listens: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 else { return isatty(number) == 1 }
        return listens == 0
    }

    private static func adopt(_ number: Int32, _ name: String) throws(TransportError) -> Transport {
        guard latch_fcntl(number, F_GETFD, 0) >= 0 else {
            throw TransportError(.notFound, "\(name): not open; it must be inherited from whoever starts this")
        }
        // Before it is owned, which closes it: a mistaken number may be that of a database that this process has open.
        guard Self.isConnection(number) else {
            throw TransportError(
                .unsupported,
                "\(name): neither a connected socket nor a serial line; it must be inherited from whoever starts this")
        }
        let descriptor = OwnedDescriptor(number)
        guard descriptor.makeNonblocking() else {
            throw TransportError(system: errno, "\(name): cannot be made nonblocking")
        }
        let isStream = descriptor.socketType.map { $0 == latch_stream() } ?? true
        return Transport(descriptor, framing: isStream ? .stream : .packets, name: name)
    }
}
