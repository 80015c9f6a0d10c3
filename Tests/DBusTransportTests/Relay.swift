import CLinux
import Glibc
import TestSupport
import Testing

/// Stands between one connection and its bus. It passes on all that the bus says; of the connection it passes on the authentication and the
/// first message, by which it gets its name, and holds what it asks then until it is let go.
///
/// D-Bus Specification, Authentication Protocol; Message Protocol
final class Relay {
    /// Where the connection finds the bus.
    let address: String
    private let folder = ScratchDirectory()
    private let listener: Int32
    private let bus: Int32
    private var connection: Int32 = -1
    private var asked: [UInt8] = []
    private var passed = 0
    private var isLetGo = false
    /// What the bus has said so far.
    private(set) var said = ""

    init(to bus: String) throws {
        address = "unix:path=\(folder.path)/relay"
        listener = try makeListener(at: folder.path + "/relay")
        self.bus = try makeConnection(to: String(bus.dropFirst("unix:path=".count)))
    }

    deinit { for descriptor in [listener, bus, connection] where descriptor >= 0 { close(descriptor) } }

    /// Waits for the connection.
    func begin() throws { connection = try acceptConnection(listener) }

    /// From now on all is passed on.
    func letGo() { isLetGo = true }

    /// Passes on what comes until the bus has said something, or one of the two has ended.
    func pass(until hasSaid: (String) -> Bool) throws {
        while !hasSaid(said) {
            let end = passable
            try write(Array(asked[passed..<end]), to: bus)
            passed = end
            var both = [connection, bus].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            try #require(poll(&both, 2, -1) > 0)
            if both[0].revents != 0 {
                guard let octets = read(connection) else { return }
                asked += octets
            }
            if both[1].revents != 0 {
                guard let octets = read(bus) else { return }
                said += String(decoding: octets, as: UTF8.self)
                try write(octets, to: connection)
            }
        }
    }

    /// So much of what was asked is not held.
    private var passable: Int {
        guard !isLetGo, let authenticated = asked.firstRange(of: Array("BEGIN\r\n".utf8))?.upperBound else {
            return asked.count
        }
        let message = asked[authenticated...]
        guard message.count >= 16 else { return authenticated }
        func number(at offset: Int) -> Int {
            message.dropFirst(offset).prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        // The body's length and that of the header's fields, which end at a multiple of eight.
        return min(asked.count, authenticated + 16 + (number(at: 12) + 7) / 8 * 8 + number(at: 4))
    }

    /// nil where nothing comes any more.
    private func read(_ descriptor: Int32) -> [UInt8]? {
        var octets = [UInt8](repeating: 0, count: 4_096)
        let count = octets.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        return count > 0 ? Array(octets.prefix(count)) : nil
    }

    private func write(_ octets: [UInt8], to descriptor: Int32) throws {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, latch_message_flags()) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
