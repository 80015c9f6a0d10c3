import BluetoothCore
import LockProtocol
import Testing

@testable import LockCentral

/// Where bluetoothd has the scanner, no advertisement is heard: the key asks for links, and each tells how far the lock is.
@Suite("Coming near, as links alone show it")
struct ProximityByLinksTests {
    private static let deaf = ProximityRules(hearsAdvertisements: false)

    /// How long it takes until the key wants a link by itself; nil where it does not within `milliseconds`.
    private func wait(_ walk: Walk, milliseconds: UInt64 = 60_000) -> UInt64? {
        for passed in stride(from: UInt64(0), through: milliseconds, by: 100) {
            if walk.bench.run(milliseconds: 100).contains(.connect(door)) { return passed }
        }
        return nil
    }

    /// One look at this strength; what the key waited before it.
    private func look(_ walk: Walk, _ rssi: Int8) -> UInt64? {
        guard let waited = wait(walk) else { return nil }
        walk.link()
        _ = walk.measure(rssi)
        walk.bench.put(.disconnected(door))
        return waited
    }

    @Test("Far away first, then nearer from link to link: unlocked at the door, and no advertisement was heard")
    func coming() {
        let walk = Walk(rules: Self.deaf)
        #expect(look(walk, -90) != nil && walk.proximity == .away && walk.operation == .lock)
        walk.bench.put(.cancel(door))
        var waits: [UInt64] = []
        for rssi in [-84, -77, -70] as [Int8] { waits.append(look(walk, rssi) ?? .max) }
        #expect(waits.allSatisfy { $0 <= ProximityMachine.restMinimumMilliseconds }, "\(waits)")
        #expect(walk.proximity == .away && walk.operation == nil)
        _ = wait(walk)
        walk.link()
        _ = walk.measure(-55)
        #expect(walk.proximity == .near && walk.operation == .unlock)
    }

    @Test("Who stays where he is gets links at a pace that leaves the lock to others")
    func pace() {
        let walk = Walk(rules: Self.deaf)
        _ = look(walk, -90)
        walk.bench.put(.cancel(door))
        let waits = (0..<10).map { _ in look(walk, -85) ?? 0 }
        let longest = ProximityMachine.deafRestMaximumMilliseconds
        #expect(waits.suffix(5).allSatisfy { $0 + 200 >= longest && $0 <= longest }, "\(waits)")
        #expect(walk.proximity == .away)
    }

    @Test("At the door, looks are as rare as they are where advertisements are heard")
    func staying() {
        let walk = Walk(rules: Self.deaf)
        let hour = walk.bench.now.advanced(byMilliseconds: 3_600_000)
        var looks = 0
        while walk.bench.now < hour { if look(walk, -50) != nil { looks += 1 } }
        #expect(looks > 10 && looks <= MeasurementBudget.linksPerHourMaximum, "\(looks)")
        #expect(walk.proximity == .near && walk.operation == nil)
    }

    @Test("Out of range, one wish for a link stands, for as long as it takes")
    func outOfRange() {
        let walk = Walk(rules: Self.deaf)
        _ = look(walk, -90)
        walk.bench.put(.cancel(door))
        #expect(wait(walk) != nil && wait(walk, milliseconds: 3_600_000) == nil)
    }

    @Test("A wish for a link that ends without one, near or away, is asked for again", arguments: [Int8(-50), -90])
    func wishEnds(rssi: Int8) {
        let walk = Walk(rules: Self.deaf)
        _ = look(walk, rssi)
        walk.bench.put(.cancel(door))
        #expect(wait(walk) != nil)
        walk.bench.put(.disconnected(door))
        #expect(wait(walk) != nil)
    }

    @Test("Where near and away are is the configuration's to say")
    func thresholds() {
        let walk = Walk(rules: ProximityRules(nearDBm: -50, awayDBm: -70))
        _ = walk.advertise(-72, milliseconds: ProximityMachine.dwellMilliseconds + 1_000)
        walk.link()
        _ = walk.measure(-72)
        #expect(walk.proximity == .away)
        walk.bench.put(.cancel(door))
        walk.bench.put(.disconnected(door))
        walk.bench.run(milliseconds: ProximityMachine.restMinimumMilliseconds)
        #expect(!walk.wake(-55) && walk.wake(-45))
        walk.link()
        _ = walk.measure(-55)
        #expect(walk.proximity == .away && walk.operation == nil)
    }
}
