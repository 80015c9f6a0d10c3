import BluetoothCore
import Testing

@testable import HCI

private let peer = LEPeerAddress(kind: .random, bits: 0xC011_2233_4455)
private let handle = ConnectionHandle(0x0E41)
private let set = LEAdvertisingHandle(rawValue: 3)
private let key = HCIKey(bits: 0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF)
private let keyHex = "BF01FB9D4EF3BC36D874F5394138684C"
private let intervals = LEConnectionIntervals(
    intervalMin: 24, intervalMax: 40, maxLatency: 3, supervisionTimeout: 420, minCELength: 1, maxCELength: 2)

@Suite("Vol 4, Part E, 7: what came with Core 4.2 and 5 on the wire")
struct ExtendedCodecTests {
    private static let parameters: [CodecCase] = [
        .init("7.3.35 Read Transmit Power Level", "410E 01", HCIReadTransmitPowerLevel(handle: handle, kind: .maximum)),
        .init(
            "7.8.19 LE Set Host Channel Classification", "FFFFFFFF1F",
            HCILESetHostChannelClassification(channelMap: .all)),
        .init("7.8.20 LE Read Channel Map", "410E", HCILEReadChannelMap(handle: handle)),
        .init(
            "7.8.38 LE Add Device To Resolving List", "01 5544332211C0" + keyHex + keyHex,
            HCILEAddDeviceToResolvingList(peerIdentityAddress: peer, peerIRK: key, localIRK: key)),
        .init(
            "7.8.39 LE Remove Device From Resolving List", "01 5544332211C0",
            HCILERemoveDeviceFromResolvingList(peerIdentityAddress: peer)),
        .init(
            "7.8.42 LE Read Peer Resolvable Address", "01 5544332211C0",
            HCILEReadPeerResolvableAddress(peerIdentityAddress: peer)),
        .init(
            "7.8.43 LE Read Local Resolvable Address", "01 5544332211C0",
            HCILEReadLocalResolvableAddress(peerIdentityAddress: peer)),
        .init("7.8.44 LE Set Address Resolution Enable", "01", HCILESetAddressResolutionEnable(enable: true)),
        .init(
            "7.8.45 LE Set Resolvable Private Address Timeout", "8403",
            HCILESetResolvablePrivateAddressTimeout(timeout: 900)),
        .init("7.8.47 LE Read PHY", "410E", HCILEReadPHY(handle: handle)),
        .init(
            "7.8.48 LE Set Default PHY", "02 03 00",
            HCILESetDefaultPHY(indifference: .rx, tx: [.le1M, .le2M], rx: [])),
        .init(
            "7.8.49 LE Set PHY", "410E 00 02 02 0100",
            HCILESetPHY(handle: handle, indifference: [], tx: .le2M, rx: .le2M, options: 1)),
        .init(
            "7.8.52 LE Set Advertising Set Random Address", "03 5544332211C0",
            HCILESetAdvertisingSetRandomAddress(advertisingHandle: set, address: peer.bits)),
        .init(
            "7.8.53 LE Set Extended Advertising Parameters",
            "03 1300 A00000 F00001 07 01 01 5544332211C0 02 7F 01 00 02 0F 01",
            HCILESetExtendedAdvertisingParameters(
                advertisingHandle: set, properties: .legacyConnectableScannableUndirected, intervalMin: 0xA0,
                intervalMax: 0x1_00F0, channelMap: .all, ownAddressType: .random, peerAddress: peer,
                filterPolicy: .connectionsFromFilterAcceptList,
                txPower: HCILESetExtendedAdvertisingParameters.noTxPowerPreference, primaryPHY: .le1M,
                secondaryMaxSkip: 0, secondaryPHY: .le2M, advertisingSID: 15, reportsScanRequests: true)),
        .init(
            "7.8.56 LE Set Extended Advertising Enable, two sets", "01 02 03 2C01 05 04 0000 00",
            HCILESetExtendedAdvertisingEnable(
                enable: true,
                sets: [
                    .init(advertisingHandle: set, duration: 300, maxEvents: 5),
                    .init(advertisingHandle: LEAdvertisingHandle(rawValue: 4)),
                ])),
        .init(
            "7.8.56 LE Set Extended Advertising Enable, disabling all", "00 00",
            HCILESetExtendedAdvertisingEnable(enable: false, sets: [])),
        .init("7.8.59 LE Remove Advertising Set", "03", HCILERemoveAdvertisingSet(advertisingHandle: set)),
        .init(
            "7.8.64 LE Set Extended Scan Parameters, on two PHYs", "01 02 05 01 6000 3000 00 2001 9000",
            HCILESetExtendedScanParameters(
                ownAddressType: .random, filterPolicy: .extendedUnfiltered,
                phys: .init(
                    le1M: .init(scanType: .active, interval: 0x60, window: 0x30),
                    leCoded: .init(scanType: .passive, interval: 0x120, window: 0x90)))),
        .init(
            "7.8.65 LE Set Extended Scan Enable", "01 02 2C01 0A00",
            HCILESetExtendedScanEnable(enable: true, duplicateFilter: .resetEachPeriod, duration: 300, period: 10)),
        .init(
            "7.8.66 LE Extended Create Connection",
            "01 01 01 5544332211C0 03 6000 3000 1800 2800 0300 A401 0100 0200 0000 0000 1800 2800 0300 A401 0100 0200",
            HCILEExtendedCreateConnection(
                usesFilterAcceptList: true, ownAddressType: .random, peerAddress: peer,
                phys: .init(
                    le1M: .init(scanInterval: 0x60, scanWindow: 0x30, connection: intervals),
                    le2M: .init(scanInterval: 0, scanWindow: 0, connection: intervals)))),
        .init(
            "7.8.77 LE Set Privacy Mode", "01 5544332211C0 01",
            HCILESetPrivacyMode(peerIdentityAddress: peer, mode: .device)),
    ]

