import BluetoothCore
import Testing

@testable import HCI

private let peer = LEPeerAddress(kind: .random, bits: 0xC011_2233_4455)
private let handle = ConnectionHandle(0x0E41)
private let intervals = LEConnectionIntervals(
    intervalMin: 24, intervalMax: 40, maxLatency: 3, supervisionTimeout: 420, minCELength: 1, maxCELength: 2)
private let key = HCIKey(bits: 0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF)
private let keyHex = "BF01FB9D4EF3BC36D874F5394138684C"

@Suite("Vol 4, Part E, 7: commands on the wire")
struct CommandCodecTests {
    private static let parameters: [CodecCase] = [
        .init("7.1.6 Disconnect", "410E 13", HCIDisconnect(handle: handle, reason: .remoteUserTerminatedConnection)),
        .init("7.1.23 Read Remote Version", "410E", HCIReadRemoteVersionInformation(handle: handle)),
        .init(
            "7.3.1 Set Event Mask", "9088000200800020",
            HCISetEventMask(eventMask: [
                .disconnectionComplete, .encryptionChange, .readRemoteVersionInformationComplete, .hardwareError,
                .dataBufferOverflow, .encryptionKeyRefreshComplete, .leMeta,
            ])),
        .init("7.5.4 Read RSSI", "410E", HCIReadRSSI(handle: handle)),
        .init(
            "7.8.1 LE Set Event Mask", "7F02000000000000",
            HCILESetEventMask(eventMask: [
                .connectionComplete, .advertisingReport, .connectionUpdateComplete, .readRemoteFeaturesComplete,
                .longTermKeyRequest, .remoteConnectionParameterRequest, .dataLengthChange,
                .enhancedConnectionComplete,
            ])),
        .init("7.8.4 LE Set Random Address", "5544332211C0", HCILESetRandomAddress(address: 0xC011_2233_4455)),
        .init(
            "7.8.5 LE Set Advertising Parameters", "A000 F000 04 01 01 5544332211C0 07 02",
            HCILESetAdvertisingParameters(
                intervalMin: 0xA0, intervalMax: 0xF0, advertisingType: .connectableDirectedLowDutyCycle,
                ownAddressType: .random, peerAddress: peer, channelMap: .all,
                filterPolicy: .connectionsFromFilterAcceptList)),
        .init("7.8.9 LE Set Advertising Enable", "01", HCILESetAdvertisingEnable(enable: true)),
        .init(
            "7.8.10 LE Set Scan Parameters", "01 6000 3000 03 02",
            HCILESetScanParameters(
                scanType: .active, interval: 0x60, window: 0x30, ownAddressType: .resolvableOrRandom,
                filterPolicy: .extendedUnfiltered)),
        .init("7.8.11 LE Set Scan Enable", "01 00", HCILESetScanEnable(enable: true, filterDuplicates: false)),
        .init(
            "7.8.12 LE Create Connection", "6000 3000 01 01 5544332211C0 01 1800 2800 0300 A401 0100 0200",
            HCILECreateConnection(
                scanInterval: 0x60, scanWindow: 0x30, usesFilterAcceptList: true, peerAddress: peer,
                ownAddressType: .random, connection: intervals)),
        .init(
            "7.8.16 LE Add Device To Filter Accept List", "01 5544332211C0",
            HCILEAddDeviceToFilterAcceptList(address: peer)),
        .init(
            "7.8.17 LE Remove Device From Filter Accept List", "01 5544332211C0",
            HCILERemoveDeviceFromFilterAcceptList(address: peer)),
        .init(
            "7.8.18 LE Connection Update", "410E 1800 2800 0300 A401 0100 0200",
            HCILEConnectionUpdate(handle: handle, connection: intervals)),
        .init("7.8.21 LE Read Remote Features", "410E", HCILEReadRemoteFeatures(handle: handle)),
        .init("7.8.22 LE Encrypt", keyHex + keyHex, HCILEEncrypt(key: key, plaintext: key)),
        .init(
            "7.8.24 LE Enable Encryption", "410E EFCDAB8967452301 3412" + keyHex,
            HCILEEnableEncryption(
                handle: handle, randomNumber: 0x0123_4567_89AB_CDEF, encryptedDiversifier: 0x1234,
                longTermKey: key)),
        .init(
            "7.8.25 LE Long Term Key Request Reply", "410E" + keyHex,
            HCILELongTermKeyRequestReply(handle: handle, longTermKey: key)),
        .init(
            "7.8.26 LE Long Term Key Request Negative Reply", "410E",
            HCILELongTermKeyRequestNegativeReply(handle: handle)),
        .init(
            "7.8.31 LE Remote Connection Parameter Request Reply", "410E 1800 2800 0300 A401 0100 0200",
            HCILERemoteConnectionParameterRequestReply(handle: handle, connection: intervals)),
        .init(
            "7.8.32 LE Remote Connection Parameter Request Negative Reply", "410E 3B",
            HCILERemoteConnectionParameterRequestNegativeReply(
                handle: handle, reason: .unacceptableConnectionParameters)),
        .init(
            "7.8.33 LE Set Data Length", "410E FB00 4808",
            HCILESetDataLength(handle: handle, txOctets: 251, txTime: 2120)),
        .init(
            "7.8.35 LE Write Suggested Default Data Length", "FB00 4808",
            HCILEWriteSuggestedDefaultDataLength(maxTxOctets: 251, maxTxTime: 2120)),
    ]

