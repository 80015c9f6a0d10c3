import BluetoothCore
import TestSupport
import Testing

@testable import HCI

private let handle = ConnectionHandle(0x0040)
private let peer = LEPeerAddress(kind: .publicIdentity, bits: 0xC011_2233_4455)

@Suite("Vol 4, Part E, 7.7: events on the wire")
struct EventCodecTests {
    private static let events: [CodecCase] = [
        .init(
            "7.7.5 Disconnection Complete", "05 04 00 4000 13",
            HCIEvent.disconnectionComplete(
                .init(status: .success, handle: handle, reason: .remoteUserTerminatedConnection))),
        .init(
            "7.7.8 Encryption Change", "08 04 00 4000 01",
            HCIEvent.encryptionChange(.init(status: .success, handle: handle, encryptionEnabled: .on))),
        .init(
            "7.7.12 Read Remote Version Information Complete", "0C 08 00 4000 0C 0F00 3412",
            HCIEvent.readRemoteVersionInformationComplete(
                .init(status: .success, handle: handle, version: .v5_3, companyIdentifier: 0x000F, subversion: 0x1234))),
        .init(
            "7.7.14 Command Complete of Reset", "0E 04 01 030C 00",
            HCIEvent.commandComplete(.init(numHCICommandPackets: 1, opcode: HCIReset.opcode, returnParameters: [0]))),
        .init(
            "7.7.14 Command Complete of nothing", "0E 03 05 0000",
            HCIEvent.commandComplete(.init(numHCICommandPackets: 5, opcode: .none, returnParameters: []))),
        .init(
            "7.7.15 Command Status", "0F 04 0C 01 0D20",
            HCIEvent.commandStatus(
                .init(status: .commandDisallowed, numHCICommandPackets: 1, opcode: HCILECreateConnection.opcode))),
        .init("7.7.16 Hardware Error", "10 01 42", HCIEvent.hardwareError(code: 0x42)),
        .init("7.7.19 Number Of Completed Packets, none", "13 01 00", HCIEvent.numberOfCompletedPackets(.init([]))),
        .init(
            "7.7.19 Number Of Completed Packets, one link", "13 05 01 4000 0200",
            HCIEvent.numberOfCompletedPackets(.init([.init(handle: handle, count: 2)]))),
        .init(
            "7.7.19 Number Of Completed Packets, three links", "13 0D 03 4000 0200 4100 0100 4200 FFFF",
            HCIEvent.numberOfCompletedPackets(
                .init([
                    .init(handle: handle, count: 2), .init(handle: ConnectionHandle(0x41), count: 1),
                    .init(handle: ConnectionHandle(0x42), count: 0xFFFF),
                ]))),
        .init("7.7.26 Data Buffer Overflow", "1A 01 01", HCIEvent.dataBufferOverflow(linkType: 1)),
        .init(
            "7.7.39 Encryption Key Refresh Complete", "30 03 00 4000",
            HCIEvent.encryptionKeyRefreshComplete(.init(status: .success, handle: handle))),
        .init(
            "7.7.65.1 LE Connection Complete", "3E 13 01 00 4000 01 02 5544332211C0 1800 0000 A401 05",
            HCIEvent.le(
                .connectionComplete(
                    .init(
                        status: .success, handle: handle, role: .peripheral, peerAddress: peer,
                        connectionInterval: 24, peripheralLatency: 0, supervisionTimeout: 420,
                        centralClockAccuracy: 5)))),
        .init(
            "7.7.65.2 LE Advertising Report, two at once",
            "3E 19 02 02 00 01 5544332211C0 03 020106 C4 04 01 5544332211C0 00 7F",
            HCIEvent.le(
                .advertisingReport(
                    .init(reports: [
                        .init(
                            eventType: .connectableScannableUndirected,
                            address: .init(kind: .random, bits: 0xC011_2233_4455), data: [2, 1, 6], rssi: -60),
                        .init(
                            eventType: .scanResponse, address: .init(kind: .random, bits: 0xC011_2233_4455), data: [],
                            rssi: nil),
                    ])))),
        .init(
            "7.7.65.3 LE Connection Update Complete", "3E 0A 03 00 4000 1800 0000 A401",
            HCIEvent.le(
                .connectionUpdateComplete(
                    .init(
                        status: .success, handle: handle, connectionInterval: 24, peripheralLatency: 0,
                        supervisionTimeout: 420)))),
        .init(
            "7.7.65.4 LE Read Remote Features Complete", "3E 0C 04 1A 4000 0100000000000000",
            HCIEvent.le(
                .readRemoteFeaturesComplete(
                    .init(status: .unsupportedRemoteFeature, handle: handle, features: .encryption)))),
        .init(
            "7.7.65.5 LE Long Term Key Request", "3E 0D 05 4000 EFCDAB8967452301 3412",
            HCIEvent.le(
                .longTermKeyRequest(
                    .init(handle: handle, randomNumber: 0x0123_4567_89AB_CDEF, encryptedDiversifier: 0x1234)))),
        .init(
            "7.7.65.6 LE Remote Connection Parameter Request", "3E 0B 06 4000 1800 2800 0300 A401",
            HCIEvent.le(
                .remoteConnectionParameterRequest(
                    .init(
                        handle: handle, intervalMin: 24, intervalMax: 40, maxLatency: 3, supervisionTimeout: 420)))),
        .init(
            "7.7.65.7 LE Data Length Change", "3E 0B 07 4000 FB00 4808 1B00 4801",
            HCIEvent.le(
                .dataLengthChange(
                    .init(handle: handle, maxTxOctets: 251, maxTxTime: 2120, maxRxOctets: 27, maxRxTime: 328)))),
        .init(
            "7.7.65.10 LE Enhanced Connection Complete",
            "3E 1F 0A 00 4000 00 02 5544332211C0 000000000000 665544332241 1800 0000 A401 00",
            HCIEvent.le(
                .enhancedConnectionComplete(
                    .init(
                        status: .success, handle: handle, role: .central, peerAddress: peer,
                        localResolvablePrivateAddress: 0, peerResolvablePrivateAddress: 0x4122_3344_5566,
                        connectionInterval: 24, peripheralLatency: 0, supervisionTimeout: 420,
                        centralClockAccuracy: 0)))),
        .init(
            "an event of a later version", "57 02 AABB",
            HCIEvent.unknown(HCIEventCode(rawValue: 0x57), parameters: [0xAA, 0xBB])),
        .init(
            "an LE event of a later version", "3E 03 3F AABB",
            HCIEvent.le(.unknown(HCILESubeventCode(rawValue: 0x3F), parameters: [0xAA, 0xBB]))),
    ]