    @Test("parameters", arguments: parameters)
    func encodesParameters(_ command: CodecCase) throws { try command.run() }

    private static let returns: [CodecCase] = [
        .init(
            "7.3.35 Read Transmit Power Level", "410E FC",
            HCIReadTransmitPowerLevel.ReturnParameters(handle: handle, transmitPowerLevel: -4)),
        .init(
            "7.8.20 LE Read Channel Map", "410E FE0F000010",
            HCILEReadChannelMap.ReturnParameters(handle: handle, channelMap: LEChannelMap(rawValue: 0x10_0000_0FFE))),
        .init("7.8.41 LE Read Resolving List Size", "08", HCILEReadResolvingListSize.ReturnParameters(size: 8)),
        .init(
            "7.8.42 LE Read Peer Resolvable Address", "5544332211C0",
            HCILEReadPeerResolvableAddress.ReturnParameters(address: peer.bits)),
        .init(
            "7.8.43 LE Read Local Resolvable Address", "5544332211C0",
            HCILEReadLocalResolvableAddress.ReturnParameters(address: peer.bits)),
        .init(
            "7.8.47 LE Read PHY", "410E 02 03",
            HCILEReadPHY.ReturnParameters(handle: handle, txPHY: .le2M, rxPHY: .leCoded)),
        .init(
            "7.8.53 LE Set Extended Advertising Parameters", "F8",
            HCILESetExtendedAdvertisingParameters.ReturnParameters(txPower: -8)),
        .init(
            "7.8.57 LE Read Maximum Advertising Data Length", "7206",
            HCILEReadMaximumAdvertisingDataLength.ReturnParameters(octets: 1650)),
        .init(
            "7.8.58 LE Read Number of Supported Advertising Sets", "10",
            HCILEReadNumberOfSupportedAdvertisingSets.ReturnParameters(count: 16)),
        .init(
            "7.8.74 LE Read Transmit Power", "EC 08",
            HCILEReadTransmitPower.ReturnParameters(minimum: -20, maximum: 8)),
    ]

    @Test("return parameters behind the Status", arguments: returns)
    func encodesReturnParameters(_ command: CodecCase) throws { try command.run() }

