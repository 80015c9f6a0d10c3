import BluetoothCore

/// A PDU in basic L2CAP mode: the only format that fixed channels use.
///
/// Core 5.4, Vol 3, Part A, 3.1 (Connection-oriented channels in basic L2CAP mode)
package struct BasicFrame: WireCodable {
    /// Length and channel.
    package static let headerOctets = 4
    package static let maximumPayloadOctets = 0xFFFF

    package var channel: ChannelIdentifier
    package var payload: [UInt8]

    package init(channel: ChannelIdentifier, payload: [UInt8]) {
        self.channel = channel
        self.payload = payload
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let length = Int(try reader.readUInt16())
        channel = ChannelIdentifier(rawValue: try reader.readUInt16())
        payload = try reader.readBytes(length)
    }

    package func encode(into writer: inout ByteWriter) {
        Self.encode(payload.span.bytes, channel: channel, into: &writer)
    }

    /// For a payload that lies elsewhere; it must not exceed ``maximumPayloadOctets``, which no channel's MTU does.
    package static func encode(_ payload: RawSpan, channel: ChannelIdentifier, into writer: inout ByteWriter) {
        writer.write(UInt16(truncatingIfNeeded: payload.byteCount))
        writer.write(channel.rawValue)
        writer.write(payload)
    }
}
