import BluetoothCore
import GATT
import SecurityManager

/// A host's store that lives as long as its process, or as a simulator wants: what was committed is handed to the store
/// of the next launch. It also says what every store must make of each fact.
package final class MemoryHostStore: HostStore {
    /// What a kill leaves.
    package private(set) var kept: KeptHostFacts
    /// The same with what is pending.
    private var current: KeptHostFacts
    private var pending: [HostMutation] = []

    package init(_ kept: KeptHostFacts = KeptHostFacts()) {
        self.kept = kept
        current = kept
    }

    package func load() -> HostSnapshot { kept.snapshot }
    package func launch() -> HostSnapshot { kept.launchSnapshot }
    package var rows: (any HostRows)? { self }
    package func append(_ mutation: HostMutation) {
        pending.append(mutation)
        current.apply(mutation)
    }
    package var hasPending: Bool { !pending.isEmpty }
    package func writePending() {}

    package func didCommit() {
        for mutation in pending { kept.apply(mutation) }
        pending.removeAll(keepingCapacity: true)
    }
}

extension MemoryHostStore: HostRows {
    package func bond(_ id: BondID) -> Bond? { current.bonds[id] }
    package func bondState(_ id: BondID) -> BondState? { current.bonds[id]?.state }
    package func isKept(_ id: BondID) -> Bool { current.bonds[id] != nil }
    package var hasBonds: Bool { current.bonds.values.contains { $0.state != .provisional } }

    package func bonds(with identity: IdentityAddress) -> [Bond] {
        sorted { $0.identity == identity && $0.state != .provisional }
    }

    package func bonds(after cursor: BondCursor?, limit: Int) -> BondPage<Bond> {
        page(sorted { _ in true }, after: cursor, limit, \.id)
    }

    package func marks(after cursor: BondCursor?, limit: Int) -> BondPage<BondMark> {
        page(sorted { $0.state != .provisional }.map { BondMark($0) }, after: cursor, limit, \.id)
    }

    package func confirmedBonds(after cursor: BondCursor?, limit: Int) -> BondPage<BondID> {
        page(sorted { $0.state == .confirmed }.map(\.id), after: cursor, limit, \.self)
    }

    private func page<Row>(
        _ rows: [Row], after cursor: BondCursor?, _ limit: Int, _ id: (Row) -> BondID
    ) -> BondPage<Row> {
        let rest = rows.filter { row in cursor.map { $0.position < id(row).rawValue } ?? true }
        let next = rest.count > limit ? BondCursor(position: id(rest[limit - 1]).rawValue) : nil
        return BondPage(rows: Array(rest.prefix(limit)), next: next)
    }

    package func bonds(enrolledFor credential: String) -> [BondID] {
        sorted { $0.credential == credential && $0.state != .provisional }.map(\.id)
    }

    private func sorted(where isIncluded: (Bond) -> Bool) -> [Bond] {
        current.bonds.values.filter(isIncluded).sorted { $0.id.rawValue < $1.id.rawValue }
    }

    package func client(_ bond: UInt64) -> GATTClientRecord? {
        current.gattClients[bond].flatMap { $0 == GATTClientRecord(bond: bond) ? nil : $0 }
    }

    package func clients() -> [GATTClientRecord] { current.snapshot.gattClients }
    package func peer(_ identifier: PeerIdentifier) -> PeerRecord? { current.peers[identifier] }

    package func peer(at address: DeviceAddress) -> PeerRecord? {
        current.peers.values.filter { $0.address == address }.max { $0.identifier.bits < $1.identifier.bits }
    }

    package func peerNames() -> [PeerName] {
        current.peers.values.map { PeerName(identifier: $0.identifier, name: $0.name) }
            .sorted { $0.identifier.bits < $1.identifier.bits }
    }

    package func peersWithoutBond(after cursor: PeerIdentifier?, limit: Int) -> PeerPage {
        let bonded = Set(kept.bonds.values.compactMap(\.identity?.address))
        let rows = kept.peers.values.filter { row in cursor.map { $0.bits < row.identifier.bits } ?? true }
            .sorted { $0.identifier.bits < $1.identifier.bits }.prefix(limit)
        return PeerPage(
            peers: rows.filter { !bonded.contains($0.address) }.map(\.identifier),
            next: rows.count == limit ? rows.last?.identifier : nil)
    }
}

/// Commits to memory, where nothing can fail.
package final class MemoryTransactionCoordinator: TransactionCoordinator {
    package init() {}

    package func commit(_ participants: [any CommitParticipant]) throws {
        let pending = participants.filter(\.hasPending)
        for participant in pending { try participant.writePending() }
        for participant in pending { participant.didCommit() }
    }
}

