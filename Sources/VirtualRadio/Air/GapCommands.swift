/// The commands that make a controller heard or let it hear others.
extension Air {
    /// Core 5.4, Vol 4, Part E, 7.8.4 (LE Set Random Address command)
    mutating func setRandomAddress(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) {
        let host = controllers[index].host
        guard host.advertising.run == nil, host.scanning.run == nil, host.pendingConnection == nil else {
            throw .commandDisallowed
        }
        controllers[index].setRandomAddress(RadioAddress(isRandom: true, value: parameters.u48(0)))
        if !terrain.isEmpty { refreshPaths() }
    }

    /// Core 5.4, Vol 4, Part E, 7.8.9 (LE Set Advertising Enable command)
    mutating func setAdvertisingEnable(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) {
        guard parameters.u8(0) <= 1 else { throw .invalidParameters }
        guard parameters.u8(0) == 1 else { return controllers[index].host.advertising.run = nil }
        let advertising = controllers[index].host.advertising.parameters
        guard let address = controllers[index].ownAddress(isRandom: advertising.isOwnAddressRandom) else {
            throw .invalidParameters
        }
        guard !advertising.type.isConnectable || hasRoomForLink(index) else { throw .connectionLimitExceeded }
        let epoch = uniqueNumber()
        controllers[index].host.advertising.run = Advertising.Run(
            epoch: epoch, address: address,
            until: advertising.type == .connectableDirectedHighDuty ? now + Advertising.highDutyNanoseconds : nil)
        agenda.add(.advertising(controllers[index].id, epoch: epoch), at: now, controller: controllers[index].id)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.11 (LE Set Scan Enable command)
    mutating func setScanEnable(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) {
        guard parameters.u8(0) <= 1, parameters.u8(1) <= 1 else { throw .invalidParameters }
        guard parameters.u8(0) == 1 else { return controllers[index].host.scanning.run = nil }
        let scanning = controllers[index].host.scanning.parameters
        guard let address = controllers[index].ownAddress(isRandom: scanning.isOwnAddressRandom) else {
            throw .invalidParameters
        }
        controllers[index].host.scanning.run = Scanning.Run(
            since: now, filtersDuplicates: parameters.u8(1) == 1, address: address)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.12 (LE Create Connection command)
    mutating func createConnection(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) {
        guard controllers[index].host.pendingConnection == nil else { throw .commandDisallowed }
        let interval = parameters.u16(0)
        let window = parameters.u16(2)
        let usesAcceptList = parameters.u8(4)
        let peerType = parameters.u8(5)
        guard Controller.areScanTimes(interval: interval, window: window), usesAcceptList <= 1, peerType <= 3 else {
            throw .invalidParameters
        }
        // Identity addresses (2 and 3) ask for a resolving list.
        guard peerType <= 1 || usesAcceptList == 1 else { throw .unsupportedParameterValue }
        let isOwnRandom = try Controller.isRandom(ownAddressType: parameters.u8(12))
        let link = try ConnectionParameters(parameters, at: 13)
        guard let own = controllers[index].ownAddress(isRandom: isOwnRandom) else { throw .invalidParameters }
        guard hasRoomForLink(index) else { throw .connectionLimitExceeded }
        let peer = RadioAddress(isRandom: peerType == 1, value: parameters.u48(6))
        guard usesAcceptList == 1 || !isConnected(index, to: peer) else { throw .connectionAlreadyExists }
        controllers[index].host.pendingConnection = PendingConnection(
            since: now, intervalNanoseconds: UInt64(interval) * Advertising.baseband,
            windowNanoseconds: UInt64(window) * Advertising.baseband, peer: usesAcceptList == 1 ? nil : peer,
            ownAddress: own, parameters: link)
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

    /// Whether this controller has a connection with a device of that address.
    func isConnected(_ index: Int, to peer: RadioAddress) -> Bool {
        controllers[index].connections.contains { connection in
            slot(of: connection.link).map { links[$0][connection.role.other].address == peer } ?? false
        }
    }
}
