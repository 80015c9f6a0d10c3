import Simulation
import Testing
import WorldSupport

@testable import VirtualRadio

private let lock: UInt64 = 0xC000_0000_0001
private let key: UInt64 = 0xC000_0000_0002
private let stranger: UInt64 = 0xC000_0000_0003

/// Core 5.4, Vol 3, Part H, D.7 (ah): the key, the least significant octet first, and an address made of it.
private let sampleKey = octets("9B7D390A A6101034 05ADC857 A33402EC")
private let sampleAddress: UInt64 = 0x7081_940D_FBAA
private let lockKey = [UInt8](repeating: 0x11, count: 16)
private let keyKey = [UInt8](repeating: 0x22, count: 16)
private let noKey = [UInt8](repeating: 0, count: 16)

/// LE Add Device To Resolving List.
private func entry(_ identity: UInt64, peer: [UInt8], local: [UInt8], type: UInt8 = 1) -> [UInt8] {
    [type] + little(identity, 6) + peer + local
}

@Suite("Core 5.4, Vol 6, Part B, 6 (Privacy)", .capturesFailures)
struct PrivacyTests {
    private var world = OctetWorld()
    private let a: ControllerID
    private let b: ControllerID
    private let c: ControllerID

    init() {
        a = world.extendedHost(lock)
        b = world.extendedHost(key)
        c = world.extendedHost(stranger)
    }

    private mutating func list(_ controller: ControllerID, _ parameters: [UInt8], resolves: Bool = true) {
        world.succeed(0x2027, parameters, controller)
        if resolves { world.succeed(0x202D, [1], controller) }
    }

    /// Lock and key know each other, and use private addresses.
    private mutating func introduce() {
        list(a, entry(key, peer: keyKey, local: lockKey))
        list(b, entry(lock, peer: lockKey, local: keyKey))
    }

    private mutating func scan(_ controller: ControllerID, ownType: UInt8 = 1) {
        world.succeed(0x200B, [0, 0x10, 0, 0x10, 0, ownType, 0], controller)
        world.succeed(0x200C, [1, 1], controller)
    }

    /// The address type and the address of each LE Advertising Report.
    private mutating func heard(_ controller: ControllerID) -> [String] {
        world.read(controller).filter { $0.hasPrefix("043E") && $0.dropFirst(6).hasPrefix("02") }
            .map { hex(octets($0)[6..<13]) }
    }

    @Test(
        "an address made of a listed key is reported as the identity, if the list is used",
        arguments: [true, false])
    mutating func resolution(isEnabled: Bool) {
        world.succeed(0x2005, little(sampleAddress, 6), a)
        list(b, entry(lock, peer: sampleKey, local: noKey), resolves: isEnabled)
        scan(b)
        world.advertise(a)
        world.advance(milliseconds: 60)
        #expect(heard(b) == [isEnabled ? "03" + hex(lock, 6) : "01" + hex(sampleAddress, 6)])
        let peer = hex(isEnabled ? sampleAddress : 0, 6)
        #expect(world.command(0x202B, [1] + little(lock, 6), b) == [complete(0x202B, 0, peer)])
        #expect(world.command(0x202C, [1] + little(lock, 6), b) == [complete(0x202C, 0, hex(0, 6))])
    }

    @Test mutating func `a public identity is told from a random one, and another key's address is nobody's`() {
        world.succeed(0x2005, little(sampleAddress, 6), a)
        list(b, entry(0x02_4C41_0000_0009, peer: sampleKey, local: noKey, type: 0))
        list(c, entry(lock, peer: lockKey, local: noKey))
        scan(b)
        scan(c)
        world.advertise(a)
        world.advance(milliseconds: 60)
        #expect(heard(b) == ["02" + hex(0x02_4C41_0000_0009, 6)])
        #expect(heard(c) == ["01" + hex(sampleAddress, 6)])
    }

