/// The commands that make a controller heard or let it hear others.
extension Air {
    /// Core 5.4, Vol 4, Part E, 7.8.4 (LE Set Random Address command)
    mutating func setRandomAddress(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) {
        let host = controllers[index].host
        guard host.legacyAdvertiser.run == nil, host.scanning.run == nil, host.pendingConnection == nil else {
            throw .commandDisallowed
        }
        controllers[index].setRandomAddress(RadioAddress(isRandom: true, value: parameters.u48(0)))
        if !terrain.isEmpty { refreshPaths() }
    }

    // MARK: Advertising

    /// Core 5.4, Vol 4, Part E, 7.8.9 (LE Set Advertising Enable command)
    mutating func setAdvertisingEnable(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) {
        guard parameters.u8(0) <= 1 else { throw .invalidParameters }
        guard parameters.u8(0) == 1 else { return controllers[index].host.legacyAdvertiser.run = nil }
        try checkReady(controllers[index].host.legacyAdvertiser, of: index)
        let isHighDuty = controllers[index].host.legacyAdvertiser.properties.isHighDutyCycle
        startAdvertising(0, of: index, forNanoseconds: isHighDuty ? AdvertisingSet.highDutyNanoseconds : nil)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.56 (LE Set Extended Advertising Enable command): all that are named, or none.
    mutating func setExtendedAdvertisingEnable(_ parameters: borrowing CommandParameters, of index: Int) throws(Status)
    {
        let count = Int(parameters.u8(1))
        guard parameters.u8(0) <= 1 else { throw .invalidParameters }
        var named: [(advertiser: Int, durationNanoseconds: UInt64, maximumEvents: UInt8)] = []
        for element in 0..<count {
            let offset = 2 + 4 * element
            let advertiser = try controllers[index].advertiser(parameters.u8(offset))
            guard !named.contains(where: { $0.advertiser == advertiser }) else { throw .invalidParameters }
            named.append(
                (
                    advertiser, UInt64(parameters.u16(offset + 1)) * Self.durationUnitNanoseconds,
                    parameters.u8(offset + 3)
                ))
        }
        guard parameters.u8(0) == 1 else {
            let disabled = count == 0 ? Array(controllers[index].host.advertisers.indices) : named.map(\.advertiser)
            for advertiser in disabled { controllers[index].host.advertisers[advertiser].run = nil }
            return
        }
        guard count > 0 else { throw .invalidParameters }
        for (advertiser, duration, _) in named {
            let set = controllers[index].host.advertisers[advertiser]
            try checkReady(set, of: index)
            guard !set.properties.isHighDutyCycle || (1...AdvertisingSet.highDutyNanoseconds).contains(duration) else {
                throw .invalidParameters
            }
        }
        for (advertiser, duration, events) in named {
            startAdvertising(
                advertiser, of: index, forNanoseconds: duration == 0 ? nil : duration, maximumEvents: events)
        }
    }

    /// Duration: 10 ms.
    private static let durationUnitNanoseconds: UInt64 = 10_000_000

    private func checkReady(_ set: AdvertisingSet, of index: Int) throws(Status) {
        guard
            hasOwnAddress(
                of: index, set.parameters.ownAddressType, random: controllers[index].randomAddress(of: set),
                toward: set.parameters.peer)
        else { throw .invalidParameters }
        guard !set.properties.isConnectable || hasRoomForLink(index) else { throw .connectionLimitExceeded }
        guard !set.data.isPartial, !set.scanResponse.isPartial else { throw .commandDisallowed }
        guard !set.properties.isLegacy else { return }
        guard !set.properties.isScannable || !set.scanResponse.octets.isEmpty else { throw .commandDisallowed }
        guard !set.properties.isConnectable || set.data.octets.count <= set.maximumAuxiliaryDataOctets else {
            throw .invalidParameters
        }
    }

    private mutating func startAdvertising(
        _ advertiser: Int, of index: Int, forNanoseconds duration: UInt64?, maximumEvents: UInt8 = 0
    ) {
        let epoch = uniqueNumber()
        controllers[index].host.advertisers[advertiser].run = AdvertisingSet.Run(
            epoch: epoch, until: duration.map { now + $0 }, maximumEvents: maximumEvents)
        agenda.add(.advertising(controllers[index].id, epoch: epoch), at: now, controller: controllers[index].id)
    }

    // MARK: Scanning

    /// Core 5.4, Vol 4, Part E, 7.8.11 (LE Set Scan Enable command)
    mutating func setScanEnable(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) {
        guard parameters.u8(0) <= 1, parameters.u8(1) <= 1 else { throw .invalidParameters }
        guard parameters.u8(0) == 1 else { return controllers[index].host.scanning.run = nil }
        try startScanning(filter: parameters.u8(1) == 1 ? .on : .off, of: index)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.65 (LE Set Extended Scan Enable command)
    mutating func setExtendedScanEnable(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) {
        guard parameters.u8(0) <= 1 else { throw .invalidParameters }
        guard parameters.u8(0) == 1 else { return controllers[index].host.scanning.run = nil }
        let duration = UInt64(parameters.u16(2)) * Self.durationUnitNanoseconds
        let period = UInt64(parameters.u16(4)) * Self.scanPeriodUnitNanoseconds
        guard let filter = Scanning.DuplicateFilter(rawValue: parameters.u8(1)),
            filter != .perPeriod || duration != 0 && period != 0, duration == 0 || period == 0 || duration < period
        else { throw .invalidParameters }
        try startScanning(filter: filter, durationNanoseconds: duration, periodNanoseconds: period, of: index)
    }

    /// Period: 1.28 s.
    private static let scanPeriodUnitNanoseconds: UInt64 = 1_280_000_000

    private mutating func startScanning(
        filter: Scanning.DuplicateFilter, durationNanoseconds duration: UInt64 = 0,
        periodNanoseconds period: UInt64 = 0, of index: Int
    ) throws(Status) {
        let host = controllers[index].host
        guard !host.scanning.parameters.ownAddressType.isRandom || host.randomAddress != nil else {
            throw .invalidParameters
        }
        let epoch = uniqueNumber()
        controllers[index].host.scanning.run = Scanning.Run(
            epoch: epoch, since: now, filter: filter, durationNanoseconds: duration, periodNanoseconds: period)
        if duration > 0, period == 0 {
            agenda.add(
                .scanTimeout(controllers[index].id, epoch: epoch), at: now + duration,
                controller: controllers[index].id)
        }
    }

    mutating func scanTimeout(_ scanner: ControllerID) {
        guard let index = index(of: scanner) else { return }
        controllers[index].host.scanning.run = nil
        controllers[index].scanTimeout(at: now)
    }

    // MARK: Initiating

    /// Core 5.4, Vol 4, Part E, 7.8.12 (LE Create Connection command)
    mutating func createConnection(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) {
        let interval = parameters.u16(0)
        let window = parameters.u16(2)
        guard controllers[index].host.pendingConnection == nil else { throw .commandDisallowed }
        guard Controller.areScanTimes(interval: interval, window: window) else { throw .invalidParameters }
        let peer = try initiatingPeer(
            controllers[index].capabilities, filterPolicy: parameters.u8(4), type: parameters.u8(5), parameters.u48(6))
        let ownAddressType = try controllers[index].ownAddressType(parameters.u8(12))
        try initiate(
            interval: interval, window: window, peer: peer, ownAddressType,
            ConnectionParameters(parameters, at: 13), on2M: nil, of: index)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.66 (LE Extended Create Connection command), version 1
    mutating func extendedCreateConnection(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) {
        guard controllers[index].host.pendingConnection == nil else { throw .commandDisallowed }
        let ownAddressType = try controllers[index].ownAddressType(parameters.u8(1))
        let peer = try initiatingPeer(
            controllers[index].capabilities, filterPolicy: parameters.u8(0), type: parameters.u8(2), parameters.u48(3))
        let phys = parameters.u8(9)
        // The Coded PHY is none of ours, and without the LE 1M PHY nothing is heard on the primary channels.
        guard phys & 0b001 != 0 else { throw phys & 0b100 != 0 ? .unsupportedParameterValue : .invalidParameters }
        guard phys & ~0b011 == 0, phys & 0b010 == 0 || controllers[index].supports(.le2M) else {
            throw .unsupportedParameterValue
        }
        let interval = parameters.u16(10)
        let window = parameters.u16(12)
        guard Controller.areExtendedScanTimes(interval: interval, window: window) else { throw .invalidParameters }
        try initiate(
            interval: interval, window: window, peer: peer, ownAddressType, ConnectionParameters(parameters, at: 14),
            on2M: phys & 0b010 != 0 ? ConnectionParameters(parameters, at: 30) : nil, of: index)
    }

    /// Peer_Address, or nil for whoever is on the accept list.
    private func initiatingPeer(
        _ capabilities: Capabilities, filterPolicy: UInt8, type: UInt8, _ value: UInt64
    ) throws(Status) -> RadioAddress? {
        guard filterPolicy <= 1, type <= 3 else { throw .invalidParameters }
        guard filterPolicy == 0 else { return nil }
        // Identity addresses (2 and 3) ask for a resolving list.
        guard type <= 1 || capabilities.leFeatures.contains(.privacy) else { throw .unsupportedParameterValue }
        return RadioAddress(isRandom: type & 1 == 1, value: value)
    }

    private mutating func initiate(
        interval: UInt16, window: UInt16, peer: RadioAddress?, _ ownAddressType: OwnAddressType,
        _ parameters: ConnectionParameters, on2M: ConnectionParameters?, of index: Int
    ) throws(Status) {
        guard
            hasOwnAddress(of: index, ownAddressType, random: controllers[index].host.randomAddress, toward: peer)
        else { throw .invalidParameters }
        guard hasRoomForLink(index) else { throw .connectionLimitExceeded }
        if let peer, isConnected(index, to: peer) { throw .connectionAlreadyExists }
        controllers[index].host.pendingConnection = PendingConnection(
            since: now, intervalNanoseconds: UInt64(interval) * AdvertisingSet.baseband,
            windowNanoseconds: UInt64(window) * AdvertisingSet.baseband, peer: peer, ownAddressType: ownAddressType,
            parameters: parameters, parametersOn2M: on2M)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.13 (LE Create Connection Cancel command)
    mutating func createConnectionCancel(of index: Int) throws(Status) -> FollowUp {
        guard controllers[index].host.pendingConnection != nil else { throw .commandDisallowed }
        controllers[index].host.pendingConnection = nil
        return .connectionCancelled
    }

    func hasRoomForLink(_ index: Int) -> Bool {
        controllers[index].connections.count < controllers[index].configuration.maximumLinks
    }

    /// Whether this controller has a connection with a device of that address, identity or not.
    func isConnected(_ index: Int, to peer: RadioAddress) -> Bool {
        controllers[index].connections.contains { connection in
            slot(of: connection.link).map {
                links[$0][connection.role].peer == peer || links[$0][connection.role.other].address == peer
            } ?? false
        }
    }
}
