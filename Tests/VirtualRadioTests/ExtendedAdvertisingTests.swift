import Simulation
import Testing
import WorldSupport

@testable import VirtualRadio

private let lock: UInt64 = 0xC000_0000_0001
private let key: UInt64 = 0xC000_0000_0002
private let other: UInt64 = 0xC000_0000_0003

private typealias Set = ExtendedAdvertising

private struct SetCase: Sendable {
    let set: Set
    let status: UInt8

    init(_ set: Set, _ status: UInt8) {
        self.set = set
        self.status = status
    }
}

private let setCases: [SetCase] = [
    SetCase(Set(handle: 0xF0), 0x12), SetCase(Set(properties: 0x03), 0x12), SetCase(Set(properties: 0x08), 0x12),
    SetCase(Set(properties: 0x09), 0x12), SetCase(Set(properties: 0x11), 0x12), SetCase(Set(properties: 0x14), 0x12),
    SetCase(Set(properties: 0x33), 0x12), SetCase(Set(properties: 0x21), 0x12), SetCase(Set(properties: 0x22), 0x12),
    SetCase(Set(properties: 0x80), 0x12), SetCase(Set(interval: 0x1F), 0x12), SetCase(Set(ownType: 4), 0x12),
    SetCase(Set(peerType: 2), 0x12), SetCase(Set(filterPolicy: 4), 0x12), SetCase(Set(txPower: 0x15), 0x12),
    SetCase(Set(txPower: 0x80), 0x12), SetCase(Set(primaryPHY: 3), 0x12),
    SetCase(Set(properties: 1, primaryPHY: 3), 0x11),
    SetCase(Set(properties: 1, secondaryPHY: 3), 0x11), SetCase(Set(properties: 1, secondaryPHY: 0), 0x11),
    SetCase(Set(identifier: 0x10), 0x12), SetCase(Set(notifies: 2), 0x12), SetCase(Set(interval: 0xFFFFFF), 0),
    SetCase(Set(txPower: 0x14), 0), SetCase(Set(txPower: 0x81), 0), SetCase(Set(handle: 0xEF), 0),
    SetCase(Set(properties: 0x24), 0),
]

@Suite("Core 5.4, Vol 4, Part E, 7.8.52-60 (Extended advertising commands)", .capturesFailures)
struct ExtendedAdvertisingTests {
    private var world = OctetWorld()
    private let a: ControllerID
    private let b: ControllerID

    init() {
        a = world.extendedHost(lock)
        b = world.extendedHost(key)
    }

    @Test mutating func `7.8.57-58: data length and number of sets`() {
        #expect(world.command(0x203A, a) == [complete(0x203A, 0, "7206")])
        #expect(world.command(0x203B, a) == [complete(0x203B, 0, "04")])
    }

    @Test(
        "Table 7.2 (Advertising_Event_Properties values for legacy PDUs): each as it is reported",
        arguments: [
            (UInt16(0x13), UInt16(0x13), UInt16?(0x1B)), (0x12, 0x12, 0x1A), (0x10, 0x10, nil), (0x15, 0x15, nil),
            (0x1D, 0x15, nil),
        ])
    mutating func legacyPDUs(properties: UInt16, reported: UInt16, scanResponse: UInt16?) {
        let isDirected = properties & 4 != 0
        world.extendedScan(b, active: true)
        world.advertise(
            a, lock, Set(properties: properties, peer: key), data: isDirected ? nil : [2, 1, 6],
            scanResponse: scanResponse.map { _ in [1, 9] }, duration: properties == 0x1D ? 100 : 0)
        world.advance(milliseconds: 100)
        let first = extendedReport(reported, lock, isDirected ? [] : [2, 1, 6], target: isDirected ? key : nil)
        #expect(world.read(b) == [first] + (scanResponse.map { [extendedReport($0, lock, [1, 9])] } ?? []))
    }

