import Simulation
import Testing
import WorldSupport

@testable import VirtualRadio

private let lock: UInt64 = 0xC000_0000_0001
private let key: UInt64 = 0xC000_0000_0002

@Suite("Core 5.4, Vol 6, Part B, 4.5.2 (Supervision timeout), and what makes it come", .capturesFailures)
struct FaultTests {
    private var world = OctetWorld()
    private let a: ControllerID
    private let b: ControllerID

    init() {
        a = world.host(lock)
        b = world.host(key)
    }

    private mutating func connect(timeout: UInt16 = 100) { _ = world.connect(b, a, to: lock, timeout: timeout) }

    @Test mutating func `a cut pair times out on both sides, when the parameters say so and not before`() throws {
        for timeout in [UInt16(20), 100, 3200] {
            connect(timeout: timeout)
            world.advance(milliseconds: 100)
            let cut = world.radio.now
            world.radio.cut(a, b)
            world.advance(milliseconds: UInt64(timeout) * 10 + 1)
            for side in [a, b] {
                let events = world.drainTimed(side)
                let (instant, octets) = try #require(events.first)
                #expect(events.count == 1)
                #expect(hex(octets).hasSuffix("08"))
                // Counted from the last connection event, at most an interval before the cut.
                let silence = instant - cut
                #expect(silence <= UInt64(timeout) * 10_000_000 && silence + 7_500_000 > UInt64(timeout) * 10_000_000)
            }
            world.radio.join(a, b)
        }
    }

    @Test mutating func `joined in time, the link lives and what waited arrives`() {
        connect()
        world.radio.cut(a, b)
        world.send(data(1, flags: 0, [1]), b)
        world.advance(milliseconds: 980)
        #expect(world.read(a) == [])
        world.radio.join(a, b)
        world.advance(milliseconds: 5000)
        #expect(world.read(a) == [data(1, flags: 2, [1])])
        #expect(world.read(b) == [completed(1, 1)])
    }

    @Test(
        "a host that vanishes: its peer hears of it by the supervision timeout",
        arguments: [
            "unplug", "power", "reset", "distance", "loss",
        ])
    mutating func vanish(how: String) {
        connect()
        let link = world.radio.now
        switch how {
        case "unplug": world.radio.unplug(a)
        case "power": world.radio.power(a, on: false)
        case "reset": #expect(world.command(Opcode.reset, a) == [complete(Opcode.reset)])
        case "distance": world.radio.setDistance(a, b, metres: 70)
        default: world.radio.setLoss(a, b, percent: 100)
        }
        world.advance(milliseconds: 980)
        #expect(world.read(b) == [])
        world.advance(milliseconds: 21)
        let events = world.read(b)
        #expect(events == [disconnected(1, 0x08)])
        #expect(world.radio.now > link)
        let own = world.read(a)
        #expect(own == (how == "distance" || how == "loss" ? [disconnected(1, 0x08)] : []))
    }

    @Test mutating func `a controller without power is silent, and comes back with Hardware Error and no memory`() {
        connect()
        world.radio.power(a, on: false)
        #expect(world.command(Opcode.reset, a) == [])
        world.radio.power(a, on: true)
        #expect(world.read(a) == ["04100101"])
        // The random address is gone.
        world.succeed(Opcode.leSetAdvertisingParameters, advertisingParameters(), a)
        #expect(world.command(Opcode.leSetAdvertisingEnable, [1], a) == [complete(Opcode.leSetAdvertisingEnable, 0x12)])
    }

    @Test mutating func `an unplugged controller takes no more packets and its ordinal is never used again`() {
        world.radio.unplug(b)
        #expect(world.command(Opcode.reset, b) == [])
        #expect(world.host(key).ordinal == 3)
    }

