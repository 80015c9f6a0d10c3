import Simulation
import Testing
import WorldSupport

@testable import VirtualRadio

@Suite("Core 5.4, Vol 4, Part E (what a host asks before anything else)", .capturesFailures)
struct BringUpTests {
    @Test("7.4, 7.8 (Informational parameters): a bring-up, command by command")
    func bringUp() {
        var world = OctetWorld()
        let a = world.addController(ControllerConfiguration())
        let transcript: [(opcode: UInt16, returns: String)] = [
            (0x0C03, ""),
            (0x1001, "0D 0100 0D FFFF 0100"),
            (0x1003, "00 00 00 00 60 00 00 00"),
            (0x1009, "01 00 00 41 4C 02"),
            (0x1005, "1B00 00 1400 0000"),
            (0x2002, "1B00 14"),
            (0x2003, "6F 51 00 00 00 00 00 00"),
            (0x2007, "00"),
            (0x200F, "10"),
            (0x201C, "FF FF FF FF FF 03 00 00"),
            (0x2023, "1B00 4801"),
            (0x202F, "FB00 4808 FB00 4808"),
        ]
        for line in transcript {
            #expect(world.command(line.opcode, a) == [complete(line.opcode, 0, line.returns)])
        }
        let other = world.addController(ControllerConfiguration(aclDataPacketLength: 251, aclDataPacketCount: 3))
        #expect(world.command(0x2002, other) == [complete(0x2002, 0, "FB00 03")])
        #expect(world.command(0x1009, other) == [complete(0x1009, 0, "02 00 00 41 4C 02")])
    }

    /// Written down from the specification's table, not from the controller's.
    @Test("6.27 (Supported Commands): exactly these bits")
    func supportedCommands() {
        let octets: [Int: UInt8] = [
            0: 0x20, 2: 0x80, 5: 0xC0, 14: 0b1011_1000, 15: 0b0010_0010, 25: 0b1111_0111, 26: 0xFF, 27: 0xFF,
            28: 0b0000_1111, 33: 0b1111_0000, 34: 0b1111_1001, 35: 0b0111_1111, 36: 0b1111_1110, 37: 0b1110_0011,
            39: 0b0000_0100,
        ]
        var world = OctetWorld()
        let a = world.addController()
        let expected = hex((0..<64).map { octets[$0] ?? 0 })
        #expect(world.command(0x1002, a) == [complete(0x1002, 0, expected)])
    }

    @Test(
        "an older generation says so, and knows no command of a later one",
        arguments: [
            (
                ControllerGeneration.core40, "06", "01 00",
                [0x2020, 0x2021, 0x2027, 0x2022, 0x2023, 0x2024, 0x202F, 0x2036, 0x2041, 0x2043]
            ),
            (.core42, "08", "6F 00", [0x204E, 0x2030, 0x2031, 0x2032, 0x2036, 0x2039, 0x2041, 0x2042, 0x2043]),
        ])
    func olderGenerations(generation: ControllerGeneration, version: String, features: String, unknown: [UInt16]) {
        var world = OctetWorld()
        let a = world.addController(ControllerConfiguration(generation: generation))
        #expect(world.command(0x1001, a) == [complete(0x1001, 0, version + "0100" + version + "FFFF 0100")])
        #expect(world.command(0x2003, a) == [complete(0x2003, 0, features + "000000000000")])
        for opcode in unknown {
            #expect(world.command(opcode, a) == [complete(opcode, 0x01)])
        }
        let supported = octets(world.command(0x1002, a)[0]).dropFirst(7)
        #expect(supported.dropFirst(36).prefix(2).allSatisfy { $0 == 0 })
    }

    @Test("4.5 (Command error handling): a command that nobody knows", arguments: [0x2034, 0xFC01, 0x0000, 0x0401])
    func unknownCommand(opcode: UInt16) {
        var world = OctetWorld()
        let a = world.addController()
        #expect(world.command(opcode, [1, 2, 3], a) == [complete(opcode, 0x01)])
    }