    @Test(
        "7.8.45: the controller makes its own addresses, and new ones after the timeout", arguments: [UInt16(900), 60])
    mutating func rotation(seconds: UInt16) {
        introduce()
        if seconds != 900 { world.succeed(0x202E, little(UInt64(seconds), 2), a) }
        scan(b)
        scan(c)
        world.advertise(a, type: 3, interval: 0x4000, peer: key, ownType: 3)
        world.advance(milliseconds: UInt64(seconds) * 1000 - 1)
        #expect(heard(b) == ["03" + hex(lock, 6)])
        let first = heard(c)
        #expect(first.count == 1 && first[0].hasPrefix("01") && octets(first[0])[6] >> 6 == 0b01)
        let local = String(first[0].dropFirst(2))
        #expect(world.command(0x202C, [1] + little(key, 6), a) == [complete(0x202C, 0, local)])
        world.advance(milliseconds: 11_000)
        let second = heard(c)
        #expect(second.count == 1 && second != first && octets(second[0])[6] >> 6 == 0b01)
    }

    @Test mutating func `without a matching entry the public or the random address serves, if there is one`() {
        world.advertise(a, peer: key, ownType: 2)
        scan(c)
        world.advance(milliseconds: 60)
        #expect(heard(c) == ["00" + hex(0x024C_4100_0001, 6)])
        let bare = world.addController()
        var parameters = advertisingParameters(peer: key, ownType: 3)
        world.succeed(0x2006, parameters, bare)
        #expect(world.command(0x200A, [1], bare) == [complete(0x200A, 0x12)])
        parameters[5] = 2
        world.succeed(0x2006, parameters, bare)
        world.succeed(0x200A, [1], bare)
    }

    @Test(
        "a connection between private addresses: each host hears identities and both addresses",
        arguments: [true, false])
    mutating func connection(byAcceptList: Bool) {
        introduce()
        world.succeed(0x2011, [1] + little(key, 6), a)
        world.succeed(0x2011, [1] + little(lock, 6), b)
        world.advertise(a, filterPolicy: 3, peer: key, ownType: 3)
        world.succeed(0x200D, createConnection(byAcceptList ? nil : lock, ownType: 3), b)
        world.advance(milliseconds: 60)
        let events = [world.read(b), world.read(a)].map { $0.first.map(octets) ?? [] }
        for (event, peer) in zip(events, [lock, key]) {
            #expect(event.prefix(4) == [4, 0x3E, 0x1F, 0x0A])
            #expect(hex(event.dropFirst(8).prefix(7)) == "03" + hex(peer, 6))
        }
        guard events.allSatisfy({ $0.count == 34 }) else {
            Issue.record("an enhanced connection event has 34 octets: \(events)")
            return
        }
        let local = events.map { Array($0[15..<21]) }
        #expect(local == events.reversed().map { Array($0[21..<27]) })
        #expect(local.allSatisfy { $0[5] >> 6 == 0b01 } && local[0] != local[1])
        // The same device by another name is the same device.
        #expect(world.command(0x200D, createConnection(lock), b) == [status(0x200D, 0x0B)])
    }

    @Test mutating func `a stranger is not on the accept list by an address that looks private`() {
        introduce()
        world.succeed(0x2011, [1] + little(key, 6), a)
        world.advertise(a, filterPolicy: 3, peer: key, ownType: 1)
        world.succeed(0x2005, little(sampleAddress, 6), c)
        world.succeed(0x200D, createConnection(lock), c)
        world.advance(milliseconds: 500)
        #expect(world.read(c) == [])
    }

    @Test mutating func `directed advertising names its target by an address of the target's key`() {
        introduce()
        world.succeed(0x2042, extendedScanEnable(false), c)
        world.extendedScan(c)
        world.succeed(0x200D, createConnection(lock, ownType: 3), b)
        world.advertise(a, type: 4, peer: key, ownType: 3)
        world.advance(milliseconds: 60)
        #expect(world.read(b).first?.hasPrefix("043E1F0A00") == true)
        #expect(world.read(c) == [])
    }

