import CLinux
import Glibc
import HCI
import TestSupport
import Testing

@testable import HCITransport

/// HCI_Reset.
private let reset: [UInt8] = [1, 3, 0x0C, 0]

/// Opens and closes again; the error, if any.
private func failure(_ address: TransportAddress) -> TransportError? {
    do throws(TransportError) {
        let transport = try Transport.open(address)
        try transport.finish()
        return nil
    } catch { return error }
}

extension Transport {
    /// Waits for the peer of a connection that was begun.
    fileprivate borrowing func finish() throws(TransportError) {
        guard isConnecting else { return }
        var waiting = pollfd(fd: descriptor.rawValue, events: Int16(POLLOUT), revents: 0)
        _ = poll(&waiting, 1, -1)
        try finishConnecting()
    }
}

@Suite("Opening a transport")
struct TransportTests {
    private func expect(
        _ address: TransportAddress, _ kind: TransportError.Kind, _ remedy: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = failure(address)
        #expect(error?.kind == kind, sourceLocation: sourceLocation)
        #expect(error?.description.contains(remedy) == true, "\(error as Any)", sourceLocation: sourceLocation)
        #expect(error?.description.contains("\n") == false, sourceLocation: sourceLocation)
    }

    @Test("a unix socket: packets both ways, nothing inherited, never blocking")
    func unix() throws {
        let directory = try TemporaryDirectory()
        let listener = try Listener(unix: directory.file)
        let transport = try Transport.open(.unix(path: directory.file))
        #expect(transport.framing == .stream)
        #expect(latch_fcntl(transport.descriptor.rawValue, F_GETFD, 0) & FD_CLOEXEC != 0)
        #expect(latch_fcntl(transport.descriptor.rawValue, F_GETFL, 0) & O_NONBLOCK != 0)
        let controller = try listener.acceptOne()
        let stream = HCIStream(transport)
        try stream.send(reset.span.bytes)
        try stream.flush()
        #expect(controller.get() == [1, 3, 0x0C, 0])
    }

    @Test("TCP to a number: no small packet is held back")
    func tcp() throws {
        var port: UInt16 = 0
        let listener = try Listener(loopback: &port)
        let transport = try Transport.open(.tcp(host: "127.0.0.1", port: port))
        try transport.finish()
        var on: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        #expect(getsockopt(transport.descriptor.rawValue, Int32(IPPROTO_TCP), TCP_NODELAY, &on, &length) == 0)
        #expect(on == 1)
        let controller = try listener.acceptOne()
        let stream = HCIStream(transport)
        try stream.send(reset.span.bytes)
        try stream.flush()
        #expect(controller.get() == [1, 3, 0x0C, 0])
    }

    @Test("TCP to a name, or to where nobody listens")
    func tcpFailures() throws {
        expect(.tcp(host: "localhost", port: 1), .malformedAddress, "numeric")
        var port: UInt16 = 0
        do { _ = try Listener(loopback: &port) }
        expect(.tcp(host: "127.0.0.1", port: port), .refused, "start the controller")
    }

    @Test("a unix path that is missing, dead, or one octet too long")
    func unixFailures() throws {
        let directory = try TemporaryDirectory()
        expect(.unix(path: directory.file), .notFound, "no such socket")
        do { _ = try Listener(unix: directory.file) }
        expect(.unix(path: directory.file), .refused, "start the controller")
        expect(.unix(path: "/" + String(repeating: "a", count: 106)), .notFound, "no such socket")
        expect(.unix(path: "/" + String(repeating: "a", count: 107)), .malformedAddress, "at most 107 octets")
    }

    @Test("a serial line that is missing, is none, or has no such speed")
    func serialFailures() throws {
        expect(.serial(device: "/dev/none", baud: 115_200, flowControl: false), .notFound, "attached")
        expect(.serial(device: "/dev/null", baud: 115_200, flowControl: false), .unsupported, "not a serial line")
        expect(.serial(device: "/dev/null", baud: 12_345, flowControl: false), .malformedAddress, "115200")
    }

