/// A capture as btmon and Wireshark read it: the btsnoop format with the datalink type of H4.
enum BTSnoop {
    enum Direction: Sendable {
        case hostToController
        case controllerToHost
    }

    /// "btsnoop", version 1, HCI UART (H4).
    static let header: [UInt8] = Array("btsnoop\0".utf8) + big(1, 4) + big(1002, 4)

    /// Microseconds from midnight, 1 January 0, to the Unix epoch, as the format's readers agree.
    static let epochMicroseconds: UInt64 = 0x00DC_DDB3_0F2F_8000

    /// One H4 packet. Flags: bit 0 received, bit 1 command or event.
    static func record(_ packet: some Collection<UInt8>, _ direction: Direction, unixMicroseconds: UInt64) -> [UInt8] {
        let isData = packet.first == PacketType.aclData.rawValue
        let flags = (direction == .controllerToHost ? 1 : 0) | (isData ? 0 : 2)
        let length = big(UInt64(packet.count), 4)
        return length + length + big(UInt64(flags), 4) + big(0, 4) + big(unixMicroseconds &+ epochMicroseconds, 8)
            + packet
    }

    private static func big(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
    }
}
