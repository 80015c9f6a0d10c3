import BluetoothCore
import CLinux
import Glibc
import TestSupport
import Testing

@testable import HCITransport

/// A directory of its own for one test, removed at its end.
final class TemporaryDirectory {
    let path: String

    init() throws {
        var template = Array("/tmp/latch-XXXXXX".utf8CString)
        path = try #require(mkdtemp(&template).map { String(cString: $0) })
    }

    deinit {
        _ = remove("\(path)/file")
        rmdir(path)
    }

    var file: String { "\(path)/file" }
}

/// A listening socket that the test accepts from.
struct Listener: ~Copyable {
    let descriptor: OwnedDescriptor

    init(unix path: String) throws {
        descriptor = OwnedDescriptor(try makeListener(at: path))
    }

    init(loopback port: inout UInt16) throws {
        let made = OwnedDescriptor(try makeSocket(AF_INET))
        var address = sockaddr_storage()
        var length = socklen_t(latch_tcp_address(&address, "127.0.0.1", 0))
        let raw = made.rawValue
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(raw, $0, length) == 0 && listen(raw, 4) == 0 && getsockname(raw, $0, &length) == 0
            }
        }
        try #require(bound)
        descriptor = made
        port = withUnsafeBytes(of: &address) { UInt16($0[2]) << 8 | UInt16($0[3]) }
    }

    func acceptOne() throws -> OwnedDescriptor {
        OwnedDescriptor(try acceptConnection(descriptor.rawValue))
    }
}

/// Two ends of one connection: ours, nonblocking, and the controller's.
struct Pair: ~Copyable {
    let controller: OwnedDescriptor
    let stream: HCIStream

    init(
        framing: Transport.Framing = .stream, capture: BTSnoopWriter? = nil,
        now: @escaping () -> Instant = { Instant(nanoseconds: 0) }
    ) throws {
        let ends = try makeSocketPair(framing == .stream ? SOCK_STREAM : SOCK_SEQPACKET)
        let ours = OwnedDescriptor(ends.1)
        let isNonblocking = ours.makeNonblocking()
        try #require(isNonblocking)
        controller = OwnedDescriptor(ends.0)
        stream = HCIStream(Transport(ours, framing: framing, name: "pair"), capture: capture, now: now)
    }
}

/// A terminal in place of a UART, and the end at which the controller sits.
final class Terminal {
    let master: OwnedDescriptor
    let device: String

    init() throws {
        var masterEnd: Int32 = -1
        var deviceEnd: Int32 = -1
        var name = [CChar](repeating: 0, count: 128)
        let opened = openpty(&masterEnd, &deviceEnd, &name, nil, nil)
        try #require(opened == 0)
        master = OwnedDescriptor(masterEnd)
        close(deviceEnd)
        device = name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }
}

extension OwnedDescriptor {
    borrowing func put(_ octets: [UInt8]) throws {
        let count = write(rawValue, octets, octets.count)
        try #require(count == octets.count)
    }

    borrowing func get(_ most: Int = 65_536) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: most)
        let count = read(rawValue, &octets, most)
        return Array(octets.prefix(max(0, count)))
    }
}

func contents(of path: String) -> [UInt8] {
    let descriptor = OwnedDescriptor(latch_open(path, O_RDONLY, 0))
    return descriptor.get()
}
