import BluetoothCore
import BluetoothCrypto
import SecurityManager
import Testing

@Suite("Commands, Vol 3 Part H 3.3 to 3.6")
struct SMPPDUTests {
    struct Vector: Sendable {
        var section: String, hex: String, pdu: SMPPDU
    }

    static let features = PairingFeatures(
        ioCapability: .keyboardDisplay, oobDataFlag: 1, authReq: [.bonding, .mitm, .secureConnections],
        maximumEncryptionKeySize: 16, initiatorKeyDistribution: [.idKey, .signKey], responderKeyDistribution: [.idKey])
    static let number: UInt128 = 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10
    static let key = secret("0102030405060708090A0B0C0D0E0F10")
    static let wire = "100F0E0D0C0B0A090807060504030201"
    static let point = [UInt8](0..<64)

    static let vectors = [
        Vector(section: "3.5.1", hex: "0104010D100602", pdu: .pairingRequest(features)),
        Vector(section: "3.5.2", hex: "0204010D100602", pdu: .pairingResponse(features)),
        Vector(section: "3.5.3", hex: "03" + wire, pdu: .pairingConfirm(number)),
        Vector(section: "3.5.4", hex: "04" + wire, pdu: .pairingRandom(number)),
        Vector(section: "3.5.5", hex: "0509", pdu: .pairingFailed(.repeatedAttempts)),
        Vector(section: "3.5.5, a reason of tomorrow", hex: "05EE", pdu: .pairingFailed(.init(rawValue: 0xEE))),
        Vector(section: "3.6.2", hex: "06" + wire, pdu: .encryptionInformation(longTermKey: key)),
        Vector(
            section: "3.6.3", hex: "0734120807060504030201",
            pdu: .centralIdentification(ediv: 0x1234, rand: 0x0102_0304_0506_0708)),
        Vector(section: "3.6.4", hex: "08" + wire, pdu: .identityInformation(identityResolvingKey: key)),
        Vector(
            section: "3.6.5", hex: "09015544332211C0",
            pdu: .identityAddressInformation(Fixture.initiatorAddress)),
        Vector(section: "3.6.6", hex: "0A" + wire, pdu: .signingInformation(signatureKey: key)),
        Vector(section: "3.6.7", hex: "0B0D", pdu: .securityRequest([.bonding, .mitm, .secureConnections])),
        Vector(section: "3.5.6", hex: "0C" + HexText.encode(point), pdu: .pairingPublicKey(point)),
        Vector(section: "3.5.7", hex: "0D" + wire, pdu: .pairingDHKeyCheck(number)),
        Vector(section: "3.5.8", hex: "0E04", pdu: .pairingKeypressNotification(.passkeyEntryCompleted)),
    ]

    @Test("Known octets, both ways", arguments: vectors)
    func roundTrip(_ vector: Vector) throws {
        #expect(try SMPPDU(exactly: hex(vector.hex)) == vector.pdu)
        #expect(vector.pdu.encoded == hex(vector.hex))
        #expect(vector.pdu.encoded.first == vector.pdu.opcode.rawValue && !vector.pdu.opcode.isReserved)
    }

    @Test("Every strict prefix and every longer command is refused", arguments: vectors)
    func lengths(_ vector: Vector) {
        let octets = hex(vector.hex)
        for count in octets.indices {
            #expect(throws: DecodingError.self) { try SMPPDU(exactly: Array(octets[..<count])) }
        }
        #expect(throws: DecodingError.trailingOctets(count: 1)) { try SMPPDU(exactly: octets + [0]) }
    }

    @Test("3.3: reserved codes go round unread", arguments: [UInt8(0x00), 0x0F, 0x80, 0xFF])
    func reserved(_ code: UInt8) throws {
        for octets in [[code], [code, 1, 2, 3]] {
            let pdu = try SMPPDU(exactly: octets)
            #expect(pdu.opcode.isReserved)
            #expect(pdu.encoded == octets)
        }
    }

    @Test("3.6.5: an address type that is none is refused")
    func addressType() {
        #expect(throws: DecodingError.invalidValue(field: "AddrType")) {
            try SMPPDU(exactly: hex("09025544332211C0"))
        }
    }

    @Test("A longest command is as long as its bound")
    func maximum() {
        #expect(Self.vectors.map { hex($0.hex).count }.max() == SMPPDU.maximumOctets)
    }

    @Test("A command that carries a key does not print it")
    func keysStaySecret() {
        for vector in Self.vectors where ["3.6.2", "3.6.4", "3.6.6"].contains(vector.section) {
            #expect("\(vector.pdu)".contains("<secret>") && !"\(vector.pdu)".contains("16"))
        }
    }
}
