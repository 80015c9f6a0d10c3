import BluetoothCore
import GATT

/// What the server keeps of one link, from the link's beginning to its end.
struct ServerSession {
    /// A request of the client that waits for an app.
    enum Request: Equatable {
        case read(GATTRequestID)
        case write(GATTRequestID)

        var id: GATTRequestID {
            switch self {
            case .read(let id), .write(let id): id
            }
        }
    }

    let link: LinkID
    /// One at most: the bearer takes no second request before the first is answered.
    ///
    /// Core 5.4, Vol 3, Part F, 3.3.2 (Sequential protocol)
    var request: Request?
    /// Updates out of the ledger's queue that are on their way, by their sequence, so that none is sent twice on one link.
    var underWay: [UInt64: RestorationLedger.Owner] = [:]
    /// Some of that queue found no room, and goes when there is.
    var hasWaitingUpdates = false
    /// An app was refused an update because this link had no room for it: it hears when the link has.
    var isInTheWay = false

    init(link: LinkID) { self.link = link }

    /// What waited for this client goes out.
    var isCatchingUp: Bool { hasWaitingUpdates || !underWay.isEmpty }
}
