import Simulation
import Testing
import WorldSupport

@testable import VirtualRadio

private let lock: UInt64 = 0xC000_0000_0001
private let key: UInt64 = 0xC000_0000_0002

@Suite("Core 5.4, Vol 4, Part E, 5.4.2 (HCI ACL Data packets) and 4.1.1 (data flow control)", .capturesFailures)
struct DataTests {
    private struct Pair {
        var world: OctetWorld
        let a: ControllerID
        let b: ControllerID
        let central: UInt16
        let peripheral: UInt16

        init(
            _ pacing: AirConfiguration.Pacing, interval: UInt16 = 6, latency: UInt16 = 0, timeout: UInt16 = 100,
            _ configuration: ControllerConfiguration = ControllerConfiguration()
        ) {
            world = OctetWorld(pacing)
            a = world.host(lock, configuration)
            b = world.host(key, configuration)
            (central, peripheral) = world.connect(
                b, a, to: lock, interval: interval, latency: latency, timeout: timeout)
        }
    }

    @Test(arguments: [AirConfiguration.Pacing.paced, .immediate])
    func `fragments arrive in order with the controller's flags, and every packet gives its credit back`(
        pacing: AirConfiguration.Pacing
    ) {
        var pair = Pair(pacing)
        pair.world.send(data(pair.central, flags: 0, Array(0..<27)), pair.b)
        pair.world.send(data(pair.central, flags: 1, Array(27..<40)), pair.b)
        pair.world.advance(milliseconds: 8)
        #expect(
            pair.world.read(pair.a)
                == [
                    data(pair.peripheral, flags: 2, Array(0..<27)), data(pair.peripheral, flags: 1, Array(27..<40)),
                ])
        let credits = pair.world.read(pair.b)
        #expect(credits == (pacing == .paced ? [completed(1, 2)] : [completed(1, 1), completed(1, 1)]))
        pair.world.send(data(pair.peripheral, flags: 0, [9]), pair.a)
        pair.world.advance(milliseconds: 8)
        #expect(pair.world.read(pair.b) == [data(pair.central, flags: 2, [9])])
        #expect(pair.world.read(pair.a) == [completed(1, 1)])
    }

    @Test func `immediate: data is there without any time passing`() {
        var pair = Pair(.immediate)
        let before = pair.world.radio.now
        pair.world.send(data(pair.central, flags: 0, [1, 2, 3]), pair.b)
        #expect(pair.world.drainTimed(pair.a).map(\.instant) == [before])
        #expect(pair.world.radio.nextEventInstant == nil)
    }

    @Test func `paced: data waits for connection events, a whole number of intervals apart`() {
        var pair = Pair(.paced, interval: 40)
        var instants: [UInt64] = []
        for _ in 0..<3 {
            pair.world.send(data(pair.central, flags: 0, [1]), pair.b)
            pair.world.advance(milliseconds: 130)
            instants += pair.world.drainTimed(pair.a).map(\.instant)
        }
        #expect(instants.count == 3)
        #expect(zip(instants.dropFirst(), instants).allSatisfy { ($0 - $1) % 50_000_000 == 0 && $0 > $1 })
        // Nothing waits, so nothing is scheduled.
        #expect(pair.world.radio.nextEventInstant == nil)
    }

    @Test func `paced: one connection event carries what fits into its interval`() {
        var pair = Pair(.paced, interval: 6)
        for value in 0..<20 {
            pair.world.send(data(pair.central, flags: 0, [UInt8](repeating: UInt8(value), count: 27)), pair.b)
        }
        pair.world.advance(milliseconds: 30)
        let arrivals = pair.world.drainTimed(pair.a)
        #expect(arrivals.count == 20)
        // 27 octets take 296 us, an empty answer 80 us, and two spaces of 150 us: 11 exchanges in 7.5 ms.
        let perEvent = Dictionary(grouping: arrivals, by: \.instant).mapValues(\.count)
        #expect(perEvent.values.sorted() == [9, 11])
    }

    @Test func `4.5.1: a peripheral that may sleep is reached at its latency, and speaks at once itself`() {
        var pair = Pair(.paced, interval: 8, latency: 9, timeout: 400)
        let start = pair.world.radio.now
        pair.world.send(data(pair.peripheral, flags: 0, [1]), pair.a)
        pair.world.advance(milliseconds: 11)
        #expect(pair.world.read(pair.b).count == 1)
        var slowest: UInt64 = 0
        for _ in 0..<10 {
            let asked = pair.world.radio.now
            pair.world.send(data(pair.central, flags: 0, [1]), pair.b)
            pair.world.advance(milliseconds: 137)
            let arrivals = pair.world.drainTimed(pair.a).filter { $0.octets.first == 2 }
            #expect(arrivals.count == 1)
            slowest = max(slowest, (arrivals.first?.instant ?? 0) - asked)
        }
        #expect(slowest > 50_000_000 && slowest <= 100_000_000)
        #expect(pair.world.radio.now > start)
    }

    @Test func `one packet more than the buffers hold is lost with Data Buffer Overflow`() {
        var pair = Pair(.paced, interval: 0x0C80, timeout: 0x0C80)
        for _ in 0..<20 { pair.world.send(data(pair.central, flags: 0, [1]), pair.b) }
        #expect(pair.world.read(pair.b) == [])
        pair.world.send(data(pair.central, flags: 0, [2]), pair.b)
        #expect(pair.world.read(pair.b) == ["041A0101"])
        pair.world.advance(milliseconds: 4001)
        #expect(pair.world.read(pair.b) == [completed(1, 20)])
        #expect(pair.world.read(pair.a).count == 20)
    }

    @Test(
        "5.4.2: longer than the buffers, or with flags that hosts do not have",
        arguments: [
            (UInt16(0), 28), (2, 1), (3, 1), (4, 1), (8, 1),
        ])
    func malformedData(flags: UInt16, count: Int) {
        for pacing in [AirConfiguration.Pacing.paced, .immediate] {
            var pair = Pair(pacing)
            pair.world.send(data(pair.central, flags: flags, [UInt8](repeating: 0, count: count)), pair.b)
            pair.world.advance(milliseconds: 100)
            #expect(pair.world.read(pair.b) == ["04100103"])
            #expect(pair.world.read(pair.a) == [])
        }
    }

    @Test func `data for a connection that has ended is dropped without a word`() {
        var pair = Pair(.immediate)
        pair.world.succeed(Opcode.disconnect, little(UInt64(pair.central), 2) + [0x13], pair.b)
        _ = pair.world.read(pair.b)
        pair.world.send(data(pair.central, flags: 0, [1]), pair.b)
        #expect(pair.world.read(pair.b) == [])
    }

    @Test func `buffers of a connection that ends are free again`() {
        var pair = Pair(.paced, interval: 0x0C80, timeout: 0x0C80)
        for _ in 0..<20 { pair.world.send(data(pair.central, flags: 0, [1]), pair.b) }
        pair.world.succeed(Opcode.disconnect, little(UInt64(pair.central), 2) + [0x13], pair.b)
        pair.world.advance(milliseconds: 4001)
        #expect(pair.world.read(pair.b) == [disconnected(1, 0x16)])
        #expect(pair.world.read(pair.a) == [disconnected(1, 0x13)])
        let handles = pair.world.connect(pair.b, pair.a, to: lock, interval: 0x0C80, timeout: 0x0C80)
        #expect(handles.central == 2)
        for _ in 0..<20 { pair.world.send(data(2, flags: 0, [1]), pair.b) }
        #expect(pair.world.read(pair.b) == [])
    }

    @Test(
        "7.8.33 (LE Set Data Length): long packets pass whole once both agree",
        arguments: [
            AirConfiguration.Pacing.paced, .immediate,
        ])
    func dataLength(pacing: AirConfiguration.Pacing) {
        var pair = Pair(pacing, ControllerConfiguration(aclDataPacketLength: 251))
        let long = [UInt8](repeating: 7, count: 60)
        pair.world.send(data(pair.central, flags: 0, long), pair.b)
        pair.world.advance(milliseconds: 8)
        #expect(
            pair.world.read(pair.a)
                == [
                    data(1, flags: 2, Array(long[..<27])), data(1, flags: 1, Array(long[..<27])),
                    data(1, flags: 1, Array(long[..<6])),
                ])
        #expect(pair.world.read(pair.b) == [completed(1, 1)])
        let answer = pair.world.command(Opcode.leSetDataLength, octets("0100 FB00 4808"), pair.b)
        #expect(answer.first == complete(Opcode.leSetDataLength, 0, "0100"))
        pair.world.advance(milliseconds: 16)
        #expect(pair.world.read(pair.a) == [packed("043E 0B 07 0100 1B00 4801 FB00 4808")])
        let central = answer + pair.world.read(pair.b)
        #expect(central.last == packed("043E 0B 07 0100 FB00 4808 1B00 4801"))
        pair.world.send(data(pair.central, flags: 0, long), pair.b)
        pair.world.advance(milliseconds: 8)
        #expect(pair.world.read(pair.a) == [data(1, flags: 2, long)])
    }

    @Test("7.8.33: out of range", arguments: ["0100 1A00 4808", "0100 FC00 4808", "0100 FB00 4701", "0100 FB00 9142"])
    func dataLengthRanges(parameters: String) {
        var pair = Pair(.paced)
        #expect(pair.world.command(0x2022, octets(parameters), pair.b) == [complete(0x2022, 0x12, "0100")])
    }

    @Test(arguments: [AirConfiguration.Pacing.paced, .immediate])
    func `loss delays data on a link and never reorders or loses it`(pacing: AirConfiguration.Pacing) {
        var pair = Pair(pacing)
        pair.world.radio.setLoss(pair.a, pair.b, percent: 60)
        for value in 0..<20 { pair.world.send(data(pair.central, flags: 0, [UInt8(value)]), pair.b) }
        pair.world.advance(milliseconds: 5000)
        let arrivals = pair.world.drainTimed(pair.a)
        #expect(arrivals.map { hex($0.octets) } == (0..<20).map { data(1, flags: 2, [UInt8($0)]) })
        #expect(Set(arrivals.map(\.instant)).count > 5)
    }

    @Test(arguments: [AirConfiguration.Pacing.paced, .immediate])
    func `4.5.9: a host that does not read holds its peer's data back, and loses none`(pacing: AirConfiguration.Pacing)
    {
        var pair = Pair(pacing, ControllerConfiguration(aclDataPacketLength: 251, aclDataPacketCount: 255))
        let payload = [UInt8](repeating: 1, count: 27)
        var credits = 0
        let total = 3000
        for _ in 0..<total / 100 {
            for _ in 0..<100 { pair.world.send(data(pair.central, flags: 0, payload), pair.b) }
            pair.world.advance(milliseconds: 200)
            let events = pair.world.read(pair.b)
            credits += events.reduce(0) { $0 + Int(octets($1)[6]) }
            if credits % 100 != 0 { break }
        }
        // 64 KiB of 32-octet packets.
        #expect(credits >= 2048 && credits < 2100)
        #expect(pair.world.read(pair.a).count == credits)
        pair.world.advance(milliseconds: 200)
        let rest = pair.world.read(pair.b).reduce(0) { $0 + Int(octets($1)[6]) }
        #expect((credits + rest) % 100 == 0 && rest > 0)
    }
}