    @Test("4.5: every strict prefix of every command's parameters, and one octet more, is refused with 0x12")
    func malformedParameters() {
        var world = OctetWorld()
        let a = world.addController()
        for command in CommandDescription.all {
            // Filled with ones, every count and every mask asks for one element.
            let whole =
                switch command.length {
                case .exact(let length): length
                case .counted(let head, _, let each), .masked(let head, _, let each): head + each
                }
            for length in Array(0..<whole) + [whole + 1] {
                let answer = world.command(command.opcode, [UInt8](repeating: 1, count: length), a)
                let handle = length >= 2 ? "0101" : length == 1 ? "0100" : "0000"
                let expected =
                    switch command.answer {
                    case .complete: complete(command.opcode, 0x12)
                    case .completeWithHandle: complete(command.opcode, 0x12, handle)
                    case .status: status(command.opcode, 0x12)
                    }
                // One octet that reads as a handle is no field; the controller reads what is there.
                if length == 1, case .completeWithHandle = command.answer {
                    #expect(
                        answer.count == 1
                            && answer[0].hasPrefix(String(complete(command.opcode, 0x12, "0000").prefix(14))))
                } else {
                    #expect(answer == [expected], "\(hex(UInt64(command.opcode), 2)) with \(length) octets")
                }
            }
        }
    }

    @Test("7.8.22 (LE Encrypt), known answer of Vol 6, Part C, 1.1: least significant octet first")
    func encrypt() {
        var world = OctetWorld()
        let a = world.addController()
        let key = octets("BF01FB9D4EF3BC36D874F5394138684C")
        let plaintext = octets("1302F1E0DFCEBDAC7968574635241302")
        #expect(
            world.command(0x2017, key + plaintext, a) == [complete(0x2017, 0, "66C6C2278E3B8E053E7EA326521BAD99")])
    }

    @Test("7.8.23 (LE Rand): the seed decides")
    func rand() {
        func draw(_ seed: UInt64) -> [String] {
            var world = OctetWorld(seed: seed)
            let a = world.addController()
            return world.command(0x2018, a) + world.command(0x2018, a)
        }
        #expect(draw(1) == draw(1))
        #expect(draw(1) != draw(2))
        #expect(Set(draw(1)).count == 2)
    }

    @Test("7.3.1 (Set Event Mask): by default no LE event is heard, nor what the LE mask stops")
    func eventMasks() {
        for (mask, leMask, isHeard) in [
            (nil, nil, false), (UInt64.max, nil, true), (UInt64.max, UInt64(0x1D), false),
            (0x1FFF_FFFF_FFFF, UInt64(0x1F), false),
        ] as [(UInt64?, UInt64?, Bool)] {
            var world = OctetWorld()
            let a = world.host(0xC000_0000_0001)
            let b = world.addController()
            if let mask { world.succeed(0x0C01, little(mask, 8), b) }
            if let leMask { world.succeed(0x2001, little(leMask, 8), b) }
            world.succeed(0x2005, little(0xC000_0000_0002, 6), b)
            world.succeed(0x200B, scanParameters(active: false), b)
            world.succeed(0x200C, [1, 0], b)
            world.advertise(a)
            world.advance(milliseconds: 10)
            #expect(world.read(b).isEmpty == !isHeard)
        }
    }

    @Test(
        "octets that are no H4 packet are answered with Hardware Error",
        arguments: [
            "", "00", "01", "01030C", "01030C01", "01030C0000", "02", "0201", "020100", "02010001", "0201000100",
            "03000000", "04 0E00",
            "05000000 00", "FF",
        ])
    func malformedPackets(packet: String) {
        var world = OctetWorld()
        let a = world.addController()
        world.send(packet, a)
        #expect(world.read(a) == ["04100102"])
        #expect(world.command(0x0C03, a) == [complete(0x0C03)])
    }
}
