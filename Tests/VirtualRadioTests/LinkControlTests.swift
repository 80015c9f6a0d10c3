import Simulation
import Testing
import WorldSupport

@testable import VirtualRadio

private let lock: UInt64 = 0xC000_0000_0001
private let key: UInt64 = 0xC000_0000_0002

/// LE PHY Update Complete.
private func phys(_ tx: UInt8, _ rx: UInt8, status: UInt8 = 0) -> String { "043E060C" + hex([status, 1, 0, tx, rx]) }

/// LE Data Length Change.
private func dataLength(tx: UInt16, rx: UInt16) -> String {
    "043E0B070100"
        + [tx, rx].map { hex(UInt64($0), 2) + hex(UInt64(($0 + 14) * 8), 2) }.joined()
}

/// LE Set PHY on the first connection.
private func setPHY(_ all: UInt8, _ tx: UInt8, _ rx: UInt8) -> [UInt8] { [1, 0, all, tx, rx, 0, 0] }

private let phyCases: [Case] = [
    Case([0, 0, 1], 0x12), Case([0, 1, 0], 0x12), Case([0, 4, 1], 0x11), Case([0, 1, 8], 0x11), Case([3, 0, 0], 0),
]

private let older = ControllerConfiguration(generation: .core40)

@Suite("Core 5.4, Vol 6, Part B, 5.1 (Link Layer Control Procedures)", .capturesFailures)
struct LinkControlTests {
    /// Central b and peripheral a, which hear everything but the newer connection events.
    private func connected(
        _ pacing: AirConfiguration.Pacing = .paced, central: ControllerConfiguration = ControllerConfiguration(),
        peripheral: ControllerConfiguration = ControllerConfiguration(),
        prepare: (inout OctetWorld, [ControllerID]) -> Void = { _, _ in }
    ) -> (OctetWorld, a: ControllerID, b: ControllerID) {
        var world = OctetWorld(pacing)
        let mask: UInt64 = 0x8FF
        let a = world.host(lock, peripheral, leMask: mask)
        let b = world.host(key, central, leMask: mask)
        prepare(&world, [a, b])
        _ = world.connect(b, a, to: lock)
        return (world, a, b)
    }

    // MARK: PHY

    @Test("7.8.47-49: a link begins on the LE 1M PHY; both change at one instant, six events on or later")
    func phyUpdate() {
        for centralAsks in [true, false] {
            var (world, a, b) = connected()
            let (asker, other) = centralAsks ? (b, a) : (a, b)
            #expect(world.command(0x2030, [1, 0], b) == [complete(0x2030, 0, "0100 01 01")])
            #expect(world.command(0x2032, setPHY(0, 2, 2), asker) == [status(0x2032)])
            let asked = world.radio.now
            world.advance(milliseconds: 100)
            let events = [asker, other].map { world.drainTimed($0) }
            #expect(events.map { $0.map { hex($0.octets) } } == [[phys(2, 2)], [phys(2, 2)]])
            #expect(events.allSatisfy { $0.allSatisfy { $0.instant >= asked + 6 * 7_500_000 } })
            #expect(world.command(0x2030, [1, 0], other) == [complete(0x2030, 0, "0100 02 02")])
            // What is so already is told to whoever asks, and to nobody else.
            #expect(world.command(0x2032, setPHY(0, 2, 2), asker) == [status(0x2032)])
            world.advance(milliseconds: 100)
            #expect(world.read(asker) == [phys(2, 2)])
            #expect(world.read(other) == [])
            // One that will have nothing else is not moved; without a preference of its own it is.
            world.succeed(0x2032, setPHY(0, 1, 1), other)
            world.advance(milliseconds: 100)
            #expect(world.read(other) == [phys(2, 2)])
            world.succeed(0x2032, setPHY(3, 0, 0), asker)
            world.advance(milliseconds: 100)
            #expect(world.read(asker) == [phys(1, 1)])
            #expect(world.read(other) == [phys(1, 1)])
            world.succeed(0x2032, setPHY(3, 0, 0), other)
            world.advance(milliseconds: 100)
            #expect(world.read(other) == [phys(2, 2)])
            #expect(world.read(asker) == [phys(2, 2)])
        }
    }

