import ATT
import BlueZ
import BluetoothCore
import GATT
import L2CAP
import SecurityManager

// MARK: Managers, state and timers

extension HostCore {
    mutating func register(
        _ role: RestoreKey.Role, restoreIdentifier: String?, _ options: ManagerOptions
    ) -> (ManagerID, RestorationRecord?) {
        let identifier = restoreIdentifier.flatMap {
            makeRoom(for: RestoreKey(role: role, identifier: $0)) ? $0 : nil
        }
        let (owner, restored) = ledger.register(role: role, identifier: identifier)
        let id = managers.add(ManagerTable.Slot(owner: owner, role: role, options: options))
        // Also where another manager has the name still: an app that puts a new one in its place lets go of it only then.
        claim(owner)
        readNames(for: owner)
        return (id, restored ? ledger.record(owner) : nil)
    }

    /// Whether a manager of this process is registered under the name.
    func isRegistered(_ key: RestoreKey) -> Bool { ledger.owner(of: key).map(managers.isClaimed) ?? false }

    mutating func unregister(_ manager: ManagerID) {
        guard let slot = managers.remove(manager) else { return }
        tellGAP(.advertisingWithdrawn(manager))
        releaseChannels(of: manager)
        guard !ledger.outlivesManager(slot.owner) else {
            // Another manager may come for it. A process that ends takes the radio along, and puts nothing to rest.
            if state == .poweredOn { beginGraces() }
            return
        }
        unpublishAll(of: slot.owner)
        ledger.release(slot.owner)
        delays.forget(slot.owner)
        noteLimitedDeadline()
        for link in links.all where link.client.users.remove(slot.owner) != nil { endUnwanted(link) }
        wishesChanged()
    }

    var deadline: Instant? {
        var earliest = controller.deadline
        func consider(_ instant: Instant?) { earliest = Instant.earliest(earliest, instant) }
        consider(recovery.deadline)
        consider(gap.deadline)
        consider(blueZ?.machine.deadline)
        consider(limitedDeadline)
        consider(delays.deadline)
        consider(unclaimed.deadline)
        for link in links.all { consider(link.deadline) }
        for link in links.rejected.values { consider(link.deadline) }
        consider(links.lastSlotDeadline)
        return earliest
    }

    mutating func timerFired() {
        controllerTimerFired()
        withRecovery(.timerFired)
        tellGAP(.timerFired)
        tellBlueZ(.timerFired)
        if let due = limitedDeadline, due <= now { wishesChanged() }
        if delays.end(now) { wishesChanged() }
        endGraces()
        for link in links.all { timerFired(link) }
        dropStandingLinks()
        endOverdueLinks()
        freeLastSlot()
    }

    mutating func setState(_ new: HostState) {
        guard state != new else { return }
        state = new
        if new == .poweredOn {
            beginGraces()
            inheritServices()
        } else {
            unclaimed.endAll()
        }
        for manager in managers.centrals { announce(CentralNews.state(new), to: manager) }
        announce(PeripheralNews.state(state(for: .peripheral)))
    }

    /// On an adapter that bluetoothd keeps there is the central role alone.
    func state(for role: RestoreKey.Role) -> HostState {
        role == .peripheral && blueZ != nil ? .unsupported : state
    }
}
