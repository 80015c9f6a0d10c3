/// What one packet of a capture says.
enum CaptureEvent: Equatable, Sendable {
    /// Core 5.4, Vol 4, Part E, 7.4.6 (Read BD_ADDR command), answered: which adapter it is.
    case publicAddress(UInt64)
    /// Core 5.4, Vol 4, Part E, 7.8.4 (LE Set Random Address command)
    case randomAddress(UInt64)
    /// Core 5.4, Vol 4, Part E, 7.8.9 (LE Set Advertising Enable command), 7.8.56 (LE Set Extended Advertising Enable command)
    case advertising(Bool)
    /// Core 5.4, Vol 4, Part E, 7.8.12 (LE Create Connection command), 7.8.66 (LE Extended Create Connection command)
    case createConnection
    /// Core 5.4, Vol 4, Part E, 7.8.15 (LE Clear Filter Accept List command): the last step of a bring-up.
    case broughtUp
    /// Core 5.4, Vol 4, Part E, 7.7.65.1 (LE Connection Complete event), 7.7.65.10 (LE Enhanced Connection Complete event), when
    /// it was one.
    case linkUp(handle: UInt16, isCentral: Bool, peer: UInt64)
    /// Core 5.4, Vol 4, Part E, 7.7.5 (Disconnection Complete event)
    case linkDown(handle: UInt16)
    /// Core 5.4, Vol 4, Part E, 7.7.8 (Encryption Change event)
    case encrypted(handle: UInt16)
    /// A whole PDU of the attribute protocol.
    case attribute(handle: UInt16, isFromHost: Bool, pdu: [UInt8])
    /// Core 5.4, Vol 3, Part H, 3.5.1 (Pairing Request), 3.5.2 (Pairing Response): a new bond is being made.
    case pairing(handle: UInt16, isFromHost: Bool)
}

/// From HCI packets to links and PDUs of the attribute protocol: the drill's own reading, which shares no code with the
/// host that it judges.
struct CaptureReader {
    private struct Channel: Hashable {
        let handle: UInt16
        let isFromHost: Bool
    }

    private var partial: [Channel: [UInt8]] = [:]

    /// Core 5.4, Vol 3, Part A, 2.1 (Channel identifiers)
    private static let attributeChannel: UInt16 = 4
    private static let securityChannel: UInt16 = 6

    mutating func read(_ packet: CapturePacket) -> CaptureEvent? {
        var reader = OctetReader(packet.octets)
        switch (reader.integer(1, as: UInt8.self), packet.isFromHost) {
        case (0x01, true): return Self.command(&reader)
        case (0x04, false): return event(&reader)
        case (0x02, _): return data(&reader, isFromHost: packet.isFromHost)
        default: return nil
        }
    }

    private static func command(_ reader: inout OctetReader) -> CaptureEvent? {
        guard let opcode = reader.integer(2, as: UInt16.self), reader.bytes(1) != nil else { return nil }
        switch opcode {
        case 0x2005: return reader.integer(6, as: UInt64.self).map { .randomAddress($0) }
        case 0x200A, 0x2039: return reader.integer(1, as: UInt8.self).map { .advertising($0 == 1) }
        case 0x200D, 0x2043: return .createConnection
        case 0x2010: return .broughtUp
        default: return nil
        }
    }

    private mutating func event(_ reader: inout OctetReader) -> CaptureEvent? {
        guard let code = reader.integer(1, as: UInt8.self), reader.bytes(1) != nil else { return nil }
        switch code {
        case 0x0E:
            guard reader.bytes(1) != nil, reader.integer(2, as: UInt16.self) == 0x1009,
                reader.integer(1, as: UInt8.self) == 0
            else { return nil }
            return reader.integer(6, as: UInt64.self).map { .publicAddress($0) }
        case 0x05:
            guard reader.integer(1, as: UInt8.self) == 0, let handle = reader.integer(2, as: UInt16.self) else {
                return nil
            }
            partial = partial.filter { $0.key.handle != handle & 0x0FFF }
            return .linkDown(handle: handle & 0x0FFF)
        case 0x08:
            guard reader.integer(1, as: UInt8.self) == 0, let handle = reader.integer(2, as: UInt16.self),
                let state = reader.integer(1, as: UInt8.self), state != 0
            else { return nil }
            return .encrypted(handle: handle & 0x0FFF)
        case 0x3E:
            guard let subevent = reader.integer(1, as: UInt8.self), [0x01, 0x0A].contains(subevent),
                reader.integer(1, as: UInt8.self) == 0,
                let handle = reader.integer(2, as: UInt16.self), let role = reader.integer(1, as: UInt8.self),
                reader.bytes(1) != nil, let peer = reader.integer(6, as: UInt64.self)
            else { return nil }
            return .linkUp(handle: handle & 0x0FFF, isCentral: role == 0, peer: peer)
        default: return nil
        }
    }

    /// Core 5.4, Vol 4, Part E, 5.4.2 (HCI ACL Data packets); Vol 3, Part A, 7.2.1 (Fragmentation)
    private mutating func data(_ reader: inout OctetReader, isFromHost: Bool) -> CaptureEvent? {
        guard let header = reader.integer(2, as: UInt16.self), let length = reader.integer(2, as: UInt16.self),
            let body = reader.bytes(Int(length))
        else { return nil }
        let channel = Channel(handle: header & 0x0FFF, isFromHost: isFromHost)
        let isContinuation = header >> 12 & 0b11 == 0b01
        var frame = isContinuation ? partial[channel] ?? [] : []
        guard !isContinuation || !frame.isEmpty else { return nil }
        frame += body
        partial[channel] = nil
        var basic = OctetReader(frame)
        guard let expected = basic.integer(2, as: UInt16.self), let identifier = basic.integer(2, as: UInt16.self),
            basic.remaining >= Int(expected)
        else {
            partial[channel] = frame
            return nil
        }
        guard basic.remaining == Int(expected) else { return nil }
        if identifier == Self.securityChannel, let code = basic.integer(1, as: UInt8.self), [0x01, 0x02].contains(code)
        {
            return .pairing(handle: channel.handle, isFromHost: isFromHost)
        }
        guard identifier == Self.attributeChannel else { return nil }
        return .attribute(handle: channel.handle, isFromHost: isFromHost, pdu: Array(frame.dropFirst(4)))
    }
}
