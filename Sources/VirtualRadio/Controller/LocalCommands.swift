import COpenSSL

/// The commands that concern nobody but the controller and its host.
extension Controller {
    mutating func run(_ opcode: UInt16, _ parameters: borrowing CommandParameters, _ returns: inout OctetWriter)
        throws(Status)
    {
        switch opcode {
        case Opcode.setEventMask: host.eventMask = parameters.u64(0)
        case Opcode.leSetEventMask: host.leEventMask = parameters.u64(0)
        case Opcode.leEncrypt: try encrypt(parameters, &returns)
        case Opcode.leSetAdvertisingParameters: try setAdvertisingParameters(parameters)
        case Opcode.leSetAdvertisingData: host.advertising.data = try Self.advertisingData(parameters)
        case Opcode.leSetScanResponseData: host.advertising.scanResponse = try Self.advertisingData(parameters)
        case Opcode.leSetScanParameters: try setScanParameters(parameters)
        case Opcode.leClearFilterAcceptList: try changeAcceptList { $0.removeAll() }
        case Opcode.leAddDeviceToFilterAcceptList: try addToAcceptList(Self.listedAddress(parameters))
        case Opcode.leRemoveDeviceFromFilterAcceptList:
            let address = try Self.listedAddress(parameters)
            try changeAcceptList { $0.removeAll { $0 == address } }
        case Opcode.leWriteSuggestedDefaultDataLength:
            (host.suggestedMaxTxOctets, host.suggestedMaxTxTime) = try Self.dataLength(parameters, at: 0)
        default: inform(opcode, &returns)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.4 (Informational parameters) and the reading commands of 7.8
    private func inform(_ opcode: UInt16, _ returns: inout OctetWriter) {
        switch opcode {
        case Opcode.readLocalVersionInformation:
            returns.u8(Capabilities.version)
            returns.u16(Capabilities.revision)
            returns.u8(Capabilities.version)
            returns.u16(Capabilities.companyIdentifier)
            returns.u16(Capabilities.subversion)
        case Opcode.readLocalSupportedCommands: returns.bytes(CommandDescription.supportedCommands)
        case Opcode.readLocalSupportedFeatures: returns.u64(Capabilities.lmpFeatures)
        case Opcode.readBufferSize:
            returns.u16(configuration.aclDataPacketLength)
            returns.u8(0)
            returns.u16(UInt16(configuration.aclDataPacketCount))
            returns.u16(0)
        case Opcode.readBDADDR: returns.u48(publicAddress.value)
        case Opcode.leReadBufferSize:
            returns.u16(configuration.aclDataPacketLength)
            returns.u8(configuration.aclDataPacketCount)
        case Opcode.leReadLocalSupportedFeatures: returns.u64(Capabilities.leFeatures)
        case Opcode.leReadAdvertisingChannelTxPower: returns.i8(Capabilities.txPowerDBm)
        case Opcode.leReadFilterAcceptListSize: returns.u8(configuration.acceptListSize)
        case Opcode.leReadSupportedStates: returns.u64(Capabilities.leStates)
        case Opcode.leReadSuggestedDefaultDataLength:
            returns.u16(host.suggestedMaxTxOctets)
            returns.u16(host.suggestedMaxTxTime)
        case Opcode.leReadMaximumDataLength:
            for _ in ["tx", "rx"] {
                returns.u16(DataLength.maximumOctets)
                returns.u16(DataLength.microseconds(octets: DataLength.maximumOctets))
            }
        default: break
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.8.22 (LE Encrypt command): the least significant octet comes first, as everywhere.
    private func encrypt(_ parameters: borrowing CommandParameters, _ returns: inout OctetWriter) throws(Status) {
        let key = Array(parameters.array(0, count: 16).reversed())
        let plaintext = Array(parameters.array(16, count: 16).reversed())
        var ciphertext = [UInt8](repeating: 0, count: 16)
        guard latch_radio_aes128(key, plaintext, &ciphertext) == 1 else { throw .memoryCapacityExceeded }
        returns.bytes(ciphertext.reversed())
    }

    // MARK: Advertising and scanning

    /// Core 5.4, Vol 4, Part E, 7.8.5 (LE Set Advertising Parameters command)
    private mutating func setAdvertisingParameters(_ parameters: borrowing CommandParameters) throws(Status) {
        guard host.advertising.run == nil else { throw .commandDisallowed }
        let minimum = parameters.u16(0)
        let maximum = parameters.u16(2)
        let channelMap = parameters.u8(13)
        let filterPolicy = parameters.u8(14)
        guard let type = AdvertisingType(rawValue: parameters.u8(4)), parameters.u8(6) <= 1,
            channelMap & 0b111 != 0, channelMap <= 0b111, filterPolicy <= 3
        else { throw .invalidParameters }
        // High duty cycle advertising has an interval of its own.
        let intervals = UInt16(0x0020)...0x4000
        guard
            type == .connectableDirectedHighDuty
                || intervals.contains(minimum) && intervals.contains(maximum) && minimum <= maximum
        else { throw .invalidParameters }
        host.advertising.parameters = Advertising.Parameters(
            intervalNanoseconds: UInt64(minimum) * Advertising.baseband, type: type,
            isOwnAddressRandom: try Self.isRandom(ownAddressType: parameters.u8(5)),
            peer: RadioAddress(isRandom: parameters.u8(6) == 1, value: parameters.u48(7)), filterPolicy: filterPolicy)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.7 (LE Set Advertising Data command) and 7.8.8 (LE Set Scan Response Data command)
    private static func advertisingData(_ parameters: borrowing CommandParameters) throws(Status) -> [UInt8] {
        let length = Int(parameters.u8(0))
        guard length <= 31 else { throw .invalidParameters }
        return parameters.array(1, count: length)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.10 (LE Set Scan Parameters command)
    private mutating func setScanParameters(_ parameters: borrowing CommandParameters) throws(Status) {
        guard host.scanning.run == nil else { throw .commandDisallowed }
        let interval = parameters.u16(1)
        let window = parameters.u16(3)
        guard parameters.u8(0) <= 1, Self.areScanTimes(interval: interval, window: window), parameters.u8(6) <= 3
        else { throw .invalidParameters }
        // Policies 2 and 3 belong to the Extended Scanner Filter Policies feature.
        guard parameters.u8(6) <= 1 else { throw .unsupportedParameterValue }
        host.scanning.parameters = Scanning.Parameters(
            isActive: parameters.u8(0) == 1, intervalNanoseconds: UInt64(interval) * Advertising.baseband,
            windowNanoseconds: UInt64(window) * Advertising.baseband,
            isOwnAddressRandom: try Self.isRandom(ownAddressType: parameters.u8(5)),
            usesAcceptList: parameters.u8(6) == 1)
    }

    static func areScanTimes(interval: UInt16, window: UInt16) -> Bool {
        let times = UInt16(0x0004)...0x4000
        return times.contains(interval) && times.contains(window) && window <= interval
    }

    /// Own_Address_Type: 0x02 and 0x03 ask for a resolving list, which this controller has not.
    static func isRandom(ownAddressType: UInt8) throws(Status) -> Bool {
        guard ownAddressType <= 3 else { throw .invalidParameters }
        guard ownAddressType <= 1 else { throw .unsupportedParameterValue }
        return ownAddressType == 1
    }

    // MARK: The accept list

    /// Core 5.4, Vol 4, Part E, 7.8.16 (LE Add Device To Filter Accept List command)
    private static func listedAddress(_ parameters: borrowing CommandParameters) throws(Status) -> RadioAddress? {
        let type = parameters.u8(0)
        // 0xFF: those who advertise anonymously, which legacy advertisers cannot.
        if type == 0xFF { return nil }
        guard type <= 1 else { throw .invalidParameters }
        return RadioAddress(isRandom: type == 1, value: parameters.u48(1))
    }

    private mutating func addToAcceptList(_ address: RadioAddress?) throws(Status) {
        let size = configuration.acceptListSize
        guard !host.isAcceptListInUse else { throw .commandDisallowed }
        guard let address, !host.acceptList.contains(address) else { return }
        guard host.acceptList.count < Int(size) else { throw .memoryCapacityExceeded }
        host.acceptList.append(address)
    }

    private mutating func changeAcceptList(_ body: (inout [RadioAddress]) -> Void) throws(Status) {
        guard !host.isAcceptListInUse else { throw .commandDisallowed }
        body(&host.acceptList)
    }

    /// TX_Octets and TX_Time.
    ///
    /// Core 5.4, Vol 4, Part E, 7.8.33 (LE Set Data Length command) and 7.8.35
    static func dataLength(_ parameters: borrowing CommandParameters, at offset: Int) throws(Status) -> (UInt16, UInt16)
    {
        let octets = parameters.u16(offset)
        let time = parameters.u16(offset + 2)
        let shortest = DataLength.microseconds(octets: DataLength.minimumOctets)
        guard (DataLength.minimumOctets...DataLength.maximumOctets).contains(octets),
            (shortest...DataLength.maximumMicroseconds).contains(time)
        else { throw .invalidParameters }
        return (octets, time)
    }
}
