import Simulation
import Testing
import WorldSupport

@testable import VirtualRadio

private let lock: UInt64 = 0xC000_0000_0001
private let key: UInt64 = 0xC000_0000_0002

/// Core 5.4, Vol 6, Part B, 1.1 (Link Layer states)
private enum LinkLayerState: CaseIterable {
    case standby
    case advertising
    case scanning
    case initiating
    case central
    case peripheral
    case off
}

@Suite("Core 5.4, Vol 6, Part B, 1.1 (Link Layer states) x commands", .capturesFailures)
struct StateTests {
    /// What each state answers; nil is silence. Order as in `LinkLayerState`.
    private static let table: [(opcode: UInt16, parameters: [UInt8], answers: [UInt8?])] = [
        (0x0C03, [], [0, 0, 0, 0, 0, 0, nil]),
        (0x2005, little(0xC000_0000_00AA, 6), [0, 0x0C, 0x0C, 0x0C, 0, 0, nil]),
        (0x2006, advertisingParameters(), [0, 0x0C, 0, 0, 0, 0, nil]),
        (0x2008, padded([1]), [0, 0, 0, 0, 0, 0, nil]),
        (0x2009, padded([1]), [0, 0, 0, 0, 0, 0, nil]),
        (0x200A, [1], [0, 0, 0, 0, 0, 0, nil]),
        (0x200A, [0], [0, 0, 0, 0, 0, 0, nil]),
        (0x200B, scanParameters(active: true), [0, 0, 0x0C, 0, 0, 0, nil]),
        (0x200C, [1, 1], [0, 0, 0, 0, 0, 0, nil]),
        (0x200C, [0, 0], [0, 0, 0, 0, 0, 0, nil]),
        (0x200D, createConnection(0xC000_0000_00BB), [0, 0, 0, 0x0C, 0, 0, nil]),
        (0x200D, createConnection(nil), [0, 0, 0, 0x0C, 0, 0, nil]),
        (0x200E, [], [0x0C, 0x0C, 0x0C, 0, 0x0C, 0x0C, nil]),
        (0x2010, [], [0, 0, 0, 0, 0, 0, nil]),
        (0x0406, [1, 0, 0x13], [2, 2, 2, 2, 0, 0, nil]),
        (0x041D, [1, 0], [2, 2, 2, 2, 0, 0, nil]),
        (0x1405, [1, 0], [2, 2, 2, 2, 0, 0, nil]),
        (0x2013, octets("0100 5000 5000 0000 F401 0000 0000"), [2, 2, 2, 2, 0, 0, nil]),
        (0x2015, [1, 0], [2, 2, 2, 2, 0, 0, nil]),
        (0x2016, [1, 0], [2, 2, 2, 2, 0, 0, nil]),
        (0x2019, [1] + [UInt8](repeating: 0, count: 27), [2, 2, 2, 2, 0, 0x0C, nil]),
        (0x201A, [1] + [UInt8](repeating: 0, count: 17), [2, 2, 2, 2, 0x0C, 0x0C, nil]),
        (0x201B, [1, 0], [2, 2, 2, 2, 0x0C, 0x0C, nil]),
        (0x2020, octets("0100 5000 5000 0000 F401 0000 0000"), [2, 2, 2, 2, 0x0C, 0x0C, nil]),
        (0x2021, octets("0100 3B"), [2, 2, 2, 2, 0x0C, 0x0C, nil]),
        (0x2022, octets("0100 FB00 4808"), [2, 2, 2, 2, 0, 0, nil]),
        (0x202D, [1], [0, 0x0C, 0x0C, 0x0C, 0, 0, nil]),
        (0x2030, [1, 0], [2, 2, 2, 2, 0, 0, nil]),
        (0x2032, octets("0100 00 02 02 0000"), [2, 2, 2, 2, 0, 0, nil]),
    ]

    @Test(arguments: LinkLayerState.allCases)
    fileprivate func `every command that depends on the state`(state: LinkLayerState) throws {
        let column = try #require(LinkLayerState.allCases.firstIndex(of: state))
        for row in Self.table {
            var world = OctetWorld()
            let subject = world.host(lock)
            let other = world.host(key)
            switch state {
            case .standby: break
            case .advertising: world.advertise(subject)
            case .scanning:
                world.succeed(0x200B, scanParameters(active: false), subject)
                world.succeed(0x200C, [1, 0], subject)
            case .initiating: world.succeed(0x200D, createConnection(0xC000_0000_00CC), subject)
            case .central: _ = world.connect(subject, other, to: key)
            case .peripheral: _ = world.connect(other, subject, to: lock)
            case .off: world.radio.power(subject, on: false)
            }
            let answer = world.command(row.opcode, row.parameters, subject).first.map(octets)
            let code = answer.map { $0[1] == 0x0F ? $0[3] : $0[6] }
            #expect(code == row.answers[column], "\(hex(UInt64(row.opcode), 2)) while \(state)")
        }
    }

    @Test func `every other command is answered alike in every state`() {
        let known = Set(Self.table.map(\.opcode))
        for command in CommandDescription.all where !known.contains(command.opcode) {
            var world = OctetWorld()
            let central = world.host(lock)
            let peripheral = world.host(key)
            guard command.family != .extended else { continue }
            let length = command.length.minimum
            // Event masks are to let pass what the scene needs, and no LE Enhanced Connection Complete.
            let parameters = length == 8 ? little(0x5F | 1 << 61, 8) : [UInt8](repeating: 1, count: length)
            let idle = world.command(command.opcode, parameters, central)
            _ = world.connect(central, peripheral, to: key)
            world.advertise(central)
            world.succeed(0x200D, createConnection(0xC000_0000_00CC), central)
            let busy = world.command(command.opcode, parameters, central)
            #expect(idle.count == 1 && busy.count == 1)
            if command.opcode != Opcode.leRand { #expect(idle == busy) }
        }
    }

    @Test func `resetting ends everything that was going on`() {
        var world = OctetWorld()
        let a = world.host(lock)
        let b = world.host(key)
        _ = world.connect(b, a, to: lock)
        world.advertise(b)
        world.succeed(0x200C, [1, 0], b)
        world.succeed(0x200D, createConnection(0xC000_0000_00CC), b)
        #expect(world.command(Opcode.reset, b) == [complete(Opcode.reset)])
        #expect(world.command(0x1405, octets("0100"), b) == [complete(0x1405, 0x02, "0100")])
        #expect(world.command(0x200E, b) == [complete(0x200E, 0x0C)])
        world.advance(milliseconds: 5000)
        #expect(world.read(b) == [])
        #expect(world.radio.nextEventInstant == nil)
    }
}
