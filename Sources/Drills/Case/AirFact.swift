/// What somebody's host or controller did, as the capture of its adapter shows.
struct AirFact: Hashable, Sendable {
    enum What: Hashable, Sendable {
        case broughtUp
        case advertising
        case createConnection
        case linkUp
        case linkDown
        case encrypted
        /// A Pairing Request or Pairing Response: a new bond.
        case pairing
        /// A Client Characteristic Configuration is written.
        case configuration(handle: UInt16, value: UInt16)
        case command(AirCommand)
        /// A value that the host notifies or indicates, or that is notified or indicated to it.
        case value(octets: [UInt8], isFromHost: Bool)
    }

    /// Boot time in nanoseconds.
    var at: UInt64
    var role: Role
    /// The number of the role's controller: each launch has one of its own.
    var life: Int
    var what: What
}

/// A command for the bolt as it left the key, signed or on an encrypted link.
struct AirCommand: Hashable, Sendable {
    var challenge: String
    /// nil on an encrypted link.
    var counter: UInt32?
}

/// Reads the captures of a whole case.
enum AirStory {
    static func facts(_ packets: [(controller: Int, packet: CapturePacket)]) -> [AirFact] {
        var readers: [Int: CaptureReader] = [:]
        var owners: [Int: Role] = [:]
        var facts: [AirFact] = []
        for (controller, packet) in packets {
            guard let event = readers[controller, default: CaptureReader()].read(packet) else { continue }
            if case .publicAddress(let address) = event {
                owners[controller] = Role.allCases.first { $0.adapter.address == address }
            }
            guard let role = owners[controller], let what = what(event) else { continue }
            let at = packet.unixMicroseconds &* 1000 &- Clock.unixOffsetNanoseconds
            facts.append(AirFact(at: at, role: role, life: controller, what: what))
        }
        return facts.sorted { $0.at < $1.at }
    }

    private static func what(_ event: CaptureEvent) -> AirFact.What? {
        switch event {
        case .publicAddress, .randomAddress: nil
        case .advertising(let isOn): isOn ? .advertising : nil
        case .createConnection: .createConnection
        case .broughtUp: .broughtUp
        case .linkUp: .linkUp
        case .linkDown: .linkDown
        case .encrypted: .encrypted
        case .pairing: .pairing
        case .attribute(_, let isFromHost, let pdu): attribute(pdu, isFromHost)
        }
    }

    private static let commandOctets = 8
    /// The bounds that a command's first octet may begin with. Anything else is no command.
    private static let commandBounds: ClosedRange<UInt8> = 1...15

    /// Core 5.4, Vol 3, Part F, 3.4.5 (Writing attributes), 3.4.7 (Server initiated)
    private static func attribute(_ pdu: [UInt8], _ isFromHost: Bool) -> AirFact.What? {
        if isFromHost, let write = SignedWrite(pdu, at: 0) {
            return .command(AirCommand(challenge: write.challenge, counter: write.counter))
        }
        var reader = OctetReader(pdu)
        guard let opcode = reader.integer(1, as: UInt8.self), let handle = reader.integer(2, as: UInt16.self),
            let value = reader.bytes(reader.remaining).map(Array.init)
        else { return nil }
        switch opcode {
        case 0x12 where isFromHost && value.count == 2:
            let written = UInt16(value[0]) | UInt16(value[1]) << 8
            return written <= 2 ? .configuration(handle: handle, value: written) : nil
        case 0x12, 0x52:
            guard isFromHost, value.count == commandOctets, commandBounds.contains(value[0] >> 4) else {
                return nil
            }
            return .command(AirCommand(challenge: hex(value.dropFirst(2)), counter: nil))
        case 0x1B, 0x1D: return .value(octets: value, isFromHost: isFromHost)
        default: return nil
        }
    }
}
