import BluetoothCore
import LockProtocol

/// What is fitted to the door, and what the lock makes of it. The lock's configuration says it; nobody changes it over the air.
package struct DoorRules: Hashable, Sendable {
    /// What the button beside the door does, or the handle on its inside.
    package enum Exit: String, Sendable, CaseIterable {
        /// The bolt goes open.
        case opens
        /// Whoever goes out moves the bolt or the latch himself: a door that opens then is not forced.
        case announces
    }

    package static let ajarSecondsMaximum: UInt16 = 3_600
    /// For which an exit that was announced may last until the door opens.
    package static let exitMilliseconds: UInt64 = 10_000
    /// For which nobody locks a door behind the button inside, unless the relock behind it is due before.
    package static let leavingMilliseconds: UInt64 = 5_000

    /// A door that is open for longer is ajar. nil: none is.
    package var ajarSeconds: UInt16?
    /// A door that closes behind an opening is locked at once, and does not wait for its time to be over.
    package var locksWhenClosed: Bool
    package var exit: Exit
    /// When the bolt stays open in the normal mode, by the lock's time zone and holidays. ``CredentialSchedules/none``: never.
    package var passage: CredentialSchedules

    package init(
        ajarSeconds: UInt16? = nil, locksWhenClosed: Bool = false, exit: Exit = .opens,
        passage: CredentialSchedules = .none
    ) {
        self.ajarSeconds = ajarSeconds
        self.locksWhenClosed = locksWhenClosed
        self.exit = exit
        self.passage = passage
    }
}

extension Instant {
    /// Of a relock that waits for the door alone.
    static let never = Self(nanoseconds: .max)
}

/// Why the bolt stays open, whatever relock is due. Kept and told by its number.
package enum DoorHold: UInt8, Sendable, CaseIterable {
    /// The door is for everybody at this time.
    case schedule = 1
    /// There is a fire: the door opens in every mode, and nobody locks it.
    case fire = 2
}

/// Why the lock opens by itself. Told by its number.
package enum OpeningCause: UInt8, Sendable, CaseIterable {
    /// Somebody inside goes out.
    case exit = 1
    /// Something holds the door open (``DoorHold``).
    case hold = 2
}