    @Test("a serial line that the file's mode or the unit keeps back: each has its own remedy")
    func serialForbidden() {
        let (mode, unit) = (openFailure(EACCES, "/dev/ttyS0"), openFailure(EPERM, "/dev/ttyS0"))
        #expect(mode.kind == .notPermitted && unit.kind == .notPermitted)
        #expect(mode.description.contains("`SupplementaryGroups=`") && !mode.description.contains("DeviceAllow"))
        #expect(unit.description.contains("`DeviceAllow=/dev/ttyS0 rw`") && !unit.description.contains("group"))
    }

    private static let speeds: [(UInt32, Int32)] = [
        (9_600, B9600), (115_200, B115200), (921_600, B921600), (3_000_000, B3000000),
    ]

    @Test(
        "a serial line has the speed and the flow control that were asked for",
        arguments: speeds, [false, true])
    func serialSettings(_ speed: (UInt32, Int32), _ flowControl: Bool) throws {
        let terminal = try Terminal()
        let transport = try Transport.open(
            .serial(device: terminal.device, baud: speed.0, flowControl: flowControl))
        var usesFlowControl: Int32 = -1
        let taken = latch_serial_speed(transport.descriptor.rawValue, &usesFlowControl)
        #expect(taken == speed_t(speed.1))
        #expect(usesFlowControl == (flowControl ? 1 : 0))
        #expect(transport.framing == .stream)
    }

    @Test("a serial line whose other end closes is gone")
    func serialHangup() throws {
        var terminal: Terminal? = try Terminal()
        let device = try #require(terminal).device
        let stream = HCIStream(try Transport.open(.serial(device: device, baud: 115_200, flowControl: false)))
        terminal = nil
        #expect(throws: HCIStreamError.endOfFile(midPacket: false)) { try stream.packets() }
    }

    @Test("a serial line carries octets raw, and has one owner")
    func serial() throws {
        let terminal = try Terminal()
        let address = TransportAddress.serial(device: terminal.device, baud: 115_200, flowControl: false)
        let stream = HCIStream(try Transport.open(address))
        // What a line discipline that is not raw would change: CR, LF, XON, XOFF, interrupt, end of file.
        let octets: [UInt8] = [4, 0x57, 6, 0x0D, 0x0A, 0x11, 0x13, 0x03, 0x04]
        try terminal.master.put(octets)
        #expect(try stream.packets() == [octets])
        try stream.send(octets.span.bytes)
        try stream.flush()
        #expect(terminal.master.get() == octets)
        expect(address, .busy, "another process has it")
    }

    @Test("an inherited descriptor is taken over; one that is not open is refused")
    func inherited() throws {
        let stream = try makeSocketPair()
        let controller = OwnedDescriptor(stream.0)
        do {
            let transport = try Transport.open(.inherited(stream.1))
            #expect(transport.framing == .stream)
        }
        #expect(controller.get() == [], "closed with its owner")
        let datagrams = try makeSocketPair(SOCK_SEQPACKET)
        let other = OwnedDescriptor(datagrams.0)
        let packets = try Transport.open(.inherited(datagrams.1))
        #expect(packets.framing == .packets)
        _ = other
        expect(.inherited(.max), .notFound, "not open")
    }

    @Test("a descriptor with no controller at its other end is refused, and left as it was to whom it belongs")
    func mistakenNumber() throws {
        let directory = try TemporaryDirectory()
        let place = try TemporaryDirectory()
        let file = OwnedDescriptor(latch_open(directory.file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
        let null = OwnedDescriptor(latch_open("/dev/null", O_RDWR | O_CLOEXEC, 0))
        let listener = try Listener(unix: place.file)
        let waiting = OwnedDescriptor(epoll_create1(O_CLOEXEC))
        for number in [file.rawValue, null.rawValue, listener.descriptor.rawValue, waiting.rawValue] {
            expect(.inherited(number), .unsupported, "neither a connected socket nor a serial line")
        }
        try file.put([1])
        var status = stat()
        #expect(fstat(file.rawValue, &status) == 0 && status.st_size == 1, "neither closed nor written to")
        #expect(latch_fcntl(file.rawValue, F_GETFL, 0) & O_NONBLOCK == 0)
    }

    @Test("the user channel without a kernel, an adapter or a permission for it says which")
    func userChannel() throws {
        let error = try #require(failure(.userChannel(.number(65_000), takes: false)))
        #expect([.unsupported, .notFound, .notPermitted].contains(error.kind), "\(error)")
        #expect(error.description.hasPrefix("hci:65000: "))
    }
}
