import Simulation
import Testing
import WorldSupport

@testable import VirtualRadio

private let lock: UInt64 = 0xC000_0000_0001
private let key: UInt64 = 0xC000_0000_0002

private struct Ranged: Sendable {
    let parameters: [UInt8]
    let status: UInt8

    init(_ parameters: [UInt8], _ status: UInt8) {
        self.parameters = parameters
        self.status = status
    }
}

/// LE Create Connection with the parameters from `offset` on replaced by others.
private func changed(_ offset: Int, _ text: String) -> [UInt8] {
    var parameters = createConnection(lock)
    let other = octets(text)
    parameters.replaceSubrange(offset..<offset + other.count, with: other)
    return parameters
}

private let ranges: [Ranged] = [
    Ranged(createConnection(lock, interval: 5), 0x12),
    Ranged(createConnection(lock, interval: 0xC81, timeout: 0xC80), 0x12),
    Ranged(createConnection(lock, latency: 0x1F4, timeout: 0xC80), 0x12),
    Ranged(createConnection(lock, timeout: 9), 0x12),
    Ranged(createConnection(lock, timeout: 0xC81), 0x12),
    // 100 ms is not larger than 1 x 50 ms x 2.
    Ranged(createConnection(lock, interval: 40, timeout: 10), 0x12),
    Ranged(createConnection(lock, interval: 40, timeout: 11), 0),
    Ranged(createConnection(lock, ownType: 2), 0x00), Ranged(createConnection(lock, ownType: 4), 0x12),
    Ranged(changed(0, "0300"), 0x12),
    Ranged(changed(2, "1100"), 0x12),
    Ranged(changed(4, "02"), 0x12),
    Ranged(changed(5, "04"), 0x12),
    Ranged(changed(5, "02"), 0x00),
    Ranged(changed(21, "0200 0100"), 0x12),
]