    @Test("parameters", arguments: parameters)
    func encodesParameters(_ command: CodecCase) throws { try command.run() }

    private static let returns: [CodecCase] = [
        .init(
            "7.4.1 Read Local Version Information", "0D 3412 0D F105 7856",
            HCIReadLocalVersionInformation.ReturnParameters(
                hciVersion: .v5_4, hciSubversion: 0x1234, lmpVersion: .v5_4, companyIdentifier: 0x05F1,
                lmpSubversion: 0x5678)),
        .init(
            "7.4.3 Read Local Supported Features", "0000000060000000",
            HCIReadLocalSupportedFeatures.ReturnParameters(lmpFeatures: 1 << 37 | 1 << 38)),
        .init(
            "7.4.5 Read Buffer Size", "FD03 40 0800 0100",
            HCIReadBufferSize.ReturnParameters(
                aclDataPacketLength: 1021, synchronousDataPacketLength: 64, totalNumACLDataPackets: 8,
                totalNumSynchronousDataPackets: 1)),
        .init("7.4.6 Read BD_ADDR", "5544332211C0", HCIReadBDADDR.ReturnParameters(address: 0xC011_2233_4455)),
        .init("7.5.4 Read RSSI", "410E C4", HCIReadRSSI.ReturnParameters(handle: handle, rssi: -60)),
        .init(
            "7.8.2 LE Read Buffer Size", "1B00 14",
            HCILEReadBufferSize.ReturnParameters(aclDataPacketLength: 27, totalNumACLDataPackets: 20)),
        .init(
            "7.8.3 LE Read Local Supported Features", "2118000000000000",
            HCILEReadLocalSupportedFeatures.ReturnParameters(
                features: [.encryption, .dataPacketLengthExtension, .leCodedPHY, .extendedAdvertising])),
        .init(
            "7.8.6 LE Read Advertising Physical Channel Tx Power", "F8",
            HCILEReadAdvertisingPhysicalChannelTxPower.ReturnParameters(txPowerLevel: -8)),
        .init(
            "7.8.14 LE Read Filter Accept List Size", "10",
            HCILEReadFilterAcceptListSize.ReturnParameters(size: 16)),
        .init("7.8.22 LE Encrypt", keyHex, HCILEEncrypt.ReturnParameters(encrypted: key)),
        .init(
            "7.8.23 LE Rand", "EFCDAB8967452301",
            HCILERand.ReturnParameters(random: 0x0123_4567_89AB_CDEF)),
        .init("7.8.25 and others that return a handle", "410E", HCIConnectionHandleReturn(handle: handle)),
        .init(
            "7.8.34 LE Read Suggested Default Data Length", "1B00 4801",
            HCILEReadSuggestedDefaultDataLength.ReturnParameters(maxTxOctets: 27, maxTxTime: 328)),
        .init(
            "7.8.46 LE Read Maximum Data Length", "FB00 4808 FB00 9042",
            HCILEReadMaximumDataLength.ReturnParameters(
                maxTxOctets: 251, maxTxTime: 2120, maxRxOctets: 251, maxRxTime: 17040)),
    ]

    @Test("return parameters behind the Status", arguments: returns)
    func encodesReturnParameters(_ command: CodecCase) throws { try command.run() }

