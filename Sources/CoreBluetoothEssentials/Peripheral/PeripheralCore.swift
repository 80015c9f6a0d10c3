import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import Synchronization

/// A peripheral manager's half on the loop.
///
/// What is in `shared` may be touched from any thread; every other variable only on the loop.
final class PeripheralCore: ManagerCore<CBPeripheralManager>, @unchecked Sendable {
    struct Shared: Sendable {
        var isAdvertising = false
        /// Counts the app's stops: a start that one of them has followed is heard of, and shows nothing any more.
        var stopsOfAdvertising = 0
        var centrals = Registry<CBCentral>()
        var updates = UpdateBudget()
    }

    let shared = Mutex(Shared())
    /// By the handle of the declaration.
    var services: [AttributeHandle: CBMutableService] = [:]
    /// By value handle.
    var characteristics: [AttributeHandle: CBMutableCharacteristic] = [:]
    /// The subscribers by value handle, as the loop knows them. The app sees each change with its callback.
    var subscribed: [AttributeHandle: [CBCentral]] = [:]
    /// Centrals that are connected or subscribed are not forgotten, though the app may hold no reference.
    var standing: [PeerIdentifier: CBCentral] = [:]
    /// Links whose beginning the app was told, and whose end it is told for that.
    var toldLinks: Set<LinkID> = []
    /// The start of advertising that the app waits to hear of, by the stops that came before it.
    var startingAdvertising: Int?
    /// An adapter that goes takes a start back that has not been answered.
    let startsEndWithPower: Bool
    /// Updates that `updateValue` took and the host had no room for.
    var waiting = WaitingUpdates()

    /// Advertising runs from before the adapter's last absence: an app that is written for Apple's systems, where it ends with the
    /// adapter, starts it anew.
    var advertisesFromBefore = false

    init(
        handle: CBHost, delivery: CallbackDelivery, delegate: (any CBPeripheralManagerCallbacks)?,
        startsEndWithPower: Bool = false, endsWithPower: Bool = false
    ) {
        self.startsEndWithPower = startsEndWithPower || endsWithPower
        super.init(handle: handle, delivery: delivery, delegate: delegate, endsWithPower: endsWithPower)
    }

    func register(_ manager: CBPeripheralManager, restoreIdentifier: String?) {
        let options: ManagerOptions = endsWithPower ? .endsWithPower : []
        register(manager, restoreIdentifier: restoreIdentifier) {
            $0.registerPeripheral(restoreIdentifier: restoreIdentifier, options: options, delegate: self)
        }
    }

    override func powerReturned() { advertisesFromBefore = true }

    override func powerEnded() -> @Sendable () -> Void {
        let ended = Array(services.values)
        for service in ended { if let range = service.range { forget(service, at: range) } }
        return { self.shared.withLock { $0.isAdvertising = false } }
    }

    override func powerLost() {
        guard startsEndWithPower, startingAdvertising != nil, let host, let id else { return }
        startingAdvertising = nil
        host.stopAdvertising(id)
        tellStartCancelled()
    }

    override func forget() {
        // They are the app's objects, which it may add to another manager.
        for service in services.values { release(service) }
        services = [:]
        characteristics = [:]
        subscribed = [:]
        standing = [:]
        toldLinks = []
    }

    override func restore(_ record: RestorationRecord, _ host: Host, _ id: ManagerID) { rebuild(record, host, id) }

    override func channelOpened(_ info: ChannelInfo, _ pipe: ChannelPipe) {
        let channel = CBL2CAPChannel(peer: central(info.link), psm: info.psm, pipe: pipe)
        tell { $1.peripheralManager($0, didOpen: channel, error: nil) }
    }

    /// For what a peer can cause as often as it likes: it may be dropped, and false is said then.
    @discardableResult
    func tellFlooded(
        by central: CBCentral, after change: @escaping @Sendable () -> Void = {},
        _ call: @escaping @Sendable (CBPeripheralManager, any CBPeripheralManagerCallbacks) -> Void
    ) -> Bool {
        delivery.deliver(host, within: central.backlog) {
            change()
            self.withDelegate(call)
        }
    }

    /// The service is not published any more, and the app sees no subscribers of it behind what it is told until now.
    func release(_ service: CBMutableService) {
        service.release()
        let characteristics = service.characteristics ?? []
        delivery.deliver(host) {
            for characteristic in characteristics { characteristic.state.withLock { $0.subscribedCentrals = [] } }
        }
    }

    /// The one object for a peer.
    func central(_ peer: PeerIdentifier) -> CBCentral {
        shared.withLock { shared in shared.centrals.object(peer) { CBCentral(peer, backlog: Backlog(within: backlog)) }
        }
    }

    /// The one object for whoever is on a link, with what is known of it now.
    func central(_ link: LinkInfo) -> CBCentral {
        let central = central(link.peer)
        central.state.withLock {
            $0.link = link
            $0.maximumUpdateValueLength = link.mtu - CBCentral.notificationHeaderOctets
        }
        return central
    }
}

/// Updates that were taken and have not reached the host's queues, bounded.
struct UpdateBudget: Sendable {
    static let maximumWaiting = 64

    private var waiting = 0
    private var wasRefused = false

    /// False when the update is not taken, and the app is to hear when there is room.
    mutating func take() -> Bool {
        guard waiting < Self.maximumWaiting else {
            wasRefused = true
            return false
        }
        waiting += 1
        return true
    }

    mutating func giveBack(_ count: Int = 1) { waiting = max(waiting - count, 0) }

    /// The host had no room for an update made on the loop.
    mutating func refuse() { wasRefused = true }

    /// Whether the app is to be told that there is room again. It is once for many: while others are on their way, half of
    /// them have to have gone. `stalled` are those that stay until a central has room.
    mutating func takeReadiness(stalled: Int) -> Bool {
        let isRoom = waiting <= Self.maximumWaiting / 2 || waiting == stalled && waiting < Self.maximumWaiting
        guard wasRefused, isRoom else { return false }
        wasRefused = false
        return true
    }
}
