import ATT
import BluetoothCore
import GATT
import L2CAP
import SecurityManager

// MARK: Managers, state and timers

extension Host {
    package var hostState: HostState { state }

    /// The record is what was kept under the identifier; pending connections, scan, advertising and the published tree in
    /// it are already running again by themselves. nil without identifier, and when nothing was kept under it.
    package func registerCentral(
        restoreIdentifier: String?, delegate: any CentralRoleDelegate
    ) -> (ManagerID, RestorationRecord?) {
        let (owner, restored) = ledger.register(role: .central, identifier: restoreIdentifier)
        let id = managers.add(ManagerTable.Slot(owner: owner, central: delegate, peripheral: nil))
        return (id, restored ? ledger.record(owner) : nil)
    }

    package func registerPeripheral(
        restoreIdentifier: String?, delegate: any PeripheralRoleDelegate
    ) -> (ManagerID, RestorationRecord?) {
        let (owner, restored) = ledger.register(role: .peripheral, identifier: restoreIdentifier)
        let id = managers.add(ManagerTable.Slot(owner: owner, central: nil, peripheral: delegate))
        return (id, restored ? ledger.record(owner) : nil)
    }

    /// What a manager without identifier asked for ends with it; with one it runs on, for its next life.
    package func unregister(_ manager: ManagerID) {
        guard let slot = managers.remove(manager) else { return }
        tellGAP(.advertisingWithdrawn(manager))
        releaseChannels(of: manager)
        guard !ledger.outlivesManager(slot.owner) else { return }
        for entry in publishedServices.values where entry.owner == slot.owner { unpublish(entry.service, slot.owner) }
        ledger.release(slot.owner)
        noteLimitedDeadline()
        for link in linksInOrder where link.users.remove(slot.owner) != nil { endUnwanted(link) }
        wishesChanged()
    }

    package func makeTimer() -> TimerToken { timers.makeToken() }

    /// Fires once, inline on the loop; replaces what the token was set to, and nil cancels.
    package func setTimer(_ token: TimerToken, at instant: Instant?, _ fire: @escaping (Instant) -> Void) {
        timers.set(token, at: instant, fire)
    }

    /// When ``timerFired()`` wants to be called.
    package var deadline: Instant? {
        var earliest = timers.deadline
        func consider(_ instant: Instant?) { earliest = Instant.earliest(earliest, instant) }
        consider(controller.deadline)
        consider(recovery.deadline)
        consider(gap.deadline)
        consider(limitedDeadline)
        for link in linksInOrder {
            consider(link.endpoint.bearer.deadline)
            consider(link.logical.deadline)
            // Nothing is asked for on a link that ends.
            if !link.isDisconnecting { consider(link.negotiation.deadline) }
            consider(link.pairing.deadline)
            consider(link.securityWait?.until)
            consider(link.proofDeadline)
            consider(link.inquiry?.deadline)
            consider(link.lifecycle.deadline)
        }
        for link in rejectedLinks.values { consider(link.deadline) }
        consider(lastSlotDeadline)
        return earliest
    }

    /// Everything that is due at this iteration's instant.
    package func timerFired() {
        for fire in timers.takeDue(now) { fire(now) }
        controllerTimerFired()
        withRecovery(.timerFired)
        tellGAP(.timerFired)
        if let due = limitedDeadline, due <= now { wishesChanged() }
        for link in linksInOrder { timerFired(link) }
        dropStandingLinks()
        endOverdueLinks()
        freeLastSlot()
    }

    func setState(_ new: HostState) {
        guard state != new else { return }
        state = new
        managers.forEachCentral { announce(CentralNews.state(new), to: $0) }
        announce(PeripheralNews.state(new))
    }
}
