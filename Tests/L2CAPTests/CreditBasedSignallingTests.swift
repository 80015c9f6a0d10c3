import BluetoothCore
import Testing

@testable import L2CAP

private let parameters = ChannelParameters(mtu: 512, mps: 64, initialCredits: 10)

@Suite("Vol 3, Part A, 4.6, 4.7, 4.22-4.24: signals of credit-based channels")
struct CreditBasedSignallingTests {
    private static let pdus: [(String, SignallingPDU.Command)] = [
        (
            "06070400" + "40004100",
            .disconnectionRequest(
                .init(destinationCID: .init(rawValue: 0x40), sourceCID: .init(rawValue: 0x41)))
        ),
        (
            "07070400" + "40004100",
            .disconnectionResponse(
                .init(destinationCID: .init(rawValue: 0x40), sourceCID: .init(rawValue: 0x41)))
        ),
        (
            "14070A00" + "8000" + "4000" + "0002" + "4000" + "0A00",
            .leCreditBasedConnectionRequest(
                .init(spsm: .init(rawValue: 0x80), sourceCID: .init(rawValue: 0x40), parameters: parameters))
        ),
        (
            "15070A00" + "4100" + "0002" + "4000" + "0A00" + "0000",
            .leCreditBasedConnectionResponse(
                .init(destinationCID: .init(rawValue: 0x41), parameters: parameters))
        ),
        (
            "15070A00" + "0000" + "0000" + "0000" + "0000" + "0A00",
            .leCreditBasedConnectionResponse(.init(refusing: .sourceCIDAlreadyAllocated))
        ),
        ("16070400" + "4000FFFF", .flowControlCredit(.init(cid: .init(rawValue: 0x40), credits: 0xFFFF))),
    ]

    @Test("round trip, strict prefixes, trailing octets of each", arguments: pdus)
    func codec(_ hex: String, _ command: SignallingPDU.Command) throws {
        let octets = try #require(HexText.decode(hex))
        let pdu = SignallingPDU(identifier: try #require(SignallingIdentifier(7)), command: command)
        #expect(pdu.encoded == octets)
        #expect(try SignallingPDU(exactly: octets) == pdu)
        for length in 0..<octets.count {
            #expect(throws: DecodingError.self) { try SignallingPDU(exactly: Array(octets.prefix(length))) }
        }
        #expect(throws: DecodingError.self) { try SignallingPDU(exactly: octets + [0]) }
    }

    @Test(
        "4.22: MTU and MPS, and one past each",
        arguments: [
            (23, 23, true), (22, 23, false), (23, 22, false), (65_535, 65_533, true), (65_535, 65_534, false),
        ])
    func acceptable(_ mtu: UInt16, _ mps: UInt16, _ isAcceptable: Bool) {
        #expect(ChannelParameters(mtu: mtu, mps: mps, initialCredits: 0).isAcceptable == isAcceptable)
    }

    @Test(
        "4.22: SPSMs, and one past each end",
        arguments: [(0, false), (1, true), (0x7F, true), (0x80, true), (0xFF, true), (0x100, false), (0xFFFF, false)])
    func spsm(_ rawValue: UInt16, _ isValid: Bool) { #expect(SPSM(rawValue: rawValue).isValid == isValid) }

    @Test("4: an identifier whose request waits is not given out again")
    func identifiers() throws {
        var identifiers = SignallingIdentifiers()
        let first = identifiers.take()
        identifiers.pending = [first, try #require(SignallingIdentifier(3))]
        let rest = (0..<254).map { _ in identifiers.take().rawValue }
        #expect(rest == [2] + Array(4...255) + [2])
    }

    private static let encrypted = ChannelSecurity(encrypted: true, keySize: 16, hasKey: true)
    private static let refusals: [(ChannelRequirement, ChannelSecurity, LECreditBasedConnectionResult?)] = [
        (.open, .open, nil),
        (.init(encrypted: true), .open, .insufficientAuthentication),
        (.init(encrypted: true), .init(hasKey: true), .insufficientEncryption),
        (.init(encrypted: true), encrypted, nil),
        (.init(authenticated: true), .init(hasKey: true), .insufficientEncryption),
        (.init(authenticated: true), encrypted, .insufficientAuthentication),
        (.init(authenticated: true), .init(encrypted: true, authenticated: true, keySize: 16, hasKey: true), nil),
        (.init(minimumKeySize: 16), .open, .insufficientAuthentication),
        (
            .init(encrypted: true, minimumKeySize: 16), .init(encrypted: true, keySize: 15),
            .insufficientEncryptionKeySize
        ),
        (.init(encrypted: true, minimumKeySize: 16), encrypted, nil),
        (.init(authorized: true), .open, .insufficientAuthorization),
        (.init(authorized: true), .init(authorized: true), nil),
    ]

    @Test("Vol 3, Part C, 10.3: what a service demands, and what a link lacks", arguments: refusals)
    func refusal(_ row: (ChannelRequirement, ChannelSecurity, LECreditBasedConnectionResult?)) {
        #expect(row.0.refusal(on: row.1) == row.2)
    }
}