@Suite("Core 5.4, Vol 4, Part E, 7.8.12-13 (LE Create Connection and its cancel)", .capturesFailures)
struct ConnectionTests {
    @Test(arguments: [AirConfiguration.Pacing.paced, .immediate])
    func `connect by address: both hosts get LE Connection Complete with each other's address`(
        pacing: AirConfiguration.Pacing
    ) {
        var world = OctetWorld(pacing)
        let a = world.host(lock)
        let b = world.host(key)
        world.advertise(a)
        #expect(
            world.command(Opcode.leCreateConnection, createConnection(lock), b)
                == [status(Opcode.leCreateConnection)])
        world.advance(milliseconds: 60)
        #expect(world.read(b) == [packed("04 3E 13 01 00 0100 00 01 0100000000C0 0600 0000 6400 00")])
        #expect(world.read(a) == [packed("04 3E 13 01 00 0100 01 01 0200000000C0 0600 0000 6400 05")])
        // Advertising has stopped with the connection.
        #expect(world.radio.nextEventInstant == nil)
    }

    @Test func `a pending connection waits until it is cancelled, and says so`() {
        var world = OctetWorld()
        let b = world.host(key)
        world.succeed(Opcode.leCreateConnection, createConnection(lock), b)
        world.advance(milliseconds: 3_600_000)
        #expect(world.read(b) == [])
        #expect(
            world.command(Opcode.leCreateConnectionCancel, b)
                == [
                    complete(Opcode.leCreateConnectionCancel),
                    packed("04 3E 13 01 02 0000 00 00 000000000000 0000 0000 0000 00"),
                ])
        #expect(world.command(Opcode.leCreateConnectionCancel, b) == [complete(Opcode.leCreateConnectionCancel, 0x0C)])
    }

    @Test func `a pending connection is made when the peer comes, however late`() {
        var world = OctetWorld()
        let b = world.host(key)
        world.succeed(Opcode.leCreateConnection, createConnection(lock), b)
        world.advance(milliseconds: 3_600_000)
        let a = world.host(lock)
        world.advertise(a)
        world.advance(milliseconds: 60)
        #expect(world.read(a).count == 1)
        #expect(world.read(b).count == 1)
    }

    @Test func `connect by accept list: only to those on it`() {
        var world = OctetWorld()
        let a = world.host(lock)
        let stranger = world.host(0xC000_0000_0003)
        let b = world.host(key)
        world.succeed(Opcode.leAddDeviceToFilterAcceptList, [1] + little(lock, 6), b)
        // The same value, public, is somebody else.
        world.succeed(Opcode.leAddDeviceToFilterAcceptList, [0] + little(0xC000_0000_0003, 6), b)
        world.advertise(stranger)
        world.succeed(Opcode.leCreateConnection, createConnection(nil), b)
        world.advance(milliseconds: 500)
        #expect(world.read(b) == [])
        world.advertise(a)
        world.advance(milliseconds: 60)
        #expect(world.read(b) == [packed("04 3E 13 01 00 0100 00 01 0100000000C0 0600 0000 6400 00")])
        #expect(world.read(stranger) == [])
    }

    @Test(arguments: [(UInt8(0), true), (1, true), (2, false), (3, false)])
    func `4.3.2: filter policies 2 and 3 connect from the accept list only`(policy: UInt8, isAccepted: Bool) {
        var world = OctetWorld()
        let a = world.host(lock)
        let b = world.host(key)
        world.advertise(a, filterPolicy: policy)
        world.succeed(Opcode.leCreateConnection, createConnection(lock), b)
        world.advance(milliseconds: 500)
        #expect(world.read(b).isEmpty == !isAccepted)
        guard !isAccepted else { return }
        world.succeed(Opcode.leSetAdvertisingEnable, [0], a)
        world.succeed(Opcode.leAddDeviceToFilterAcceptList, [1] + little(key, 6), a)
        world.succeed(Opcode.leSetAdvertisingEnable, [1], a)
        world.advance(milliseconds: 60)
        #expect(world.read(b).count == 1)
    }

    @Test(arguments: [(UInt8(0), true), (1, true), (2, false), (3, false), (4, true)])
    func `which types of advertising can be connected to`(type: UInt8, isConnectable: Bool) {
        var world = OctetWorld()
        let a = world.host(lock)
        let b = world.host(key)
        world.advertise(a, type: type, peer: key)
        world.succeed(Opcode.leCreateConnection, createConnection(lock), b)
        world.advance(milliseconds: 500)
        #expect(world.read(b).isEmpty == !isConnectable)
    }

    @Test func `directed advertising connects its target alone`() {
        var world = OctetWorld()
        let a = world.host(lock)
        let b = world.host(key)
        world.advertise(a, type: 4, peer: 0xC000_0000_0003)
        world.succeed(Opcode.leCreateConnection, createConnection(lock), b)
        world.advance(milliseconds: 500)
        #expect(world.read(b) == [])
    }

    @Test func `public own addresses: each sees the other's public address`() {
        var world = OctetWorld()
        let a = world.host(lock)
        let b = world.host(key)
        world.advertise(a, ownType: 0)
        var parameters = createConnection(0x024C_4100_0001, ownType: 0)
        parameters[5] = 0
        world.succeed(Opcode.leCreateConnection, parameters, b)
        world.advance(milliseconds: 60)
        #expect(world.read(b) == [packed("04 3E 13 01 00 0100 00 00 010000414C02 0600 0000 6400 00")])
        #expect(world.read(a) == [packed("04 3E 13 01 00 0100 01 00 020000414C02 0600 0000 6400 05")])
    }

    @Test func `a connection that exists already is refused, and one link more than there may be`() {
        var world = OctetWorld()
        let a = world.host(lock, ControllerConfiguration(maximumLinks: 1))
        let b = world.host(key)
        _ = world.connect(b, a, to: lock)
        #expect(world.command(0x200D, createConnection(lock), b) == [status(0x200D, 0x0B)])
        #expect(world.command(0x200D, createConnection(0xC000_0000_0007), a) == [status(0x200D, 0x09)])
        world.succeed(Opcode.leSetAdvertisingParameters, advertisingParameters(), a)
        #expect(world.command(0x200A, [1], a) == [complete(0x200A, 0x09)])
    }

    @Test(
        "7.8.12: out of range",
        arguments: ranges)
    fileprivate func outOfRange(_ row: Ranged) {
        var world = OctetWorld()
        let b = world.host(key)
        #expect(world.command(0x200D, row.parameters, b) == [status(0x200D, row.status)])
    }

    @Test("Vol 6, Part B, 4.5: a CONNECT_IND that is lost leaves a central that finds out after six intervals")
    func connectIndicationLost() {
        var lost = 0
        for seed in 1...60 as ClosedRange<UInt64> {
            var world = OctetWorld(seed: seed)
            let a = world.host(lock)
            let b = world.host(key)
            world.radio.setLoss(a, b, percent: 50)
            world.advertise(a)
            world.succeed(Opcode.leCreateConnection, createConnection(lock, interval: 40), b)
            world.advance(milliseconds: 1000)
            let central = world.read(b)
            guard world.read(a).isEmpty, !central.isEmpty else { continue }
            lost += 1
            #expect(central.count == 2 && central.last == disconnected(1, 0x3E))
        }
        #expect(lost > 5)
    }

    // MARK: What a connection can be asked

    @Test func `7.1.23, 7.8.21: version and features of the other side`() {
        for pacing in [AirConfiguration.Pacing.paced, .immediate] {
            var world = OctetWorld(pacing)
            let a = world.host(lock)
            let b = world.host(key)
            _ = world.connect(b, a, to: lock)
            for controller in [a, b] {
                world.succeed(Opcode.readRemoteVersionInformation, octets("0100"), controller)
                world.succeed(Opcode.leReadRemoteFeatures, octets("0100"), controller)
            }
            world.advance(milliseconds: 30)
            if pacing == .paced {
                let expected = [
                    packed("040C 08 00 0100 0D FFFF 0100"), packed("043E 0C 04 00 0100 2F 41 000000000000"),
                ]
                #expect(world.read(a) == expected)
                #expect(world.read(b) == expected)
            }
        }
    }

    @Test func `7.8.18: new parameters hold from their instant on, for both`() {
        var world = OctetWorld()
        let a = world.host(lock)
        let b = world.host(key)
        _ = world.connect(b, a, to: lock)
        let update = octets("0100 5000 5000 0200 F401 0000 0000")
        #expect(world.command(Opcode.leConnectionUpdate, update, b) == [status(Opcode.leConnectionUpdate)])
        #expect(world.command(Opcode.leConnectionUpdate, update, b) == [status(Opcode.leConnectionUpdate, 0x0C)])
        let asked = world.radio.now
        world.advance(milliseconds: 60)
        let events = (world.drainTimed(a), world.drainTimed(b))
        for (instant, octets) in [events.0, events.1].compactMap(\.first) {
            #expect(hex(octets) == packed("043E 0A 03 00 0100 5000 0200 F401"))
            #expect(instant >= asked + 6 * 7_500_000)
        }
        #expect(events.0.count == 1 && events.1.count == 1)
        for _ in 0..<3 {
            world.send(data(1, flags: 0, [1]), a)
            world.advance(milliseconds: 200)
        }
        let instants = world.drainTimed(b).map(\.instant)
        #expect(instants.count == 3)
        #expect(zip(instants.dropFirst(), instants).allSatisfy { ($0 - $1) % 100_000_000 == 0 })
    }

    @Test func `handles that name nothing`() {
        var world = OctetWorld()
        let a = world.host(lock)
        for command in CommandDescription.all {
            let named: [UInt16: Int] = [
                0x0406: 3, 0x041D: 2, 0x1405: 2, 0x2013: 14, 0x2016: 2, 0x2019: 28, 0x201A: 18, 0x201B: 2, 0x2022: 6,
                0x2015: 2,
                0x2020: 14, 0x2021: 3, 0x2030: 2, 0x2032: 7,
            ]
            guard named[command.opcode] != nil else { continue }
            let parameters = octets("3412") + [UInt8](repeating: 0x13, count: command.length.minimum - 2)
            let answer = world.command(command.opcode, parameters, a)
            switch command.answer {
            case .status: #expect(answer == [status(command.opcode, 0x02)])
            default: #expect(answer == [complete(command.opcode, 0x02, "3412")])
            }
        }
    }

    @Test(
        "7.1.6 (Disconnect): the reasons of either side",
        arguments: [0x05, 0x13, 0x14, 0x15, 0x1A, 0x29, 0x3B] as [UInt8])
    func disconnectReasons(reason: UInt8) {
        for pacing in [AirConfiguration.Pacing.paced, .immediate] {
            var world = OctetWorld(pacing)
            let a = world.host(lock)
            let b = world.host(key)
            _ = world.connect(b, a, to: lock)
            #expect(world.command(Opcode.disconnect, octets("0100") + [reason], a).first == status(Opcode.disconnect))
            world.advance(milliseconds: 8)
            #expect(world.read(b) == [disconnected(1, reason)])
        }
    }

    @Test("7.1.6: every other reason is refused, and a second Disconnect")
    func disconnectErrors() {
        var world = OctetWorld()
        let a = world.host(lock)
        let b = world.host(key)
        _ = world.connect(b, a, to: lock)
        for reason in 0...255 as ClosedRange<UInt8> where ![0x05, 0x13, 0x14, 0x15, 0x1A, 0x29, 0x3B].contains(reason) {
            #expect(world.command(0x0406, [1, 0, reason], a) == [status(0x0406, 0x12)])
        }
        world.succeed(0x0406, [1, 0, 0x13], a)
        #expect(world.command(0x0406, [1, 0, 0x13], a) == [status(0x0406, 0x0C)])
        world.advance(milliseconds: 8)
        #expect(world.read(a) == [disconnected(1, 0x16)])
    }
}

extension OctetWorld {
    mutating func command(_ opcode: UInt16, _ controller: ControllerID) -> [String] { command(opcode, [], controller) }
}