    @Test mutating func `legacy PDUs are seen by both kinds of scanner, extended ones by extended scanners alone`() {
        let c = world.host(other)
        world.succeed(Opcode.leSetScanParameters, scanParameters(active: false), c)
        world.succeed(Opcode.leSetScanEnable, [1, 1], c)
        world.extendedScan(b)
        world.advertise(a, lock, Set(handle: 1, properties: 0x0001, identifier: 5))
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [extendedReport(0x01, lock, [2, 1, 6], secondaryPHY: 1, identifier: 5)])
        #expect(world.read(c) == [])
        world.advertise(a, other, Set(handle: 2))
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [extendedReport(0x13, other, [2, 1, 6])])
        #expect(world.read(c) == [packed("043E 0F 02 01 00 01 030000 0000C0 03 020106 CE")])
    }

    @Test mutating func `an advertiser by legacy commands is reported to extended scanners as legacy PDUs`() {
        let c = world.host(other)
        world.extendedScan(b)
        world.advertise(c)
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [extendedReport(0x13, other, [2, 1, 6])])
    }

    @Test(
        "extended PDUs by their kind",
        arguments: [
            (UInt16(0x00), true, UInt16(0x00)), (0x01, true, 0x01), (0x02, false, 0x02), (0x04, true, 0x04),
            (0x05, true, 0x05), (0x40, true, 0x00),
        ])
    mutating func extendedPDUs(properties: UInt16, hasData: Bool, reported: UInt16) {
        world.extendedScan(b, active: true)
        world.advertise(
            a, lock, Set(properties: properties, peer: key), data: hasData ? [2, 1, 6] : nil,
            scanResponse: hasData ? nil : [1, 9])
        world.advance(milliseconds: 100)
        func report(_ type: UInt16, _ data: [UInt8]) -> String {
            extendedReport(
                type, lock, data, secondaryPHY: 1, identifier: 0, txPower: properties & 0x40 != 0 ? 0 : 0x7F,
                target: properties & 4 != 0 ? key : nil)
        }
        #expect(
            world.read(b) == [report(reported, hasData ? [2, 1, 6] : [])] + (hasData ? [] : [report(0x0A, [1, 9])]))
    }

    @Test mutating func `anonymous advertising names nobody, and the accept list has an entry for it`() {
        world.extendedScan(b)
        world.advertise(a, lock, Set(properties: 0x20))
        world.advance(milliseconds: 100)
        let report = packed("043E 1D 0D 01 0000 FF 000000000000 01 01 00 7F CE 0000 00000000000000 03 020106")
        #expect(world.read(b) == [report])
        world.succeed(Opcode.leSetExtendedScanEnable, extendedScanEnable(false), b)
        world.extendedScan(b, filterPolicy: 1)
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [])
        world.succeed(Opcode.leSetExtendedScanEnable, extendedScanEnable(false), b)
        world.succeed(Opcode.leAddDeviceToFilterAcceptList, [0xFF] + little(0, 6), b)
        world.succeed(Opcode.leSetExtendedScanEnable, extendedScanEnable(true, duplicates: 1), b)
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [report])
    }

    @Test mutating func `7.7.65.13: data longer than an event goes in several, all but the last to be continued`() {
        let data = (0..<600).map { UInt8(truncatingIfNeeded: $0) }
        world.extendedScan(b)
        world.succeed(Opcode.leSetExtendedAdvertisingParameters, Set(properties: 0).octets, a)
        world.succeed(Opcode.leSetAdvertisingSetRandomAddress, [0] + little(lock, 6), a)
        world.succeed(0x2037, extendedData(0, 1, Array(data[..<251])), a)
        world.succeed(0x2037, extendedData(0, 0, Array(data[251..<502])), a)
        #expect(world.command(0x2039, extendedEnable(true, [(0, 0, 0)]), a) == [complete(0x2039, 0x0C)])
        world.succeed(0x2037, extendedData(0, 2, Array(data[502...])), a)
        world.succeed(0x2039, extendedEnable(true, [(0, 0, 0)]), a)
        world.advance(milliseconds: 100)
        #expect(
            world.read(b) == [
                extendedReport(0x20, lock, Array(data[..<229]), secondaryPHY: 1, identifier: 0),
                extendedReport(0x20, lock, Array(data[229..<458]), secondaryPHY: 1, identifier: 0),
                extendedReport(0x00, lock, Array(data[458...]), secondaryPHY: 1, identifier: 0),
            ])
    }

    @Test mutating func `7.8.54: as much data as there is room for, and one octet more`() {
        world.succeed(0x2036, Set(properties: 0).octets, a)
        let most = [UInt8](repeating: 7, count: 251)
        world.succeed(0x2037, extendedData(0, 1, most), a)
        for _ in 0..<5 { world.succeed(0x2037, extendedData(0, 0, most), a) }
        world.succeed(0x2037, extendedData(0, 2, [UInt8](repeating: 7, count: 144)), a)
        #expect(world.command(0x2037, extendedData(0, 0, [7]), a) == [complete(0x2037, 0x07)])
        // All of it is discarded: what follows is the only octet there is.
        world.succeed(0x2037, extendedData(0, 2, [9]), a)
        world.succeed(0x2035, [0] + little(lock, 6), a)
        world.extendedScan(b)
        world.succeed(0x2039, extendedEnable(true, [(0, 0, 0)]), a)
        world.advance(milliseconds: 50)
        #expect(world.read(b) == [extendedReport(0, lock, [9], secondaryPHY: 1, identifier: 0)])
    }

    @Test mutating func `new data is no duplicate, nor is the same with operation 0x04`() {
        world.extendedScan(b)
        world.advertise(a, lock, Set(properties: 1))
        world.advance(milliseconds: 100)
        #expect(world.read(b).count == 1)
        world.succeed(0x2037, extendedData(0, [2, 1, 4]), a)
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [extendedReport(1, lock, [2, 1, 4], secondaryPHY: 1, identifier: 0)])
        world.succeed(0x2037, extendedData(0, 4, []), a)
        world.advance(milliseconds: 100)
        #expect(world.read(b) == [extendedReport(1, lock, [2, 1, 4], secondaryPHY: 1, identifier: 0)])
    }

    @Test mutating func `several sets at once, each with its own address; all end with one command`() {
        world.extendedScan(b)
        for handle in 0..<4 as Range<UInt8> {
            world.succeed(0x2036, Set(handle: handle).octets, a)
            world.succeed(0x2035, [handle] + little(lock + 16 + UInt64(handle), 6), a)
        }
        #expect(world.command(0x2036, Set(handle: 4).octets, a) == [complete(0x2036, 0x07)])
        world.succeed(0x2039, extendedEnable(true, (0..<4).map { ($0, 0, 0) }), a)
        world.advance(milliseconds: 100)
        #expect(Swift.Set(world.read(b)) == Swift.Set((0..<4).map { extendedReport(0x13, lock + 16 + $0, []) }))
        #expect(world.command(0x203D, a) == [complete(0x203D, 0x0C)])
        #expect(world.command(0x203C, [2], a) == [complete(0x203C, 0x0C)])
        world.succeed(0x2039, [0, 0], a)
        world.succeed(0x203C, [2], a)
        #expect(world.command(0x203C, [2], a) == [complete(0x203C, 0x42)])
        world.succeed(0x203D, a)
        #expect(world.command(0x2039, extendedEnable(true, [(0, 0, 0)]), a) == [complete(0x2039, 0x42)])
        #expect(world.radio.nextEventInstant == nil)
    }

    @Test mutating func `7.7.65.18: a duration ends with Advertising Timeout, at its instant and not before`() {
        world.advertise(a, lock, Set(interval: 0x4000), duration: 100)
        world.radio.advance(toNanoseconds: 999_999_999)
        #expect(world.read(a) == [])
        world.radio.advance(toNanoseconds: 1_000_000_000)
        #expect(world.read(a) == [advertisingSetTerminated(0x3C, 0, events: 1)])
        #expect(world.radio.nextEventInstant == nil)
    }

    @Test mutating func `7.7.65.18: a number of events ends with Limit Reached`() {
        world.extendedScan(b, duplicates: 0)
        world.advertise(a, lock, Set(handle: 9), events: 3)
        world.advance(milliseconds: 500)
        #expect(world.read(b).count == 3)
        #expect(world.read(a) == [advertisingSetTerminated(0x43, 9, events: 3)])
    }

    @Test mutating func `enabling again starts the counting anew`() {
        world.advertise(a, lock, Set(), duration: 10)
        world.advance(milliseconds: 90)
        world.succeed(0x2039, extendedEnable(true, [(0, 10, 0)]), a)
        world.advance(milliseconds: 90)
        #expect(world.read(a) == [])
        world.advance(milliseconds: 10)
        #expect(world.read(a).first?.hasPrefix("043E06123C") == true)
    }

    @Test mutating func `7.7.65.19: a scan request is notified of where the host wants it`() {
        world.extendedScan(b, active: true)
        world.advertise(a, lock, Set(handle: 3, notifies: 1))
        world.advance(milliseconds: 10)
        #expect(world.read(a) == [packed("043E 09 13 03 01 020000 0000C0")])
    }

    @Test(
        "7.8.53: what no advertising set can be",
        arguments: setCases)
    fileprivate mutating func advertisingParameterRanges(row: SetCase) {
        #expect(world.command(0x2036, row.set.octets, a) == [complete(0x2036, row.status, row.status == 0 ? "00" : "")])
    }

    @Test mutating func `7.8.52-56: what each command refuses`() {
        let unknown: [(UInt16, [UInt8])] = [
            (0x2035, [7] + little(lock, 6)), (0x2037, extendedData(7, [1])), (0x2038, extendedData(7, [1])),
            (0x2039, extendedEnable(true, [(7, 0, 0)])), (0x2039, extendedEnable(false, [(7, 0, 0)])), (0x203C, [7]),
        ]
        for (opcode, parameters) in unknown {
            #expect(world.command(opcode, parameters, a) == [complete(opcode, 0x42)])
        }
        let sets = [
            Set(handle: 0), Set(handle: 1, properties: 1), Set(handle: 2, properties: 2),
            Set(handle: 3, properties: 0x1D),
        ]
        for set in sets { world.succeed(0x2036, set.octets, a) }
        let long = [UInt8](repeating: 1, count: 32)
        let refused: [(UInt16, [UInt8], UInt8)] = [
            // Legacy PDUs: whole, and 31 octets at most.
            (0x2037, extendedData(0, 1, [1]), 0x12), (0x2037, extendedData(0, long), 0x12),
            (0x2038, extendedData(0, 2, [1]), 0x12), (0x2038, extendedData(0, long), 0x12),
            // A directed set has no place for data, a scannable one only for scan responses, a connectable one none.
            (0x2037, extendedData(3, [1]), 0x12), (0x2037, extendedData(2, [1]), 0x12),
            (0x2038, extendedData(1, [1]), 0x12), (0x2038, extendedData(1, []), 0),
            // Fragments are not empty; nothing is unchanged that is not there; there is no operation 5.
            (0x2037, extendedData(1, 1, []), 0x12), (0x2037, extendedData(1, 4, []), 0x12),
            (0x2037, extendedData(1, 5, [1]), 0x12), (0x2038, extendedData(2, 4, []), 0x12),
            (0x2037, [1, 3, 2, 0], 0x12), (0x2037, [1, 3, 0, 252] + [UInt8](repeating: 0, count: 251), 0x12),
            // Nothing to enable; one set twice; no address; a scannable set without a response; high duty without an end.
            (0x2039, [1, 0], 0x12), (0x2039, [2, 0], 0x12),
            (0x2039, extendedEnable(true, [(0, 0, 0)]), 0x12), (0x2035, [0] + little(lock, 6), 0),
            (0x2039, extendedEnable(true, [(0, 0, 0), (0, 0, 0)]), 0x12),
            (0x2035, [2] + little(lock, 6), 0), (0x2039, extendedEnable(true, [(2, 0, 0)]), 0x0C),
            (0x2035, [3] + little(lock, 6), 0), (0x2039, extendedEnable(true, [(3, 0, 0)]), 0x12),
            (0x2039, extendedEnable(true, [(3, 129, 0)]), 0x12),
            (0x2039, extendedEnable(true, [(0, 0, 0), (2, 0, 0)]), 0x0C),
        ]
        for (opcode, parameters, expected) in refused {
            #expect(world.command(opcode, parameters, a) == [complete(opcode, expected)], "\(hex(parameters))")
        }
        // All or none: the first of the two was not started.
        #expect(world.radio.nextEventInstant == nil)
    }

    @Test mutating func `7.8.52-59: what an enabled set refuses`() {
        world.advertise(a, lock, Set(handle: 0))
        world.advertise(a, lock + 1, Set(handle: 1, properties: 1))
        world.advertise(a, lock + 2, Set(handle: 2, properties: 2), data: nil, scanResponse: [1])
        let refused: [(UInt16, [UInt8], UInt8)] = [
            (0x2036, Set(handle: 0).octets, 0x0C), (0x2035, [0] + little(key, 6), 0x0C),
            (0x2035, [2] + little(key, 6), 0), (0x2037, extendedData(1, 1, [1]), 0x0C),
            (0x2037, extendedData(1, 3, [1]), 0), (0x2038, extendedData(2, 1, [1]), 0x0C),
            (0x2038, extendedData(2, []), 0x0C), (0x2038, extendedData(2, [7]), 0), (0x203C, [0], 0x0C),
        ]
        for (opcode, parameters, expected) in refused {
            #expect(world.command(opcode, parameters, a) == [complete(opcode, expected)], "\(hex(parameters))")
        }
    }

    @Test(
        "a connectable set's data is to fit into one AUX_ADV_IND",
        arguments: [
            (UInt16(0x01), 245), (0x05, 239), (0x41, 244),
        ])
    mutating func connectableData(properties: UInt16, longest: Int) {
        world.succeed(0x2036, Set(properties: properties, peer: key).octets, a)
        world.succeed(0x2035, [0] + little(lock, 6), a)
        world.succeed(0x2037, extendedData(0, [UInt8](repeating: 1, count: longest + 1)), a)
        #expect(world.command(0x2039, extendedEnable(true, [(0, 0, 0)]), a) == [complete(0x2039, 0x12)])
        world.succeed(0x2037, extendedData(0, [UInt8](repeating: 1, count: longest)), a)
        world.succeed(0x2039, extendedEnable(true, [(0, 0, 0)]), a)
    }

    @Test("3.1.1 (Legacy and extended advertising): whoever has used one family is refused the other until a reset")
    mutating func families() {
        let legacy: [(UInt16, [UInt8])] = [
            (0x2006, advertisingParameters()), (0x2007, []), (0x2008, padded([])), (0x2009, padded([])), (0x200A, [0]),
            (0x200B, scanParameters(active: false)), (0x200C, [0, 0]), (0x200D, createConnection(other)),
        ]
        let extended: [(UInt16, [UInt8])] = [
            (0x2035, [0] + little(lock, 6)), (0x2036, Set().octets), (0x2037, extendedData(0, [])),
            (0x2038, extendedData(0, [])), (0x2039, [0, 0]), (0x203A, []), (0x203B, []), (0x203C, [0]), (0x203D, []),
            (0x2041, extendedScanParameters(active: false)), (0x2042, extendedScanEnable(false)),
            (0x2043, extendedCreateConnection(other)),
        ]
        func code(_ answer: [String]) -> UInt8? {
            answer.first.map(octets).map { $0[1] == 0x0F ? $0[3] : $0[6] }
        }
        for (first, second) in [(legacy, extended), (extended, legacy)] {
            for (opcode, parameters) in first {
                world.succeed(Opcode.reset, a)
                world.succeed(0x2005, little(lock, 6), a)
                _ = world.command(opcode, parameters, a)
                for (opcode, parameters) in second {
                    #expect(code(world.command(opcode, parameters, a)) == 0x0C)
                }
                // Its own family still answers, and what belongs to neither.
                for (opcode, parameters) in first where opcode != 0x200D && opcode != 0x2043 {
                    #expect(code(world.command(opcode, parameters, a)) != 0x0C)
                }
                world.succeed(0x200F, a)
            }
        }
    }
}
