/// The commands that say how to scan, and what all that receive have in common.
extension Controller {
    /// Core 5.4, Vol 4, Part E, 7.8.10 (LE Set Scan Parameters command)
    mutating func setScanParameters(_ parameters: borrowing CommandParameters) throws(Status) {
        guard host.scanning.run == nil else { throw .commandDisallowed }
        let interval = parameters.u16(1)
        let window = parameters.u16(3)
        guard parameters.u8(0) <= 1, Self.areScanTimes(interval: interval, window: window) else {
            throw .invalidParameters
        }
        host.scanning.parameters = Scanning.Parameters(
            isActive: parameters.u8(0) == 1, intervalNanoseconds: UInt64(interval) * AdvertisingSet.baseband,
            windowNanoseconds: UInt64(window) * AdvertisingSet.baseband,
            ownAddressType: try ownAddressType(parameters.u8(5)),
            usesAcceptList: try Self.usesAcceptList(scanningFilterPolicy: parameters.u8(6)))
    }

    /// Core 5.4, Vol 4, Part E, 7.8.64 (LE Set Extended Scan Parameters command)
    mutating func setExtendedScanParameters(_ parameters: borrowing CommandParameters) throws(Status) {
        guard host.scanning.run == nil else { throw .commandDisallowed }
        let ownAddressType = try ownAddressType(parameters.u8(0))
        let usesAcceptList = try Self.usesAcceptList(scanningFilterPolicy: parameters.u8(1))
        try Self.checkPrimaryPHYs(parameters.u8(2))
        let interval = parameters.u16(4)
        let window = parameters.u16(6)
        guard parameters.u8(3) <= 1, Self.areExtendedScanTimes(interval: interval, window: window) else {
            throw .invalidParameters
        }
        host.scanning.parameters = Scanning.Parameters(
            isActive: parameters.u8(3) == 1, intervalNanoseconds: UInt64(interval) * AdvertisingSet.baseband,
            windowNanoseconds: UInt64(window) * AdvertisingSet.baseband, ownAddressType: ownAddressType,
            usesAcceptList: usesAcceptList)
    }

    /// Scanning_PHYs: the LE 1M PHY, which is the only one of the primary channels that there is here.
    private static func checkPrimaryPHYs(_ phys: UInt8) throws(Status) {
        guard phys != 0 else { throw .invalidParameters }
        guard phys == 0b001 else { throw .unsupportedParameterValue }
    }

    private static func usesAcceptList(scanningFilterPolicy policy: UInt8) throws(Status) -> Bool {
        guard policy <= 3 else { throw .invalidParameters }
        // Policies 2 and 3 belong to the Extended Scanner Filter Policies feature.
        guard policy <= 1 else { throw .unsupportedParameterValue }
        return policy == 1
    }

    static func areScanTimes(interval: UInt16, window: UInt16) -> Bool {
        interval <= 0x4000 && areExtendedScanTimes(interval: interval, window: window)
    }

    static func areExtendedScanTimes(interval: UInt16, window: UInt16) -> Bool {
        window >= 0x0004 && window <= interval
    }

    /// Own_Address_Type: 0x02 and 0x03 ask for a resolving list.
    func ownAddressType(_ octet: UInt8) throws(Status) -> OwnAddressType {
        guard let type = OwnAddressType(rawValue: octet) else { throw .invalidParameters }
        guard !type.isResolvable || capabilities.leFeatures.contains(.privacy) else { throw .unsupportedParameterValue }
        return type
    }

    // MARK: The accept list

    /// Core 5.4, Vol 4, Part E, 7.8.16 (LE Add Device To Filter Accept List command). 0xFF stands for those who advertise
    /// anonymously.
    static func listedAddress(_ parameters: borrowing CommandParameters) throws(Status) -> RadioAddress? {
        let type = parameters.u8(0)
        if type == 0xFF { return nil }
        guard type <= 1 else { throw .invalidParameters }
        return RadioAddress(isRandom: type == 1, value: parameters.u48(1))
    }

    mutating func addToAcceptList(_ address: RadioAddress?) throws(Status) {
        guard !host.isAcceptListInUse else { throw .commandDisallowed }
        guard !host.acceptList.contains(address) else { return }
        guard host.acceptList.count < Int(configuration.acceptListSize) else { throw .memoryCapacityExceeded }
        host.acceptList.append(address)
    }

    mutating func changeAcceptList(_ body: (inout [RadioAddress?]) -> Void) throws(Status) {
        guard !host.isAcceptListInUse else { throw .commandDisallowed }
        body(&host.acceptList)
    }
}
