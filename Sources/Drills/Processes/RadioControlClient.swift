import CLinux
import Glibc

/// A blocking unix stream connection.
final class UnixConnection {
    let descriptor: Int32

    init(path: String) throws {
        var address = sockaddr_un()
        guard latch_unix_address(&address, path) == 0 else {
            throw DrillError(.environment, "\(path) is too long for a unix socket: set TMPDIR to a shorter one")
        }
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | latch_socket_flags(), 0)
        guard descriptor >= 0 else { throw DrillError.system("cannot make a socket") }
        let connected = latch_connect_unix(descriptor, &address)
        guard connected == 0 else { throw DrillError.system("cannot connect to \(path)") }
    }

    deinit { close(descriptor) }

    func send(_ octets: [UInt8], _ waiter: Waiter, until deadline: UInt64) throws {
        var rest = octets[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, latch_message_flags()) }
            if sent > 0 {
                rest.removeFirst(sent)
            } else if sent < 0 && errno == EAGAIN {
                guard try waiter.wait(descriptor, POLLOUT, until: deadline) else {
                    throw DrillError(.stuck, "a peer takes nothing")
                }
            } else if !(sent < 0 && errno == EINTR) {
                throw DrillError.system("a connection broke")
            }
        }
    }

    /// What is there, waiting for it until the deadline; empty when nothing comes.
    func receive(_ waiter: Waiter, until deadline: UInt64) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 { return Array(buffer[..<count]) }
            guard count < 0, errno == EAGAIN || errno == EINTR else {
                throw DrillError(.stuck, "a connection was closed by its other side")
            }
            guard try waiter.wait(descriptor, POLLIN, until: deadline) else { return [] }
        }
    }
}

/// Speaks the radio's line protocol.
final class RadioControlClient {
    private let connection: UnixConnection
    private let waiter: Waiter
    private var pending: [UInt8] = []

    static let answerMilliseconds: UInt64 = 5_000

    init(path: String, waiter: Waiter) throws {
        connection = try UnixConnection(path: path)
        self.waiter = waiter
    }

    /// One line, and the answer behind its `ok`.
    @discardableResult
    func ask(_ line: String) throws -> String {
        let deadline = Clock.now + Clock.milliseconds(Self.answerMilliseconds)
        try connection.send(Array((line + "\n").utf8), waiter, until: deadline)
        while true {
            if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                let answer = String(decoding: pending[..<end], as: UTF8.self)
                pending.removeFirst(end + 1)
                guard answer.hasPrefix("ok") else {
                    throw DrillError(.stuck, "the radio says to `\(line)`: \(answer)")
                }
                return String(answer.dropFirst(3))
            }
            let octets = try connection.receive(waiter, until: deadline)
            guard !octets.isEmpty else { throw DrillError(.stuck, "the radio does not answer `\(line)`") }
            pending += octets
        }
    }

    func setDistance(_ a: RadioName, _ b: RadioName, metres: Int) throws { try ask("distance \(a) \(b) \(metres)") }
}

/// One of the radio's adapters: a socket, and a public address that outlives every host.
struct RadioAdapter {
    let number: Int

    /// `latch-lab radio --help` gives them.
    var address: UInt64 { 0x024C_4101_0000 + UInt64(number) }
    var name: RadioName { RadioName(address: address) }

    func socket(of air: String) -> String { "\(air).\(number)" }
}

/// An address as the radio's control socket writes it.
struct RadioName: Hashable, Sendable, CustomStringConvertible {
    let address: UInt64

    var description: String {
        (0..<6).reversed().map { hex([UInt8(truncatingIfNeeded: address >> (8 * UInt64($0)))]) }.joined(separator: ":")
    }
}
