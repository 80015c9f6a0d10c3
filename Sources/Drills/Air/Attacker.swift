/// Somebody with a recording and the address of whom it was recorded from.
///
/// Resolution identifies and never authenticates: the lock takes the address for the key's, looks its bond up, and has
/// to see through everything that follows.
final class Attacker {
    private let socket: HCISocket
    /// Which controller of the radio it is.
    let ordinal: Int
    /// What the radio's control socket calls it, unlike the address that it borrows.
    let name: RadioName
    private(set) var link: UInt16?
    private(set) var notifications: [(handle: UInt16, value: [UInt8])] = []
    private(set) var commands: [[UInt8]] = []

    init(radio: String, waiter: Waiter) throws {
        socket = try HCISocket(path: radio, waiter: waiter)
        let address = try socket.bringUp()
        name = RadioName(address: address)
        ordinal = Int(address & 0xFFFF)
    }

    func borrow(_ address: UInt64) throws { try socket.command(0x2005, Array(littleEndian: address, count: 6)) }

    // MARK: As the key, to the lock

    /// Connects under the borrowed address.
    ///
    /// Core 5.4, Vol 4, Part E, 7.8.12 (LE Create Connection command)
    func connect(to peer: UInt64, until deadline: UInt64) throws {
        (link, notifications) = (nil, [])
        var parameters: [UInt8] = [0x10, 0, 0x10, 0, 0, 1] + Array(littleEndian: peer, count: 6) + [1]
        for value: UInt16 in [6, 6, 0, 200, 0, 0] { parameters += Array(littleEndian: value, count: 2) }
        try socket.command(0x200D, parameters)
        while link == nil {
            guard try step(until: deadline) else { throw DrillError(.stuck, "the attacker cannot reach its victim") }
        }
    }

    /// Sends, and then reads something that anybody may read: its answer says that all before it has been dealt with.
    /// False when the victim hung up instead.
    func send(_ pdus: [[UInt8]], thenRead handle: UInt16, until deadline: UInt64) throws -> Bool {
        for pdu in pdus {
            guard let link else { return false }
            try socket.send(pdu, on: link, until: deadline)
        }
        guard let link else { return false }
        answered = false
        try socket.send([0x0A] + Array(littleEndian: handle, count: 2), on: link, until: deadline)
        while !answered {
            guard self.link != nil else { return false }
            guard try step(until: deadline) else { throw DrillError(.stuck, "the attacker's read is not answered") }
        }
        return true
    }

    private var answered = false

    func disconnect(until deadline: UInt64) throws {
        guard let link else { return }
        // It may be gone already.
        do { try socket.command(0x0406, Array(littleEndian: link, count: 2) + [0x13]) } catch is DrillError {}
        while self.link != nil {
            guard try step(until: deadline) else { throw DrillError(.stuck, "the attacker cannot hang up") }
        }
    }

    // MARK: As the lock, to the key

    /// Advertises under the borrowed address until somebody connects.
    func advertise() throws {
        (link, commands) = (nil, [])
        let parameters: [UInt8] = [0x20, 0, 0x20, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0]
        try socket.command(0x2006, parameters)
        try socket.command(0x2008, [3, 2, 1, 6] + [UInt8](repeating: 0, count: 28))
        try socket.command(0x200A, [1])
    }

    func stopAdvertising() throws {
        do { try socket.command(0x200A, [0]) } catch is DrillError {}
    }

    func awaitLink(until deadline: UInt64) throws -> Bool {
        while link == nil { guard try step(until: deadline) else { return false } }
        return true
    }

    func notify(_ handle: UInt16, _ value: [UInt8], until deadline: UInt64) throws {
        guard let link else { return }
        try socket.send([0x1B] + Array(littleEndian: handle, count: 2) + value, on: link, until: deadline)
    }

    /// The first signed command that the victim sends; nil when it sends none.
    func awaitSignedWrite(until deadline: UInt64) throws -> [UInt8]? {
        while true {
            if let found = commands.first(where: { $0.first == SignedWrite.opcode }) { return found }
            guard link != nil, try step(until: deadline) else { return nil }
        }
    }

    /// Waits for a notification of this attribute; the newest of them.
    func awaitNotification(_ handle: UInt16, until deadline: UInt64) throws -> [UInt8]? {
        while true {
            if let found = notifications.last(where: { $0.handle == handle }) { return found.value }
            guard link != nil, try step(until: deadline) else { return nil }
        }
    }

    /// Lets things happen, and answers what has to be answered.
    @discardableResult
    func step(until deadline: UInt64) throws -> Bool {
        guard let input = try socket.next(until: deadline) else { return false }
        switch input {
        case .connected(let handle, 0): link = handle
        case .disconnected(let handle) where handle == link: link = nil
        case .longTermKeyRequest(let handle):
            // It has no key.
            try socket.command(0x201B, Array(littleEndian: handle, count: 2))
        case .attribute(let handle, let pdu): try received(pdu, on: handle, until: deadline)
        default: break
        }
        return true
    }

    /// Core 5.4, Vol 3, Part F, 3.4 (Attribute Protocol PDUs)
    private func received(_ pdu: [UInt8], on handle: UInt16, until deadline: UInt64) throws {
        var reader = OctetReader(pdu)
        guard let opcode = reader.integer(1, as: UInt8.self) else { return }
        switch opcode {
        case 0x1B:
            guard let attribute = reader.integer(2, as: UInt16.self) else { return }
            notifications.append((attribute, reader.bytes(reader.remaining).map(Array.init) ?? []))
        case 0x0B, 0x01: answered = true
        case 0xD2, 0x52: commands.append(pdu)
        case 0x02: try socket.send([0x03, 23, 0], on: handle, until: deadline)
        // Whatever else is asked: no such attribute.
        case let request where request & 1 == 0 && request < 0x1B:
            try socket.send([0x01, request, 0, 0, 0x0A], on: handle, until: deadline)
        default: break
        }
    }
}
