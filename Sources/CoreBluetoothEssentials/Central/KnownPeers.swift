import BluetoothCore
import BluetoothHost

/// The peers that an app may retrieve from any thread without waiting for the loop: all that the host keeps, and the last ones that this
/// manager has met.
struct KnownPeers: Sendable {
    struct Known: Sendable {
        var name: String?
    }

    /// Peers that were met and never asked to connect to. The host remembers as many.
    static let metMaximum = 1_024
    /// Beyond as many as the host kept when it was last asked.
    static let keptMoreMaximum = 1_024

    private var kept: [PeerIdentifier: Known] = [:]
    private var keptMaximum = keptMoreMaximum
    private var met: Set<PeerIdentifier> = []
    /// In the order in which they were met first; the oldest makes room.
    private var order: [PeerIdentifier] = []
    private var oldest = 0

    subscript(peer: PeerIdentifier) -> Known? { kept[peer] ?? (met.contains(peer) ? Known() : nil) }

    /// The host has it on disk from now on.
    mutating func keep(_ peer: PeerIdentifier, name: String? = nil) {
        kept[peer] = Known(name: name ?? kept[peer]?.name)
    }

    /// The host forgets strangers that nothing rests on, and does not say so: now and then it is asked what it keeps.
    var isOverfull: Bool { kept.count > keptMaximum }

    /// What the host keeps now.
    mutating func take(_ peers: [PeerName]) {
        kept = Dictionary(peers.map { ($0.identifier, Known(name: $0.name)) }) { first, _ in first }
        keptMaximum = kept.count + Self.keptMoreMaximum
    }

    mutating func met(_ peer: PeerIdentifier) {
        guard kept[peer] == nil else { return }
        guard order.count >= Self.metMaximum else {
            if met.insert(peer).inserted { order.append(peer) }
            return
        }
        guard met.insert(peer).inserted else { return }
        met.remove(order[oldest])
        order[oldest] = peer
        oldest = (oldest + 1) % Self.metMaximum
    }
}
