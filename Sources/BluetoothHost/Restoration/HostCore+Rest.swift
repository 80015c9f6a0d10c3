import BluetoothCore
import GATT
import SecurityManager

// MARK: What is kept for managers that do not come back

extension HostCore {
    /// The radio is on: whoever has a name and no manager has a while to come.
    mutating func beginGraces() {
        for owner in ledger.named where !ledger.isAtRest(owner) && !managers.isClaimed(owner) {
            unclaimed.begin(owner, now: now)
        }
    }

    mutating func endGraces() {
        while let owner = unclaimed.due(now) { putToRest(owner) }
    }

    /// What was kept for an owner stays on the disk, and runs no more: it wants nothing of the air, and its services leave the tree.
    mutating func putToRest(_ owner: RestorationLedger.Owner) {
        unclaimed.end(owner)
        guard let key = ledger.key(of: owner), !ledger.isAtRest(owner) else { return }
        guard ledger.record(owner) != RestorationRecord() else { return withLedger { $0.forget(owner, &$1) } }
        withLedger { $0.putToRest(owner, &$1) }
        withServer { $0.rest(owner, into: &$1) }
        for link in links.all where link.client.users.remove(owner) != nil { endUnwanted(link) }
        wishesChanged()
        tell(.managerAtRest(key))
    }

    /// A manager has come under an owner's name: what was kept runs, as it does from a launch on.
    mutating func claim(_ owner: RestorationLedger.Owner) {
        unclaimed.end(owner)
        if ledger.isAtRest(owner) { wake(owner) }
        server.published.inherit(owner)
    }

    private mutating func wake(_ owner: RestorationLedger.Owner) {
        withLedger { $0.wake(owner, &$1) }
        let asked = ledger.asked(owner)
        withServer { $0.wake(asked.services, of: owner, into: &$1) }
        for pending in asked.pendingConnections {
            if let link = links.serviceable(pending.peer) {
                link.client.users.insert(owner)
            } else {
                for link in links.all(of: pending.peer) { serveWaiting(link) }
            }
        }
        wishesChanged()
    }

    /// Before something is kept under another name. False where every name has its manager.
    mutating func makeRoom(for key: RestoreKey) -> Bool {
        guard !ledger.isKnown(key) else { return true }
        while ledger.named.count >= RestorationLedger.namesMaximum {
            guard let owner = ledger.named.first(where: { !managers.isClaimed($0) }), let old = ledger.key(of: owner)
            else {
                tell(.managerNotKept(key))
                return false
            }
            putToRest(owner)
            withLedger { $0.forget(owner, &$1) }
            noteLimitedDeadline()
            tell(.managerForgotten(old))
        }
        return true
    }
}