    @Test("7.7.65.13: directed at a private address of ours")
    mutating func directedReport() {
        introduce()
        world.succeed(0x2041, [3, 0, 1, 0, 0x10, 0, 0x10, 0], b)
        world.succeed(0x2042, extendedScanEnable(true, duplicates: 1), b)
        world.advertise(a, type: 4, peer: key, ownType: 3)
        world.advance(milliseconds: 60)
        #expect(
            world.read(b) == [
                packed("043E 1A 0D 01 1500 03 010000 0000C0 01 00 FF 7F CE 0000 03 020000 0000C0 00")
            ])
    }

    @Test("7.8.77: in network privacy mode an identity address is not heard, in device privacy mode it is")
    mutating func privacyModes() {
        introduce()
        world.succeed(0x2005, little(lock, 6), a)
        world.advertise(a)
        scan(b)
        world.advance(milliseconds: 60)
        #expect(heard(b) == [])
        #expect(world.command(0x204E, [1] + little(lock, 6) + [1], b) == [complete(0x204E, 0x0C)])
        world.succeed(0x200C, [0, 0], b)
        world.succeed(0x200D, createConnection(lock), b)
        world.advance(milliseconds: 60)
        #expect(world.read(b) == [])
        world.succeed(0x200E, b)
        world.succeed(0x204E, [1] + little(lock, 6) + [1], b)
        scan(b)
        world.advance(milliseconds: 60)
        #expect(heard(b) == ["01" + hex(lock, 6)])
    }

    @Test("7.8.38-45, 7.8.77: what is refused")
    mutating func refusals() {
        let small = world.host(0xC000_0000_0004, ControllerConfiguration(resolvingListSize: 2))
        #expect(world.command(0x202A, small) == [complete(0x202A, 0, "02")])
        #expect(world.command(0x202A, a) == [complete(0x202A, 0, "10")])
        let name = [1] + little(lock, 6)
        let rows: [(UInt16, [UInt8], UInt8)] = [
            (0x2027, entry(lock, peer: lockKey, local: keyKey), 0),
            // The same identity; the same key; an identity that is none; a type that is none.
            (0x2027, entry(lock, peer: keyKey, local: keyKey), 0x12),
            (0x2027, entry(key, peer: lockKey, local: keyKey), 0x12),
            (0x2027, entry(sampleAddress, peer: keyKey, local: keyKey), 0x12),
            (0x2027, entry(key, peer: keyKey, local: keyKey, type: 2), 0x12),
            (0x2027, entry(key, peer: noKey, local: noKey), 0),
            (0x2027, entry(stranger, peer: noKey, local: noKey), 0x07),
            (0x2028, [1] + little(stranger, 6), 0x02), (0x202B, [1] + little(stranger, 6), 0x02),
            (0x202C, [1] + little(stranger, 6), 0x02), (0x204E, [1] + little(stranger, 6) + [0], 0x02),
            (0x204E, name + [2], 0x12), (0x202D, [2], 0x12), (0x202E, [0, 0], 0x12), (0x202E, little(0x0E11, 2), 0x12),
            (0x202E, little(0x0E10, 2), 0), (0x202E, little(1, 2), 0),
            // While it advertises the list may change for as long as it is not used, and its use not at all.
            (0x2006, advertisingParameters(), 0), (0x200A, [1], 0), (0x202D, [1], 0x0C), (0x204E, name + [1], 0),
            (0x200A, [0], 0), (0x202D, [1], 0), (0x200A, [1], 0), (0x204E, name + [1], 0x0C),
            (0x2027, entry(stranger, peer: noKey, local: noKey), 0x0C), (0x2028, name, 0x0C), (0x2029, [], 0x0C),
            (0x202D, [0], 0x0C), (0x202E, little(900, 2), 0), (0x200A, [0], 0), (0x2028, name, 0), (0x2028, name, 0x02),
            (0x2029, [], 0), (0x2028, [1] + little(key, 6), 0x02),
        ]
        for (opcode, parameters, expected) in rows {
            #expect(world.command(opcode, parameters, small) == [complete(opcode, expected)], "\(hex(parameters))")
        }
    }

    @Test mutating func `a controller of Core 4.0 has none of it`() {
        let old = world.host(0xC000_0000_0004, ControllerConfiguration(generation: .core40))
        for opcode in 0x2027...0x202E as ClosedRange<UInt16> {
            #expect(world.command(opcode, old) == [complete(opcode, 0x01)])
        }
        #expect(world.command(0x2006, advertisingParameters(ownType: 2), old) == [complete(0x2006, 0x11)])
        #expect(world.command(0x200D, createConnection(lock, ownType: 3), old) == [status(0x200D, 0x11)])
    }
}
