import ATT
import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import SecurityManager

/// What a peripheral manager hears, inline on the loop and inside the iteration's transaction: what it answers is
/// released together with what it persists.
package protocol PeripheralRoleDelegate: AnyObject {
    func hostStateChanged(_ state: HostState)
    func centralConnected(_ link: LinkInfo)
    func centralDisconnected(_ link: LinkInfo, reason: HCIErrorCode)
    /// Encryption came up on a link (or failed to, `error`); a bonded central is proven from here on.
    func securityChanged(_ link: LinkInfo, error: HostError?)
    /// ATT_MTU was agreed: more fits a PDU than before.
    func mtuChanged(_ link: LinkInfo)
    /// Answer with ``Host/respond(to:value:)`` or ``Host/refuse(_:error:)``, once; later is fine.
    func readRequested(_ request: ServerReadRequest)
    /// All writes of one request: answer once, for all. Writes without response carry no answer.
    func writesRequested(_ request: ServerWriteRequest)
    func subscriptionChanged(_ link: LinkInfo, handle: AttributeHandle, notify: Bool, indicate: Bool)
    /// The queue has room again after an `updateValue` that returned false.
    func readyToUpdate()
    func advertisingStarted(error: HostError?)
    /// Show these six digits to whoever holds the other side.
    func displayPasskey(_ link: LinkInfo, passkey: UInt32)
    /// The other side displays six digits: answer with ``Host/answerPairing(_:_:)``.
    func passkeyRequested(_ link: LinkInfo)
    /// Both sides show six digits: answer whether they are equal with ``Host/answerPairing(_:_:)``.
    func numericComparisonRequested(_ link: LinkInfo, value: UInt32)
    func paired(_ link: LinkInfo, result: Result<BondID, HostError>)
}

/// How a write reached the server: permission, and what the lock makes of it, depend on the path.
package enum WritePath: Equatable, Sendable {
    case request
    case command
    /// MAC verified, counter fresh and already handed to the store.
    case signed(counter: UInt32)
}

/// A read that the app answers.
package struct ServerReadRequest: Sendable {
    package var id: ServerRequestID
    package var link: LinkInfo
    package var handle: AttributeHandle
    package var offset: Int

    package init(id: ServerRequestID, link: LinkInfo, handle: AttributeHandle, offset: Int) {
        self.id = id
        self.link = link
        self.handle = handle
        self.offset = offset
    }
}

/// One or more writes that the app accepts or refuses as a whole.
package struct ServerWriteRequest: Sendable {
    package struct Write: Equatable, Sendable {
        package var handle: AttributeHandle
        package var offset: Int
        package var value: [UInt8]

        package init(handle: AttributeHandle, offset: Int, value: [UInt8]) {
            self.handle = handle
            self.offset = offset
            self.value = value
        }
    }

    /// nil when nothing is to be answered.
    package var id: ServerRequestID?
    package var link: LinkInfo
    package var path: WritePath
    package var writes: [Write]

    package init(id: ServerRequestID?, link: LinkInfo, path: WritePath, writes: [Write]) {
        self.id = id
        self.link = link
        self.path = path
        self.writes = writes
    }
}

/// A request's name while it waits for the app: the link it came on, and a number never used twice on it.
package struct ServerRequestID: Hashable, Sendable {
    package var link: LinkID
    package var number: UInt64

    package init(link: LinkID, number: UInt64) {
        self.link = link
        self.number = number
    }
}

/// When and how this side lets a stranger pair. Without a window every pairing is refused.
package struct PairingWindow: Sendable {
    package enum Method: Sendable {
        /// The key pair and random value that the setup code commits to; burnt by any attempt.
        case outOfBand(keyPair: P256KeyPair, random: Secret)
        /// A fresh random passkey for each attempt, displayed here.
        case passkeyDisplay
        /// The other side displays, the user types here.
        case passkeyEntry
        case numericComparison
    }

    package var method: Method
    /// The operator's name for whoever pairs: rights belong to it, and only a bond of the same name may be replaced.
    package var credential: String
    /// Kept with the bond from its first moment on: a pairing may end in the instant in which its window does.
    package var applicationSecret: Secret?

    package init(method: Method, credential: String, applicationSecret: Secret? = nil) {
        self.method = method
        self.credential = credential
        self.applicationSecret = applicationSecret
    }
}
