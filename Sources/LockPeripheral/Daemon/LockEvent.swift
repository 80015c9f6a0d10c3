import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockProtocol
import SecurityManager

/// What a lock's daemon tells those who watch it. Told after the commit of the iteration in which it happened, so that
/// what was told is true after a kill too.
package enum LockEvent: Sendable {
    /// Before the first state of the radio: what an earlier process left.
    case restored(services: Int, isAdvertising: Bool)
    case radio(CBManagerState)
    case advertising
    case advertisingFailed(String)
    case connected(LinkID, PeerIdentifier, BondID?)
    case disconnected(LinkID, PeerIdentifier)
    /// The link is encrypted with this bond's key.
    case proven(LinkID, PeerIdentifier, BondID)
    case bolt(BoltCode, DoorCode)
    case audit(AuditRecord)
    case actuator(ActuatorOrder)
    /// The door was secured, and nothing of it could be written. The next launch that can write tells the audit.
    case securedUnrecorded
    /// A bond has proved itself for the first time.
    case enrolled(credential: String, BondID)
}

/// Who may be enrolled, and how: what an operator asks for.
package struct EnrolmentRequest: Sendable {
    package enum Method: Sendable { case outOfBand, passkey }

    package var credential: String
    package var role: Role
    package var method: Method
    package var seconds: UInt64

    package init(credential: String, role: Role, method: Method, seconds: UInt64) {
        self.credential = credential
        self.role = role
        self.method = method
        self.seconds = seconds
    }
}

/// What becomes of an enrolment window. Exactly one `ended` comes last.
package enum EnrolmentProgress: Sendable {
    /// With the code to show, if the method has one: it opens the door once it is used.
    case opened(SetupCode?)
    /// Six digits to show to whoever holds the other side.
    case passkey(UInt32)
    case attemptFailed(String)
    /// The keys are exchanged; the new bond has yet to prove itself in a reconnection.
    case paired(BondID)
    case ended(EnrolmentEnd)
}

/// How a window closed.
package enum EnrolmentEnd: Equatable, Sendable {
    case enrolled(BondID)
    /// Nobody came, or nobody came back.
    case expired
    /// The code was used, and in vain.
    case burnt
    case tooManyFailures
    case cancelled
}

/// Why a window is not opened.
package enum EnrolmentRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    case windowIsOpen(credential: String)
    case notPoweredOn
    case badName

    package var description: String {
        switch self {
        case .windowIsOpen(let credential): "the window is open for \(credential) already: wait until it has closed"
        case .notPoweredOn: "the radio is not on yet: nobody could enrol"
        case .badName: "a credential's name has 1 to \(Credential.nameOctetsMaximum) octets"
        }
    }
}