    @Test("round trip, strict prefixes, trailing octets", arguments: events)
    func encodes(_ event: CodecCase) throws { try event.run() }

    @Test(
        "Attack: lengths and counts that promise more or less than there is",
        arguments: [
            "0E 02 01 03", "05 05 00 4000 13 00", "13 05 02 4000 0200", "13 09 01 4000 0200 4000 0200",
            "3E 02 02 00", "3E 02 02 FF", "3E 0C 02 01 00 01 5544332211C0 20", "3E 0C 02 01 00 01 5544332211C0 01",
            "3E 00",
        ])
    func liars(_ hex: String) throws {
        let octets = try #require(HexText.decode(hex.filter { $0 != " " }))
        #expect(throws: DecodingError.self) { try HCIEvent(exactly: octets) }
    }

    @Test("Attack: no octets whatever trap the decoder")
    func noise() {
        var random = SeededGenerator(announcedBy: "EventCodecTests")
        for _ in 0..<20_000 {
            var octets = (0..<Int.random(in: 0...64, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            if octets.count >= 2, Bool.random(using: &random) {
                octets[0] = [0x05, 0x08, 0x0C, 0x0E, 0x0F, 0x13, 0x30, 0x3E].randomElement(using: &random) ?? 0x3E
                octets[1] = UInt8(octets.count - 2)
            }
            if let event = try? HCIEvent(exactly: octets) {
                #expect((try? HCIEvent(exactly: event.encoded)) == event, "seed \(random.seed): \(octets)")
            }
        }
    }

    @Test(
        "7.7.65.2: what a peer's address says",
        arguments: [
            (0, DeviceAddress.Kind.public, false), (1, .random, false), (2, .public, true), (3, .random, true),
            (0xFF, nil, false),
        ] as [(UInt8, DeviceAddress.Kind?, Bool)])
    func peerAddress(_ code: UInt8, kind: DeviceAddress.Kind?, isResolved: Bool) {
        let address = LEPeerAddress(kind: .init(rawValue: code), bits: 1)
        #expect(address.address?.kind == kind)
        #expect(address.isResolved == isResolved)
    }

    @Test("Vol 1, Part F, 1.3: an error names itself and its code")
    func errorNames() {
        #expect("\(HCIErrorCode.connectionTimeout)" == "connection timeout (0x08)")
        #expect("\(HCIErrorCode(rawValue: 0xEE))" == "error 0xEE")
    }

    @Test(
        "7.7.65.2: as many legacy reports as there may be, as long as they may be; one more of either is not believed")
    func reportBounds() throws {
        func reports(_ count: Int, octets: Int) -> HCILEAdvertisingReport {
            HCILEAdvertisingReport(
                reports: [LEAdvertisingReport](
                    repeating: LEAdvertisingReport(
                        eventType: .nonconnectableUndirected, address: LEPeerAddress(kind: .random, bits: 7),
                        data: [UInt8](repeating: 1, count: octets), rssi: -60),
                    count: count))
        }
        func decoded(_ event: HCILEAdvertisingReport) throws -> HCILEAdvertisingReport {
            try HCILEAdvertisingReport(exactly: event.encoded)
        }
        let most = reports(HCILEAdvertisingReport.maximumReports, octets: LegacyAdvertisingData.maximumOctets)
        #expect(try decoded(most) == most)
        #expect(throws: DecodingError.invalidValue(field: "Num_Reports")) {
            try decoded(reports(HCILEAdvertisingReport.maximumReports + 1, octets: 0))
        }
        #expect(throws: DecodingError.invalidValue(field: "Data_Length")) {
            try decoded(reports(1, octets: LegacyAdvertisingData.maximumOctets + 1))
        }
    }
}
