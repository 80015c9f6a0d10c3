import BluetoothCore
import SecurityManager

/// A bond's way to its confirmation: one link after the other, until the lock has answered over one that the bond encrypts.
struct LockConfirmation: Equatable, Sendable {
    /// What an operator waits for.
    struct Enrolment: Equatable, Sendable {
        /// What the pairing has made.
        let bond: BondID
        let until: Instant
    }

    enum Attempt: Equatable {
        /// A link is asked for.
        case connecting
        /// It is there, and nobody has proved to be the lock.
        case encrypting(until: Instant)
        /// The lock itself is there. Its tree and the subscriptions are on their way.
        case preparing(until: Instant)
        /// Key Status is asked for.
        case asked(until: Instant)
        /// The link is about to end. `isRefused`: no bond could be confirmed on it.
        case leaving(isRefused: Bool)
        /// The next link takes its time.
        case resting(until: Instant)

        var deadline: Instant? {
            switch self {
            case .connecting, .leaving: nil
            case .encrypting(let until), .preparing(let until), .asked(let until), .resting(let until): until
            }
        }
    }

    /// nil: nobody waits.
    var enrolment: Enrolment?
    var attempt: Attempt
    /// Links in a row that were lost before the bond could prove itself on them.
    var linksLost = 0
    /// On this link, where the lock had the key of another agreement.
    var hasAgreedAnew = false

    mutating func linkLost() { linksLost = min(linksLost + 1, KeyEnrolmentMachine.confirmationsLostMaximum) }

    /// An enrolment asks once on each link; without an operator, whatever the lock shows anew is asked again.
    var isAnswerAwaited: Bool {
        guard enrolment != nil, case .asked = attempt else { return false }
        return true
    }
}
