/// The commands that say what is to be advertised; whether it is, the air decides with `LE Set … Enable`.
extension Controller {
    // MARK: Legacy

    /// Core 5.4, Vol 4, Part E, 7.8.5 (LE Set Advertising Parameters command)
    mutating func setAdvertisingParameters(_ parameters: borrowing CommandParameters) throws(Status) {
        guard host.legacyAdvertiser.run == nil else { throw .commandDisallowed }
        let minimum = parameters.u16(0)
        let maximum = parameters.u16(2)
        let filterPolicy = parameters.u8(14)
        guard let properties = AdvertisingEventProperties(legacyType: parameters.u8(4)), parameters.u8(6) <= 1,
            Self.isChannelMap(parameters.u8(13)), filterPolicy <= 3
        else { throw .invalidParameters }
        // High duty cycle advertising has an interval of its own.
        let intervals = UInt16(0x0020)...0x4000
        guard
            properties.isHighDutyCycle
                || intervals.contains(minimum) && intervals.contains(maximum) && minimum <= maximum
        else { throw .invalidParameters }
        host.legacyAdvertiser.parameters = AdvertisingSet.Parameters(
            intervalNanoseconds: UInt64(minimum) * AdvertisingSet.baseband, properties: properties,
            ownAddressType: try ownAddressType(parameters.u8(5)),
            peer: RadioAddress(isRandom: parameters.u8(6) == 1, value: parameters.u48(7)), filterPolicy: filterPolicy)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.7 (LE Set Advertising Data command) and 7.8.8 (LE Set Scan Response Data command)
    static func advertisingData(_ parameters: borrowing CommandParameters) throws(Status) -> AdvertisingPayload {
        let length = Int(parameters.u8(0))
        guard length <= AdvertisingSet.maximumLegacyDataOctets else { throw .invalidParameters }
        return AdvertisingPayload(octets: parameters.array(1, count: length))
    }

    private static func isChannelMap(_ map: UInt8) -> Bool { (0b001...0b111).contains(map) }

    // MARK: Extended

    func advertiser(_ handle: UInt8) throws(Status) -> Int {
        guard handle <= AdvertisingSet.maximumHandle else { throw .invalidParameters }
        guard let index = host.advertiser(handle) else { throw .unknownAdvertisingIdentifier }
        return index
    }

    /// Core 5.4, Vol 4, Part E, 7.8.52 (LE Set Advertising Set Random Address command)
    mutating func setAdvertisingSetRandomAddress(_ parameters: borrowing CommandParameters) throws(Status) {
        let index = try advertiser(parameters.u8(0))
        guard host.advertisers[index].run == nil || !host.advertisers[index].properties.isConnectable else {
            throw .commandDisallowed
        }
        let address = RadioAddress(isRandom: true, value: parameters.u48(1))
        host.advertisers[index].randomAddress = address
        remember(address)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.53 (LE Set Extended Advertising Parameters command), version 1
    mutating func setExtendedAdvertisingParameters(
        _ parameters: borrowing CommandParameters, _ returns: inout OctetWriter
    ) throws(Status) {
        let handle = parameters.u8(0)
        let properties = AdvertisingEventProperties(rawValue: parameters.u16(1))
        let minimum = parameters.u24(3)
        let maximum = parameters.u24(6)
        let filterPolicy = parameters.u8(18)
        let txPower = parameters.i8(19)
        let identifier = parameters.u8(23)
        guard handle <= AdvertisingSet.maximumHandle, properties.isValid, Self.isChannelMap(parameters.u8(9)),
            properties.isHighDutyCycle || minimum >= 0x20 && minimum <= maximum, parameters.u8(11) <= 1,
            filterPolicy <= 3, (-127...20).contains(txPower) || txPower == 127, identifier <= 0x0F,
            parameters.u8(24) <= 1
        else { throw .invalidParameters }
        let ownAddressType = try ownAddressType(parameters.u8(10))
        let primaryPHY = parameters.u8(20)
        guard primaryPHY == PHY.le1M.rawValue else {
            throw properties.isLegacy ? .invalidParameters : .unsupportedParameterValue
        }
        let secondaryPHY = properties.isLegacy ? .le1M : PHY(rawValue: parameters.u8(22))
        guard let secondaryPHY, supports(secondaryPHY) else { throw .unsupportedParameterValue }

        let index = host.advertiser(handle) ?? host.advertisers.count
        var set = index < host.advertisers.count ? host.advertisers[index] : AdvertisingSet(handle: handle)
        guard set.run == nil else { throw .commandDisallowed }
        let longest = properties.isLegacy ? AdvertisingSet.maximumLegacyDataOctets : .max
        guard set.data.octets.isEmpty || properties.carriesData && set.data.octets.count <= longest,
            set.scanResponse.octets.isEmpty || properties.isScannable && set.scanResponse.octets.count <= longest
        else { throw .invalidParameters }
        // The legacy commands' own is none of the supported sets.
        guard index < host.advertisers.count || index <= Int(configuration.advertisingSetCount) else {
            throw .memoryCapacityExceeded
        }
        set.parameters = AdvertisingSet.Parameters(
            intervalNanoseconds: UInt64(minimum) * AdvertisingSet.baseband, properties: properties,
            ownAddressType: ownAddressType,
            peer: RadioAddress(isRandom: parameters.u8(11) == 1, value: parameters.u48(12)),
            // Core 5.4, Vol 4, Part E, 7.8.53: ignored when directed.
            filterPolicy: properties.isDirected ? 0 : filterPolicy, secondaryPHY: secondaryPHY, identifier: identifier,
            notifiesOfScanRequests: parameters.u8(24) == 1)
        if index < host.advertisers.count { host.advertisers[index] = set } else { host.advertisers.append(set) }
        returns.i8(Capabilities.txPowerDBm)
    }

    func supports(_ phy: PHY) -> Bool { phy == .le1M || capabilities.leFeatures.contains(.phy2M) }

    /// The bits of the PHYs in commands.
    var supportedPHYs: UInt8 { supports(.le2M) ? 0b011 : 0b001 }

    /// Core 5.4, Vol 4, Part E, 7.8.54 (LE Set Extended Advertising Data command)
    mutating func setExtendedAdvertisingData(_ parameters: borrowing CommandParameters) throws(Status) {
        let index = try advertiser(parameters.u8(0))
        let set = host.advertisers[index]
        let operation = try DataOperation(parameters.u8(1))
        guard set.properties.carriesData else { throw .invalidParameters }
        if operation == .unchanged {
            guard set.run != nil, !set.data.octets.isEmpty, !set.properties.isLegacy, parameters.u8(3) == 0 else {
                throw .invalidParameters
            }
        }
        try change(index, \.data, operation, parameters)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.55 (LE Set Extended Scan Response Data command)
    mutating func setExtendedScanResponseData(_ parameters: borrowing CommandParameters) throws(Status) {
        let index = try advertiser(parameters.u8(0))
        let set = host.advertisers[index]
        let operation = try DataOperation(parameters.u8(1))
        let isDiscarding = operation == .complete && parameters.u8(3) == 0
        guard operation != .unchanged, set.properties.isScannable || isDiscarding else { throw .invalidParameters }
        guard !isDiscarding || set.properties.isLegacy || !set.properties.isScannable || set.run == nil else {
            throw .commandDisallowed
        }
        try change(index, \.scanResponse, operation, parameters)
    }

    /// Operation of the two commands above.
    private enum DataOperation: UInt8 {
        case intermediateFragment = 0
        case firstFragment = 1
        case lastFragment = 2
        case complete = 3
        case unchanged = 4

        init(_ octet: UInt8) throws(Status) {
            guard let operation = Self(rawValue: octet) else { throw .invalidParameters }
            self = operation
        }
    }

    /// What the two have in common.
    private mutating func change(
        _ index: Int, _ payload: WritableKeyPath<AdvertisingSet, AdvertisingPayload>, _ operation: DataOperation,
        _ parameters: borrowing CommandParameters
    ) throws(Status) {
        let set = host.advertisers[index]
        let isWhole = operation == .complete || operation == .unchanged
        let length = Int(parameters.u8(3))
        // Fragment_Preference has two values, and one command 251 octets at most.
        guard parameters.u8(2) <= 1, length <= 251, isWhole || length > 0,
            !set.properties.isLegacy || operation == .complete && length <= AdvertisingSet.maximumLegacyDataOctets
        else { throw .invalidParameters }
        guard isWhole || set.run == nil else { throw .commandDisallowed }
        host.advertisers[index].dataIdentifier = (set.dataIdentifier + 1) & 0x0FFF
        guard operation != .unchanged else { return }

        let kept = operation == .complete || operation == .firstFragment ? [] : set[keyPath: payload].octets
        let octets = kept + parameters.array(4, count: length)
        guard octets.count <= Int(configuration.advertisingDataLength) else {
            host.advertisers[index][keyPath: payload] = AdvertisingPayload()
            throw .memoryCapacityExceeded
        }
        host.advertisers[index][keyPath: payload] = AdvertisingPayload(
            octets: octets, isPartial: operation == .firstFragment || operation == .intermediateFragment)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.59 (LE Remove Advertising Set command)
    mutating func removeAdvertisingSet(_ parameters: borrowing CommandParameters) throws(Status) {
        let index = try advertiser(parameters.u8(0))
        guard host.advertisers[index].run == nil else { throw .commandDisallowed }
        host.advertisers.remove(at: index)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.60 (LE Clear Advertising Sets command)
    mutating func clearAdvertisingSets() throws(Status) {
        guard host.advertisers.allSatisfy({ $0.run == nil }) else { throw .commandDisallowed }
        host.advertisers.removeAll { $0.handle != nil }
    }
}
