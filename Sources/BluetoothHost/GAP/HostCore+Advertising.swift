import BluetoothCore
import SecurityManager

// MARK: Advertising, as a manager asks for it

extension HostCore {
    mutating func startAdvertising(_ manager: ManagerID, _ record: AdvertisingRecord) {
        guard let slot = managers[manager] else { return }
        guard record.isWellFormed else {
            announce(.advertisingStarted(.invalidAdvertisement), to: manager)
            return
        }
        var record = record
        record.limitedUntil = record.discoverability == .limited ? limitedFromNow : nil
        advertise(record, for: slot.owner)
        tellGAP(.advertisingAsked(manager, slot.owner))
    }

    mutating func stopAdvertising(_ manager: ManagerID) {
        guard let owner = managers[manager]?.owner else { return }
        advertise(nil, for: owner)
        tellGAP(.advertisingWithdrawn(manager))
    }

    func isAdvertising(_ manager: ManagerID) -> Bool { advertising(of: manager) != nil }

    func advertising(of manager: ManagerID) -> AdvertisingRecord? {
        managers[manager].flatMap { ledger.asked($0.owner).advertising }
    }
}

// MARK: The end of the limited discoverable mode

extension HostCore {
    private var limitedFromNow: BootDeadline {
        BootDeadline(boot: boot, at: now.advanced(byMilliseconds: DiscoverableMode.limitedMilliseconds))
    }

    private mutating func advertise(_ record: AdvertisingRecord?, for owner: RestorationLedger.Owner) {
        withLedger { $0.advertise(owner, record, &$1) }
        noteLimitedDeadline()
    }

    /// Kept and not computed each time, because the loop asks in every iteration.
    mutating func noteLimitedDeadline() {
        limitedDeadline = ledger.owners(of: .peripheral).reduce(nil) { earliest, owner in
            Instant.earliest(earliest, ledger.asked(owner).advertising.flatMap { limitedEnd(of: $0) })
        }
    }

    /// What was limited in another boot of the machine has ended: nobody knows how long that was.
    private func limitedEnd(of record: AdvertisingRecord) -> Instant? {
        guard record.discoverability == .limited else { return nil }
        return record.limitedUntil?.due(in: boot) ?? Instant(nanoseconds: 0)
    }

    /// Whose time is up is not discoverable from then on, and takes connections as before. On disk that is so before it is
    /// on the air.
    ///
    /// Core 5.4, Vol 3, Part C, 9.2.3.2 (Limited Discoverable mode, conditions)
    mutating func endLimitedModes() {
        guard let limitedDeadline, limitedDeadline <= now else { return }
        for owner in ledger.owners(of: .peripheral) {
            guard var record = ledger.asked(owner).advertising, let due = limitedEnd(of: record), due <= now
            else { continue }
            record.discoverability = .nonDiscoverable
            record.limitedUntil = nil
            advertise(record, for: owner)
        }
    }
}
