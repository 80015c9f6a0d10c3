/// What a controller has said and its host has not taken yet: H4 packets back to back in one buffer, whose storage is
/// reused.
///
/// Core 5.4, Vol 4, Part A, 2 (UART Transport Layer)
struct Outbox: Sendable {
    private struct Mark: Sendable {
        var end: Int
        var instant: UInt64
    }

    private var writer = OctetWriter()
    private var marks: [Mark] = []

    /// What a controller keeps for a host that does not read before it takes no more data and drops reports.
    static let maximumOctets = 65536

    var isEmpty: Bool { writer.octets.isEmpty }
    var isFull: Bool { writer.octets.count >= Self.maximumOctets }

    /// Core 5.4, Vol 4, Part E, 5.4.4 (HCI Event packet)
    mutating func event(_ code: EventCode, at instant: UInt64, _ parameters: (inout OctetWriter) -> Void) {
        writer.u8(PacketType.event.rawValue)
        writer.u8(code.rawValue)
        let lengthIndex = writer.octets.count
        writer.u8(0)
        parameters(&writer)
        let length = writer.octets.count - lengthIndex - 1
        writer.patch(UInt8(truncatingIfNeeded: length), at: lengthIndex)
        marks.append(Mark(end: writer.octets.count, instant: instant))
    }

    /// Core 5.4, Vol 4, Part E, 5.4.2 (HCI ACL Data packets): first fragments come to the host as 0b10, the rest as 0b01.
    mutating func data(handle: UInt16, isFirst: Bool, _ octets: Span<UInt8>, at instant: UInt64) {
        writer.u8(PacketType.aclData.rawValue)
        writer.u16(handle | (isFirst ? 0b10 : 0b01) << 12)
        writer.u16(UInt16(truncatingIfNeeded: octets.count))
        writer.bytes(octets)
        marks.append(Mark(end: writer.octets.count, instant: instant))
    }

    /// What no controller says: a fault on the line.
    mutating func garbage(_ octets: [UInt8], at instant: UInt64) {
        writer.bytes(octets)
        marks.append(Mark(end: writer.octets.count, instant: instant))
    }

    mutating func clear() {
        writer.removeAll()
        marks.removeAll(keepingCapacity: true)
    }

    /// Each packet in turn.
    func forEachPacket(_ body: (_ instant: UInt64, _ octets: ArraySlice<UInt8>) -> Void) {
        var start = 0
        for mark in marks {
            body(mark.instant, writer.octets[start..<mark.end])
            start = mark.end
        }
    }

    /// Everything, for a driver that hands it on at once.
    func withOctets<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { writer.octets.withUnsafeBytes(body) }
}
