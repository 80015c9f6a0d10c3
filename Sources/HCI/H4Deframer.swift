import BluetoothCore

/// Why a stream of H4 octets cannot be followed any further. The controller's fault, and it reaches the whole
/// transport: where the next packet starts is unknown, so the only way on is a reset.
package enum H4FramingError: Error, Equatable, Sendable {
    case unknownPacketIndicator(UInt8)
}

/// Cuts a stream of octets into packets. It holds at most one incomplete packet, so never more than
/// ``maximumPacketOctets``; a packet that arrives whole is handed on without a copy.
///
/// Core 5.4, Vol 4, Part A, 2 (Protocol)
package struct H4Deframer: Sendable {
    /// An ACL data packet of the greatest length that its header can say, with the header but not the indicator.
    package static let maximumPacketOctets = 4 + 0xFFFF

    /// Header and data of the packet begun, without its indicator; empty while `type` is nil.
    private var partial: [UInt8] = []
    private var type: HCIPacketType?
    private var failure: H4FramingError?

    package init() {}

    /// Whether the octets so far end in the middle of a packet.
    package var isMidPacket: Bool { type != nil }

    /// Forgets what is incomplete, and a framing error: the stream starts anew.
    package mutating func reset() {
        partial.removeAll(keepingCapacity: true)
        type = nil
        failure = nil
    }

    /// Takes the stream's next octets and hands each packet they complete to `body`, in order, without its indicator.
    /// A framing error is final until ``reset()``; packets before it have been handed on.
    package mutating func receive(
        _ octets: RawSpan, _ body: (HCIPacketType, RawSpan) -> Void
    ) throws(H4FramingError) {
        if let failure { throw failure }
        var offset = 0
        while offset < octets.byteCount {
            guard let current = type else {
                let indicator = octets.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
                let next = HCIPacketType(rawValue: indicator)
                guard next.headerLength != nil else {
                    let error = H4FramingError.unknownPacketIndicator(indicator)
                    failure = error
                    throw error
                }
                type = next
                offset += 1
                continue
            }
            offset += take(octets.extracting(offset..<octets.byteCount), of: current, body)
        }
    }

    /// Takes what belongs to the packet begun; returns how many octets that was. Nothing that is there stays untaken
    /// unless the packet is complete, so the caller's loop ends.
    private mutating func take(
        _ octets: RawSpan, of current: HCIPacketType, _ body: (HCIPacketType, RawSpan) -> Void
    ) -> Int {
        if partial.isEmpty, let length = current.packetLength(octets), octets.byteCount >= length {
            type = nil
            body(current, octets.extracting(0..<length))
            return length
        }
        var taken = 0
        var wanted = current.packetLength(partial.span.bytes) ?? current.headerLength ?? 0
        while partial.count < wanted, taken < octets.byteCount {
            let count = min(wanted - partial.count, octets.byteCount - taken)
            octets.extracting(taken..<taken + count).withUnsafeBytes { partial.append(contentsOf: $0) }
            taken += count
            wanted = current.packetLength(partial.span.bytes) ?? wanted
        }
        if let length = current.packetLength(partial.span.bytes), partial.count == length {
            type = nil
            body(current, partial.span.bytes)
            partial.removeAll(keepingCapacity: true)
        }
        return taken
    }
}

extension HCIPacketType {
    /// Octets of the packet that starts with `octets`, header included; nil while the header is incomplete.
    fileprivate func packetLength(_ octets: RawSpan) -> Int? {
        guard let header = headerLength, octets.byteCount >= header else { return nil }
        func octet(_ index: Int) -> Int { Int(octets.unsafeLoad(fromByteOffset: index, as: UInt8.self)) }
        return switch self {
        case .event: header + octet(1)
        case .aclData: header + (octet(2) | octet(3) << 8)
        // The two most significant bits are reserved.
        case .isoData: header + (octet(2) | (octet(3) & 0x3F) << 8)
        default: header + octet(2)
        }
    }
}

/// Writes packets with their indicator, as H4 streams and the user channel carry them.
package enum H4Framer {
    package static func encode(_ command: some HCICommand, into writer: inout ByteWriter) {
        let parameters = command.encoded
        writer.write(HCIPacketType.command.rawValue)
        writer.write(type(of: command).opcode.rawValue)
        writer.write(UInt8(truncatingIfNeeded: parameters.count))
        writer.write(parameters)
    }

    /// `data` holds at most 0xFFFF octets: a controller's buffer is never longer.
    package static func encode(
        aclData data: RawSpan, boundary: PacketBoundary, on handle: ConnectionHandle, into writer: inout ByteWriter
    ) {
        writer.write(HCIPacketType.aclData.rawValue)
        ACLDataHeader(handle: handle, boundary: boundary, dataLength: UInt16(truncatingIfNeeded: data.byteCount))
            .encode(into: &writer)
        writer.write(data)
    }

    package static func encode(_ event: HCIEvent, into writer: inout ByteWriter) {
        writer.write(HCIPacketType.event.rawValue)
        event.encode(into: &writer)
    }
}
