/// What is heard of an advertiser, and the connections that come of it.
extension Air {
    /// Core 5.4, Vol 6, Part B, 4.4.2 (Advertising state)
    mutating func advertisingEvent(_ advertiser: ControllerID) {
        guard let index = index(of: advertiser), let run = controllers[index].host.advertising.run else { return }
        if let until = run.until, now >= until {
            controllers[index].host.advertising.run = nil
            return controllers[index].connectionFailed(.advertisingTimeout, role: .peripheral, at: now)
        }
        for listener in controllers.indices where listener != index && controllers[listener].isPowered {
            guard controllers[listener].host.scanning.run != nil else { continue }
            reportAdvertising(of: index, run.address, to: listener)
        }
        for listener in controllers.indices where listener != index && controllers[listener].isPowered {
            guard let pending = controllers[listener].host.pendingConnection else { continue }
            if connect(listener, pending, to: index, run.address) { return }
        }
        let isHighDuty = run.until != nil
        let next =
            isHighDuty
            ? Advertising.highDutyIntervalNanoseconds
            : controllers[index].host.advertising.parameters.intervalNanoseconds
                + random.next() % (Advertising.maximumDelayNanoseconds + 1)
        agenda.add(.advertising(advertiser, epoch: run.epoch), at: now + next, controller: advertiser)
    }

    /// A scanner hears an advertising event.
    ///
    /// Core 5.4, Vol 6, Part B, 4.4.3 (Scanning state) and 4.3.3 (Scanner filter policy)
    private mutating func reportAdvertising(of advertiser: Int, _ address: RadioAddress, to scanner: Int) {
        let parameters = controllers[scanner].host.scanning.parameters
        let advertising = controllers[advertiser].host.advertising
        guard let scan = controllers[scanner].host.scanning.run.map({ (since: $0.since, address: $0.address) }),
            hears(since: scan.since, parameters.intervalNanoseconds, parameters.windowNanoseconds),
            !parameters.usesAcceptList || controllers[scanner].host.acceptList.contains(address),
            !advertising.parameters.type.isDirected || advertising.parameters.peer == scan.address
        else { return }
        let path = path(advertiser, scanner)
        guard path.isReachable, !random.happens(path.lossFraction) else { return }
        report(
            advertising.parameters.type.reportType, address,
            data: advertising.parameters.type.isDirected ? [] : advertising.data, path.rssi, to: scanner)

        guard parameters.isActive, advertising.parameters.type.isScannable,
            !advertising.parameters.filtersScanners
                || controllers[advertiser].host.acceptList.contains(scan.address),
            !random.happens(path.lossFraction)
        else { return }
        report(.scanResponse, address, data: advertising.scanResponse, path.rssi, to: scanner)
    }

    private mutating func report(
        _ type: AdvertisingReportType, _ address: RadioAddress, data: [UInt8], _ rssi: Int8, to scanner: Int
    ) {
        // A host that does not read misses reports, and then has not seen them.
        guard !controllers[scanner].outbox.isFull else { return }
        let report = Scanning.Report(address: address, type: type)
        guard controllers[scanner].host.scanning.run?.admits(report) == true else { return }
        controllers[scanner].advertisingReport(type, address, data: data, rssi: rssi, at: now)
    }

    /// An initiator hears an advertising event; true when that made a connection.
    ///
    /// Core 5.4, Vol 6, Part B, 4.4.4 (Initiating state), 4.3.4 (Initiator filter policy) and 4.3.2 (Advertising filter
    /// policy)
    private mutating func connect(
        _ initiator: Int, _ pending: PendingConnection, to advertiser: Int, _ address: RadioAddress
    ) -> Bool {
        let advertising = controllers[advertiser].host.advertising.parameters
        guard advertising.type.isConnectable,
            pending.peer.map({ $0 == address }) ?? controllers[initiator].host.acceptList.contains(address),
            !advertising.type.isDirected || advertising.peer == pending.ownAddress,
            !advertising.filtersInitiators || advertising.type.isDirected
                || controllers[advertiser].host.acceptList.contains(pending.ownAddress),
            hears(since: pending.since, pending.intervalNanoseconds, pending.windowNanoseconds),
            !isConnected(initiator, to: address), hasRoomForLink(advertiser)
        else { return false }
        let path = path(advertiser, initiator)
        guard path.isReachable, !random.happens(path.lossFraction) else { return false }
        // The advertiser may miss the CONNECT_IND: then only the initiator believes in a connection.
        let isHeard = !random.happens(path.lossFraction)
        controllers[initiator].host.pendingConnection = nil
        if isHeard { controllers[advertiser].host.advertising.run = nil }
        addLink(
            (initiator, pending.ownAddress), (advertiser, address), isHeardByPeripheral: isHeard, pending.parameters,
            path)
        return isHeard
    }

    /// Benchmarks do not wait for scan windows.
    private func hears(since: UInt64, _ interval: UInt64, _ window: UInt64) -> Bool {
        pacing == .immediate || isListening(at: now, since: since, interval: interval, window: window)
    }
}
