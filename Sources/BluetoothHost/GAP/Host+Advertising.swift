import BluetoothCore
import SecurityManager

// MARK: Advertising, as a manager asks for it

extension Host {
    /// Advertises from now on, in place of what this manager advertised before, until it is stopped and over every restart.
    /// In the limited discoverable mode that begins now for ``DiscoverableMode/limitedMilliseconds``, also when it had begun
    /// before.
    package func startAdvertising(_ manager: ManagerID, _ record: AdvertisingRecord) {
        guard let slot = managers[manager] else { return }
        guard record.isWellFormed else {
            slot.peripheral?.advertisingStarted(error: .invalidAdvertisement)
            return
        }
        var record = record
        record.limitedUntil = record.discoverability == .limited ? limitedFromNow : nil
        withLedger { $0.advertise(slot.owner, record, &$1) }
        advertisingAwaited[manager, default: 0] += 1
        reconcile()
        announceAdvertising()
    }

    package func stopAdvertising(_ manager: ManagerID) {
        guard let owner = managers[manager]?.owner else { return }
        withLedger { $0.advertise(owner, nil, &$1) }
        advertisingAwaited[manager] = nil
        reconcile()
    }

    package func isAdvertising(_ manager: ManagerID) -> Bool { advertising(of: manager) != nil }

    /// What a manager advertises now, its limited discoverable mode over when it is.
    package func advertising(of manager: ManagerID) -> AdvertisingRecord? {
        managers[manager].flatMap { ledger.record($0.owner).advertising }
    }
}

// MARK: The end of the limited discoverable mode

extension Host {
    private var limitedFromNow: BootDeadline {
        BootDeadline(boot: boot, at: now.advanced(byMilliseconds: DiscoverableMode.limitedMilliseconds))
    }

    /// When the first one ends. What was limited in another boot of the machine has ended: nobody knows how long that was.
    var limitedDeadline: Instant? {
        ledger.owners(of: .peripheral).reduce(nil) { earliest, owner in
            Instant.earliest(earliest, ledger.record(owner).advertising.flatMap(limitedDeadline))
        }
    }

    private func limitedDeadline(of record: AdvertisingRecord) -> Instant? {
        guard record.discoverability == .limited else { return nil }
        return record.limitedUntil?.due(in: boot) ?? Instant(nanoseconds: 0)
    }

    /// Whose time is up is not discoverable from then on, and takes connections as before. On disk that is so before it is
    /// on the air.
    ///
    /// Core 5.4, Vol 3, Part C, 9.2.3.2 (Limited Discoverable mode, conditions)
    func endLimitedModes() {
        for owner in ledger.owners(of: .peripheral) {
            guard var record = ledger.record(owner).advertising, let due = limitedDeadline(of: record), due <= now
            else { continue }
            record.discoverability = .nonDiscoverable
            record.limitedUntil = nil
            withLedger { $0.advertise(owner, record, &$1) }
        }
    }
}
