import BluetoothCore

// MARK: The adapter's power

extension HostCore {
    /// The adapter has gone, and its links with it. What was asked for stands and runs again with the next controller, but for
    /// managers that want it as Apple has it. These hear of the connections that stood, and of nothing else.
    mutating func endWithPower() {
        for manager in managers.centrals where wantsItSo(manager) {
            guard let owner = managers[manager]?.owner else { continue }
            withLedger { $0.scan(owner, nil, &$1) }
            for pending in ledger.asked(owner).pendingConnections {
                withLedger { $0.connectionEnded(owner, pending.peer, &$1) }
            }
            delays.forget(owner)
        }
        for manager in managers.peripherals where wantsItSo(manager) {
            stopAdvertising(manager)
            unpublishAll(manager)
        }
    }

    private func wantsItSo(_ manager: ManagerID) -> Bool {
        managers[manager]?.options.contains(.endsWithPower) == true
    }

    /// Whether anything for the air was asked for in an earlier life and runs again.
    var hasRestoredWork: Bool {
        ledger.running(.central).contains {
            ledger.asked($0).scan != nil || !ledger.asked($0).pendingConnections.isEmpty
        }
            || ledger.running(.peripheral).contains { ledger.asked($0).advertising != nil }
    }

    /// The controller has answered everything that it was asked to do for this, or there is none to ask.
    var isRestoredWorkDone: Bool {
        switch state {
        case .unknown, .resetting: false
        case .poweredOn: blueZ != nil || gap.isAnswered
        case .unsupported, .unauthorized, .poweredOff: true
        }
    }

    /// The adapter is there. Apps that are written for Apple's systems, where it has forgotten their services, add them anew now: they
    /// get the ones that stand.
    mutating func inheritServices() {
        for owner in ledger.owners(of: .peripheral) { server.published.inherit(owner) }
    }
}