/// The facts of one local identity, by their keys.
///
/// Facts about a bond that is not kept (any more) are dropped: a bond takes what is remembered of its client and what
/// was queued for it along when it is deleted, and a late fact must not bring a part of it back.
package struct KeptHostFacts: Sendable {
    private var identity: LocalIdentity?
    fileprivate private(set) var bonds: [BondID: Bond] = [:]
    fileprivate private(set) var gattClients: [UInt64: GATTClientRecord] = [:]
    fileprivate private(set) var peers: [PeerIdentifier: PeerRecord] = [:]
    private var restorations: [RestoreKey: RestorationRecord] = [:]

    package init() {}

    /// Sorted by their keys; managers of which nothing is kept do not appear.
    package var snapshot: HostSnapshot {
        var snapshot = HostSnapshot()
        snapshot.identity = identity
        snapshot.bonds = bonds.values.sorted { $0.id.rawValue < $1.id.rawValue }
        snapshot.gattClients = gattClients.values.filter { $0 != GATTClientRecord(bond: $0.bond) }
            .sorted { $0.bond < $1.bond }
        snapshot.peers = peers.values.sorted { $0.identifier.bits < $1.identifier.bits }
        snapshot.restorations = restorations.filter { $0.value != RestorationRecord() }
        return snapshot
    }

    /// What ``HostStore/launch()`` gives of it.
    package var launchSnapshot: HostSnapshot {
        var snapshot = snapshot
        snapshot.bonds.removeAll { $0.state == .confirmed }
        snapshot.gattClients = []
        snapshot.peers = []
        return snapshot
    }

    package mutating func apply(_ mutation: HostMutation) {
        switch mutation {
        case .localIdentity(let new): identity = new
        case .bond(let mutation): apply(mutation)
        case .gatt(let mutation):
            if let bond = mutation.bond, bonds[BondID(Int64(bitPattern: bond))] == nil { return }
            mutation.apply(to: &gattClients)
        case .peer(let peer): peers[peer.identifier] = peer
        case .peerForgotten(let peer): peers[peer] = nil
        case .pendingConnection(let key, let connection):
            restorations[key, default: RestorationRecord()].pendingConnections
                .upsert(connection, by: \.peer.bits)
        case .pendingConnectionEnded(let key, let peer):
            restorations[key]?.pendingConnections.removeAll { $0.peer == peer }
        case .subscription(let key, let subscription):
            restorations[key, default: RestorationRecord()].subscriptions.upsert(subscription, by: \.order)
        case .subscriptionEnded(let key, let peer, let handle):
            restorations[key]?.subscriptions.removeAll { $0.peer == peer && $0.valueHandle == handle }
        case .scan(let key, let scan): restorations[key, default: RestorationRecord()].scan = scan
        case .servicePublished(let key, let service):
            restorations[key, default: RestorationRecord()].services.upsert(service, by: \.handle)
        case .serviceRemoved(let key, let handle):
            restorations[key]?.services.removeAll { $0.handle == handle }
        case .advertising(let key, let advertising):
            restorations[key, default: RestorationRecord()].advertising = advertising
        case .updateQueued(let key, let update):
            guard bonds[update.bond] != nil else { return }
            restorations[key, default: RestorationRecord()].queuedUpdates.upsert(update, by: \.sequence)
        case .updateDelivered(let key, let sequence):
            restorations[key]?.queuedUpdates.removeAll { $0.sequence == sequence }
        case .managerRested(let key, let rest?): restorations[key, default: RestorationRecord()].rest = rest
        case .managerRested(let key, nil): restorations[key]?.rest = nil
        case .managerForgotten(let key): restorations[key] = nil
        }
    }

    private mutating func apply(_ mutation: BondMutation) {
        mutation.apply(to: &bonds)
        guard case .delete(let id) = mutation else { return }
        gattClients[UInt64(bitPattern: id.rawValue)] = nil
        for key in restorations.keys { restorations[key]?.queuedUpdates.removeAll { $0.bond == id } }
    }
}

extension GATTMutation {
    /// The bond that the fact is about; nil when it is about all.
    package var bond: UInt64? {
        switch self {
        case .clientCharacteristicConfiguration(let bond, _, _), .clientSupportedFeatures(let bond, _),
            .changeAware(let bond, _):
            bond
        case .handlesRemoved: nil
        }
    }
}

extension SubscriptionRecord {
    /// Sorts by peer, then by handle.
    fileprivate var order: SubscriptionOrder { SubscriptionOrder(peer: peer.bits, handle: valueHandle) }
}

private struct SubscriptionOrder: Comparable {
    var peer: UInt128
    var handle: AttributeHandle

    static func < (a: Self, b: Self) -> Bool { (a.peer, a.handle) < (b.peer, b.handle) }
}

extension Array {
    /// Puts `element` in the place of the one with its key, or where its key belongs. The array stays sorted.
    fileprivate mutating func upsert<Key: Comparable>(_ element: Element, by key: (Element) -> Key) {
        let new = key(element)
        let index = firstIndex { key($0) >= new } ?? endIndex
        if index < endIndex, key(self[index]) == new { self[index] = element } else { insert(element, at: index) }
    }
}
