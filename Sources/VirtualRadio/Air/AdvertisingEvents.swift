/// What is heard of an advertiser, and the connections that come of it.
extension Air {
    /// An advertising event on the air.
    private struct Emission {
        /// The advertiser's index.
        let from: Int
        let address: RadioAddress
        let advertiser: AdvertisingSet

        var isAnonymous: Bool { advertiser.properties.contains(.anonymous) }
        /// The address as receivers can tell it.
        var visibleAddress: RadioAddress? { isAnonymous ? nil : address }
    }

    /// Core 5.4, Vol 6, Part B, 4.4.2 (Advertising state)
    mutating func advertisingEvent(_ advertiser: ControllerID, epoch: UInt64) {
        guard let index = index(of: advertiser), let slot = controllers[index].host.advertiser(epoch: epoch),
            let run = controllers[index].host.advertisers[slot].run
        else { return }
        let set = controllers[index].host.advertisers[slot]
        if let until = run.until, now >= until { return endAdvertising(slot, of: index, .advertisingTimeout) }
        guard let address = controllers[index].address(of: set) else { return }
        let emission = Emission(from: index, address: address, advertiser: set)
        for listener in controllers.indices where listener != index && controllers[listener].isPowered {
            guard controllers[listener].host.scanning.run != nil else { continue }
            reportAdvertising(emission, to: listener)
        }
        for listener in controllers.indices where listener != index && controllers[listener].isPowered {
            guard let pending = controllers[listener].host.pendingConnection else { continue }
            if connect(listener, pending, to: emission, slot) { return }
        }
        let completed = run.completedEvents + 1
        controllers[index].host.advertisers[slot].run?.completedEvents = completed
        guard run.maximumEvents == 0 || completed < run.maximumEvents else {
            return endAdvertising(slot, of: index, .limitReached)
        }
        let interval =
            set.properties.isHighDutyCycle
            ? AdvertisingSet.highDutyIntervalNanoseconds
            : set.parameters.intervalNanoseconds + random.next() % (AdvertisingSet.maximumDelayNanoseconds + 1)
        agenda.add(
            .advertising(advertiser, epoch: epoch), at: min(now + interval, run.until ?? .max), controller: advertiser)
    }

    /// Nobody has connected, and the time or the number of events is up.
    private mutating func endAdvertising(_ slot: Int, of index: Int, _ status: Status) {
        let set = controllers[index].host.advertisers[slot]
        controllers[index].host.advertisers[slot].run = nil
        guard let handle = set.handle else {
            return controllers[index].connectionFailed(status, role: .peripheral, at: now)
        }
        controllers[index].advertisingSetTerminated(
            status, handle: handle, connection: 0, completedEvents: set.run?.completedEvents ?? 0, at: now)
    }

    // MARK: Scanning

    /// A scanner hears an advertising event.
    ///
    /// Core 5.4, Vol 6, Part B, 4.4.3 (Scanning state) and 4.3.3 (Scanner filter policy)
    private mutating func reportAdvertising(_ emission: Emission, to scanner: Int) {
        let properties = emission.advertiser.properties
        let parameters = controllers[scanner].host.scanning.parameters
        guard let run = controllers[scanner].host.scanning.run, run.isScanning(at: now),
            understands(scanner, properties),
            hears(since: run.since, parameters.intervalNanoseconds, parameters.windowNanoseconds),
            let ownAddress = controllers[scanner].ownAddress(parameters.ownAddressType),
            !parameters.usesAcceptList || controllers[scanner].host.acceptList.contains(emission.visibleAddress),
            !properties.isDirected || emission.advertiser.parameters.peer == ownAddress
        else { return }
        let path = path(emission.from, scanner)
        guard path.isReachable, !random.happens(path.lossFraction) else { return }
        var report = AdvertisingReport(
            properties: properties, advertiser: emission.visibleAddress.map(PeerAddress.init),
            target: properties.isDirected ? emission.advertiser.parameters.peer : nil,
            secondaryPHY: emission.advertiser.parameters.secondaryPHY,
            identifier: emission.advertiser.parameters.identifier,
            dataIdentifier: emission.advertiser.dataIdentifier,
            data: properties.carriesData ? emission.advertiser.data.octets : [], rssi: path.rssi)
        deliver(report, emission, to: scanner)

        guard parameters.isActive, properties.isScannable,
            !emission.advertiser.parameters.filtersScanners
                || controllers[emission.from].host.acceptList.contains(ownAddress),
            !random.happens(path.lossFraction)
        else { return }
        if emission.advertiser.parameters.notifiesOfScanRequests, let handle = emission.advertiser.handle {
            controllers[emission.from].scanRequestReceived(
                handle: handle, from: PeerAddress(address: ownAddress), at: now)
        }
        report.isScanResponse = true
        report.data = emission.advertiser.scanResponse.octets
        deliver(report, emission, to: scanner)
    }

