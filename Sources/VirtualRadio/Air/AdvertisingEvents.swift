/// What is heard of an advertiser, and the connections that come of it.
extension Air {
    /// An advertising event on the air.
    private struct Emission {
        /// The advertiser's index.
        let from: Int
        let address: RadioAddress
        /// TargetA, of a directed one.
        let target: RadioAddress?
        let advertiser: AdvertisingSet

        var isAnonymous: Bool { advertiser.properties.contains(.anonymous) }
    }

    /// Core 5.4, Vol 6, Part B, 4.4.2 (Advertising state)
    mutating func advertisingEvent(_ advertiser: ControllerID, epoch: UInt64) {
        guard let index = index(of: advertiser), let slot = controllers[index].host.advertiser(epoch: epoch),
            let run = controllers[index].host.advertisers[slot].run
        else { return }
        let set = controllers[index].host.advertisers[slot]
        if let until = run.until, now >= until { return endAdvertising(slot, of: index, .advertisingTimeout) }
        guard let address = address(of: set, index) else { return }
        let emission = Emission(from: index, address: address, target: target(of: set, index), advertiser: set)
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
            let peer = identify(emission.address, by: scanner)
        else { return }
        let advertiser = emission.isAnonymous ? nil : peer
        let random = controllers[scanner].host.randomAddress
        guard !parameters.usesAcceptList || controllers[scanner].host.acceptList.contains(advertiser?.address),
            let ownAddress = ownAddress(
                of: scanner, parameters.ownAddressType, random: random, toward: peer.address)
        else { return }
        var target: PeerAddress?
        if let heard = emission.target {
            target = ownPeerAddress(heard, ownAddress, of: scanner)
            guard target != nil else { return }
        }
        let path = path(emission.from, scanner)
        guard path.isReachable, !self.random.happens(path.lossFraction) else { return }
        var report = AdvertisingReport(
            properties: properties, advertiser: advertiser, target: target,
            secondaryPHY: emission.advertiser.parameters.secondaryPHY,
            identifier: emission.advertiser.parameters.identifier, dataIdentifier: emission.advertiser.dataIdentifier,
            data: properties.carriesData ? emission.advertiser.data.octets : [], rssi: path.rssi)
        deliver(report, to: scanner)

        guard parameters.isActive, properties.isScannable, let heard = identify(ownAddress, by: emission.from),
            !emission.advertiser.parameters.filtersScanners
                || controllers[emission.from].host.acceptList.contains(heard.address),
            !self.random.happens(path.lossFraction)
        else { return }
        if emission.advertiser.parameters.notifiesOfScanRequests, let handle = emission.advertiser.handle {
            controllers[emission.from].scanRequestReceived(handle: handle, from: heard, at: now)
        }
        report.isScanResponse = true
        report.data = emission.advertiser.scanResponse.octets
        deliver(report, to: scanner)
    }

    /// TargetA as the receiver's host is told of it, if that is meant.
    private func ownPeerAddress(_ target: RadioAddress, _ own: RadioAddress, of index: Int) -> PeerAddress? {
        let host = controllers[index].host
        if target == own || target == host.randomAddress { return PeerAddress(address: target) }
        guard host.resolvingList.isOwn(target) else { return nil }
        return PeerAddress(address: host.randomAddress ?? controllers[index].publicAddress, isResolved: true)
    }

    private mutating func deliver(_ report: AdvertisingReport, to scanner: Int) {
        // A host that does not read misses reports, and then has not seen them.
        guard !controllers[scanner].outbox.isFull else { return }
        let dataInfo = UInt32(report.identifier) << 16 | UInt32(report.dataIdentifier)
        let key = Scanning.Report(
            address: report.advertiser?.address, properties: report.properties, isScanResponse: report.isScanResponse,
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
            let peer = identify(emission.address, by: initiator),
            pending.peer.map({ $0 == peer.address || $0 == emission.address })
                ?? controllers[initiator].host.acceptList.contains(peer.address)
        else { return false }
        let random = controllers[initiator].host.randomAddress
        guard
            let ownAddress = ownAddress(
                of: initiator, pending.ownAddressType, random: random, toward: peer.address),
            let heard = identify(ownAddress, by: emission.from),
            emission.target.map({ ownPeerAddress($0, ownAddress, of: initiator) != nil }) != false,
            !properties.isDirected || parameters.peer == heard.address || parameters.peer == ownAddress,
            !parameters.filtersInitiators || properties.isDirected
                || controllers[emission.from].host.acceptList.contains(heard.address),
            hears(since: pending.since, pending.intervalNanoseconds, pending.windowNanoseconds),
            !isConnected(initiator, to: peer.address), hasRoomForLink(emission.from)
        else { return false }
        let path = path(emission.from, initiator)
        guard path.isReachable, !self.random.happens(path.lossFraction) else { return false }
        // The advertiser may miss the CONNECT_IND: then only the initiator believes in a connection.
        let isHeard = !self.random.happens(path.lossFraction)
        controllers[initiator].host.pendingConnection = nil
        if isHeard { controllers[emission.from].host.advertisers[slot].run = nil }
        let phy = properties.isLegacy ? .le1M : parameters.secondaryPHY
        let link = addLink(
            LinkEnd(
                index: initiator, address: ownAddress,
                isGenerated: isGenerated(ownAddress, pending.ownAddressType, of: initiator), peer: peer),
            LinkEnd(
                index: emission.from, address: emission.address,
                isGenerated: isGenerated(emission.address, parameters.ownAddressType, of: emission.from), peer: heard),
            isHeardByPeripheral: isHeard,
            phy == .le2M ? pending.parametersOn2M ?? pending.parameters : pending.parameters, phy, path)
        if isHeard, let handle = emission.advertiser.handle {
            controllers[emission.from].advertisingSetTerminated(
                .success, handle: handle, connection: links[link.slot].peripheral.handle,
                completedEvents: emission.advertiser.run?.completedEvents ?? 0, at: now)
        }
        wake(link.slot)
        return isHeard
    }

    /// Whether it is the controller that made this address, and not its host.
    private func isGenerated(_ address: RadioAddress, _ type: OwnAddressType, of index: Int) -> Bool {
        type.isResolvable && controllers[index].host.resolvingList.entries.contains { $0.local.address == address }
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
