/// A controller of the radio in the attacker's hands: raw HCI over H4, nothing of the host stack that it attacks.
final class HCISocket {
    enum Input: Equatable {
        case commandComplete(opcode: UInt16, parameters: [UInt8])
        case commandStatus(opcode: UInt16, status: UInt8)
        case connected(handle: UInt16, status: UInt8)
        case disconnected(handle: UInt16)
        case longTermKeyRequest(handle: UInt16)
        case completedPackets(Int)
        case attribute(handle: UInt16, pdu: [UInt8])
        case other
    }

    private let connection: UnixConnection
    private let waiter: Waiter
    private var pending: [UInt8] = []
    private var inputs: [Input] = []
    private var partial: [UInt8] = []
    /// Packets that the controller still has room for.
    private(set) var room = 0

    static let answerMilliseconds: UInt64 = 5_000

    init(path: String, waiter: Waiter) throws {
        connection = try UnixConnection(path: path)
        self.waiter = waiter
    }

    /// Sends a command and returns what follows the status of its Command Complete; empty for a Command Status.
    @discardableResult
    func command(_ opcode: UInt16, _ parameters: [UInt8] = []) throws -> [UInt8] {
        let deadline = Clock.now + Clock.milliseconds(Self.answerMilliseconds)
        let packet = [0x01] + Array(littleEndian: opcode, count: 2) + [UInt8(parameters.count)] + parameters
        try connection.send(packet, waiter, until: deadline)
        var others: [Input] = []
        defer { inputs = others + inputs }
        while let input = try next(until: deadline) {
            switch input {
            case .commandComplete(opcode, let answer):
                guard answer.first == 0 else { throw refused(opcode, answer.first ?? 0xFF) }
                return Array(answer.dropFirst())
            case .commandStatus(opcode, let status):
                guard status == 0 else { throw refused(opcode, status) }
                return []
            default: others.append(input)
            }
        }
        throw DrillError(.stuck, "the attacker's controller does not answer")
    }

    private func refused(_ opcode: UInt16, _ status: UInt8) -> DrillError {
        DrillError(
            .stuck, "the attacker's controller refuses \(String(opcode, radix: 16)): \(String(status, radix: 16))")
    }

    /// Reset, every event, and the buffers; the public address, whose last octets are the controller's ordinal.
    func bringUp() throws -> UInt64 {
        try command(0x0C03)
        try command(0x0C01, [UInt8](repeating: 0xFF, count: 7) + [0x3F])
        try command(0x2001, [0x1F, 0, 0, 0, 0, 0, 0, 0])
        let buffers = try command(0x2002)
        room = Int(buffers.last ?? 1)
        var address = OctetReader(try command(0x1009))
        return address.integer(6) ?? 0
    }

    /// One PDU of the attribute protocol, waiting for room in the controller. Every PDU here fits one packet.
    func send(_ pdu: [UInt8], on handle: UInt16, until deadline: UInt64) throws {
        var others: [Input] = []
        defer { inputs = others + inputs }
        while room == 0 {
            guard let input = try next(until: deadline) else {
                throw DrillError(.stuck, "the attacker's controller has no room")
            }
            if case .completedPackets = input { continue }
            others.append(input)
            if case .disconnected = input { return }
        }
        room -= 1
        let frame = Array(littleEndian: UInt16(pdu.count), count: 2) + [4, 0] + pdu
        let header = Array(littleEndian: handle, count: 2) + Array(littleEndian: UInt16(frame.count), count: 2)
        try connection.send([0x02] + header + frame, waiter, until: deadline)
    }

    /// The next input in order; nil when none comes until the deadline.
    func next(until deadline: UInt64) throws -> Input? {
        while inputs.isEmpty {
            let octets = try connection.receive(waiter, until: deadline)
            guard !octets.isEmpty else { return nil }
            pending += octets
            while let packet = takePacket() {
                if let input = read(packet) { inputs.append(input) }
            }
        }
        return inputs.removeFirst()
    }

    private func takePacket() -> [UInt8]? {
        let headerOctets: Int
        let length: Int
        switch pending.first {
        case 0x04:
            guard pending.count >= 3 else { return nil }
            (headerOctets, length) = (3, Int(pending[2]))
        case 0x02:
            guard pending.count >= 5 else { return nil }
            (headerOctets, length) = (5, Int(pending[3]) | Int(pending[4]) << 8)
        default: return nil
        }
        guard pending.count >= headerOctets + length else { return nil }
        defer { pending.removeFirst(headerOctets + length) }
        return Array(pending[..<(headerOctets + length)])
    }

    private func read(_ packet: [UInt8]) -> Input? {
        var reader = OctetReader(packet)
        return reader.integer(1, as: UInt8.self) == 0x02 ? data(&reader) : event(&reader)
    }

    private func event(_ reader: inout OctetReader) -> Input {
        guard let code = reader.integer(1, as: UInt8.self), reader.bytes(1) != nil else { return .other }
        switch code {
        case 0x05:
            _ = reader.bytes(1)
            return .disconnected(handle: reader.integer(2) ?? 0)
        case 0x0E:
            _ = reader.bytes(1)
            let opcode = reader.integer(2, as: UInt16.self) ?? 0
            return .commandComplete(opcode: opcode, parameters: reader.bytes(reader.remaining).map(Array.init) ?? [])
        case 0x0F:
            let status = reader.integer(1, as: UInt8.self) ?? 0xFF
            _ = reader.bytes(1)
            return .commandStatus(opcode: reader.integer(2) ?? 0, status: status)
        case 0x13:
            var count = 0
            for _ in 0..<(reader.integer(1, as: Int.Magnitude.self) ?? 0) {
                _ = reader.bytes(2)
                count += Int(reader.integer(2, as: UInt16.self) ?? 0)
            }
            room += count
            return .completedPackets(count)
        case 0x3E:
            switch reader.integer(1, as: UInt8.self) {
            case 0x01:
                let status = reader.integer(1, as: UInt8.self) ?? 0xFF
                return .connected(handle: reader.integer(2) ?? 0, status: status)
            case 0x05: return .longTermKeyRequest(handle: reader.integer(2) ?? 0)
            default: return .other
            }
        default: return .other
        }
    }

    private func data(_ reader: inout OctetReader) -> Input? {
        guard let header = reader.integer(2, as: UInt16.self), reader.bytes(2) != nil,
            let body = reader.bytes(reader.remaining)
        else { return nil }
        if header >> 12 & 0b11 == 0b01 { partial += body } else { partial = Array(body) }
        var frame = OctetReader(partial)
        guard let length = frame.integer(2, as: UInt16.self), let channel = frame.integer(2, as: UInt16.self),
            frame.remaining >= Int(length)
        else { return nil }
        let pdu = Array(partial.dropFirst(4))
        partial = []
        return channel == 4 ? .attribute(handle: header & 0x0FFF, pdu: pdu) : nil
    }
}
