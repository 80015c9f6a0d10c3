import BluetoothCore
import LockProtocol

@testable import LockCentral

/// A key at a lock that opens on coming near and closes on leaving. The test plays the air.
final class Walk {
    var bench: KeyBench

    init(
        _ snapshot: KeySnapshot = .furnished, boot: BootID = boot, rules: ProximityRules = ProximityRules(),
        policy: ApproachPolicy = .immediate, now: Instant = Instant(nanoseconds: 1_000_000_000)
    ) {
        bench = KeyBench(snapshot, boot: boot, rules: rules, policy: policy, now: now)
    }

    var proximity: Proximity? { bench.known?.proximity }
    var operation: LockOperation? { bench.known?.request?.operation }

    /// Advertisements, ten a second. What the key wanted.
    func advertise(_ rssi: Int8, milliseconds: UInt64) -> [KeyOutput] {
        var all: [KeyOutput] = []
        for _ in 0..<milliseconds / 100 {
            all += bench.put(.rssi(door, rssi)) + bench.run(milliseconds: 100)
        }
        return all
    }

    /// Strong advertisements until the key wants a link; whether it does within a second.
    func wake(_ rssi: Int8 = -30) -> Bool {
        (0..<10).contains { _ in advertise(rssi, milliseconds: 100).contains(.connect(door)) }
    }

    /// The lock itself takes the link that the key asked for.
    func link() {
        bench.connect()
        bench.put(.proven(door))
        bench.put(.encrypted(door))
    }

    /// The link's RSSI for as long as it is asked for; until the key leaves, or wants something else.
    func measure(_ rssi: Int8, milliseconds: UInt64 = ProximityMachine.measurementMaximumMilliseconds)
        -> [KeyOutput]
    {
        var all = bench.acts
        var acts = bench.acts
        for _ in 0..<milliseconds / 100 {
            if isOver(acts) { break }
            acts = bench.unread.contains(door) ? bench.put(.linkRSSI(door, rssi)) : []
            if isOver(acts) {
                all += acts
                break
            }
            acts += bench.run(milliseconds: 100)
            all += acts
        }
        return all
    }

    /// The key leaves, wants something else, or somebody is to decide.
    private func isOver(_ acts: [KeyOutput]) -> Bool {
        operation != nil
            || acts.contains {
                switch $0 {
                case .disconnect(door), .approached: true
                default: false
                }
            }
    }

    /// The link ends, and what follows is over.
    func leaveLink() {
        bench.put(.disconnected(door))
        bench.run(milliseconds: ProximityMachine.restMaximumMilliseconds)
    }

    /// Out of the door's range and back, seen by a link at the edge.
    func goAway() {
        _ = advertise(-95, milliseconds: ProximityMachine.dwellMilliseconds + 1_000)
        link()
        _ = measure(-95)
        bench.put(.cancel(door))
        bench.put(.disconnected(door))
        bench.run(milliseconds: ProximityMachine.restMinimumMilliseconds)
    }

    func comeNear() -> [KeyOutput] {
        _ = wake(-50)
        link()
        return measure(-50)
    }
}
