import BluetoothCore
import HCI
import SecurityManager

/// What an operator who looks for a fault wants to see of a link's way. Nothing depends on it, and no secret is in it. It is
/// told behind the commit, in order with the packets.
package enum HostNotice: Equatable, Sendable {
    /// LE Connection Complete, under this address on the air; the bond is the one that the address names or resolves to.
    case connected(LinkID, isCentral: Bool, onAir: DeviceAddress, BondID?)
    /// There was no slot for it.
    case rejected(onAir: DeviceAddress?)
    case disconnected(LinkID, HCIErrorCode)
    /// This side encrypts, with this bond's key.
    case encrypting(LinkID, BondID)
    /// The peer encrypts: whether this side has a key for it.
    case keyRequested(LinkID, isKnown: Bool)
    /// Encryption is on, with a bond's key or with the pairing's that is under way; or it was refused.
    case encryption(LinkID, HCIErrorCode, isPairing: Bool)
    case pairingBegan(LinkID)
    case paired(LinkID, BondID)
    case pairingFailed(LinkID, PairingError)
    case mtu(LinkID, Int)
    /// A link in a bonded peer's name came to nothing: somebody else may have been there.
    case unproven(peer: DeviceAddress, onAir: DeviceAddress)
    /// The controller refuses to advertise what an app has asked for. It is asked again.
    case advertisingRefused(HCIErrorCode)
    /// Nobody has claimed what is kept for this manager: it runs no more.
    case managerAtRest(RestoreKey)
    /// It made room for another name: nothing is kept for it any more.
    case managerForgotten(RestoreKey)
    /// There are as many names as may be, and all have their managers: nothing is kept under this one.
    case managerNotKept(RestoreKey)
    /// The controller did what it should not have, so many times since the process began.
    case controllerFault(total: Int)
}
