import Simulation
import Testing
import WorldSupport

@testable import VirtualRadio

private let lock: UInt64 = 0xC000_0000_0001
private let key: UInt64 = 0xC000_0000_0002
private let other: UInt64 = 0xC000_0000_0003

/// LE Enhanced Connection Complete with a random address and no resolvable ones.
private func enhanced(_ handle: UInt16, _ role: UInt8, _ peer: UInt64, interval: UInt16 = 6) -> String {
    packed("043E 1F 0A 00") + hex(UInt64(handle), 2) + hex([role, 1]) + hex(peer, 6)
        + hex([UInt8](repeating: 0, count: 12)) + hex(UInt64(interval), 2) + packed("0000 6400")
        + (role == 1 ? "05" : "00")
}

/// LE Channel Selection Algorithm.
private func algorithm(_ handle: UInt16, _ number: UInt8) -> String {
    "043E0414" + hex(UInt64(handle), 2) + hex([number])
}

private let connectionCases: [Case] = [
    Case(extendedCreateConnection(lock, phys: 0, intervals: []), 0x12),
    Case(extendedCreateConnection(lock, phys: 4), 0x11), Case(extendedCreateConnection(lock, phys: 8), 0x12),
    Case(extendedCreateConnection(lock, phys: 5, intervals: [6, 6]), 0x11),
    Case(extendedCreateConnection(lock, phys: 9, intervals: [6, 6]), 0x11),
    Case(extendedCreateConnection(lock, intervals: [5]), 0x12), Case(extendedCreateConnection(lock, ownType: 4), 0x12),
    Case([2] + extendedCreateConnection(lock).dropFirst(), 0x12),
    Case([0, 1, 4] + extendedCreateConnection(lock).dropFirst(3), 0x12),
]

private let scanParameterCases: [Case] = [
    Case([1, 0, 0], 0x12), Case([1, 0, 4, 0, 16, 0, 16, 0], 0x11), Case([1, 0, 2, 0, 16, 0, 16, 0], 0x11),
    Case([4, 0, 1, 0, 16, 0, 16, 0], 0x12), Case([1, 4, 1, 0, 16, 0, 16, 0], 0x12),
    Case([1, 2, 1, 0, 16, 0, 16, 0], 0x11),
    Case([1, 0, 1, 2, 16, 0, 16, 0], 0x12), Case([1, 0, 1, 0, 3, 0, 3, 0], 0x12),
    Case([1, 0, 1, 0, 16, 0, 17, 0], 0x12),
    Case([1, 0, 1, 0, 0xFF, 0xFF, 0xFF, 0xFF], 0),
]

private let scanEnableCases: [Case] = [
    Case(extendedScanEnable(true, duplicates: 3), 0x12), Case(extendedScanEnable(true, duplicates: 2), 0x12),
    Case(extendedScanEnable(true, duplicates: 2, duration: 1), 0x12),
    Case(extendedScanEnable(true, duplicates: 2, duration: 1, period: 1), 0),
    Case(extendedScanEnable(true, duration: 128, period: 1), 0x12),
    Case(extendedScanEnable(true, duration: 127, period: 1), 0),
    Case(extendedScanEnable(false, duplicates: 9, duration: 128, period: 1), 0),
]

@Suite("Core 5.4, Vol 4, Part E, 7.8.64-66 (Extended scanning and connecting)", .capturesFailures)
struct ExtendedConnectionTests {
    private var world = OctetWorld()
    private let a: ControllerID
    private let b: ControllerID

    init() {
        a = world.extendedHost(lock)
        b = world.extendedHost(key)
    }

