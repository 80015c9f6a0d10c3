import BluetoothCore
import Testing

@testable import SetupCodeGiving

@Suite("A setup code on its way to the kernel")
struct GivenCodeTests {
    private static let random = (0..<16).map { UInt8($0) }
    private static let confirm = (0..<16).map { UInt8(0xF0 + $0) }
    private static let address = DeviceAddress(kind: .random, bits: 0xC011_2233_4455)

    private static func code() throws -> GivenCode {
        try #require(GivenCode(adapter: 0x0102, address: address, random: random, confirm: confirm))
    }

    @Test("It is read as it is written, and each octet counts")
    func codec() throws {
        let code = try Self.code()
        #expect(code.octets.count == GivenCode.octetsCount && GivenCode(code.octets) == code)
        #expect(code.octets[..<9] == [0x02, 0x01, 0x01, 0xC0, 0x11, 0x22, 0x33, 0x44, 0x55])
        for place in code.octets.indices {
            var other = code.octets
            other[place] ^= 1
            #expect(GivenCode(other) != code)
        }
    }

    @Test("What is too short, too long, or of a device that nobody is known by, is no code")
    func malformed() throws {
        let octets = try Self.code().octets
        #expect(GivenCode(Array(octets.dropLast())) == nil && GivenCode(octets + [0]) == nil && GivenCode([]) == nil)
        var kind = octets
        kind[2] = 2
        #expect(GivenCode(kind) == nil)
        // A resolvable private address.
        var resolvable = octets
        resolvable[3] = 0x40
        #expect(GivenCode(resolvable) == nil)
        #expect(GivenCode(adapter: 0, address: Self.address, random: [1], confirm: Self.confirm) == nil)
    }

    @Test("The kernel's command has both values the other way round, and zeros for what LE has not")
    func command() throws {
        let packet = ManagementCommand.add(try Self.code())
        #expect(packet[..<6] == [0x21, 0x00, 0x02, 0x01, 71, 0])
        #expect(packet[6..<13] == [0x55, 0x44, 0x33, 0x22, 0x11, 0xC0, 2])
        #expect(packet[13..<45].allSatisfy { $0 == 0 })
        #expect(Array(packet[45..<61]) == Self.confirm.reversed() && Array(packet[61..<77]) == Self.random.reversed())
        #expect(packet.count == 77)
        let open = try #require(
            GivenCode(
                adapter: 0, address: DeviceAddress(kind: .public, bits: 1), random: Self.random, confirm: Self.confirm))
        #expect(ManagementCommand.add(open)[12] == 1)
    }

    @Test("Of all that the kernel says the answer to this command, on this adapter, counts alone")
    func status() {
        let complete: [UInt8] = [1, 0, 2, 1, 10, 0, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 2]
        #expect(ManagementCommand.status(in: complete, adapter: 0x0102) == .success)
        #expect(ManagementCommand.status(in: complete, adapter: 0) == nil)
        let refused: [UInt8] = [2, 0, 2, 1, 3, 0, 0x21, 0, 0x0F]
        #expect(ManagementCommand.status(in: refused, adapter: 0x0102) == .notPowered)
        for other: [UInt8] in [
            [], [1, 0, 2, 1, 3, 0, 0x21, 0], [9, 0, 2, 1, 3, 0, 0x21, 0, 0], [1, 0, 2, 1, 3, 0, 0x22, 0, 0],
        ] {
            #expect(ManagementCommand.status(in: other, adapter: 0x0102) == nil)
        }
    }

    @Test(
        "Answers are read as they are written, and each says what to do",
        arguments: [.given, .malformed, .notAllowed, .noKernel, .kernel(.notPowered), .kernel(.permissionDenied)]
            as [GivingAnswer])
    func answers(answer: GivingAnswer) {
        #expect(GivingAnswer(answer.octets) == answer && !answer.description.isEmpty)
        #expect(GivingAnswer(answer.octets + [0]) == nil && GivingAnswer([9, 0]) == nil)
    }
}
