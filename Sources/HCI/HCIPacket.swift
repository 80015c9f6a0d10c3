import BluetoothCore

/// The octet that says which kind of packet follows.
///
/// Core 5.4, Vol 4, Part A, 2 (Protocol)
package struct HCIPacketType: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let command = Self(rawValue: 0x01)
    package static let aclData = Self(rawValue: 0x02)
    package static let synchronousData = Self(rawValue: 0x03)
    package static let event = Self(rawValue: 0x04)
    package static let isoData = Self(rawValue: 0x05)

    /// Octets between the indicator and the parameters or data; nil for an unknown type.
    package var headerLength: Int? {
        switch self {
        case .command, .synchronousData: 3
        case .aclData, .isoData: 4
        case .event: 2
        default: nil
        }
    }
}

/// How an ACL data packet's octets relate to an L2CAP PDU.
///
/// Core 5.4, Vol 4, Part E, 5.4.2 (HCI ACL Data packets)
package enum PacketBoundary: UInt8, Sendable, CaseIterable {
    /// Start of a PDU that may not be flushed: what a host sends on an LE link.
    case firstNonFlushable = 0b00
    case continuing = 0b01
    /// Start of a PDU: what a controller sends.
    case first = 0b10
    /// A whole PDU: not allowed on LE-U links.
    case complete = 0b11
}

/// Core 5.4, Vol 4, Part E, 5.4.2 (HCI ACL Data packets)
package struct ACLDataHeader: WireCodable {
    package static let encodedLength = 4

    package var handle: ConnectionHandle
    package var boundary: PacketBoundary
    /// 0b00 on LE: point to point.
    package var broadcast: UInt8
    package var dataLength: UInt16

    package init(handle: ConnectionHandle, boundary: PacketBoundary, dataLength: UInt16) {
        self.handle = handle
        self.boundary = boundary
        self.broadcast = 0
        self.dataLength = dataLength
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let first = try reader.readUInt16()
        guard let boundary = PacketBoundary(rawValue: UInt8(truncatingIfNeeded: first >> 12 & 0b11)) else {
            throw .invalidValue(field: "PB_Flag")
        }
        handle = ConnectionHandle(first)
        self.boundary = boundary
        broadcast = UInt8(truncatingIfNeeded: first >> 14)
        dataLength = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle.rawValue | UInt16(boundary.rawValue) << 12 | UInt16(broadcast & 0b11) << 14)
        writer.write(dataLength)
    }
}

/// What one packet says, borrowing the octets of its data.
package enum HCIPacket: ~Escapable {
    case command(HCIOpcode, parameters: RawSpan)
    case aclData(ACLDataHeader, RawSpan)
    case event(HCIEvent)
    /// A packet of a type that LE data has no use for, skipped by its length.
    case ignored(HCIPacketType)

    /// `octets` is what follows the packet indicator, and nothing more.
    @_lifetime(copy octets)
    package init(type: HCIPacketType, _ octets: RawSpan) throws(DecodingError) {
        var reader = ByteReader(octets)
        switch type {
        case .command:
            let opcode = HCIOpcode(try reader.readUInt16())
            let length = Int(try reader.readUInt8())
            let parameters = try reader.readSpan(length)
            try reader.expectEnd()
            self = .command(opcode, parameters: parameters)
        case .aclData:
            let header = try ACLDataHeader(decoding: &reader)
            let data = try reader.readSpan(Int(header.dataLength))
            try reader.expectEnd()
            self = .aclData(header, data)
        case .event:
            let event = try HCIEvent(decoding: &reader)
            try reader.expectEnd()
            self = .event(event)
        default:
            self = .ignored(type)
        }
    }
}