    private static let events: [CodecCase] = [
        .init(
            "7.7.65.12 LE PHY Update Complete", "3E 06 0C 00 410E 02 01",
            HCIEvent.le(.phyUpdateComplete(.init(status: .success, handle: handle, txPHY: .le2M, rxPHY: .le1M)))),
        .init(
            "7.7.65.13 LE Extended Advertising Report, a legacy PDU and a piece of an extended one",
            """
            3E 37 0D 02 1300 01 5544332211C0 01 00 FF 7F C4 0000 00 000000000000 03 020106 \
            2000 FF 000000000000 01 02 0A 04 7F 2000 01 5544332211C0 02 AABB
            """,
            HCIEvent.le(
                .extendedAdvertisingReport(
                    .init(reports: [
                        .init(
                            eventType: [.connectable, .scannable, .legacyPDU], address: peer, rssi: -60,
                            data: [2, 1, 6]),
                        .init(
                            eventType: .moreToCome,
                            address: LEPeerAddress(kind: .init(rawValue: 0xFF), bits: 0), secondaryPHY: .le2M,
                            advertisingSID: 10, txPower: 4, rssi: nil, periodicAdvertisingInterval: 32,
                            directAddress: peer, data: [0xAA, 0xBB]),
                    ])))),
        .init("7.7.65.17 LE Scan Timeout", "3E 01 11", HCIEvent.le(.scanTimeout)),
        .init(
            "7.7.65.18 LE Advertising Set Terminated", "3E 06 12 00 03 410E 07",
            HCIEvent.le(
                .advertisingSetTerminated(
                    .init(status: .success, advertisingHandle: set, handle: handle, completedEvents: 7)))),
        .init(
            "7.7.65.19 LE Scan Request Received", "3E 09 13 03 01 5544332211C0",
            HCIEvent.le(.scanRequestReceived(.init(advertisingHandle: set, scannerAddress: peer)))),
        .init(
            "7.7.65.20 LE Channel Selection Algorithm", "3E 04 14 410E 01",
            HCIEvent.le(.channelSelectionAlgorithm(.init(handle: handle, algorithm: .two)))),
    ]

    @Test("events: round trip, strict prefixes, trailing octets", arguments: events)
    func encodesEvents(_ event: CodecCase) throws { try event.run() }

    private static let opcodes: [(HCIOpcode, UInt16)] = [
        (HCIReadTransmitPowerLevel.opcode, 0x0C2D), (HCILESetHostChannelClassification.opcode, 0x2014),
        (HCILEReadChannelMap.opcode, 0x2015), (HCILEAddDeviceToResolvingList.opcode, 0x2027),
        (HCILERemoveDeviceFromResolvingList.opcode, 0x2028), (HCILEClearResolvingList.opcode, 0x2029),
        (HCILEReadResolvingListSize.opcode, 0x202A), (HCILEReadPeerResolvableAddress.opcode, 0x202B),
        (HCILEReadLocalResolvableAddress.opcode, 0x202C), (HCILESetAddressResolutionEnable.opcode, 0x202D),
        (HCILESetResolvablePrivateAddressTimeout.opcode, 0x202E), (HCILEReadPHY.opcode, 0x2030),
        (HCILESetDefaultPHY.opcode, 0x2031), (HCILESetPHY.opcode, 0x2032),
        (HCILESetAdvertisingSetRandomAddress.opcode, 0x2035),
        (HCILESetExtendedAdvertisingParameters.opcode, 0x2036), (HCILESetExtendedAdvertisingData.opcode, 0x2037),
        (HCILESetExtendedScanResponseData.opcode, 0x2038), (HCILESetExtendedAdvertisingEnable.opcode, 0x2039),
        (HCILEReadMaximumAdvertisingDataLength.opcode, 0x203A),
        (HCILEReadNumberOfSupportedAdvertisingSets.opcode, 0x203B), (HCILERemoveAdvertisingSet.opcode, 0x203C),
        (HCILEClearAdvertisingSets.opcode, 0x203D), (HCILESetExtendedScanParameters.opcode, 0x2041),
        (HCILESetExtendedScanEnable.opcode, 0x2042), (HCILEExtendedCreateConnection.opcode, 0x2043),
        (HCILEReadTransmitPower.opcode, 0x204B), (HCILESetPrivacyMode.opcode, 0x204E),
    ]

