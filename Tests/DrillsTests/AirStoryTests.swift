import Testing

@testable import Drills

@Suite("The story of the air") struct AirStoryTests {
    private static func named(_ role: Role) -> [UInt8] {
        [0x04, 0x0E, 10, 1, 0x09, 0x10, 0] + Array(littleEndian: role.adapter.address, count: 6)
    }

    private static func frame(_ channel: UInt8, _ body: [UInt8]) -> [UInt8] {
        let frame = Array(littleEndian: UInt16(body.count), count: 2) + [channel, 0] + body
        return [0x02, 0x40, 0] + Array(littleEndian: UInt16(frame.count), count: 2) + frame
    }

    private static func what(_ role: Role, _ octets: [UInt8], fromHost: Bool = true) -> AirFact.What? {
        let facts = AirStory.facts([
            (1, CapturePacket(unixMicroseconds: 5_000_000_000_000_000, isFromHost: false, octets: named(role))),
            (1, CapturePacket(unixMicroseconds: 5_000_000_000_000_001, isFromHost: fromHost, octets: octets)),
        ])
        #expect(facts.allSatisfy { $0.role == role && $0.life == 1 })
        return facts.first?.what
    }

    @Test("Each kind of packet that the judge looks at is read")
    func kinds() {
        #expect(Self.what(.lock, [0x01, 0x0A, 0x20, 1, 1]) == .advertising)
        #expect(Self.what(.lock, [0x01, 0x0A, 0x20, 1, 0]) == nil)
        #expect(Self.what(.key, [0x01, 0x0D, 0x20, 0]) == .createConnection)
        #expect(Self.what(.key, Self.frame(6, [0x01, 0, 0, 0, 0, 0, 0])) == .pairing)
        #expect(Self.what(.lock, Self.frame(6, [0x02, 0, 0, 0, 0, 0, 0]), fromHost: false) == .pairing)
        // A Security Request asks for encryption, and makes no bond by itself.
        #expect(Self.what(.lock, Self.frame(6, [0x0B, 0x0D])) == nil)
        #expect(Self.what(.key, Self.frame(4, [0x12, 9, 0, 1, 0])) == .configuration(handle: 9, value: 1))
        #expect(Self.what(.lock, Self.frame(4, [0x12, 9, 0, 1, 0]), fromHost: false) == nil)
        #expect(
            Self.what(.lock, Self.frame(4, [0x1B, 7, 0, 3, 1])) == .value(octets: [3, 1], isFromHost: true))
        #expect(
            Self.what(.key, Self.frame(4, [0x1D, 7, 0, 0x20]), fromHost: false)
                == .value(octets: [0x20], isFromHost: false))
    }

    @Test("A command is read signed and encrypted, and only where the key's host sends it")
    func commands() {
        let challenge: [UInt8] = [1, 2, 3, 4, 5, 6]
        let signed = Snoop.signedWrite(counter: 7, challenge: challenge)
        #expect(
            Self.what(.key, Self.frame(4, signed)) == .command(AirCommand(challenge: "010203040506", counter: 7)))
        #expect(Self.what(.lock, Self.frame(4, signed), fromHost: false) == nil)
        for opcode: UInt8 in [0x12, 0x52] {
            for first: UInt8 in [0x12, 0x92, 0xF2] {
                let plain = [opcode, 0x12, 0, first, 0] + challenge
                #expect(
                    Self.what(.key, Self.frame(4, plain))
                        == .command(AirCommand(challenge: "010203040506", counter: nil)))
            }
        }
        // Eight octets without a bound are no command.
        #expect(Self.what(.key, Self.frame(4, [0x12, 0x12, 0, 0x02, 0] + challenge)) == nil)
    }

    @Test("A controller that has not said whose it is tells nothing, and facts are in the order of their time")
    func owners() {
        let advertising: [UInt8] = [0x01, 0x0A, 0x20, 1, 1]
        func packet(_ at: UInt64, _ octets: [UInt8]) -> CapturePacket {
            CapturePacket(unixMicroseconds: 5_000_000_000_000_000 + at, isFromHost: octets[0] == 1, octets: octets)
        }
        let facts = AirStory.facts([
            (1, packet(0, advertising)), (1, packet(1, Self.named(.lock))), (1, packet(9, advertising)),
            (2, packet(2, Self.named(.key))), (2, packet(3, [0x01, 0x0D, 0x20, 0])), (3, packet(4, advertising)),
        ])
        #expect(facts.map(\.what) == [.createConnection, .advertising])
        #expect(facts.map(\.life) == [2, 1])
    }
}
