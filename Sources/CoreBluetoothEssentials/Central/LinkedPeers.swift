import BluetoothCore
import BluetoothHost

/// Who is connected to this host, for apps that ask after connected peripherals or want to hear of such peers.
///
/// - In: links as they come, become somebody else's and go; what is known of peers' trees; what the app wants to hear of.
/// - Out: what the app hears (``Event``), and what is known of each peer, for the picture that calls of other threads look at.
/// - Owner: ``CentralCore``.
struct LinkedPeers: Sendable {
    struct Event: Equatable, Sendable {
        var peer: PeerIdentifier
        var isConnected: Bool
    }

    private struct Entry: Sendable {
        var peer: PeerIdentifier
        /// Whether the app has heard of it.
        var isTold = false
    }

    private var links: [LinkID: Entry] = [:]
    /// Of connected peers, as far as they are known.
    private var services: [PeerIdentifier: Set<BluetoothUUID>] = [:]
    /// nil: nothing is told.
    var filter: ConnectionEventFilter?

    /// Empty while nothing is known of a connected peer; nil for one that is not connected.
    func services(of peer: PeerIdentifier) -> Set<BluetoothUUID>? {
        isConnected(peer) ? services[peer] ?? [] : nil
    }

    /// Whose link it is known as.
    func peer(of link: LinkID) -> PeerIdentifier? { links[link]?.peer }

    func isConnected(_ peer: PeerIdentifier) -> Bool { links.values.contains { $0.peer == peer } }

    /// A link is there, or its peer has proved to be somebody.
    mutating func up(_ link: LinkID, _ peer: PeerIdentifier, _ known: Set<BluetoothUUID>?) -> [Event] {
        if let before = links[link]?.peer, before != peer { links[link]?.peer = peer }
        if links[link] == nil { links[link] = Entry(peer: peer) }
        return learned(known, of: peer)
    }

    /// What the peer has, as far as it is known.
    mutating func learned(_ known: Set<BluetoothUUID>?, of peer: PeerIdentifier) -> [Event] {
        guard isConnected(peer) else { return [] }
        services[peer] = known
        guard let filter, filter.matches(peer, known ?? []) else { return [] }
        let mine = links.filter { $0.value.peer == peer }
        let isNews = !mine.contains { $0.value.isTold }
        for link in mine.keys { links[link]?.isTold = true }
        return isNews ? [Event(peer: peer, isConnected: true)] : []
    }

    mutating func down(_ link: LinkID) -> [Event] {
        guard let entry = links.removeValue(forKey: link) else { return [] }
        // There may be another link to it, in the other role.
        guard !isConnected(entry.peer) else { return [] }
        services[entry.peer] = nil
        return entry.isTold && filter != nil ? [Event(peer: entry.peer, isConnected: false)] : []
    }
}

/// Of which peers an app wants to hear that they connect: any that has one of the services or one of the names.
struct ConnectionEventFilter: Sendable {
    private let services: Set<BluetoothUUID>
    private let peers: Set<PeerIdentifier>

    init(services: Set<BluetoothUUID>, peers: Set<PeerIdentifier>) {
        (self.services, self.peers) = (services, peers)
    }

    func matches(_ peer: PeerIdentifier, _ known: Set<BluetoothUUID>) -> Bool {
        peers.contains(peer) || !services.isDisjoint(with: known)
    }
}
