/// One H4 packet between a host and its controller.
package struct CapturePacket: Equatable, Sendable {
    /// Microseconds since 1970.
    package var unixMicroseconds: UInt64
    package var isFromHost: Bool
    /// The packet's indicator first.
    package var octets: [UInt8]
}

/// Reads a btsnoop file while it grows: what is not whole yet waits.
package struct BTSnoopReader {
    package struct Malformed: Error, Equatable {}

    /// Octets of one packet; more is no capture of HCI.
    package static let maximumPacketOctets = 70_000
    private static let header = Array("btsnoop\0".utf8) + [0, 0, 0, 1, 0, 0, 0x03, 0xEA]
    private static let epochMicroseconds: UInt64 = 0x00DC_DDB3_0F2F_8000

    private var pending: [UInt8] = []
    private var hasHeader = false

    package init() {}

    package mutating func read(_ octets: some Sequence<UInt8>) throws(Malformed) -> [CapturePacket] {
        pending += octets
        var start = 0
        if !hasHeader {
            guard pending.count >= Self.header.count else { return [] }
            guard pending.starts(with: Self.header) else { throw Malformed() }
            hasHeader = true
            start = Self.header.count
        }
        var packets: [CapturePacket] = []
        while let (packet, next) = try record(at: start) {
            packets.append(packet)
            start = next
        }
        pending.removeFirst(start)
        return packets
    }

    private func record(at start: Int) throws(Malformed) -> (CapturePacket, Int)? {
        guard pending.count >= start + 24 else { return nil }
        let length = Int(big(start + 4, 4))
        guard length <= Self.maximumPacketOctets else { throw Malformed() }
        let end = start + 24 + length
        guard pending.count >= end else { return nil }
        let packet = CapturePacket(
            unixMicroseconds: big(start + 16, 8) &- Self.epochMicroseconds,
            isFromHost: big(start + 8, 4) & 1 == 0, octets: Array(pending[(start + 24)..<end]))
        return (packet, end)
    }

    private func big(_ offset: Int, _ count: Int) -> UInt64 {
        pending[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Many controllers' packets as one capture that btmon and Wireshark read, with a controller's number in each
    /// record: btsnoop's datalink type of the Linux monitor.
    static func monitorCapture(_ packets: [(controller: Int, packet: CapturePacket)]) -> [UInt8] {
        func big(_ value: UInt64, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
        }
        var octets = Array("btsnoop\0".utf8) + big(1, 4) + big(2001, 4)
        for (controller, packet) in packets {
            let opcode: UInt64? =
                switch packet.octets.first {
                case 0x01: 2
                case 0x04: 3
                case 0x02: packet.isFromHost ? 4 : 5
                default: nil
                }
            guard let opcode else { continue }
            let body = packet.octets.dropFirst()
            let length = big(UInt64(body.count), 4)
            octets += length + length + big(UInt64(controller) << 16 | opcode, 4) + big(0, 4)
            octets += big(packet.unixMicroseconds &+ epochMicroseconds, 8)
            octets += body
        }
        return octets
    }
}
