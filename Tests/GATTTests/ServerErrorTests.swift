import ATT
import BluetoothCore
import Testing

@testable import GATT

/// A request that the server refuses, and with which Error Response.
struct Refusal: CustomTestStringConvertible, Sendable {
    let title: String
    let request: String
    let response: String
    var testDescription: String { title }

    init(_ title: String, _ request: String, _ response: String) {
        self.title = title
        self.request = request
        self.response = response
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.1.1 (Error Response), Table 3.4
@Suite("Core 5.4, Vol 3, Part G, 4 and 8.1: what each procedure of the server is refused with")
struct ServerErrorTests {
    /// One attribute for each reason, asked for over a link with a short, unauthenticated key.
    private static let service = ServiceDefinition(
        uuid: 0xAA00,
        characteristics: [
            // 0x12: write only
            CharacteristicDefinition(uuid: 0xAA01, properties: .write, access: AttributeAccess(writeRequest: .open)),
            // 0x14: read only, three octets
            CharacteristicDefinition(
                uuid: 0xAA02, properties: .read, access: .readOnly, value: .static([1, 2, 3])),
            // 0x16: authorization
            CharacteristicDefinition(
                uuid: 0xAA03, properties: [.read, .write],
                access: AttributeAccess(read: .open, writeRequest: .open, requiresAuthorization: true)),
            // 0x18: authentication
            CharacteristicDefinition(
                uuid: 0xAA04, properties: [.read, .write],
                access: AttributeAccess(read: .encryptedAuthenticated, writeRequest: .encryptedAuthenticated)),
            // 0x1A: a key of 16 octets
            CharacteristicDefinition(
                uuid: 0xAA05, properties: [.read, .write],
                access: AttributeAccess(read: .encrypted, writeRequest: .encrypted, minimumKeySize: 16)),
            // 0x1C, and its description 0x1D
            CharacteristicDefinition(
                uuid: 0xAA06, properties: .read, access: .readOnly, value: .static([6]),
                descriptors: [.userDescription("A description longer than 22 octets")]),
        ])

    private static func bench() throws -> Bench {
        var bench = Bench()
        let published = try bench.server.publish(service)
        guard published.declaration == AttributeHandle(0x10) else { throw Tree.Surprise() }
        bench.security = LinkSecurity(encrypted: true, keySize: 7, bonded: true)
        return bench
    }

    /// Refused, and the next request is served.
    private func expectRefused(_ refusal: Refusal) throws {
        var bench = try Self.bench()
        #expect(bench.reply(refusal.request) == refusal.response)
        #expect(bench.reply("0A1400") == "0B010203")
    }

    @Test(
        "4.8.1 Read Characteristic Value: every error",
        arguments: [
            Refusal("not permitted", "0A1200", "010A120002"), Refusal("handle 0", "0A0000", "010A000001"),
            Refusal("no such handle", "0AFF00", "010AFF0001"), Refusal("authorization", "0A1600", "010A160008"),
            Refusal("authentication", "0A1800", "010A180005"), Refusal("key size", "0A1A00", "010A1A000C"),
        ])
    func read(_ refusal: Refusal) throws { try expectRefused(refusal) }

    @Test(
        "4.8.2 Read Using Characteristic UUID: every error",
        arguments: [
            Refusal("not permitted", "080100FFFF01AA", "0108120002"),
            Refusal("no such attribute", "080100FFFF99AA", "010801000A"),
            Refusal("a range from behind", "080200010001AA", "0108020001"),
            Refusal("a range from 0", "080000FFFF01AA", "0108000001"),
            Refusal("authorization", "080100FFFF03AA", "0108160008"),
            Refusal("authentication", "080100FFFF04AA", "0108180005"),
            Refusal("key size", "080100FFFF05AA", "01081A000C"),
        ])
    func readByUUID(_ refusal: Refusal) throws { try expectRefused(refusal) }

    @Test(
        "4.8.3 Read Long Characteristic Values: every error",
        arguments: [
            Refusal("not permitted", "0C12000000", "010C120002"), Refusal("offset", "0C14000400", "010C140007"),
            Refusal("no such handle", "0CFF000000", "010CFF0001"),
            Refusal("authorization", "0C16000000", "010C160008"),
            Refusal("authentication", "0C18000000", "010C180005"), Refusal("key size", "0C1A000000", "010C1A000C"),
        ])
    func readLong(_ refusal: Refusal) throws { try expectRefused(refusal) }

    @Test(
        "4.8.4, 4.8.5 Read Multiple Characteristic Values, of fixed and variable length: every error",
        arguments: ["0E", "20"],
        [
            Refusal("not permitted", "14001200", "120002"), Refusal("no such handle", "1400FF00", "FF0001"),
            Refusal("authorization", "14001600", "160008"), Refusal("authentication", "14001800", "180005"),
            Refusal("key size", "14001A00", "1A000C"),
        ])
    func readMultiple(_ opcode: String, _ refusal: Refusal) throws {
        try expectRefused(Refusal(refusal.title, opcode + refusal.request, "01" + opcode + refusal.response))
    }

    @Test("4.12.2 Read Long Characteristic Descriptors")
    func longDescriptor() throws {
        var bench = try Self.bench()
        let text = Array("A description longer than 22 octets".utf8)
        #expect(bench.reply("0A1D00") == "0B" + HexText.encode(Array(text.prefix(22))))
        #expect(bench.reply("0C1D001600") == "0D" + HexText.encode(Array(text.dropFirst(22))))
        #expect(bench.reply("0C1D002400") == "010C1D0007")
    }

    @Test(
        "4.9.3 Write Characteristic Value: every error",
        arguments: [
            Refusal("no such handle", "12FF0001", "0112FF0001"), Refusal("not permitted", "12140001", "0112140003"),
            Refusal("authorization", "12160001", "0112160008"),
            Refusal("authentication", "12180001", "0112180005"), Refusal("key size", "121A0001", "01121A000C"),
        ])
    func write(_ refusal: Refusal) throws { try expectRefused(refusal) }

    @Test(
        "4.9.4, 4.9.5 Write Long Characteristic Values and Reliable Writes: every error of Prepare Write",
        arguments: [
            Refusal("no such handle", "16FF00000001", "0116FF0001"),
            Refusal("not permitted", "161400000001", "0116140003"),
            Refusal("authorization", "161600000001", "0116160008"),
            Refusal("authentication", "161800000001", "0116180005"),
            Refusal("key size", "161A00000001", "01161A000C"),
        ])
    func prepareWrite(_ refusal: Refusal) throws { try expectRefused(refusal) }

    @Test(
        "4.9.3: the app's refusal of a value that is too long, or out of place, reaches the client",
        arguments: [0x0D, 0x07])
    func refusedByApp(_ code: UInt8) throws {
        var bench = try Self.bench()
        guard case .serverWrite(let id, _) = bench.receive("12120001").last else { throw Tree.Surprise() }
        let answer = bench.respond(toWrite: id, ATTErrorCode(rawValue: code))
        #expect(Bench.text(answer) == "01121200" + HexText.encode([code]))
    }

    @Test("3.3: an unknown request is Request Not Supported, an unknown command nothing, and the bearer goes on")
    func unsupported() throws {
        var bench = try Self.bench()
        for opcode: UInt8 in [0x25, 0x3F] {
            #expect(bench.receive([opcode, 0x14, 0x00]) == [.send([0x01, opcode, 0, 0, 0x06])])
        }
        for opcode: UInt8 in [0x40, 0x7F, 0xC0, 0xFF] { #expect(bench.receive([opcode, 0x14, 0x00]) == []) }
        #expect(bench.reply("0A1400") == "0B010203")
    }

    @Test("Vol 3, Part C, 12: the device name and the appearance are there for anybody to read")
    func genericAccess() {
        var bench = Bench()
        #expect(bench.reply("060100FFFF00280018") == "0701000700")
        #expect(bench.reply("080100FFFF002A") == "0907" + "0300" + HexText.encode(Array("Latch".utf8)))
        #expect(bench.reply("080100FFFF012A") == "0904" + "0500" + "0807")
        // Central Address Resolution: directed advertising that names this side by a private address is not understood.
        #expect(bench.reply("080100FFFFA62A") == "0903" + "0700" + "00")
        #expect(bench.reply("120700" + "00") == "0112" + "0700" + "03", "nobody writes it")
    }
}
