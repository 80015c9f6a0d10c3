import CRadioCrypto

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
        case Opcode.leSetAdvertisingData: host.legacyAdvertiser.data = try Self.advertisingData(parameters)
        case Opcode.leSetScanResponseData: host.legacyAdvertiser.scanResponse = try Self.advertisingData(parameters)
        case Opcode.leSetAdvertisingSetRandomAddress: try setAdvertisingSetRandomAddress(parameters)
        case Opcode.leSetExtendedAdvertisingParameters: try setExtendedAdvertisingParameters(parameters, &returns)
        case Opcode.leSetExtendedAdvertisingData: try setExtendedAdvertisingData(parameters)
        case Opcode.leSetExtendedScanResponseData: try setExtendedScanResponseData(parameters)
        case Opcode.leRemoveAdvertisingSet: try removeAdvertisingSet(parameters)
        case Opcode.leClearAdvertisingSets: try clearAdvertisingSets()
        case Opcode.leSetScanParameters: try setScanParameters(parameters)
        case Opcode.leSetExtendedScanParameters: try setExtendedScanParameters(parameters)
        case Opcode.leClearFilterAcceptList: try changeAcceptList { $0.removeAll() }
        case Opcode.leAddDeviceToFilterAcceptList: try addToAcceptList(Self.listedAddress(parameters))
        case Opcode.leRemoveDeviceFromFilterAcceptList:
            let address = try Self.listedAddress(parameters)
            try changeAcceptList { $0.removeAll { $0 == address } }
        case Opcode.leAddDeviceToResolvingList: try addToResolvingList(parameters)
        case Opcode.leRemoveDeviceFromResolvingList: try removeFromResolvingList(parameters)
        case Opcode.leClearResolvingList: try clearResolvingList()
        case Opcode.leReadPeerResolvableAddress: try readPeerResolvableAddress(parameters, &returns)
        case Opcode.leReadLocalResolvableAddress: try readLocalResolvableAddress(parameters, &returns)
        case Opcode.leSetAddressResolutionEnable: try setAddressResolutionEnable(parameters)
        case Opcode.leSetResolvablePrivateAddressTimeout: try setResolvablePrivateAddressTimeout(parameters)
        case Opcode.leSetPrivacyMode: try setPrivacyMode(parameters)
        case Opcode.leWriteSuggestedDefaultDataLength:
            (host.suggestedMaxTxOctets, host.suggestedMaxTxTime) = try Self.dataLength(parameters, at: 0)
        default: inform(opcode, &returns)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.4 (Informational parameters) and the reading commands of 7.8
    private func inform(_ opcode: UInt16, _ returns: inout OctetWriter) {
        switch opcode {
        case Opcode.readLocalVersionInformation:
            returns.u8(capabilities.version)
            returns.u16(Capabilities.revision)
            returns.u8(capabilities.version)
            returns.u16(Capabilities.companyIdentifier)
            returns.u16(Capabilities.subversion)
        case Opcode.readLocalSupportedCommands: returns.bytes(capabilities.supportedCommands)
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
        case Opcode.leReadLocalSupportedFeatures: returns.u64(capabilities.leFeatures.rawValue)
        case Opcode.leReadAdvertisingChannelTxPower: returns.i8(Capabilities.txPowerDBm)
        case Opcode.leReadFilterAcceptListSize: returns.u8(configuration.acceptListSize)
        case Opcode.leReadResolvingListSize: returns.u8(configuration.resolvingListSize)
        case Opcode.leReadMaximumAdvertisingDataLength: returns.u16(configuration.advertisingDataLength)
        case Opcode.leReadNumberOfSupportedAdvertisingSets: returns.u8(configuration.advertisingSetCount)
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