    @Test("each direction has a PHY of its own, and one side alone cannot have what the other will not")
    func phyDirections() {
        var (world, a, b) = connected()
        world.succeed(0x2032, setPHY(0, 2, 1), b)
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [phys(2, 1)])
        #expect(world.read(a) == [phys(1, 2)])
        #expect(world.command(0x2030, [1, 0], a) == [complete(0x2030, 0, "0100 01 02")])
        // b still receives on the LE 1M PHY alone.
        world.succeed(0x2032, setPHY(0, 2, 3), a)
        world.advance(milliseconds: 100)
        #expect(world.read(a) == [phys(1, 2)])
        #expect(world.read(b) == [])
    }

    @Test("7.8.48: the default of the other side counts")
    func defaultPHY() {
        var (world, a, b) = connected { world, hosts in world.succeed(0x2031, [0, 1, 1], hosts[0]) }
        world.succeed(0x2032, setPHY(0, 2, 2), b)
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [phys(1, 1)])
        #expect(world.read(a) == [])
    }

    @Test("both at once: one after the other")
    func phyCollision() {
        var (world, a, b) = connected()
        world.succeed(0x2032, setPHY(0, 2, 2), a)
        world.succeed(0x2032, setPHY(0, 2, 2), b)
        #expect(world.command(0x2032, setPHY(0, 1, 1), b) == [status(0x2032, 0x0C)])
        world.advance(milliseconds: 200)
        #expect(world.read(a) == [phys(2, 2)])
        #expect(world.read(b) == [phys(2, 2), phys(2, 2)])
    }

    @Test("a peer without the feature: Unsupported Remote Feature")
    func phyUnknown() {
        var (world, _, b) = connected(peripheral: older)
        world.succeed(0x2032, setPHY(0, 2, 2), b)
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [phys(1, 1, status: 0x1A)])
    }

    @Test(
        "7.8.48-49: what is refused",
        arguments: phyCases)
    func refusedPHYs(row: Case) {
        var (world, _, b) = connected()
        #expect(world.command(0x2031, row.parameters, b) == [complete(0x2031, row.status)])
        #expect(world.command(0x2032, [1, 0] + row.parameters + [0, 0], b).first == status(0x2032, row.status))
    }

    @Test("4.5: a payload takes about half the time on the LE 2M PHY")
    func phyAirtime() {
        func events(_ phy: UInt8) -> Int {
            var (world, a, b) = connected(central: ControllerConfiguration(aclDataPacketLength: 251)) { world, hosts in
                for host in hosts { world.succeed(0x2024, octets("FB00 4808"), host) }
            }
            world.succeed(0x2032, setPHY(0, phy, phy), b)
            world.advance(milliseconds: 100)
            _ = (world.read(a), world.read(b))
            for _ in 0..<20 { world.send(data(1, flags: 0, [UInt8](repeating: 7, count: 251)), b) }
            world.advance(milliseconds: 8)
            return world.read(a).count
        }
        // An interval of 7.5 ms: 2088 or 1048 µs, an empty answer and two spaces of 150 µs each.
        #expect(events(1) == 3)
        #expect(events(2) == 5)
    }

    // MARK: Data length

    @Test("4.5.10: a host that suggests more has it from the beginning, and both hear of it once")
    func suggestedDataLength() {
        for pacing in [AirConfiguration.Pacing.paced, .immediate] {
            for suggesting in [[0], [1], [0, 1]] {
                var world = OctetWorld(pacing)
                let hosts = [world.host(lock), world.host(key)]
                for index in suggesting { world.succeed(0x2024, octets("FB00 4808"), hosts[index]) }
                world.advertise(hosts[0])
                world.succeed(0x200D, createConnection(lock), hosts[1])
                world.advance(milliseconds: 60)
                for index in 0...1 {
                    let (tx, rx) = (suggesting.contains(index), suggesting.contains(1 - index))
                    let events = world.read(hosts[index])
                    #expect(events.first?.hasPrefix("043E1301") == true)
                    #expect(events.dropFirst() == [dataLength(tx: tx ? 251 : 27, rx: rx ? 251 : 27)])
                }
            }
        }
    }

    @Test("a peer without the feature keeps 27 octets, and nobody hears of it")
    func dataLengthUnknown() {
        var (world, a, b) = connected(peripheral: older)
        world.succeed(0x2022, octets("0100 FB00 4808"), b)
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [])
        #expect(world.read(a) == [])
    }

    // MARK: Connection parameters

    private let update = octets("0100 5000 6000 0200 F401 0000 0000")

    @Test("7.8.31: a peripheral asks, the central's host agrees, both change")
    func parameterRequestAccepted() {
        for pacing in [AirConfiguration.Pacing.paced, .immediate] {
            var (world, a, b) = connected(pacing)
            #expect(world.command(0x2013, update, a) == [status(0x2013)])
            #expect(world.command(0x2013, update, a) == [status(0x2013, 0x0C)])
            world.advance(milliseconds: 20)
            #expect(world.read(b) == [packed("043E 0B 06 0100 5000 6000 0200 F401")])
            let reply = octets("0100 5800 5800 0000 F401 0000 0000")
            #expect(world.command(0x2020, reply, a) == [complete(0x2020, 0x0C, "0100")])
            #expect(world.command(0x2020, reply, b) == [complete(0x2020, 0, "0100")])
            #expect(world.command(0x2020, reply, b) == [complete(0x2020, 0x0C, "0100")])
            world.advance(milliseconds: 100)
            for host in [a, b] { #expect(world.read(host) == [packed("043E 0A 03 00 0100 5800 0000 F401")]) }
        }
    }

    @Test("7.8.32: the central's host refuses, and only the peripheral's hears why")
    func parameterRequestRefused() {
        var (world, a, b) = connected()
        world.succeed(0x2013, update, a)
        world.advance(milliseconds: 20)
        _ = world.read(b)
        #expect(world.command(0x2021, [1, 0, 0x3B], b) == [complete(0x2021, 0, "0100")])
        #expect(world.command(0x2021, [1, 0, 0x3B], b) == [complete(0x2021, 0x0C, "0100")])
        world.advance(milliseconds: 100)
        #expect(world.read(a) == [packed("043E 0A 03 3B 0100 0600 0000 6400")])
        #expect(world.read(b) == [])
        // And may ask again.
        world.succeed(0x2013, update, a)
    }

    @Test("a central without the feature, or whose host does not listen: Unsupported Remote Feature")
    func parameterRequestUnsupported() {
        for generation in [ControllerGeneration.core40, .core54] {
            var (world, a, b) = connected(central: ControllerConfiguration(generation: generation)) { world, hosts in
                world.succeed(0x2001, little(0x1F, 8), hosts[1])
            }
            world.succeed(0x2013, update, a)
            world.advance(milliseconds: 100)
            #expect(world.read(a) == [packed("043E 0A 03 1A 0100 0600 0000 6400")])
            #expect(world.read(b) == [])
        }
    }

    @Test("5.2 (Procedure response timeout): a central's host that never answers loses the link")
    func parameterRequestUnanswered() {
        var (world, a, b) = connected()
        world.succeed(0x2013, update, a)
        world.advance(milliseconds: 20)
        _ = world.read(b)
        world.advance(milliseconds: 39_970)
        #expect(world.read(a) == [])
        world.advance(milliseconds: 20)
        #expect(world.read(a) == [disconnected(1, 0x22)])
        world.advance(milliseconds: 1100)
        #expect(world.read(b) == [disconnected(1, 0x08)])
    }

    @Test("a peripheral of Core 4.0 may not ask, nor for features")
    func olderPeripheral() {
        var (world, a, _) = connected(peripheral: older)
        #expect(world.command(0x2013, update, a) == [status(0x2013, 0x0C)])
        #expect(world.command(0x2016, [1, 0], a) == [status(0x2016, 0x0C)])
    }

    // MARK: Channels and features

    @Test("7.8.19-20: a central's classification is both sides' map")
    func channelMap() {
        var (world, a, b) = connected()
        let all = "0100 FFFFFFFF1F"
        for host in [a, b] { #expect(world.command(0x2015, [1, 0], host) == [complete(0x2015, 0, all)]) }
        world.succeed(0x2014, [0xFF, 0, 0, 0, 0x10], a)
        world.advance(milliseconds: 20)
        #expect(world.command(0x2015, [1, 0], a) == [complete(0x2015, 0, all)])
        world.succeed(0x2014, [3, 0, 0, 0, 0], b)
        world.advance(milliseconds: 20)
        for host in [a, b] { #expect(world.command(0x2015, [1, 0], host) == [complete(0x2015, 0, "0100 0300000000")]) }
        for map in [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [3, 0, 0, 0, 0x20]] as [[UInt8]] {
            #expect(world.command(0x2014, map, b) == [complete(0x2014, 0x12)])
        }
    }

    @Test("5.1.4 (Feature Exchange): in the first octet what both have, in the others what the peer has")
    func featuresBetweenGenerations() {
        for (own, peer, expected) in [
            (ControllerGeneration.core54, ControllerGeneration.core40, "01 00"), (.core40, .core54, "01 41"),
            (.core42, .core54, "2F 41"), (.core54, .core42, "2F 00"), (.core54, .core54, "2F 41"),
        ] {
            var (world, a, b) = connected(
                central: ControllerConfiguration(generation: own), peripheral: ControllerConfiguration(generation: peer)
            )
            world.succeed(0x2016, [1, 0], b)
            world.advance(milliseconds: 30)
            #expect(world.read(b) == [packed("043E 0C 04 00 0100 \(expected) 000000000000")])
            _ = world.read(a)
        }
    }
}
