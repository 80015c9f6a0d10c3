import BluetoothCore
import LockProtocol

/// The connection to one lock, as far as a command is concerned.
enum KeyLink {
    case none
    case clear(OpenLink, SignedPath?)
    case encrypting(OpenLink, until: Instant)
    /// Encrypted with the bond's key, so that the lock itself is at the other end. Its tree and the subscriptions are on
    /// their way.
    case proven(OpenLink, until: Instant)
    case encrypted(OpenLink)

    /// What is true of a link in any posture.
    struct OpenLink {
        var since: Instant
        /// The lock's own receipt has come over it.
        var hasReceipt = false
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
        case status(until: Instant)
        /// The end of what was accepted; then the link goes.
        case outcome(until: Instant)

        var until: Instant? {
            switch self {
            case .nothing: nil
            case .challenge(let until), .answer(let until), .status(let until), .outcome(let until): until
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
    var id: ChallengeID
    var flags: Challenge.Flags
    var expires: Instant

    init(_ challenge: Challenge, now: Instant) {
        id = challenge.id
        flags = challenge.flags
        expires = now.advanced(byMilliseconds: challenge.remainingMilliseconds)
    }
}