    @Test("each opcode is the specification's", arguments: opcodes)
    func opcode(_ opcode: HCIOpcode, is value: UInt16) {
        #expect(opcode.rawValue == value)
    }

    @Test(
        "7.8.54: data is cut into as few pieces as carry it, of which there is always one",
        arguments: [
            (0, [.complete]), (251, [.complete]), (252, [.firstFragment, .lastFragment]),
            (502, [.firstFragment, .lastFragment]), (503, [.firstFragment, .intermediateFragment, .lastFragment]),
            (
                1650,
                [.firstFragment] + Array(repeating: .intermediateFragment, count: 5) + [.lastFragment]
            ),
        ] as [(Int, [LEAdvertisingDataPiece.Operation])])
    func pieces(octets: Int, operations: [LEAdvertisingDataPiece.Operation]) throws {
        let data = (0..<octets).map { UInt8(truncatingIfNeeded: $0) }
        let pieces = LEAdvertisingDataPiece.cut(data)
        #expect(pieces.map(\.operation) == operations)
        #expect(pieces.flatMap(\.octets) == data)
        for piece in pieces {
            let command = HCILESetExtendedAdvertisingData(data: .init(advertisingHandle: set, piece: piece))
            #expect(command.encoded.count <= 255, "what a command packet carries")
            #expect(try HCILESetExtendedAdvertisingData(exactly: command.encoded) == command)
            #expect(try HCILESetExtendedScanResponseData(exactly: command.encoded).data == command.data)
        }
    }

    @Test("7.8.54: 252 octets are one too many for a piece")
    func pieceBound() {
        let octets = [UInt8](repeating: 7, count: LEAdvertisingDataPiece.maximumOctets + 1)
        #expect(LEAdvertisingDataPiece(.complete, octets) == nil)
        #expect(throws: DecodingError.invalidValue(field: "Advertising_Data_Length")) {
            try LEAdvertisingSetData(exactly: [3, 3, 1, 252] + octets)
        }
        #expect(LEAdvertisingDataPiece(.complete, octets.dropLast()) != nil)
    }

    @Test(
        "Attack: reports that promise more than there is, or than there may be",
        arguments: [
            "0D 00", "0D 0B", "0D 01 1300 01 5544332211C0 01 00 FF 7F C4 0000 00 000000000000 03 0201",
            "0D 01 1300 01 5544332211C0 01 00 FF 7F C4 0000 00 000000000000 E6" + String(repeating: "00", count: 230),
        ])
    func liars(_ hex: String) throws {
        let octets = try #require(HexText.decode(hex.filter { $0 != " " }))
        #expect(throws: DecodingError.self) { try HCILEEvent(exactly: octets) }
    }

    @Test("7.8.64: a PHY that nobody knows has parameters of an unknown length")
    func unknownPHY() throws {
        let octets = try #require(HexText.decode("010208" + "0160003000"))
        #expect(throws: DecodingError.invalidValue(field: "PHYs")) {
            try HCILESetExtendedScanParameters(exactly: octets)
        }
    }

    @Test("6.27: where the supported commands have the newer ones")
    func supportedCommands() throws {
        var octets = [UInt8](repeating: 0, count: SupportedCommands.octetCount)
        octets[36] = 0b0111_1110
        octets[37] = 0b1110_0011
        let commands = try SupportedCommands(exactly: octets)
        for position: SupportedCommands.Position in [
            .leSetAdvertisingSetRandomAddress, .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData,
            .leSetExtendedScanResponseData, .leSetExtendedAdvertisingEnable, .leReadMaximumAdvertisingDataLength,
            .leRemoveAdvertisingSet, .leClearAdvertisingSets, .leSetExtendedScanParameters,
            .leSetExtendedScanEnable, .leExtendedCreateConnection,
        ] {
            #expect(commands.contains(position))
        }
        #expect(!commands.contains(.leReadNumberOfSupportedAdvertisingSets))
        #expect(!commands.contains(.leSetPHY))
    }
}
