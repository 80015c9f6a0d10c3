import BluetoothCore
import HCI
import SecurityManager

/// Every connection of the controller, and who may have one more.
///
/// - In: connections that come and go, and what the controller says when it takes no other.
/// - Out: the link at a handle, of a peer, or in the way of everybody else.
/// - Owner: ``HostCore``. A link's own state is the ``Link``'s.
///
/// Core 5.4, Vol 4, Part E, 7.7.65.1 (LE Connection Complete event), 7.7.5 (Disconnection Complete event)
struct LinkTable {
    /// Slots that only a peer whose address is a bonded one's may take, where there is more than one.
    static let slotsForBondedPeers = 1

    /// Links held at once, in both roles together, as the operator has it.
    let linksMaximum: Int
    /// Connections that the controller had when it took no other: nil as long as it has not refused one. No command tells what
    /// a controller has room for.
    private(set) var connectionsMaximum: Int?
    /// In the order in which they were made.
    private(set) var all: [Link] = []
    /// Handles of links that found no slot, until the controller has taken them back.
    private(set) var rejected: [ConnectionHandle: LinkLifecycle] = [:]
    private var nextNumber: UInt64 = 1

    init(linksMaximum: Int) { self.linksMaximum = linksMaximum }

    var count: Int { all.count }

    subscript(id: LinkID) -> Link? { all.first { $0.id == id } }

    func link(at handle: ConnectionHandle) -> Link? { all.first { $0.handle == handle } }

    mutating func makeID() -> LinkID {
        defer { nextNumber += 1 }
        return LinkID(rawValue: nextNumber)
    }

    mutating func add(_ link: Link) { all.append(link) }

    /// One for a link that no controller gives a handle.
    var freeHandle: ConnectionHandle? {
        let taken = Set(all.map(\.handle))
        return (UInt16(0)...0x0EFF).lazy.map { ConnectionHandle($0) }.first { !taken.contains($0) }
    }

    mutating func remove(_ link: Link) { all.removeAll { $0 === link } }

    /// What a handle stands for, whether or not it found a slot.
    func lifecycle(at handle: ConnectionHandle) -> LinkLifecycle {
        link(at: handle)?.lifecycle ?? rejected[handle] ?? LinkLifecycle()
    }

    /// Whether a handle that found no slot is the controller's again.
    mutating func note(_ lifecycle: LinkLifecycle, at handle: ConnectionHandle) -> Bool {
        let wasRejected = rejected[handle] != nil
        rejected[handle] = lifecycle.isRejected ? lifecycle : nil
        return wasRejected && !lifecycle.isRejected
    }

    /// Nothing is known of the controller any more. The links themselves end one by one.
    mutating func controllerLost() {
        rejected = [:]
        connectionsMaximum = nil
    }

    /// The handle of a link that should have ended by now, and has not.
    func overdue(_ now: Instant) -> ConnectionHandle? {
        func isOverdue(_ lifecycle: LinkLifecycle) -> Bool { lifecycle.deadline.map { $0 <= now } ?? false }
        return all.first { isOverdue($0.lifecycle) }?.handle ?? rejected.first { isOverdue($0.value) }?.key
    }
}

// MARK: Slots

extension LinkTable {
    /// What the controller has: links, and those that it was told to end as soon as they were made.
    private var connections: Int { count + rejected.count }

    /// Links that there can be at once, as far as that is known.
    private var slots: Int { min(linksMaximum, connectionsMaximum ?? .max) }

    /// Every slot is taken, and none about to be free: a link that is ending frees its own.
    private var isEverySlotTaken: Bool { count >= slots && !all.contains(where: \.isDisconnecting) }

    /// Whether nobody may connect, whoever it is.
    var isFull: Bool { count >= linksMaximum }

    /// Whether a link that the controller has made may stay. `isBonded`: under a bonded peer's address. `isReplaced`: its handle
    /// still stands for a link that is not there any more, which takes no slot.
    mutating func hasSlot(_ role: LinkRole, isBonded: Bool, isReplaced: Bool) -> Bool {
        let others = count - (isReplaced ? 1 : 0)
        if let maximum = connectionsMaximum { connectionsMaximum = max(maximum, others + rejected.count + 1) }
        guard role == .peripheral, slots > 1, !isBonded else { return others < linksMaximum }
        return others < slots - Self.slotsForBondedPeers
    }

    /// The controller was to advertise for connections, and says that it takes no other: so many it has room for. When
    /// strangers have them all, the one of them that came last is in the slot that is kept, and is returned.
    mutating func connectionRefused(_ status: HCIErrorCode) -> Link? {
        guard [.connectionLimitExceeded, .connectionRejectedLimitedResources].contains(status), connections > 1 else {
            return nil
        }
        connectionsMaximum = connections
        let centrals = all.filter { $0.role == .peripheral }
        guard isEverySlotTaken, centrals.allSatisfy({ $0.identity == nil }) else { return nil }
        return centrals.last { !$0.pairing.isPairing }
    }

    /// A central under a bonded peer's address that has not shown to be that peer, and has the last slot. The newest of them:
    /// those who were there before it kept nobody out.
    var unprovenInLastSlot: Link? {
        guard slots > 1, isEverySlotTaken else { return nil }
        return all.last { $0.role == .peripheral && $0.isImpostorPossible && !$0.pairing.isPairing }
    }

    /// When that one has had its time.
    var lastSlotDeadline: Instant? {
        unprovenInLastSlot?.connectedAt.advanced(byMilliseconds: Host.unprovenInLastSlotMilliseconds)
    }
}

// MARK: A peer's links

extension LinkTable {
    func all(of peer: PeerIdentifier) -> [Link] { all.filter { $0.peer == peer } }

    /// The one that this side made.
    func central(of peer: PeerIdentifier) -> Link? { all.first { $0.role == .central && $0.peer == peer } }

    /// The link over which managers of this side are a peer's clients. One that is ending gives way to one that stands.
    func client(of peer: PeerIdentifier) -> Link? {
        let link = central(of: peer)
        if let link, !link.isDisconnecting { return link }
        return all.first { $0.peer == peer && $0.isClient && !$0.isDisconnecting } ?? link
            ?? all.first { $0.peer == peer && $0.isClient }
    }

    /// The link that is a peer's connection as soon as somebody asks for it.
    func serviceable(_ peer: PeerIdentifier) -> Link? {
        let standing = all.filter {
            $0.peer == peer && !$0.isDisconnecting && ($0.role == .central || !$0.isImpostorPossible)
        }
        return standing.first(where: \.isClient) ?? standing.first
    }

    /// Whose connection another link to the same peer is, where none of these stands any more; nil where one does. Whose link
    /// is ending has it until they have heard of the end.
    func usersOfEnding(beside link: Link) -> Set<RestorationLedger.Owner>? {
        let others = all.filter { $0 !== link && $0.peer == link.peer && $0.isClient }
        guard others.allSatisfy(\.isDisconnecting) else { return nil }
        return others.reduce(into: []) { $0.formUnion($1.client.users) }
    }

    /// What a peer's links are to the wish for a connection to it.
    func asConnection(to peer: PeerIdentifier) -> GAP.Wishes.Connection.Link {
        let links = all.filter { $0.peer == peer && $0.isClient }
        if links.contains(where: { !$0.isDisconnecting }) { return .standing }
        // Only a link in a bonded peer's name can be a stranger's.
        return links.isEmpty ? .none : links.allSatisfy { $0.identity != nil } ? .ending : .standing
    }
}
