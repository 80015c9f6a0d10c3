import BluetoothCore
import LockProtocol
import Testing

/// Octets are those of docs/PROTOCOL.md, or packed by hand.
@Suite("Codecs of the control point's procedures")
struct ManagementCodecTests {
    private let bo = CredentialID(rawValue: 0x1112_1314_1516_1718)
    private let version = ValueVersion(rawValue: 0xB03F_998E)

    @Test("Each procedure: every strict prefix and every octet too many is refused")
    func procedures() throws {
        let place = ReadingPlace(offset: 16, version: version)
        let settings = LockSettings(relockSeconds: 0, acceptsSigned: false, mode: .lockdown)
        for (procedure, hex) in [
            (.keyStatus, "01"), (.listCredentials(from: bo, place), "02181716151413121110008E993FB0"),
            (.getCredential(bo, place), "03181716151413121110008E993FB0"),
            (.change(bo, version, .disabled), "0418171615141312118E993FB0"),
            (.change(bo, version, .enabled), "0518171615141312118E993FB0"),
            (.change(bo, version, .removed), "0618171615141312118E993FB0"),
            (.change(bo, version, .scheduled(.always, .none)), "0718171615141312118E993FB000010000"),
            (.getSettings(place), "0810008E993FB0"),
            (.closeEnrolment, "0A"), (.getEnrolment(place), "0B10008E993FB0"),
            (.setSettings(version, settings), "0C8E993FB00D00001400881300000000000001045554433000"),
            (.setMode(.privacy), "0D02"), (.getTime, "0E"), (.setTime(-2), "0FFEFFFFFFFFFFFFFF"),
        ] as [(ControlPointProcedure, String)] {
            try checkCodec(procedure, hex)
        }
        let opening = try #require(EnrolmentOpening(role: .guest, seconds: 120, name: "Cy"))
        // What is behind an opening's name is its kind and its user.
        let octets = ControlPointProcedure.openEnrolment(opening).encoded
        #expect(octets == [0x09, 0x04, 0x78, 0x00, 0x02, 0x43, 0x79])
        for count in 0..<octets.count {
            #expect(throws: DecodingError.self) { try ControlPointProcedure(exactly: Array(octets.prefix(count))) }
        }
        #expect(throws: DecodingError.self) { try ControlPointProcedure(exactly: octets + [0]) }
        #expect(throws: DecodingError.self) { try ControlPointProcedure(exactly: octets + [0x04]) }
        let joining = try #require(
            EnrolmentOpening(role: .guest, seconds: 120, name: "Cy", kind: .expiring(minutes: 30), user: "Di"))
        let whole = ControlPointProcedure.openEnrolment(joining)
        #expect(whole.encoded == octets + [0x18, 0x02, 0x1E, 0x00, 0x02, 0x44, 0x69])
        #expect(try ControlPointProcedure(exactly: whole.encoded) == whole)
        for opcode in UInt8.min...UInt8.max where !(0x01...0x0F).contains(opcode) {
            #expect(throws: DecodingError.self) { try ControlPointProcedure(exactly: [opcode]) }
        }
    }

    @Test("Records and rows: a name that is too long, or no text, is refused")
    func records() throws {
        let record = CredentialRecord(id: bo, role: 4, flags: [.enabled, .enrolled], name: "Bo")
        try checkCodec(record, "1817161514131211040502426F00010000")
        #expect(ValueVersion(of: record.encoded) == version)
        try checkCodec(CredentialRow(record), "18171615141312118E993FB0040502426F")
        for name in [[65] + [UInt8](repeating: 0x58, count: 65), [1, 0xFF]] as [[UInt8]] {
            #expect(throws: DecodingError.self) {
                try CredentialRow(exactly: Array(CredentialRow(record).encoded.prefix(14)) + name)
            }
        }
        let longest = CredentialRecord(id: bo, role: 4, flags: [], name: String(repeating: "x", count: 64))
        #expect(try CredentialRow(exactly: CredentialRow(longest).encoded).name.utf8.count == 64)
    }

    @Test("An opening: the longest window and the longest name are taken, one more of either is not, and none is none")
    func openingBounds() {
        let longest = String(repeating: "x", count: CredentialRecord.nameOctetsMaximum)
        #expect(EnrolmentOpening(role: .guest, seconds: EnrolmentOpening.secondsMaximum, name: longest) != nil)
        #expect(EnrolmentOpening(role: .guest, seconds: EnrolmentOpening.secondsMaximum + 1, name: "a") == nil)
        #expect(EnrolmentOpening(role: .guest, seconds: 1, name: longest + "x") == nil)
        #expect(EnrolmentOpening(role: .guest, seconds: 0, name: "a") == nil)
        #expect(EnrolmentOpening(role: .guest, seconds: 1, name: "") == nil)
    }

    @Test("A validity: unknown flags are refused", arguments: 0...255 as ClosedRange<UInt8>)
    func validity(flags: UInt8) throws {
        let ends = [UInt8](repeating: 0, count: flags == 3 ? 16 : flags == 0 ? 0 : 8)
        guard flags < 4 else {
            #expect(throws: DecodingError.self) { try Validity(exactly: [flags] + ends) }
            return
        }
        let validity = try Validity(exactly: [flags] + ends)
        #expect(validity.encoded == [flags] + ends)
        #expect((validity.notBeforeSeconds != nil) == (flags & 1 == 1))
        #expect((validity.notAfterSeconds != nil) == (flags & 2 == 2))
    }

    @Test("A window: closed, open, with somebody in it, with its code; flags that contradict each other are refused")
    func window() throws {
        try checkCodec(EnrolmentState.closed, "00")
        try checkCodec(EnrolmentState.open(role: 4, name: "Cy", isPaired: false, code: nil), "0104024379")
        try checkCodec(EnrolmentState.open(role: 4, name: "Cy", isPaired: true, code: nil), "0304024379")
        let code = try SetupCode(
            parsing: "LATCH1:070128-HK8HAH-048J2C-A1A5GQ-30CHM6-RW3MF1-Z851MA-HT99D6-MYMAKA-NBNJPT-XBV5X8")
        #expect(SetupCode(octets: code.octets) == code && code.octets.count == 39)
        #expect(SetupCode(octets: Array(code.octets.dropLast())) == nil)
        try checkCodec(
            EnrolmentState.open(role: 4, name: "Cy", isPaired: false, code: code),
            "050402437901C01122334455101112131415161718191A1B1C1D1E1FA0A1A2A3A4A5A6A7A8A9AAABACADAEAF")
        for flags in [2, 4, 6, 8, 9] as [UInt8] {
            #expect(throws: DecodingError.self) { try EnrolmentState(exactly: [flags, 4, 2, 0x43, 0x79]) }
        }
    }

    @Test("Settings: each mode in its bits; a relock's time without a relock, and unknown flags, are refused")
    func settings() throws {
        for mode in LockMode.allCases {
            let octets: [UInt8] = [0x02 | mode.rawValue << 2, 0, 0] + LockSettings().encoded.dropFirst(3)
            let settings = LockSettings(relockSeconds: nil, mode: mode)
            #expect(settings.encoded == octets)
            #expect(try LockSettings(exactly: octets) == settings)
            try checkCodec(
                SettingsRecord(settings, fixed: [.relock, .holidays]), HexText.encode([0x21] + octets))
        }
        let rest = LockSettings().encoded.dropFirst(3)
        #expect(throws: DecodingError.self) { try LockSettings(exactly: [0x02, 1, 0] + rest) }
        for flag in [0x10, 0x20, 0x40, 0x80] as [UInt8] {
            #expect(throws: DecodingError.self) { try LockSettings(exactly: [0x03 | flag, 1, 0] + rest) }
        }
        #expect(throws: DecodingError.self) { try ControlPointProcedure(exactly: [0x0D, 4]) }
    }

    @Test("A time: with a source and without")
    func time() throws {
        try checkCodec(
            LockTime(source: .manager, seconds: 1_800_000_100, markSeconds: 1_800_000_000),
            "0264D2496B0000000000D2496B00000000")
        try checkCodec(
            LockTime(source: .none, seconds: nil, markSeconds: nil), "0000000000000000800000000000000080")
    }

    @Test("Capabilities: a bit for each, and none for what is not there")
    func capabilities() throws {
        let capabilities = Capabilities(
            version: 1, operations: LockOperation.known, procedures: ControlPointOpcode.known)
        #expect(capabilities.encoded == [0x01, 0x0F, 0xFF, 0xFF, 0x01])
        for opcode in UInt8.min...UInt8.max {
            let isThere = capabilities.contains(ControlPointOpcode(rawValue: opcode))
            #expect(isThere == (1...0x11).contains(opcode))
        }
        let former = try Capabilities(exactly: [0x01, 0x0F, 0x01])
        #expect(former.contains(.keyStatus) && !former.contains(.listCredentials) && !former.contains(.getEnrolment))
    }
}
