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
    /// `credential`: whom it is about, by name.
    case alarm(AlarmReport, credential: String?)
    /// A bond has proved itself for the first time.
    case enrolled(credential: String, BondID)
}

/// Who may be enrolled, and how: what an operator asks for.
package struct EnrolmentRequest: Sendable {
    package enum Method: Sendable {
        case outOfBand, passkey
        /// By a setup code, for one program on a host that others share: it moves the bolt by a key of its own, and by nothing else.
        case program
    }

    package var credential: String
    package var role: Role
    package var method: Method
    package var seconds: UInt64
    /// Whose device it becomes. nil: a credential that stands keeps its user, and a new one is its own user's.
    package var user: String?
    /// nil: as the user's other devices are.
    package var kind: UserKind?

    package init(
        credential: String, role: Role, method: Method, seconds: UInt64, user: String? = nil, kind: UserKind? = nil
    ) {
        self.credential = credential
        self.role = role
        self.method = method
        self.seconds = seconds
        self.user = user
        self.kind = kind
    }
}
