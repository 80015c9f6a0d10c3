import BluetoothCore
import SecurityManager

/// What is kept for every manager that has a restore identifier: memory is the truth, and each change of it is a fact
/// for the store. Managers without an identifier keep the same in memory only, until they go.
package struct RestorationLedger {
    /// A manager's place in the ledger. It outlives the manager when it has a restore identifier.
    package struct Owner: Hashable, Comparable, Sendable {
        fileprivate let number: Int

        package static func < (a: Self, b: Self) -> Bool { a.number < b.number }
    }

    package struct Entry {
        package let role: RestoreKey.Role
        package let key: RestoreKey?
        /// Without the updates, which are ``updates``.
        fileprivate(set) var asked: RestorationRecord
        fileprivate(set) var updates: KeptUpdates
        /// Peers whose link is over, which the app has not heard yet: their connections are kept until then.
        fileprivate(set) var unheardLosses: Set<PeerIdentifier> = []

        init(role: RestoreKey.Role, key: RestoreKey?, record: RestorationRecord) {
            (self.role, self.key) = (role, key)
            updates = KeptUpdates(record.queuedUpdates)
            asked = record
            asked.queuedUpdates = []
        }
    }

    private(set) var entries: [Owner: Entry] = [:]
    private var owners: [RestoreKey: Owner] = [:]
    /// By role, in the order in which they came.
    private var ownersByRole: [RestoreKey.Role: [Owner]] = [:]
    private var nextNumber = 1
    private var nextSequence: UInt64 = 1
    /// The place of the next that is put to rest.
    var nextRest: UInt64 = 1

    package init(_ restorations: [RestoreKey: RestorationRecord]) {
        // In an order that every launch repeats: where managers want different things the first one has its way.
        let inOrder = restorations.sorted {
            ($0.key.role.rawValue, $0.key.identifier) < ($1.key.role.rawValue, $1.key.identifier)
        }
        for (key, record) in inOrder {
            let owner = add(role: key.role, key: key, record: record)
            owners[key] = owner
            for update in record.queuedUpdates { nextSequence = max(nextSequence, update.sequence + 1) }
            if let rest = record.rest { nextRest = max(nextRest, rest + 1) }
        }
    }

    /// The owner for a manager that registers, and whether anything was kept for it.
    package mutating func register(role: RestoreKey.Role, identifier: String?) -> (owner: Owner, restored: Bool) {
        guard let identifier else { return (add(role: role, key: nil, record: RestorationRecord()), false) }
        let key = RestoreKey(role: role, identifier: identifier)
        if let owner = owners[key] { return (owner, true) }
        let owner = add(role: role, key: key, record: RestorationRecord())
        owners[key] = owner
        return (owner, false)
    }

    /// Whether the owner has a name to be kept under.
    package func outlivesManager(_ owner: Owner) -> Bool { entries[owner]?.key != nil }

    /// Forgets an owner without identifier; with one it stays, for the manager's next life.
    package mutating func release(_ owner: Owner) {
        guard let entry = entries[owner], entry.key == nil else { return }
        remove(owner)
    }

    mutating func remove(_ owner: Owner) {
        guard let entry = entries.removeValue(forKey: owner) else { return }
        ownersByRole[entry.role]?.removeAll { $0 == owner }
        if let key = entry.key { owners[key] = nil }
    }

    func owner(of key: RestoreKey) -> Owner? { owners[key] }

    /// Whether something is kept under the name, or was asked for under it in this life.
    package func isKnown(_ key: RestoreKey) -> Bool { owners[key] != nil }

    /// All of it.
    package func record(_ owner: Owner) -> RestorationRecord {
        var record = asked(owner)
        if let updates = entries[owner]?.updates, !updates.isEmpty { record.queuedUpdates = updates.all }
        return record
    }

    /// All but the updates that wait for centrals: there may be very many of them.
    package func asked(_ owner: Owner) -> RestorationRecord { entries[owner]?.asked ?? RestorationRecord() }

    /// What waits for one central, oldest first.
    package func waiting(_ owner: Owner, _ bond: BondID) -> [QueuedUpdate] {
        entries[owner]?.updates.waiting(for: bond) ?? []
    }

    package func owners(of role: RestoreKey.Role) -> [Owner] { ownersByRole[role] ?? [] }

    /// Those whose things run: all but the ones at rest.
    package func running(_ role: RestoreKey.Role) -> [Owner] { owners(of: role).filter { !isAtRest($0) } }

    /// Whether it has asked for a connection to this peer, and neither taken it back nor been put to rest.
    package func wants(_ owner: Owner, _ peer: PeerIdentifier) -> Bool {
        guard let asked = entries[owner]?.asked, asked.rest == nil else { return false }
        return asked.pendingConnections.contains { $0.peer == peer }
    }

    /// Whether its wish for a connection to this peer outlives the link that comes of it.
    func reconnects(_ owner: Owner, _ peer: PeerIdentifier) -> Bool {
        entries[owner]?.asked.pendingConnections.contains { $0.peer == peer && $0.reconnects } == true
    }

    private mutating func add(role: RestoreKey.Role, key: RestoreKey?, record: RestorationRecord) -> Owner {
        let owner = Owner(number: nextNumber)
        nextNumber += 1
        entries[owner] = Entry(role: role, key: key, record: record)
        ownersByRole[role, default: []].append(owner)
        return owner
    }

    /// Changes a record, and says the fact that a store must hear when the owner has a name to keep it under.
    mutating func change(
        _ owner: Owner, _ facts: inout [HostMutation], _ body: (inout RestorationRecord) -> Void,
        fact: (RestoreKey) -> HostMutation
    ) {
        guard entries[owner] != nil else { return }
        // In place: the record is not copied beside itself.
        body(&entries[owner, default: Entry(role: .central, key: nil, record: RestorationRecord())].asked)
        if let key = entries[owner]?.key { facts.append(fact(key)) }
    }
}

