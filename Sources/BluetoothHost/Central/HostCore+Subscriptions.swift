import BluetoothCore
import GATT
import SecurityManager

// MARK: What managers are subscribed to at a peer

extension HostCore {
    /// The peer knows one client, and this side may have several managers: it is told what all of them together want of the value.
    ///
    /// Core 5.4, Vol 3, Part G, 3.3.3.3 (Client Characteristic Configuration)
    mutating func setNotify(
        _ manager: ManagerID, _ peer: PeerIdentifier, value: AttributeHandle, ccc: AttributeHandle,
        kind: SubscriptionRecord.Kind?
    ) -> OperationToken {
        let token = makeToken()
        guard let link = links.client(of: peer), !link.isDisconnecting, let owner = managers[manager]?.owner else {
            finish(manager, token, peer, .failure(.notConnected))
            return token
        }
        let change =
            kind.map {
                SubscriptionChange.begun(
                    SubscriptionRecord(peer: peer, valueHandle: value, cccHandle: ccc, kind: $0))
            } ?? .ended(value)
        let configuration = ClientCharacteristicConfiguration(kind).union(wanted(of: value, besides: owner, on: link))
        start(.configure(ccc, configuration), .changeSubscription(manager, token, change), token, on: link)
        return token
    }

    /// What all other managers want of a value, once the peer has taken the changes that are under way.
    private func wanted(
        of value: AttributeHandle, besides own: RestorationLedger.Owner, on link: Link
    ) -> ClientCharacteristicConfiguration {
        ledger.owners(of: .central).filter { $0 != own }.reduce(into: []) { wanted, owner in
            let change = link.client.lastChange(of: value, by: managers.manager(of: owner), owner)
            let kept = ledger.asked(owner).subscriptions.first { $0.peer == link.peer && $0.valueHandle == value }
            wanted.formUnion(ClientCharacteristicConfiguration(change.map(\.kind) ?? kept?.kind))
        }
    }

    /// The peer has taken a change. Who may be somebody else in a bonded peer's name says nothing of what the peer itself does: the
    /// change is the link's until the peer has proved itself, and is gone with a link on which it does not.
    mutating func subscriptionChanged(_ owner: RestorationLedger.Owner, _ change: SubscriptionChange, on link: Link) {
        guard !link.isImpostorPossible else { return link.client.hold(change, of: owner) }
        withLedger {
            switch change {
            case .begun(let record): $0.subscribe(owner, record, &$1)
            case .ended(let value): $0.unsubscribe(owner, link.peer, value, &$1)
            }
        }
        wishesChanged()
    }

    /// It was the peer itself that took them.
    mutating func keepProvenSubscriptions(of link: Link) {
        for (owner, change) in link.client.takeUnprovenChanges() { subscriptionChanged(owner, change, on: link) }
    }

    /// Value handles, as they are kept: without a bond nothing outlives the link.
    func subscriptions(_ manager: ManagerID, _ peer: PeerIdentifier) -> Set<AttributeHandle> {
        guard hasBond(peer), let owner = managers[manager]?.owner else { return [] }
        return Set(ledger.asked(owner).subscriptions.lazy.filter { $0.peer == peer }.map(\.valueHandle))
    }
}

// MARK: Subscriptions that are over

extension HostCore {
    /// A changed service's subscriptions are over, on the disk too: what comes back at their handles is another characteristic.
    ///
    /// Core 5.4, Vol 3, Part G, 7.1 (Service Changed)
    mutating func endSubscriptions(
        at peer: PeerIdentifier, in range: ClosedRange<AttributeHandle> = .first ... .last
    ) {
        endSubscriptions { $1.peer == peer && range.contains($1.valueHandle) }
    }

    /// Peers without a bond have forgotten what an earlier life was subscribed to: its links went with it, and so did what it had asked of
    /// bluetoothd.
    mutating func endSubscriptionsOfStrangers() {
        endSubscriptions { !$0.hasBond($1.peer) }
    }

    private mutating func endSubscriptions(where isOver: (borrowing HostCore, SubscriptionRecord) -> Bool) {
        for owner in ledger.owners(of: .central) {
            for subscription in ledger.asked(owner).subscriptions where isOver(self, subscription) {
                withLedger { $0.unsubscribe(owner, subscription.peer, subscription.valueHandle, &$1) }
            }
        }
    }

    func hasBond(_ peer: PeerIdentifier) -> Bool { peers[peer].map { isBonded($0.address) } ?? false }

    func isBonded(_ address: DeviceAddress) -> Bool {
        IdentityAddress(address).map { !bondBook.bonds(with: $0).isEmpty } ?? false
    }
}

extension ClientCharacteristicConfiguration {
    /// nil: neither.
    fileprivate init(_ kind: SubscriptionRecord.Kind?) { self.init(rawValue: kind?.rawValue ?? 0) }
}
