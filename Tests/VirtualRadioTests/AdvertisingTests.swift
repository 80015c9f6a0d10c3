import Simulation
import Testing
import WorldSupport

@testable import VirtualRadio

private let lock: UInt64 = 0xC000_0000_0001
private let key: UInt64 = 0xC000_0000_0002
private let second: UInt64 = 1_000_000_000

/// LE Advertising Report at 1 m.
private func report(_ type: UInt8, _ address: UInt64, _ data: [UInt8], rssi: Int8 = -50) -> String {
    "043E" + hex([UInt8(12 + data.count), 2, 1, type, 1]) + hex(address, 6) + hex([UInt8(data.count)] + data)
        + hex([UInt8(bitPattern: rssi)])
}

private struct Ranged: Sendable {
    let parameters: [UInt8]
    let status: UInt8

    init(_ parameters: [UInt8], _ status: UInt8) {
        self.parameters = parameters
        self.status = status
    }
}

private let advertisingRanges: [Ranged] = [
    Ranged(advertisingParameters(interval: 0x1F), 0x12), Ranged(advertisingParameters(interval: 0x4001), 0x12),
    Ranged(advertisingParameters(type: 5), 0x12), Ranged(advertisingParameters(filterPolicy: 4), 0x12),
    Ranged(advertisingParameters(ownType: 2), 0x00), Ranged(advertisingParameters(ownType: 4), 0x12),
    Ranged(Array(advertisingParameters().prefix(13)) + [0, 0], 0x12),
    Ranged(Array(advertisingParameters().prefix(13)) + [8, 0], 0x12),
    Ranged(octets("2100 2000") + Array(advertisingParameters().dropFirst(4)), 0x12),
    Ranged(advertisingParameters(type: 1, interval: 0), 0x00), Ranged(advertisingParameters(interval: 0x20), 0x00),
    Ranged(advertisingParameters(interval: 0x4000), 0x00),
]

private let scanRanges: [Ranged] = [
    Ranged(scanParameters(active: true, interval: 3, window: 3), 0x12),
    Ranged(scanParameters(active: true, interval: 0x4001, window: 4), 0x12),
    Ranged(scanParameters(active: true, interval: 4, window: 5), 0x12),
    Ranged(scanParameters(active: true, filterPolicy: 4), 0x12),
    Ranged(scanParameters(active: true, filterPolicy: 2), 0x11),
    Ranged(scanParameters(active: true, interval: 4, window: 4), 0x00),
    Ranged(scanParameters(active: true, interval: 0x4000, window: 0x4000), 0x00),
]

@Suite("Core 5.4, Vol 6, Part B, 4.4.2-3 (Advertising and Scanning states)", .capturesFailures)
struct AdvertisingTests {
    private var world = OctetWorld()
    private let a: ControllerID
    private let b: ControllerID

    init() {
        a = world.host(lock)
        b = world.host(key)
    }

    private mutating func scan(
        active: Bool = false, duplicates: UInt8 = 0, interval: UInt16 = 0x10, window: UInt16 = 0x10,
        filterPolicy: UInt8 = 0
    ) {
        world.succeed(
            Opcode.leSetScanParameters,
            scanParameters(active: active, interval: interval, window: window, filterPolicy: filterPolicy), b)
        world.succeed(Opcode.leSetScanEnable, [1, duplicates], b)
    }

    @Test mutating func `passive scan: one report per advertising event, none after disabling`() {
        scan()
        world.advertise(a, data: [2, 1, 6])
        world.advance(milliseconds: 1)
        #expect(world.read(b) == [report(0, lock, [2, 1, 6])])
        world.advance(milliseconds: 1000)
        // 20 ms and up to 10 ms of advDelay: 33 to 50 events in a second.
        #expect((33...50).contains(world.read(b).count))
        world.succeed(Opcode.leSetScanEnable, [0, 0], b)
        world.advance(milliseconds: 1000)
        #expect(world.read(b) == [])
    }