// MARK: Central

extension RestorationLedger {
    package mutating func connect(_ owner: Owner, _ pending: PendingConnection, _ facts: inout [HostMutation]) {
        entries[owner]?.unheardLosses.remove(pending.peer)
        change(owner, &facts) { record in
            record.pendingConnections.removeAll { $0.peer == pending.peer }
            record.pendingConnections.append(pending)
        } fact: {
            .pendingConnection($0, pending)
        }
    }

    package mutating func connectionEnded(_ owner: Owner, _ peer: PeerIdentifier, _ facts: inout [HostMutation]) {
        guard asked(owner).pendingConnections.contains(where: { $0.peer == peer }) else { return }
        change(owner, &facts) { record in
            record.pendingConnections.removeAll { $0.peer == peer }
        } fact: {
            .pendingConnectionEnded($0, peer)
        }
    }

    /// The link that came of a connection is over, and an app that hears so later may be killed before: what it asked for
    /// stands on the disk until ``lossHeard(_:_:_:)``, or until it asks anew.
    package mutating func connectionLost(_ owner: Owner, _ peer: PeerIdentifier) {
        entries[owner]?.asked.pendingConnections.removeAll { $0.peer == peer }
        entries[owner]?.unheardLosses.insert(peer)
    }

    package mutating func lossHeard(_ owner: Owner, _ peer: PeerIdentifier, _ facts: inout [HostMutation]) {
        guard let entry = entries[owner], entry.unheardLosses.contains(peer) else { return }
        entries[owner]?.unheardLosses.remove(peer)
        if let key = entry.key { facts.append(.pendingConnectionEnded(key, peer)) }
    }

    /// Peers whose connections are kept for no other reason.
    func unheardLosses(_ owner: Owner) -> Set<PeerIdentifier> { entries[owner]?.unheardLosses ?? [] }

    package mutating func subscribe(_ owner: Owner, _ subscription: SubscriptionRecord, _ facts: inout [HostMutation]) {
        change(owner, &facts) { record in
            record.subscriptions.removeAll {
                $0.peer == subscription.peer && $0.valueHandle == subscription.valueHandle
            }
            record.subscriptions.append(subscription)
        } fact: {
            .subscription($0, subscription)
        }
    }

    package mutating func unsubscribe(
        _ owner: Owner, _ peer: PeerIdentifier, _ handle: AttributeHandle, _ facts: inout [HostMutation]
    ) {
        let matches: (SubscriptionRecord) -> Bool = { $0.peer == peer && $0.valueHandle == handle }
        guard asked(owner).subscriptions.contains(where: matches) else { return }
        change(owner, &facts) { record in
            record.subscriptions.removeAll(where: matches)
        } fact: {
            .subscriptionEnded($0, peer, valueHandle: handle)
        }
    }