    @Test mutating func `RSSI falls with the distance: Read RSSI and reports agree`() {
        connect()
        let table: [(metres: Double, dBm: Int8)] = [(0, -25), (0.1, -25), (1, -50), (2, -58), (10, -75), (63, -95)]
        for (metres, dBm) in table {
            world.radio.setDistance(a, b, metres: metres)
            for side in [a, b] {
                #expect(
                    world.command(Opcode.readRSSI, octets("0100"), side)
                        == [complete(Opcode.readRSSI, 0, "0100" + hex([UInt8(bitPattern: dBm)]))])
            }
        }
        let c = world.host(0xC000_0000_0003)
        world.radio.setDistance(c, b, metres: 10)
        world.succeed(Opcode.leSetScanParameters, scanParameters(active: false), b)
        world.succeed(Opcode.leSetScanEnable, [1, 1], b)
        world.advertise(c)
        world.advance(milliseconds: 30)
        #expect(world.read(b).first?.hasSuffix(hex([UInt8(bitPattern: -75)])) == true)
    }

    @Test(arguments: [(63.0, true), (64.0, false)])
    mutating func `beyond a range nothing is heard`(metres: Double, isHeard: Bool) {
        world.radio.setDistance(a, b, metres: metres)
        world.succeed(Opcode.leSetScanParameters, scanParameters(active: false), b)
        world.succeed(Opcode.leSetScanEnable, [1, 1], b)
        world.advertise(a)
        world.advance(milliseconds: 100)
        #expect(world.read(b).isEmpty == !isHeard)
    }

    @Test mutating func `loss drops advertising about as often as it says`() {
        world.radio.setLoss(a, b, percent: 75)
        world.succeed(Opcode.leSetScanParameters, scanParameters(active: false), b)
        world.succeed(Opcode.leSetScanEnable, [1, 0], b)
        world.advertise(a)
        world.advance(milliseconds: 25_000)
        // About 1000 events, a quarter heard.
        #expect((200...300).contains(world.read(b).count))
    }

    // MARK: Names

    @Test mutating func `what is set by address still holds when the host comes back as another controller`() {
        var air = Air(configuration: AirConfiguration())
        func plug(_ address: UInt64) -> Int {
            let id = air.addController(ControllerConfiguration())
            let packet: [UInt8] = [1, 5, 0x20, 6] + little(address, 6)
            air.receive(packet.span, from: id)
            return air.index(of: id) ?? -1
        }
        _ = plug(lock)
        let second = plug(key)
        air.setCut(.address(lock), .address(key), true)
        air.setDistance(.address(lock), .address(key), metres: 10)
        #expect(!air.path(0, second).isReachable)
        air.removeController(ControllerID(ordinal: 1))
        let again = plug(lock)
        #expect(!air.path(again, 0).isReachable)
        air.setCut(.address(lock), .address(key), false)
        #expect(air.path(again, 0) == Path(metres: 10, lossFraction: 0, isCut: false))
        // A later setting by ordinal wins, and dies with the ordinal.
        air.setDistance(.ordinal(ControllerID(ordinal: 3)), .address(key), metres: 2)
        #expect(air.path(again, 0).rssi == -58)
        air.removeController(ControllerID(ordinal: 3))
        let last = plug(lock)
        #expect(air.path(last, 0).rssi == -75)
    }

    @Test mutating func `a host that rotates private addresses still goes by its static one`() {
        var air = Air(configuration: AirConfiguration())
        for address in [lock, key] {
            let id = air.addController(ControllerConfiguration())
            for value in [address, 0x4000_0000_0000 + address & 0xFF] {
                let packet: [UInt8] = [1, 5, 0x20, 6] + little(value, 6)
                air.receive(packet.span, from: id)
            }
        }
        air.setCut(.address(lock), .address(key), true)
        #expect(!air.path(0, 1).isReachable)
    }

    @Test mutating func `links follow a setting by address at once`() {
        connect()
        world.radio.setDistance(a, b, metres: 1)
        world.advance(milliseconds: 10)
        // The random address changes while the link stands: the link goes by the new name too.
        world.succeed(Opcode.leSetRandomAddress, little(0xC000_0000_0042, 6), a)
        world.radio.cut(a, b)
        world.advance(milliseconds: 1001)
        #expect(world.read(b) == [disconnected(1, 0x08)])
    }

    @Test("no more settings of pairs are remembered than there may be")
    func settingsBound() {
        var terrain = Terrain()
        for value in 0..<UInt64(Terrain.maximumSettings) + 1 {
            terrain.setCut(.address(value), .address(1 << 40), true)
        }
        #expect(terrain.isFull)
        #expect(terrain.path([.address(UInt64(Terrain.maximumSettings) - 1)], [.address(1 << 40)]).isReachable == false)
        #expect(terrain.path([.address(UInt64(Terrain.maximumSettings))], [.address(1 << 40)]).isReachable)
    }
}
