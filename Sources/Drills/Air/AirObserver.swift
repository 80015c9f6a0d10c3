extension Role {
    /// Which of the radio's adapters it has: the addresses on the air change, and tell nobody whose they are.
    var adapter: RadioAdapter {
        switch self {
        case .lock: RadioAdapter(number: 1)
        case .key: RadioAdapter(number: 2)
        }
    }
}

/// Follows the radio's captures while they grow, one file for each controller.
final class AirObserver {
    enum Owner: Hashable { case role(Role), attacker, unknown }

    /// A controller, and what its host did with it.
    struct Station {
        let ordinal: Int
        var owner = Owner.unknown
        /// Boot time of what first happened, in nanoseconds.
        var broughtUpAt: UInt64?
        var advertisedAt: UInt64?
        var connectedAt: UInt64?
        var createConnectionAt: UInt64?
        /// Open links: handle, and whether encrypted.
        var links: [UInt16: Bool] = [:]
        /// Write requests to what may be a CCC descriptor, not answered yet.
        fileprivate var asked: [UInt16: (handle: UInt16, value: UInt16)] = [:]
        fileprivate var spans: [UInt16: Int] = [:]
        fileprivate var reader = CaptureReader()
    }

    private let follower: CaptureFollower
    private(set) var stations: [Station] = []
    private(set) var spans: [History.LinkSpan] = []
    private(set) var signedWrites: [SignedWrite] = []
    /// Subscriptions that the lock has confirmed to the key on an encrypted link.
    private(set) var confirmedSubscriptions: [UInt16: UInt16] = [:]
    /// The Challenge value's handle, as the lock's notifications tell.
    private(set) var challengeHandle: UInt16?
    var damage: [String] { follower.damage }
    private(set) var packets: [(controller: Int, packet: CapturePacket)] = []
    /// Under which address each role is on the air, or was when it was last: a private one before long.
    private(set) var addresses: [Role: UInt64] = [:]
    private var attackers: Set<Int> = []

    init(directory: String) { follower = CaptureFollower(directory: directory) }

    func declareAttacker(_ ordinal: Int) {
        attackers.insert(ordinal)
        if stations.indices.contains(ordinal - 1) { stations[ordinal - 1].owner = .attacker }
    }

    /// What is promised begins anew with an enrolment.
    func forgetSubscriptions() { confirmedSubscriptions = [:] }

    /// The controller of a role's latest life.
    func latest(_ role: Role) -> Station? { stations.last { $0.owner == .role(role) } }

    var lastOrdinal: Int { stations.last?.ordinal ?? 0 }

    func hasLink(_ role: Role) -> Bool { latest(role)?.links.isEmpty == false }

    /// Reads what has been added.
    func poll() {
        for (ordinal, packet) in follower.poll() {
            makeStations(through: ordinal)
            take(packet, ordinal - 1)
        }
        makeStations(through: follower.lastOrdinal)
    }

    private func makeStations(through last: Int) {
        while stations.count < last {
            let ordinal = stations.count + 1
            stations.append(Station(ordinal: ordinal, owner: attackers.contains(ordinal) ? .attacker : .unknown))
        }
    }

    private func take(_ packet: CapturePacket, _ index: Int) {
        packets.append((stations[index].ordinal, packet))
        guard let event = stations[index].reader.read(packet) else { return }
        let at = packet.unixMicroseconds &* 1000 &- Clock.unixOffsetNanoseconds
        switch event {
        case .publicAddress(let address):
            if let role = Role.allCases.first(where: { $0.adapter.address == address }) {
                stations[index].owner = .role(role)
            }
        case .randomAddress(let address):
            if case .role(let role) = stations[index].owner { addresses[role] = address }
        case .advertising(let isOn): if isOn, stations[index].advertisedAt == nil { stations[index].advertisedAt = at }
        case .createConnection:
            if stations[index].createConnectionAt == nil { stations[index].createConnectionAt = at }
        case .broughtUp: stations[index].broughtUpAt = at
        case .linkUp(let handle, _, _):
            stations[index].links[handle] = false
            stations[index].connectedAt = at
            stations[index].spans[handle] = spans.count
            spans.append(History.LinkSpan(began: at, isAttacker: stations[index].owner == .attacker))
        case .linkDown(let handle):
            stations[index].links[handle] = nil
            stations[index].asked[handle] = nil
            if let span = stations[index].spans.removeValue(forKey: handle) { spans[span].ended = at }
        case .encrypted(let handle): if stations[index].links[handle] != nil { stations[index].links[handle] = true }
        case .pairing: break
        case .attribute(let handle, let isFromHost, let pdu):
            if stations[index].owner == .role(.key) { attribute(index, handle, isFromHost, pdu, at) }
        }
    }

    private func attribute(_ index: Int, _ handle: UInt16, _ isFromHost: Bool, _ pdu: [UInt8], _ at: UInt64) {
        if isFromHost, let write = SignedWrite(pdu, at: at) { signedWrites.append(write) }
        var reader = OctetReader(pdu)
        switch reader.integer(1, as: UInt8.self) {
        case 0x12 where isFromHost && pdu.count == 5:
            guard let attribute = reader.integer(2, as: UInt16.self), let value = reader.integer(2, as: UInt16.self),
                value <= 2
            else { return }
            stations[index].asked[handle] = (attribute, value)
        case 0x13 where !isFromHost:
            guard let asked = stations[index].asked.removeValue(forKey: handle), stations[index].links[handle] == true
            else { return }
            confirmedSubscriptions[asked.handle] = asked.value
        case 0x01 where !isFromHost: stations[index].asked[handle] = nil
        // The Challenge's value has 8 octets, a receipt 19, Lock State 7.
        case 0x1B where !isFromHost && pdu.count == 11: challengeHandle = reader.integer(2, as: UInt16.self)
        default: break
        }
    }

    /// Closes what a kill left open: the controller went with its host.
    func ended(_ role: Role, at: UInt64) {
        poll()
        for index in stations.indices where stations[index].owner == .role(role) {
            for span in stations[index].spans.values { spans[span].ended = spans[span].ended ?? at }
            stations[index].spans = [:]
            stations[index].links = [:]
        }
    }

    /// Whether a signed command that answers this challenge has left the key.
    func hasSent(_ challenge: String) -> Bool {
        signedWrites.contains { $0.challenge == challenge }
    }
}
