import BluetoothCore
import CoreBluetoothEssentials
import LockProtocol
import SecurityManager

/// What a key's daemon tells those who watch it, after the commit of the iteration in which it happened.
package enum KeyEvent: Sendable {
    /// Before the first state of the radio: what an earlier process left.
    case restored(peripherals: Int, isScanning: Bool)
    /// `reason`: why there is none, where it is known.
    case radio(CBManagerState, reason: String?)
    case connecting(PeerIdentifier)
    case connected(PeerIdentifier, BondID?)
    case disconnected(PeerIdentifier, reason: String?)
    /// The link is encrypted with this bond's key.
    case proven(PeerIdentifier, BondID)
    case took(PeerIdentifier, KeyRequestID)
    case ended(PeerIdentifier, KeyRequestID, KeyVerdict)
    case outcome(PeerIdentifier, KeyRequestID, LockResult)
    case lockState(PeerIdentifier, BoltCode, DoorCode)
    /// Whether to open is to be said with ``KeyDaemon/decide(_:opens:)``.
    case approached(Approach, name: String)
    /// Nothing is to be said of it any more.
    case approachEnded(Approach)
    /// How a request has ended that nobody has made but the key itself. Where the lock took it, ``outcome(_:_:_:)`` may follow.
    case byItself(PeerIdentifier, name: String, KeyRequestID, LockOperation, KeyVerdict)
    /// Its user walks, to give the lock thresholds of its own.
    case calibrating(PeerIdentifier, name: String)
    /// That walk is over.
    case calibrationEnded(PeerIdentifier)
    /// nil: the configuration's count again.
    case thresholds(PeerIdentifier, name: String, ProximityThresholds?)
    case enrolled(PeerIdentifier, name: String)
    case renamed(PeerIdentifier, name: String)
    /// Its user has written a note down, or taken it away.
    case noted(PeerIdentifier, name: String, hasNote: Bool)
    /// It comes before all others, or is preferred no more.
    case preferred(PeerIdentifier, name: String, isPreferred: Bool)
    /// With its bond.
    case forgotten(PeerIdentifier, name: String)
}

/// What becomes of a command. Exactly one of the last four comes last.
package enum KeyCommandProgress: Sendable {
    /// Of those that the key is connected with this lock is the nearest, or one of the nearest and preferred: it is asked.
    case nearest(PeerIdentifier, name: String, isByPreference: Bool)
    case took(KeyRequestID, PeerIdentifier)
    /// The lock has committed to it; its outcome may follow.
    case accepted
    case ended(KeyVerdict)
    case outcome(LockResult)
    case unknownLock(KeyLockChoice)
    case notSought(KeyNearestRefusal)
}

/// How a command of `latch central` is told which lock is meant, for the remedy that a refusal names.
package enum KeyLockNaming: Equatable, Sendable {
    /// By its option `--lock`.
    case option
    /// By an operand, which its help calls LOCK.
    case operand

    fileprivate var advice: String {
        switch self {
        case .option: "with --lock"
        case .operand: "as LOCK"
        }
    }
}

/// Why it is not clear which lock is meant.
package enum KeyLockChoice: Error, Equatable, Sendable, CustomStringConvertible {
    case none
    case several([String], KeyLockNaming)
    case noneNamed(String, known: [String])

    package var description: String {
        switch self {
        case .none: "no lock is enrolled: enrol one with `latch central enroll`"
        case .several(let names, let naming):
            "several locks are enrolled: name one \(naming.advice) (\(names.joined(separator: ", ")))"
        case .noneNamed(let name, let known):
            "no lock is called \"\(name)\": the locks are \(known.isEmpty ? "none" : known.joined(separator: ", "))"
        }
    }
}
