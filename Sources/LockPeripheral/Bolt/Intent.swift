import BluetoothCore
import LockProtocol

/// Names an intent for good: the sequence of the audit record that began it.
package struct IntentID: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package var description: String { String(rawValue) }
}

/// What an actuator is told to do. Kept by its number.
package enum Movement: UInt8, Sendable, CaseIterable {
    case lock = 1
    case unlock = 2
    /// Withdraws the bolt if it is out, pulls the latch and lets it go: the bolt ends unlocked.
    case unlatch = 3

    package var isSecuring: Bool { self == .lock }
    /// Where the bolt rests when it is over.
    package var target: BoltPosition { self == .lock ? .locked : .unlocked }
}

/// The command that an intent carries out.
package struct CommandOrigin: Hashable, Sendable {
    package var bond: UInt64
    package var credential: CredentialID
    package var challenge: ChallengeID
    package var operation: LockOperation

    package init(bond: UInt64, credential: CredentialID, challenge: ChallengeID, operation: LockOperation) {
        self.bond = bond
        self.credential = credential
        self.challenge = challenge
        self.operation = operation
    }
}

/// Why the bolt is to move.
package enum IntentOrigin: Hashable, Sendable {
    case command(CommandOrigin)
    /// The lock's own rules: a relock deadline passed, or its mode wants the bolt there.
    case rule
    /// What was interrupted is brought to its secure state.
    case recovery

    package var command: CommandOrigin? {
        guard case .command(let origin) = self else { return nil }
        return origin
    }
}

/// A movement that was decided on and has not come to its end: on disk before the actuator hears of it, settled at the
/// next launch if this process does not live to see it.
package struct Intent: Hashable, Sendable {
    package enum Phase: UInt8, Sendable {
        /// Committed. The actuator may have been told.
        case decided = 1
        /// The actuator has said that it began.
        case moving = 2
    }

    /// How long after the decision a bolt may still open.
    package static let openingLifeMilliseconds = LockCommand.openingLifeMilliseconds

    package var id: IntentID
    package var movement: Movement
    package var origin: IntentOrigin
    package var boot: BootID
    /// In boot time of `boot`. Only openings have one: securing is never too late.
    package var deadline: Instant?
    package var phase: Phase

    package init(
        id: IntentID, movement: Movement, origin: IntentOrigin, boot: BootID, deadline: Instant?,
        phase: Phase = .decided
    ) {
        self.id = id
        self.movement = movement
        self.origin = origin
        self.boot = boot
        self.deadline = deadline
        self.phase = phase
    }

    /// Whether asking twice for it is asking once: only a plain unlock opens to a level and stays there.
    package var isLevelType: Bool {
        movement == .lock || origin.command.map { $0.operation == .unlock } ?? (movement == .unlock)
    }
}
