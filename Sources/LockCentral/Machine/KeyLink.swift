import BluetoothCore
import LockProtocol

/// The connection to one lock, as far as a command is concerned.
enum KeyLink {
    case none
    case clear(OpenLink, SignedPath?)
    case encrypting(OpenLink, until: Instant)
    /// Encrypted with the bond's key, so that the lock itself is at the other end; where other programs share the bond, that is what
    /// only a program's key shows. Its tree and the subscriptions are on their way.
    case proven(OpenLink, until: Instant)
    case encrypted(OpenLink)

    /// What is true of a link in any posture.
    struct OpenLink {
        var since: Instant
        /// The lock's own receipt has come over it.
        var hasReceipt = false
        /// Under which the lock takes commands on this link, where it takes nothing else.
        var programKey: ProgramKey?
        /// Asked to end: what comes over it still counts, and nothing more is begun on it.
        var isLeaving = false
        var challenge: HeldChallenge?
        var wait: Wait = .nothing
        /// The command whose end may still be told.
        var accepted: (id: KeyRequestID, challenge: ChallengeID)?
    }

    enum Wait {
        case nothing
        case challenge(until: Instant)
        /// A receipt, or Lock State under encryption.
        case answer(until: Instant)
        /// Key Status. `question`: of a program with a key of its own, for the answer.
        case status(question: StatusQuestion?, until: Instant)
        /// The end of what was accepted; then the link goes.
        case outcome(until: Instant)

        var until: Instant? {
            switch self {
            case .nothing: nil
            case .challenge(let until), .answer(let until), .status(_, let until), .outcome(let until): until
            }
        }
    }

    var open: OpenLink? {
        get {
            switch self {
            case .none: nil
            case .clear(let open, _), .encrypting(let open, _), .proven(let open, _), .encrypted(let open): open
            }
        }
        set {
            guard let newValue else { return self = .none }
            switch self {
            case .none: return
            case .clear(_, let path): self = .clear(newValue, path)
            case .encrypting(_, let until): self = .encrypting(newValue, until: until)
            case .proven(_, let until): self = .proven(newValue, until: until)
            case .encrypted: self = .encrypted(newValue)
            }
        }
    }

    /// Whether the lock itself is at the other end.
    var isProven: Bool {
        switch self {
        case .none, .clear, .encrypting: false
        case .proven, .encrypted: true
        }
    }

    var isEncrypted: Bool {
        switch self {
        case .none, .clear, .encrypting, .proven: false
        case .encrypted: true
        }
    }

    var deadline: Instant? {
        switch self {
        case .none: nil
        case .encrypting(_, let until), .proven(_, let until): until
        case .clear(let open, _), .encrypted(let open): open.wait.until
        }
    }
}

/// A challenge, and until when it is worth answering.
struct HeldChallenge {
    let id: ChallengeID
    let flags: Challenge.Flags
    /// The lock issued it no later.
    private let received: Instant
    private let expires: Instant
    /// The lock takes no command that answers this from then on, whoever has said how long it lives.
    private let isOver: Instant

    /// `isVouchedFor`: it came over a link that the bond's key encrypts. Otherwise its octets may be anybody's, but for the id, which is
    /// under the command's own MAC.
    init(_ challenge: Challenge, isVouchedFor: Bool, now: Instant) {
        id = challenge.id
        flags = challenge.flags
        received = now
        expires = now.advanced(byMilliseconds: challenge.remainingMilliseconds)
        // Its life was rounded down.
        isOver =
            isVouchedFor
            ? expires.advanced(byMilliseconds: Challenge.lifeUnitMilliseconds)
            : now.advanced(byMilliseconds: LockSettings.challengeLifeMaximumMilliseconds)
    }

    /// The bound for a command that answers this and may open nothing behind `deadline`; nil when none could be in time.
    func bound(until deadline: Instant, now: Instant) -> CommandBound? {
        guard now < expires else { return nil }
        // The lock may open for a while after it has decided. Where all of that is over in time the sender has nothing to add.
        let end = isOver.advanced(byMilliseconds: LockCommand.openingLifeMilliseconds)
        if end <= deadline { return .challengeLife }
        guard let bound = CommandBound(within: deadline.milliseconds(since: received)),
            let milliseconds = bound.milliseconds, now < received.advanced(byMilliseconds: milliseconds)
        else { return nil }
        return bound
    }
}
