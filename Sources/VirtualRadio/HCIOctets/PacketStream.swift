/// Where an H4 packet ends in a stream of octets.
///
/// Core 5.4, Vol 4, Part A, 2 (UART Transport Layer)
enum PacketBoundary: Equatable, Sendable {
    case incomplete
    /// The octets of the first packet, with its type.
    case packet(count: Int)
    /// No packet begins here, and none can be found again.
    case malformed

    /// Looks at what begins at `start`.
    init(_ octets: Span<UInt8>, from start: Int) {
        guard start < octets.count else {
            self = .incomplete
            return
        }
        let available = octets.count - start
        let header: Int
        switch PacketType(rawValue: octets[start]) {
        case .command: header = 4
        case .aclData, .isoData: header = 5
        case .synchronousData: header = 4
        case .event, nil:
            self = .malformed
            return
        }
        guard available >= header else {
            self = .incomplete
            return
        }
        let length =
            switch PacketType(rawValue: octets[start]) {
            case .aclData: Int(octets[start + 3]) | Int(octets[start + 4]) << 8
            case .isoData: Int(octets[start + 3]) | Int(octets[start + 4] & 0x3F) << 8
            default: Int(octets[start + 3])
            }
        self = available >= header + length ? .packet(count: header + length) : .incomplete
    }
}
