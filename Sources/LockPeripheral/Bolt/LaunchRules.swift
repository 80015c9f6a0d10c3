import BluetoothCore
import LockProtocol

/// What becomes of a movement that the last process did not see the end of. docs/RESTORATION.md has the matrix.
package enum LaunchRules {
    package enum Settlement: Equatable {
        case ended(Outcome)
        /// The actuator is still at it and will report.
        case awaited
        /// Ordered again, under the same name.
        case driven
    }

    package static func settle(_ intent: Intent, reading: BoltReading, boot: BootID, now: Instant) -> Settlement {
        #if LATCH_PLANTS
        if Plant.active == .duplicate, intent.origin.command != nil { return .driven }
        if Plant.active == .late, intent.isLevelType, reading.performed == false { return .driven }
        #endif
        if reading.moving == intent.id { return .awaited }
        if reading.performed == true { return .ended(ofPerformed(at: reading.position)) }
        if intent.movement.isSecuring { return reading.position == .locked ? .ended(.done) : .driven }
        if intent.isLevelType && reading.position == intent.movement.target { return .ended(.done) }
        let isInTime = intent.boot == boot && intent.deadline.map { now <= $0 } ?? false
        if intent.isLevelType && isInTime && !mayHaveBegun(intent, reading) { return .driven }
        return .ended(ofAbandoned(intent, reading: reading))
    }

    /// It moved in its time, whatever a hand has done since; only a bolt between its ends leaves a doubt.
    private static func ofPerformed(at position: BoltPosition) -> Outcome {
        switch position {
        case .locked, .unlocked: .done
        case .unknown, .jammed: .unknown
        }
    }

    private static func ofAbandoned(_ intent: Intent, reading: BoltReading) -> Outcome {
        if reading.performed == false { return .aborted }
        // Without a memory, a bolt that rests locked proves that a level was not reached, but nothing of a latch.
        let isUntouched = !mayHaveBegun(intent, reading) && reading.position == .locked
        return intent.isLevelType && isUntouched ? .aborted : .unknown
    }

    private static func mayHaveBegun(_ intent: Intent, _ reading: BoltReading) -> Bool {
        intent.phase == .moving || reading.mayHaveBegun
    }
}