    @Test("7.8.66: legacy and extended PDUs connect, and the set says so", arguments: [UInt16(0x13), 0x01, 0x15, 0x05])
    mutating func connects(properties: UInt16) {
        world.advertise(
            a, lock, ExtendedAdvertising(handle: 5, properties: properties, peer: key),
            data: properties == 0x15 ? nil : [2, 1, 6])
        world.succeed(Opcode.leExtendedCreateConnection, extendedCreateConnection(lock), b)
        world.advance(milliseconds: 60)
        #expect(world.read(b) == [enhanced(1, 0, lock), algorithm(1, 1)])
        let events = world.read(a)
        #expect(events.prefix(2) == [enhanced(1, 1, key), algorithm(1, 1)])
        #expect(events.count == 3 && events[2].hasPrefix("043E0612" + "00" + "05" + "0100"))
        // Its advertising is over.
        world.extendedScan(b)
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [])
    }

    @Test mutating func `by the accept list, and a pending connection that is cancelled`() {
        world.succeed(Opcode.leAddDeviceToFilterAcceptList, [1] + little(lock, 6), b)
        world.succeed(Opcode.leExtendedCreateConnection, extendedCreateConnection(nil), b)
        #expect(world.command(0x2043, extendedCreateConnection(nil), b) == [status(0x2043, 0x0C)])
        #expect(
            world.command(Opcode.leCreateConnectionCancel, b) == [
                complete(Opcode.leCreateConnectionCancel),
                packed("043E 1F 0A 02 0000 00") + hex([UInt8](repeating: 0, count: 26)),
            ])
        world.succeed(Opcode.leExtendedCreateConnection, extendedCreateConnection(nil), b)
        world.advertise(a, lock, ExtendedAdvertising(properties: 1))
        world.advance(milliseconds: 60)
        #expect(world.read(b).first == enhanced(1, 0, lock))
    }

    @Test mutating func `an initiator by legacy commands hears no extended PDUs`() {
        let c = world.host(other)
        world.advertise(a, lock, ExtendedAdvertising(handle: 1, properties: 1))
        world.succeed(Opcode.leCreateConnection, createConnection(lock), c)
        world.advance(milliseconds: 500)
        #expect(world.read(c) == [])
        world.advertise(a, lock, ExtendedAdvertising(handle: 2))
        world.advance(milliseconds: 60)
        #expect(world.read(c).first?.hasPrefix("043E130100") == true)
    }

    @Test mutating func `an older controller connects too: algorithm 1, and its event is the older one`() {
        let old = world.host(other, ControllerConfiguration(generation: .core40), leMask: .max)
        world.advertise(a, lock, ExtendedAdvertising())
        world.succeed(Opcode.leCreateConnection, createConnection(lock), old)
        world.advance(milliseconds: 60)
        #expect(world.read(old) == [packed("043E 13 01 00 0100 00 01 010000 0000C0 0600 0000 6400 00")])
        #expect(world.read(a).prefix(2) == [enhanced(1, 1, other), algorithm(1, 0)])
    }

    @Test mutating func `a host that does not listen to the enhanced event gets the older one`() {
        world.succeed(Opcode.leSetEventMask, little(0x1F, 8), b)
        world.advertise(a, lock, ExtendedAdvertising())
        world.succeed(Opcode.leExtendedCreateConnection, extendedCreateConnection(lock), b)
        world.advance(milliseconds: 60)
        #expect(world.read(b) == [packed("043E 13 01 00 0100 00 01 010000 0000C0 0600 0000 6400 00")])
    }

    @Test mutating func `a connection made by one set leaves the others advertising`() {
        world.advertise(a, lock, ExtendedAdvertising(handle: 0))
        world.advertise(a, lock + 16, ExtendedAdvertising(handle: 1))
        world.succeed(Opcode.leExtendedCreateConnection, extendedCreateConnection(lock), b)
        world.advance(milliseconds: 60)
        _ = world.read(b)
        world.extendedScan(b)
        world.advance(milliseconds: 60)
        #expect(world.read(b) == [extendedReport(0x13, lock + 16, [2, 1, 6])])
    }

    @Test(
        "7.8.66: what is refused",
        arguments: connectionCases)
    mutating func refusedConnections(row: Case) {
        #expect(world.command(0x2043, row.parameters, b) == [status(0x2043, row.status)])
    }

    @Test(
        "7.8.64: what is refused",
        arguments: scanParameterCases)
    mutating func refusedScanning(row: Case) {
        #expect(world.command(0x2041, row.parameters, b) == [complete(0x2041, row.status)])
    }

    @Test(
        "7.8.65: what is refused",
        arguments: scanEnableCases)
    mutating func refusedEnabling(row: Case) {
        #expect(world.command(0x2042, row.parameters, b) == [complete(0x2042, row.status)])
    }

    @Test mutating func `7.8.65: a scan of a length ends with LE Scan Timeout`() {
        world.advertise(a, lock, ExtendedAdvertising())
        world.succeed(0x2041, extendedScanParameters(active: false), b)
        world.succeed(0x2042, extendedScanEnable(true, duration: 10), b)
        world.advance(milliseconds: 100)
        let events = world.read(b)
        #expect(events.last == "043E0111")
        #expect((3...6).contains(events.count))
        world.advance(milliseconds: 1000)
        #expect(world.read(b) == [])
    }

    @Test mutating func `7.8.65: in periods, each starts scanning and forgetting anew`() {
        world.advertise(a, lock, ExtendedAdvertising())
        world.succeed(0x2041, extendedScanParameters(active: false), b)
        world.succeed(0x2042, extendedScanEnable(true, duplicates: 2, duration: 20, period: 1), b)
        world.radio.advance(toNanoseconds: 1_280_000_000 * 3 - 1)
        let instants = world.drainTimed(b).map(\.instant)
        #expect(instants.count == 3)
        #expect(instants.allSatisfy { $0 % 1_280_000_000 < 200_000_000 })
    }
}