    @Test mutating func `4.4.2.2.1: events are advInterval and up to 10 ms apart, not always the same`() {
        scan()
        world.advertise(a)
        world.advance(milliseconds: 5000)
        let instants = world.drainTimed(b).map(\.instant)
        let gaps = zip(instants.dropFirst(), instants).map(-)
        #expect(gaps.allSatisfy { (20_000_000...30_000_000).contains($0) })
        #expect(Set(gaps).count > gaps.count / 2)
    }

    @Test mutating func `active scan: the scan response follows; duplicates are filtered by address and kind`() {
        world.succeed(Opcode.leSetScanResponseData, padded([3, 9, 0x61, 0x62]), a)
        scan(active: true, duplicates: 1)
        world.advertise(a)
        world.advance(milliseconds: 1000)
        #expect(world.read(b) == [report(0, lock, [2, 1, 6]), report(4, lock, [3, 9, 0x61, 0x62])])
        // Scanning anew forgets.
        world.succeed(Opcode.leSetScanEnable, [0, 0], b)
        world.succeed(Opcode.leSetScanEnable, [1, 1], b)
        world.advance(milliseconds: 100)
        #expect(world.read(b).count == 2)
    }

    @Test(arguments: [(UInt8(0), UInt8(0), true), (2, 2, true), (3, 3, false)])
    mutating func `each type as it is reported, and whether it answers scan requests`(
        type: UInt8, reported: UInt8, isScannable: Bool
    ) {
        scan(active: true, duplicates: 1)
        world.advertise(a, type: type)
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [report(reported, lock, [2, 1, 6])] + (isScannable ? [report(4, lock, [])] : []))
    }

    @Test mutating func `directed advertising is reported to its target alone, without data`() {
        let c = world.host(0xC000_0000_0003)
        world.succeed(Opcode.leSetScanParameters, scanParameters(active: true), c)
        world.succeed(Opcode.leSetScanEnable, [1, 0], c)
        scan(active: true, duplicates: 1)
        world.advertise(a, type: 4, peer: key)
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [report(1, lock, [])])
        #expect(world.read(c) == [])
    }

    @Test mutating func `high duty cycle directed advertising gives up after 1.28 s with Advertising Timeout`() {
        world.advertise(a, type: 1, interval: 0, peer: key)
        world.radio.advance(toNanoseconds: 1_279_999_999)
        #expect(world.read(a) == [])
        world.advance(milliseconds: 5)
        #expect(world.read(a) == [packed("043E 13 01 3C 0000 01 00 000000000000 0000 0000 0000 00")])
        #expect(world.radio.nextEventInstant == nil)
    }

    @Test mutating func `the accept list filters whom a scanner reports`() {
        let c = world.host(0xC000_0000_0003)
        world.succeed(Opcode.leAddDeviceToFilterAcceptList, [1] + little(0xC000_0000_0003, 6), b)
        scan(duplicates: 1, filterPolicy: 1)
        world.advertise(a)
        world.advertise(c)
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [report(0, 0xC000_0000_0003, [2, 1, 6])])
    }

    @Test(arguments: [(UInt8(0), true), (1, false), (2, true), (3, false)])
    mutating func `4.3.2: filter policies 1 and 3 answer scan requests from the accept list only`(
        policy: UInt8, isAnswered: Bool
    ) {
        scan(active: true, duplicates: 1)
        world.advertise(a, filterPolicy: policy)
        world.advance(milliseconds: 100)
        #expect(world.read(b).count == (isAnswered ? 2 : 1))
        world.succeed(Opcode.leSetAdvertisingEnable, [0], a)
        world.succeed(Opcode.leAddDeviceToFilterAcceptList, [1] + little(key, 6), a)
        world.succeed(Opcode.leSetAdvertisingEnable, [1], a)
        world.advance(milliseconds: 100)
        #expect(world.read(b).count == (isAnswered ? 0 : 1))
    }

    @Test mutating func `4.4.3: a scanner hears in its windows, about as often as they are open`() {
        scan(interval: 0x4000, window: 0x1000)
        world.advertise(a)
        world.advance(milliseconds: 10_240)
        let instants = world.drainTimed(b).map(\.instant)
        #expect(instants.allSatisfy { $0 < 2_560_000_000 })
        #expect((80...130).contains(instants.count))
        world.advance(milliseconds: 1000)
        #expect(world.read(b).count > 20)
    }

    @Test("7.8.9, 7.8.11: a random own address that was never set is refused")
    func noRandomAddress() {
        var world = OctetWorld()
        let bare = world.addController()
        world.succeed(Opcode.leSetAdvertisingParameters, advertisingParameters(), bare)
        #expect(world.command(0x200A, [1], bare) == [complete(0x200A, 0x12)])
        world.succeed(Opcode.leSetScanParameters, scanParameters(active: false), bare)
        #expect(world.command(0x200C, [1, 0], bare) == [complete(0x200C, 0x12)])
        #expect(world.command(0x200D, createConnection(lock), bare) == [status(0x200D, 0x12)])
        // The public one needs no setting.
        world.succeed(Opcode.leSetAdvertisingParameters, advertisingParameters(ownType: 0), bare)
        world.succeed(Opcode.leSetAdvertisingEnable, [1], bare)
    }

    @Test(
        "7.8.5 (LE Set Advertising Parameters): out of range",
        arguments: advertisingRanges)
    fileprivate mutating func ranges(_ row: Ranged) {
        #expect(world.command(0x2006, row.parameters, a) == [complete(0x2006, row.status)])
    }

    @Test("7.8.7 (LE Set Advertising Data): 31 octets, not 32")
    mutating func advertisingData() {
        #expect(world.command(0x2008, [31] + [UInt8](repeating: 0, count: 31), a) == [complete(0x2008)])
        #expect(world.command(0x2008, [32] + [UInt8](repeating: 0, count: 31), a) == [complete(0x2008, 0x12)])
        #expect(world.command(0x2009, [32] + [UInt8](repeating: 0, count: 31), a) == [complete(0x2009, 0x12)])
    }

    @Test(
        "7.8.10 (LE Set Scan Parameters): out of range",
        arguments: scanRanges)
    fileprivate mutating func scanTimes(_ row: Ranged) {
        #expect(world.command(0x200B, row.parameters, b) == [complete(0x200B, row.status)])
    }

    @Test("7.8.14-17 (Filter Accept List): full, twice, removed, cleared, and frozen while in use")
    mutating func acceptList() {
        let small = world.host(0xC000_0000_0009, ControllerConfiguration(acceptListSize: 2))
        func entry(_ value: UInt64) -> [UInt8] { [1] + little(value, 6) }
        for value in [1, 2, 1] as [UInt64] { world.succeed(0x2011, entry(value), small) }
        #expect(world.command(0x2011, entry(3), small) == [complete(0x2011, 0x07)])
        #expect(world.command(0x2011, [2] + little(3, 6), small) == [complete(0x2011, 0x12)])
        world.succeed(0x2012, entry(1), small)
        world.succeed(0x2011, entry(3), small)
        world.succeed(Opcode.leCreateConnection, createConnection(nil), small)
        for (opcode, parameters) in [(0x2010, []), (0x2011, entry(1)), (0x2012, entry(1))] as [(UInt16, [UInt8])] {
            #expect(world.command(opcode, parameters, small) == [complete(opcode, 0x0C)])
        }
        _ = world.command(Opcode.leCreateConnectionCancel, small)
        world.succeed(0x2010, small)
    }

    @Test("4.4.3.5: a full memory for duplicates starts again instead of growing")
    mutating func duplicatesAreBounded() {
        var run = Scanning.Run(epoch: 1, since: 0, filter: .on)
        func nth(_ value: Int) -> Scanning.Report {
            Scanning.Report(
                address: RadioAddress(isRandom: true, value: UInt64(value)), properties: [.legacyPDUs, .connectable],
                isScanResponse: false, dataInfo: nil)
        }
        for value in 0..<Scanning.maximumRemembered { let isNew = run.admits(nth(value), at: 0); #expect(isNew) }
        #expect(run.seen.count == Scanning.maximumRemembered)
        let isNew = run.admits(nth(Scanning.maximumRemembered), at: 0)
        #expect(isNew)
        #expect(run.seen.count == 1)
    }
}

extension OctetWorld {
    mutating func succeed(_ opcode: UInt16, _ controller: ControllerID) { succeed(opcode, [], controller) }
}
