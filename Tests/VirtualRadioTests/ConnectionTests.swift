import Testing

@testable import VirtualRadio

private let lock: UInt64 = 0xC000_0000_0001
private let key: UInt64 = 0xC000_0000_0002

@Suite("Core 5.4, Vol 4, Part E, 7.8.12-13 (LE Create Connection and its cancel)")
struct ConnectionTests {
    @Test(arguments: [AirConfiguration.Pacing.paced, .immediate])
    func `connect by address: both hosts get LE Connection Complete with each other's address`(
        pacing: AirConfiguration.Pacing
    ) {
        var world = World(pacing)
        let a = world.host(lock)
        let b = world.host(key)
        world.advertise(a)
        #expect(
            world.command(Opcode.leCreateConnection, createConnection(lock), b) == [status(Opcode.leCreateConnection)])
        world.advance(milliseconds: 60)
        #expect(world.read(b) == [packed("04 3E 13 01 00 0100 00 01 0100000000C0 0600 0000 6400 00")])
        #expect(world.read(a) == [packed("04 3E 13 01 00 0100 01 01 0200000000C0 0600 0000 6400 05")])
        // Advertising has stopped with the connection.
        #expect(world.radio.nextEventInstant == nil)
    }

    @Test func `a pending connection waits until it is cancelled, and says so`() {
        var world = World()
        let b = world.host(key)
        world.succeed(Opcode.leCreateConnection, createConnection(lock), b)
        world.advance(milliseconds: 3_600_000)
        #expect(world.read(b) == [])
        #expect(
            world.command(Opcode.leCreateConnection, createConnection(lock), b)
                == [status(Opcode.leCreateConnection, 0x0C)])
        #expect(
            world.command(Opcode.leCreateConnectionCancel, b)
                == [
                    complete(Opcode.leCreateConnectionCancel),
                    packed("04 3E 13 01 02 0000 00 00 000000000000 0000 0000 0000 00"),
                ])
        #expect(world.command(Opcode.leCreateConnectionCancel, b) == [complete(Opcode.leCreateConnectionCancel, 0x0C)])
    }
}

extension World {
    mutating func command(_ opcode: UInt16, _ controller: ControllerID) -> [String] { command(opcode, [], controller) }
}
