import BluetoothCore
import CoreBluetoothEssentials
import LockProtocol
import SecurityManager

/// What a key's daemon tells those who watch it, after the commit of the iteration in which it happened.
package enum KeyEvent: Sendable {
    /// Before the first state of the radio: what an earlier process left.
    case restored(peripherals: Int, isScanning: Bool)
    case radio(CBManagerState)
    case connecting(PeerIdentifier)
    case connected(PeerIdentifier, BondID?)
    case disconnected(PeerIdentifier, reason: String?)
    /// The link is encrypted with this bond's key.
    case proven(PeerIdentifier, BondID)
    case took(PeerIdentifier, KeyRequestID)
    case ended(PeerIdentifier, KeyRequestID, KeyVerdict)
    case outcome(PeerIdentifier, KeyRequestID, LockResult)
    case lockState(PeerIdentifier, BoltCode, DoorCode)
    case enrolled(PeerIdentifier, name: String)
}

/// What becomes of an enrolment. Exactly one of `enrolled` and `failed` comes last.
package enum KeyEnrolmentProgress: Sendable {
    case connecting
    case pairing
    /// The keys are exchanged; the bond has yet to prove itself in a reconnection.
    case paired
    case enrolled(PeerIdentifier, name: String)
    case failed(KeyEnrolmentFailure)
}

/// Why an enrolment did not come to its end.
package enum KeyEnrolmentFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// Another setup code has come since.
    case superseded
    case notPoweredOn
    /// Nothing was heard of the lock, or not to the end. A bond that was made by then is confirmed when it comes back.
    case expired(isPaired: Bool)
    case pairing(String)
    case linkLost
    case notALock
    /// The lock does not know the bond, or the credential has been taken back.
    case notConfirmed(String)

    package var description: String {
        switch self {
        case .superseded: "another enrolment has taken this one's place"
        case .notPoweredOn: "the radio is not on yet: nothing can be enrolled"
        case .expired(false): "the lock was not heard in time: go nearer, and open a new window at the lock"
        case .expired(true): "paired, but the lock has not come back to confirm it: the key goes on trying"
        case .pairing(let reason): "the pairing failed (\(reason)): open a new window at the lock, its code is burnt"
        case .linkLost: "the link was lost: go nearer, and open a new window at the lock"
        case .notALock: "what answered has no Lock service"
        case .notConfirmed(let reason): "the lock did not confirm the enrolment: \(reason)"
        }
    }
}

/// What becomes of a command. Exactly one of the last three comes last.
package enum KeyCommandProgress: Sendable {
    case took(KeyRequestID, PeerIdentifier)
    /// The lock has committed to it; its outcome may follow.
    case accepted
    case ended(KeyVerdict)
    case outcome(LockResult)
    case unknownLock(KeyLockChoice)
}

/// Why it is not clear which lock is meant.
package enum KeyLockChoice: Equatable, Sendable, CustomStringConvertible {
    case none
    case several([String])
    case noneNamed(String, known: [String])

    package var description: String {
        switch self {
        case .none: "no lock is enrolled: enrol one with `latch central enroll`"
        case .several(let names): "several locks are enrolled: name one with --lock (\(names.joined(separator: ", ")))"
        case .noneNamed(let name, let known):
            "no lock is called \"\(name)\": the locks are \(known.isEmpty ? "none" : known.joined(separator: ", "))"
        }
    }
}
