import CBlueZ
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

    package init(_ descriptor: consuming OwnedDescriptor, framing: Framing) {
        self.descriptor = descriptor
        self.framing = framing
    }

    /// How long a socket's peer may take to accept.
    package static let connectTimeoutMilliseconds: Int32 = 5_000

    /// Opens what `address` names. It blocks for at most ``connectTimeoutMilliseconds``.
    package static func open(_ address: TransportAddress) throws(TransportError) -> Transport {
        switch address {
        case .unix(let path): Transport(try connectUnix(path), framing: .stream)
        case .tcp(let host, let port): Transport(try connectTCP(host, port, "\(address)"), framing: .stream)
        case .serial(let device, let baud, let flowControl):
            Transport(try openSerial(device, baud: baud, flowControl: flowControl), framing: .stream)
        case .userChannel(let number): Transport(try bindUserChannel(number), framing: .packets)
        case .inherited(let number): try adopt(number)
        }
    }

    private static func connectUnix(_ path: String) throws(TransportError) -> OwnedDescriptor {
        var address = sockaddr_un()
        guard latch_unix_address(&address, path) == 0 else {
            let limit = MemoryLayout.size(ofValue: address.sun_path) - 1
            throw TransportError(
                .malformedAddress,
                "unix:\(path): a socket's path has at most \(limit) octets, this one \(path.utf8.count); move it or"
                    + " link to it")
        }
        let descriptor = try makeSocket(AF_UNIX, "unix:\(path)")
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor.rawValue, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try finishConnecting(descriptor, result: result, "unix:\(path)")
        return descriptor
    }

    private static func connectTCP(
        _ host: String, _ port: UInt16, _ name: String
    ) throws(TransportError) -> OwnedDescriptor {
        var address = sockaddr_storage()
        let length = latch_tcp_address(&address, host, port)
        guard length > 0 else {
            throw TransportError(
                .malformedAddress, "\(name): \"\(host)\" is no numeric IPv4 or IPv6 address; names are not resolved")
        }
        let descriptor = try makeSocket(Int32(address.ss_family), name)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor.rawValue, $0, socklen_t(length))
            }
        }
        try finishConnecting(descriptor, result: result, name)
        // HCI is small packets that wait for each other: Nagle's algorithm would hold each back.
        var on: Int32 = 1
        setsockopt(
            descriptor.rawValue, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        return descriptor
    }

    private static func makeSocket(_ family: Int32, _ name: String) throws(TransportError) -> OwnedDescriptor {
        let flags = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let raw = socket(family, Int32(flags), 0)
        guard raw >= 0 else { throw TransportError(system: errno, "\(name): no socket") }
        return OwnedDescriptor(raw)
    }

    /// Waits for a connection that was begun.
    private static func finishConnecting(
        _ descriptor: borrowing OwnedDescriptor, result: Int32, _ name: String
    ) throws(TransportError) {
        var number = result == 0 ? 0 : errno
        if number == EINPROGRESS {
            var waiting = pollfd(fd: descriptor.rawValue, events: Int16(POLLOUT), revents: 0)
            guard poll(&waiting, 1, connectTimeoutMilliseconds) == 1 else {
                throw TransportError(
                    .timedOut,
                    "\(name): no answer within \(connectTimeoutMilliseconds / 1000) s; is the controller's host up?")
            }
            var length = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor.rawValue, SOL_SOCKET, SO_ERROR, &number, &length)
        }
        switch number {
        case 0: return
        case ENOENT: throw TransportError(.notFound, "\(name): no such socket; start the controller that makes it")
        case ECONNREFUSED: throw TransportError(.refused, "\(name): nobody listens there; start the controller")
        case EACCES, EPERM:
            throw TransportError(
                .notPermitted, "\(name): not permitted; let this user write to the socket and enter its directory")
        case EAGAIN: throw TransportError(.busy, "\(name): too many wait to be accepted there; try again later")
        default: throw TransportError(system: number, name)
        }
    }

    /// The user channel gives this process the controller alone, as `bluetoothd` and the kernel have it otherwise.
    private static func bindUserChannel(_ number: UInt16) throws(TransportError) -> OwnedDescriptor {
        let raw = latch_hci_socket()
        guard raw >= 0 else {
            switch errno {
            case EAFNOSUPPORT, EPROTONOSUPPORT:
                throw TransportError(
                    .unsupported, "hci:\(number): this kernel has no Bluetooth sockets; load the module \"bluetooth\"")
            case EPERM, EACCES: throw notPermitted(number)
            case let other: throw TransportError(system: other, "hci:\(number): no Bluetooth socket")
            }
        }
        let descriptor = OwnedDescriptor(raw)
        guard latch_hci_bind_user_channel(descriptor.rawValue, number) == 0 else {
            switch errno {
            case EBUSY, EALREADY, EUSERS:
                throw TransportError(
                    .busy,
                    "hci\(number) is held by bluetoothd or is up: stop bluetooth.service or keep it from this adapter,"
                        + " then \"hciconfig hci\(number) down\"")
            case ENODEV:
                throw TransportError(
                    .notFound, "hci:\(number): no such adapter; \"ls /sys/class/bluetooth\" names those that are")
            case EPERM, EACCES: throw notPermitted(number)
            case EINVAL, EOPNOTSUPP:
                throw TransportError(
                    .unsupported, "hci:\(number): this kernel gives no user channel; it needs Linux 3.14 or later")
            case let other: throw TransportError(system: other, "hci:\(number): no user channel")
            }
        }
        return descriptor
    }

    private static func notPermitted(_ number: UInt16) -> TransportError {
        TransportError(
            .notPermitted,
            "hci:\(number): not permitted; give this service AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW")
    }

    private static func adopt(_ number: Int32) throws(TransportError) -> Transport {
        guard latch_fcntl(number, F_GETFD, 0) >= 0 else {
            throw TransportError(.notFound, "fd:\(number): not open; it must be inherited from whoever starts this")
        }
        let descriptor = OwnedDescriptor(number)
        guard descriptor.makeNonblocking() else {
            throw TransportError(system: errno, "fd:\(number): cannot be made nonblocking")
        }
        let isStream = descriptor.socketType.map { $0 == Int32(SOCK_STREAM.rawValue) } ?? true
        return Transport(descriptor, framing: isStream ? .stream : .packets)
    }
}
