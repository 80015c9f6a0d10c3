import Glibc

/// Whole HCI packets of a stream.
struct HCIPackets {
    private var rest: [UInt8] = []

    /// nil at its end.
    mutating func read(_ descriptor: Int32) -> [[UInt8]]? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return nil }
        rest += buffer[..<count]
        var packets: [[UInt8]] = []
        while let length = length, rest.count >= length {
            packets.append(Array(rest[..<length]))
            rest.removeFirst(length)
        }
        return packets
    }

    private var length: Int? {
        switch rest.first {
        case 0x02: rest.count >= 5 ? 5 + Int(rest[3]) + Int(rest[4]) << 8 : nil
        case 0x04: rest.count >= 3 ? 3 + Int(rest[2]) : nil
        default: rest.count >= 4 ? 4 + Int(rest[3]) : nil
        }
    }
}
