import BluetoothCore
import LockProtocol

/// The bolt and the door as far as the lock knows: at rest somewhere, or on its way for exactly one intent.
package struct BoltMachine {
    /// An actuator that has said nothing for this long has failed.
    package static let travelMaximumMilliseconds: UInt64 = 10_000

    private enum State {
        case resting(BoltPosition)
        case moving(Intent, from: BoltPosition, failedAt: Instant)
    }

    /// What a report amounts to.
    package enum Change: Equatable {
        case nothing
        case began(Intent)
        case ended(Intent, Outcome, BoltPosition)
        /// Moved by hand.
        case found(BoltPosition)
        case door(DoorCode)
    }

    private var state: State
    package private(set) var door: DoorCode

    package init(_ record: BoltRecord) {
        state = .resting(record.position)
        door = record.door
    }

    package var code: BoltCode {
        switch state {
        case .resting(let position): position.code
        case .moving(let intent, _, _):
            switch intent.movement {
            case .lock: .locking
            case .unlock: .unlocking
            case .unlatch: .unlatched
            }
        }
    }

    package var isMoving: Bool {
        if case .moving = state { true } else { false }
    }

    /// nil while it moves.
    package var position: BoltPosition? {
        if case .resting(let position) = state { position } else { nil }
    }

    package var deadline: Instant? {
        if case .moving(_, _, let failedAt) = state { failedAt } else { nil }
    }

    /// Whether `movement` takes the bolt anywhere that it is not.
    package func wouldMove(_ movement: Movement) -> Bool {
        switch state {
        case .resting(let position): movement == .unlatch || position != movement.target
        case .moving: true
        }
    }

    package mutating func begin(_ intent: Intent, now: Instant) {
        let failedAt = now.advanced(byMilliseconds: Self.travelMaximumMilliseconds)
        state = .moving(intent, from: position ?? .unknown, failedAt: failedAt)
    }

    package mutating func handle(_ report: ActuatorReport) -> Change {
        switch (state, report) {
        case (.moving(var intent, let from, let failedAt), .began(let id))
        where intent.id == id && intent.phase == .decided:
            intent.phase = .moving
            state = .moving(intent, from: from, failedAt: failedAt)
            return .began(intent)
        case (.moving(let intent, _, _), .ended(let id, let position)) where intent.id == id:
            state = .resting(position)
            return .ended(intent, Self.outcome(of: intent, at: position), position)
        case (.moving(let intent, let from, _), .declined(let id)) where intent.id == id:
            state = .resting(from)
            return .ended(intent, .aborted, from)
        case (.resting(let known), .bolt(let position)) where known != position:
            state = .resting(position)
            return .found(position)
        case (_, .door(let now)) where now != door:
            door = now
            return .door(now)
        // Reports of movements that are over, of what is known already, and of a hand on a bolt under way: where it comes to
        // rest is reported too.
        case (.resting, .began), (.resting, .ended), (.resting, .declined), (.resting, .bolt), (.resting, .door),
            (.moving, .began), (.moving, .ended), (.moving, .declined), (.moving, .bolt), (.moving, .door), (_, .input):
            return .nothing
        }
    }

    /// The actuator's time is up: nobody knows where the bolt is.
    package mutating func timerFired(now: Instant) -> Change {
        guard case .moving(let intent, _, let failedAt) = state, now >= failedAt else { return .nothing }
        state = .resting(.unknown)
        return .ended(intent, .unknown, .unknown)
    }

    private static func outcome(of intent: Intent, at position: BoltPosition) -> Outcome {
        switch position {
        case intent.movement.target: .done
        case .unknown: .unknown
        case .locked, .unlocked, .jammed: .aborted
        }
    }
}