    private static let opcodes: [(HCIOpcode, UInt16)] = [
        (HCIDisconnect.opcode, 0x0406), (HCIReadRemoteVersionInformation.opcode, 0x041D),
        (HCISetEventMask.opcode, 0x0C01), (HCIReset.opcode, 0x0C03),
        (HCIReadLocalVersionInformation.opcode, 0x1001),
        (HCIReadLocalSupportedCommands.opcode, 0x1002), (HCIReadLocalSupportedFeatures.opcode, 0x1003),
        (HCIReadBufferSize.opcode, 0x1005), (HCIReadBDADDR.opcode, 0x1009), (HCIReadRSSI.opcode, 0x1405),
        (HCILESetEventMask.opcode, 0x2001), (HCILEReadBufferSize.opcode, 0x2002),
        (HCILEReadLocalSupportedFeatures.opcode, 0x2003), (HCILESetRandomAddress.opcode, 0x2005),
        (HCILESetAdvertisingParameters.opcode, 0x2006),
        (HCILEReadAdvertisingPhysicalChannelTxPower.opcode, 0x2007), (HCILESetAdvertisingData.opcode, 0x2008),
        (HCILESetScanResponseData.opcode, 0x2009), (HCILESetAdvertisingEnable.opcode, 0x200A),
        (HCILESetScanParameters.opcode, 0x200B), (HCILESetScanEnable.opcode, 0x200C),
        (HCILECreateConnection.opcode, 0x200D), (HCILECreateConnectionCancel.opcode, 0x200E),
        (HCILEReadFilterAcceptListSize.opcode, 0x200F), (HCILEClearFilterAcceptList.opcode, 0x2010),
        (HCILEAddDeviceToFilterAcceptList.opcode, 0x2011), (HCILERemoveDeviceFromFilterAcceptList.opcode, 0x2012),
        (HCILEConnectionUpdate.opcode, 0x2013), (HCILEReadRemoteFeatures.opcode, 0x2016),
        (HCILEEncrypt.opcode, 0x2017), (HCILERand.opcode, 0x2018), (HCILEEnableEncryption.opcode, 0x2019),
        (HCILELongTermKeyRequestReply.opcode, 0x201A), (HCILELongTermKeyRequestNegativeReply.opcode, 0x201B),
        (HCILERemoteConnectionParameterRequestReply.opcode, 0x2020),
        (HCILERemoteConnectionParameterRequestNegativeReply.opcode, 0x2021), (HCILESetDataLength.opcode, 0x2022),
        (HCILEReadSuggestedDefaultDataLength.opcode, 0x2023),
        (HCILEWriteSuggestedDefaultDataLength.opcode, 0x2024), (HCILEReadMaximumDataLength.opcode, 0x202F),
    ]

    @Test("each opcode is the specification's", arguments: opcodes)
    func opcode(_ opcode: HCIOpcode, is value: UInt16) {
        #expect(opcode.rawValue == value)
    }

    @Test("5.4.1: a command packet is indicator, opcode, length, parameters")
    func packet() {
        var writer = ByteWriter()
        H4Framer.encode(HCIReset(), into: &writer)
        H4Framer.encode(HCILESetScanEnable(enable: true, filterDuplicates: true), into: &writer)
        #expect(HexText.encode(writer.bytes) == "01030C00" + "010C20020101")
    }

    @Test("7.8.7 and 7.8.8: advertising data always fills 32 octets, and 32 octets of it are one too many")
    func advertisingData() throws {
        let data = try #require(LegacyAdvertisingData([0x02, 0x01, 0x06]))
        let octets = HCILESetAdvertisingData(data: data).encoded
        #expect(octets == [3, 2, 1, 6] + Array(repeating: 0, count: 28))
        #expect(try HCILESetScanResponseData(exactly: octets).data == data)
        #expect(LegacyAdvertisingData(Array(repeating: 7, count: 31)) != nil)
        #expect(LegacyAdvertisingData(Array(repeating: 7, count: 32)) == nil)
        #expect(throws: DecodingError.invalidValue(field: "Advertising_Data_Length")) {
            try LegacyAdvertisingData(exactly: [32] + Array(repeating: 7, count: 32))
        }
    }

    @Test("6.27: supported commands are looked up by octet and bit")
    func supportedCommands() throws {
        var octets = [UInt8](repeating: 0, count: SupportedCommands.octetCount)
        octets[26] = 0b0001_0000
        let commands = try SupportedCommands(exactly: octets)
        #expect(commands.contains(.leCreateConnection))
        #expect(!commands.contains(.leCreateConnectionCancel))
        #expect(!commands.contains(.init(octet: 64, bit: 0)))
        #expect(SupportedCommands([.leCreateConnection]) == commands)
    }

    @Test("Attack: a key printed or mirrored shows nothing of itself")
    func keysHaveNoDescription() {
        let command = HCILELongTermKeyRequestReply(handle: handle, longTermKey: key)
        var dumped = ""
        dump(command, to: &dumped)
        let decimal = String(key.bits)
        for text in ["\(command)", String(reflecting: command), dumped] {
            #expect(!text.contains(decimal))
            #expect(text.contains("(key)"))
        }
        #expect(key == HCIKey(bits: key.bits))
        #expect(key != HCIKey(bits: key.bits ^ 1))
        #expect(key != HCIKey(bits: key.bits ^ (1 << 127)))
    }
}
