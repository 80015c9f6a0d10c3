import BluetoothCore
import LockProtocol

/// The bolt's last resort: whatever secures the door is done though it cannot be written down.
///
/// Everywhere else a fact is on disk before the bolt moves. A disk that is full, read-only or damaged would keep the door open
/// by that rule until somebody made room. Securing gives nobody a right and nothing to a stranger, so it goes first
/// here, and the next launch that can write says so in the audit (``AuditEvent/securedUnrecorded``). Nothing is ever opened
/// this way.
package struct UnrecordedSecuring {
    /// What the shell does for it.
    package struct Surroundings {
        package var now: () -> Instant
        /// Returns at that instant, or when the actuator's descriptor is readable.
        package var wait: (Instant) -> Void
        package var observe: (LockEvent) -> Void

        package init(
            now: @escaping () -> Instant, wait: @escaping (Instant) -> Void, observe: @escaping (LockEvent) -> Void
        ) {
            self.now = now
            self.wait = wait
            self.observe = observe
        }
    }

    /// Whether the door is to be secured now. `known` is the last commit, and nil when it cannot be read: a lock that does
    /// not know what it owes locks.
    package static func isOwed(_ known: LockSnapshot?, reading: BoltReading, boot: BootID, now: Instant) -> Bool {
        guard reading.position != .locked, !reading.door.standsOpen, !reading.isFire else { return false }
        guard let known else { return true }
        if let relock = known.relock, now >= relock.due(in: boot) { return true }
        guard let intent = known.intent else { return false }
        return switch LaunchRules.settle(intent, reading: reading, boot: boot, now: now) {
        case .awaited: false
        case .driven: intent.movement.isSecuring
        case .ended(let outcome): outcome != .done && known.settings.mode != .passage
        }
    }

    /// Secures the door if it is owed; says whether it was. Returns once the bolt rests.
    package static func perform(
        _ known: LockSnapshot?, by actuator: any Actuator, boot: BootID, surroundings: Surroundings
    ) throws -> Bool {
        var reading = try read(actuator, known, surroundings)
        // A movement that is still going on comes to its end first. What cannot be flushed of it has ended all the same.
        let giveUp = surroundings.now().advanced(byMilliseconds: BoltMachine.travelMaximumMilliseconds)
        while reading.moving != nil, let end = actuator.deadline, surroundings.now() < giveUp {
            surroundings.wait(end)
            _ = try? actuator.poll(now: surroundings.now())
            reading = try read(actuator, known, surroundings)
        }
        guard isOwed(known, reading: reading, boot: boot, now: surroundings.now()) else { return false }
        try lock(actuator, surroundings)
        surroundings.observe(.securedUnrecorded)
        return true
    }

    /// Where the bolt was found in place of locked.
    package struct NotLocked: Error, Equatable, CustomStringConvertible {
        package let position: BoltPosition

        package init(position: BoltPosition) { self.position = position }

        package var description: String { "the bolt was told to lock and is \(position): look at the door" }
    }

    /// Returns when the bolt is locked, by its own word and not by the order's.
    private static func lock(_ actuator: any Actuator, _ surroundings: Surroundings) throws {
        let order = ActuatorOrder.unrecordedLock
        surroundings.observe(.actuator(order))
        var failure: (any Error)?
        do {
            let giveUp = surroundings.now().advanced(byMilliseconds: BoltMachine.travelMaximumMilliseconds)
            var report = try actuator.perform(order, now: surroundings.now())
            while report == nil, let end = actuator.deadline, surroundings.now() < giveUp {
                surroundings.wait(end)
                // Has what can be flushed of it flushed, as behind every movement. It is locked whether or not that works.
                report = try actuator.poll(now: surroundings.now())
            }
        } catch {
            failure = error
        }
        let position = try actuator.reading(asking: nil, now: surroundings.now()).position
        guard position == .locked else { throw failure ?? NotLocked(position: position) }
    }

    /// An actuator that cannot say for good what became of the intent says at least where the bolt is.
    private static func read(
        _ actuator: any Actuator, _ known: LockSnapshot?, _ surroundings: Surroundings
    ) throws -> BoltReading {
        let now = surroundings.now()
        if let intent = known?.intent, let reading = try? actuator.reading(asking: intent, now: now) { return reading }
        return try actuator.reading(asking: nil, now: now)
    }
}

extension ActuatorOrder {
    /// The audit's records are counted from 1: this order has none.
    package static let unrecordedLock = Self(
        intent: IntentID(rawValue: 0), movement: .lock, command: nil, notAfter: nil)
}