    /// Deletes this owner's wishes for the peer from the disk, and keeps them in memory.
    mutating func forgetKept(_ owner: Owner, _ peer: PeerIdentifier, _ facts: inout [HostMutation]) {
        guard let entry = entries[owner], let key = entry.key else { return }
        for subscription in entry.asked.subscriptions where subscription.peer == peer {
            facts.append(.subscriptionEnded(key, peer, valueHandle: subscription.valueHandle))
        }
        if entry.asked.pendingConnections.contains(where: { $0.peer == peer }) {
            facts.append(.pendingConnectionEnded(key, peer))
        }
    }

    package mutating func scan(_ owner: Owner, _ scan: ScanRecord?, _ facts: inout [HostMutation]) {
        guard asked(owner).scan != scan else { return }
        change(owner, &facts) {
            $0.scan = scan
        } fact: {
            .scan($0, scan)
        }
    }
}

// MARK: Peripheral

extension RestorationLedger {
    package mutating func publish(_ owner: Owner, _ service: PublishedServiceRecord, _ facts: inout [HostMutation]) {
        change(owner, &facts) { record in
            record.services.removeAll { $0.handle == service.handle }
            record.services.append(service)
        } fact: {
            .servicePublished($0, service)
        }
    }

    package mutating func unpublish(_ owner: Owner, _ handle: AttributeHandle, _ facts: inout [HostMutation]) {
        change(owner, &facts) { record in
            record.services.removeAll { $0.handle == handle }
        } fact: {
            .serviceRemoved($0, handle: handle)
        }
    }

    package mutating func advertise(_ owner: Owner, _ advertising: AdvertisingRecord?, _ facts: inout [HostMutation]) {
        guard asked(owner).advertising != advertising else { return }
        change(owner, &facts) {
            $0.advertising = advertising
        } fact: {
            .advertising($0, advertising)
        }
    }

    /// Updates that one bonded central may have waiting; a newer notification of the same characteristic replaces an older
    /// one.
    package static let queuedUpdatesOfCentralMaximum = 64

    /// Whether one more update for this central displaces its oldest.
    package func isQueueFull(_ owner: Owner, _ bond: BondID) -> Bool {
        (entries[owner]?.updates.count(for: bond) ?? 0) >= Self.queuedUpdatesOfCentralMaximum
    }

    /// The update's sequence. Of a central that stays away, what is newest is kept.
    @discardableResult
    package mutating func queue(
        _ owner: Owner, bond: BondID, handle: AttributeHandle, isIndication: Bool, value: [UInt8],
        _ facts: inout [HostMutation]
    ) -> UInt64 {
        let waiting = waiting(owner, bond)
        let replaced =
            waiting.first { $0.valueHandle == handle && !$0.isIndication && !isIndication }
            ?? (waiting.count >= Self.queuedUpdatesOfCentralMaximum ? waiting.first : nil)
        if let replaced { delivered(owner, sequence: replaced.sequence, &facts) }
        let update = QueuedUpdate(
            sequence: nextSequence, bond: bond, valueHandle: handle, isIndication: isIndication, value: value)
        nextSequence += 1
        entries[owner]?.updates.append(update)
        if let key = entries[owner]?.key { facts.append(.updateQueued(key, update)) }
        return update.sequence
    }

    package mutating func delivered(_ owner: Owner, sequence: UInt64, _ facts: inout [HostMutation]) {
        guard entries[owner]?.updates.remove(sequence) == true, let key = entries[owner]?.key else { return }
        facts.append(.updateDelivered(key, sequence: sequence))
    }

    /// What waits for characteristics at these handles was of others than those that come there.
    package mutating func forgetUpdates(of handles: ClosedRange<AttributeHandle>, _ facts: inout [HostMutation]) {
        for owner in owners(of: .peripheral) {
            for update in entries[owner]?.updates.all ?? [] where handles.contains(update.valueHandle) {
                delivered(owner, sequence: update.sequence, &facts)
            }
        }
    }

    /// A bond is gone, and with it what waited for it.
    package mutating func forget(bond: BondID, _ facts: inout [HostMutation]) {
        for owner in owners(of: .peripheral) {
            for update in waiting(owner, bond) { delivered(owner, sequence: update.sequence, &facts) }
        }
    }
}
