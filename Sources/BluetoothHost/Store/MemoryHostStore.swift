import BluetoothCore
import GATT
import SecurityManager

/// A host's store that lives as long as its process, or as a simulator wants: what was committed is handed to the store
/// of the next launch. It also says what every store must make of each fact.
package final class MemoryHostStore: HostStore {
    /// What a kill leaves.
    package private(set) var kept: KeptHostFacts
    private var pending: [HostMutation] = []

    package init(_ kept: KeptHostFacts = KeptHostFacts()) { self.kept = kept }

    package func load() -> HostSnapshot { kept.snapshot }
    package func append(_ mutation: HostMutation) { pending.append(mutation) }
    package var hasPending: Bool { !pending.isEmpty }
    package func writePending() {}

    package func didCommit() {
        for mutation in pending { kept.apply(mutation) }
        pending.removeAll(keepingCapacity: true)
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
    private var bonds: [BondID: Bond] = [:]
    private var gattClients: [UInt64: GATTClientRecord] = [:]
    private var peers: [PeerIdentifier: PeerRecord] = [:]
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
        }
    }

    private mutating func apply(_ mutation: BondMutation) {
        switch mutation {
        case .upsert(let bond): bonds[bond.id] = bond
        case .remoteSignCounter(let id, let counter): bonds[id]?.lastRemoteSignCounter = counter
        case .localSignCounterReserved(let id, let bound): bonds[id]?.localSignCounterReserved = bound
        case .promoted(let id):
            if bonds[id]?.state == .unconfirmed { bonds[id]?.state = .confirmed }
        case .delete(let id):
            bonds[id] = nil
            gattClients[UInt64(bitPattern: id.rawValue)] = nil
            for key in restorations.keys { restorations[key]?.queuedUpdates.removeAll { $0.bond == id } }
        }
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
