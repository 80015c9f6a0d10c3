import BluetoothCore
import LockProtocol
import MemoryStores

@testable import LockPeripheral

/// A lock on a door with a contact and lines beside it.
extension LockBench {
    static func atDoor(
        _ rules: DoorRules = DoorRules(), mode: LockMode = .normal, bolt position: BoltPosition = .locked,
        door: DoorCode = .closed, isFire: Bool = false
    ) -> Self {
        var snapshot = LockSnapshot.furnished
        snapshot.settings.mode = mode
        snapshot.bolt = BoltRecord(position: position, door: door)
        return Self(snapshot, reading: BoltReading(position: position, door: door, isFire: isFire), rules: rules)
    }

    /// Another process on what is on disk, with a bolt that is where this one's is unless `position` says otherwise.
    func relaunched(
        _ rules: DoorRules = DoorRules(), bolt position: BoltPosition? = nil, isFire: Bool = false,
        in boot: BootID = LockPeripheralTests.boot
    ) -> Self {
        let kept = store.committed
        let reading = BoltReading(
            position: position ?? kept.bolt.position, door: kept.bolt.door, performed: false, isFire: isFire)
        var next = Self(
            kept, reading: reading, boot: boot, rules: rules,
            now: boot == LockPeripheralTests.boot ? now : Instant(nanoseconds: 5), wallClockSeconds: wallClockSeconds)
        next.nextRandom = nextRandom + 1_000
        return next
    }

    mutating func feel(_ input: DoorInput) { put(.actuator(.input(input))) }

    var movements: [Movement] { orders.map(\.movement) }

    /// A key's command over a link of its own, and its result.
    @discardableResult
    mutating func ask(_ operation: LockOperation, _ argument: RelockArgument = .setting) throws -> LockResult? {
        let link = 100 + nextRandom
        connectEncrypted(link)
        encrypted(link, LockCommand(operation: operation, argument: argument, challenge: try challenge(link).id))
        return outputs.compactMap { output -> LockResult? in
            guard case .notifyLockState(LockLink(rawValue: link), let octets) = output else { return nil }
            return (try? LockState(exactly: octets))?.result
        }.first
    }

    /// The clock goes on with the time.
    mutating func pass(seconds: Int64) -> [LockOutput] {
        var all: [LockOutput] = []
        for _ in 0..<seconds {
            wallClockSeconds = wallClockSeconds.map { $0 + 1 }
            all += run(milliseconds: 1_000)
        }
        return all
    }
}