    private mutating func deliver(_ report: AdvertisingReport, _ emission: Emission, to scanner: Int) {
        // A host that does not read misses reports, and then has not seen them.
        guard !controllers[scanner].outbox.isFull else { return }
        let dataInfo = UInt32(report.identifier) << 16 | UInt32(report.dataIdentifier)
        let key = Scanning.Report(
            address: emission.visibleAddress, properties: report.properties, isScanResponse: report.isScanResponse,
            dataInfo: report.properties.isLegacy ? nil : dataInfo)
        guard controllers[scanner].host.scanning.run?.admits(key, at: now) == true else { return }
        controllers[scanner].report(report, at: now)
    }

    // MARK: Initiating

    /// An initiator hears an advertising event; true when that made a connection.
    ///
    /// Core 5.4, Vol 6, Part B, 4.4.4 (Initiating state), 4.3.4 (Initiator filter policy) and 4.3.2 (Advertising filter
    /// policy)
    private mutating func connect(
        _ initiator: Int, _ pending: PendingConnection, to emission: Emission, _ slot: Int
    ) -> Bool {
        let parameters = emission.advertiser.parameters
        let properties = parameters.properties
        guard properties.isConnectable, understands(initiator, properties),
            let ownAddress = controllers[initiator].ownAddress(pending.ownAddressType),
            pending.peer.map({ $0 == emission.address })
                ?? controllers[initiator].host.acceptList.contains(emission.address),
            !properties.isDirected || parameters.peer == ownAddress,
            !parameters.filtersInitiators || properties.isDirected
                || controllers[emission.from].host.acceptList.contains(ownAddress),
            hears(since: pending.since, pending.intervalNanoseconds, pending.windowNanoseconds),
            !isConnected(initiator, to: emission.address), hasRoomForLink(emission.from)
        else { return false }
        let path = path(emission.from, initiator)
        guard path.isReachable, !random.happens(path.lossFraction) else { return false }
        // The advertiser may miss the CONNECT_IND: then only the initiator believes in a connection.
        let isHeard = !random.happens(path.lossFraction)
        controllers[initiator].host.pendingConnection = nil
        if isHeard { controllers[emission.from].host.advertisers[slot].run = nil }
        let phy = properties.isLegacy ? .le1M : parameters.secondaryPHY
        let link = addLink(
            (initiator, ownAddress), (emission.from, emission.address), isHeardByPeripheral: isHeard,
            phy == .le2M ? pending.parametersOn2M ?? pending.parameters : pending.parameters, phy, path)
        if isHeard, let handle = emission.advertiser.handle {
            controllers[emission.from].advertisingSetTerminated(
                .success, handle: handle, connection: links[link.slot].peripheral.handle,
                completedEvents: emission.advertiser.run?.completedEvents ?? 0, at: now)
        }
        wake(link.slot)
        return isHeard
    }

    /// Only a receiver that its host drives by extended commands takes in extended PDUs.
    private func understands(_ receiver: Int, _ properties: AdvertisingEventProperties) -> Bool {
        properties.isLegacy || controllers[receiver].host.family == .extended
    }

    /// Benchmarks do not wait for scan windows.
    private func hears(since: UInt64, _ interval: UInt64, _ window: UInt64) -> Bool {
        pacing == .immediate || isListening(at: now, since: since, interval: interval, window: window)
    }
}
