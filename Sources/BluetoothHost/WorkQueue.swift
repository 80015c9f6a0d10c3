import ATT
import BlueZ
import BluetoothCore
import GATT
import HCI
import SecurityManager

/// What one part of the host wants of another.
///
/// Nobody calls back into whoever called: what concerns two goes through ``WorkQueue``, first come first served, and is done
/// before the next input.
enum Work {
    /// A command has its answer, or will have none.
    case completed(HCICommandCompletion)
    case controllerFailed(ControllerFailure)
    case disconnect(LinkID, HCIErrorCode)
    case pairing(LinkID, PairingEvent)
    case securityRequested(LinkID, AuthReq)
    /// Something was refused for want of security. The link itself comes along: what was asked ends with an answer also when
    /// the link has gone.
    case refused(RefusedRequest, Link)
    /// The link is encrypted with a bond's key.
    case proved(LinkID, Bond)
    /// The link stays as insecure as it is.
    case notEncrypted(LinkID, HCIErrorCode)
    /// A central in a bonded peer's name has had its time.
    case proofOverdue(LinkID)
    /// Over L2CAP the peer has got the parameters that it asked for, or has answered for those that this side asked for.
    case linkLayer(LinkID, LinkLayer.Event)
    /// What a client wants of the server, or has got from it.
    case server(Server.Event)
    /// A link that was in an app's way may have room again.
    case roomChanged
    /// Something for the adapter that bluetoothd keeps.
    case blueZ(BlueZCentral.Event)
    /// A client has asked for the name of a peer of bluetoothd's.
    case nameOfBlueZ(LinkID, OperationToken)
    /// What is kept for a link's bond goes out.
    case deliverUpdates(LinkID)
}

/// First in, first out; the storage is used again.
struct WorkQueue {
    private var items: [Work] = []
    private var next = 0

    mutating func append(_ work: Work) { items.append(work) }

    mutating func takeFirst() -> Work? {
        guard next < items.count else {
            items.removeAll(keepingCapacity: true)
            next = 0
            return nil
        }
        // Moved out, for one that has nothing to copy.
        var first = Work.roomChanged
        swap(&first, &items[next])
        next += 1
        return first
    }
}
