import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import Synchronization

/// A peripheral manager's half on the loop.
///
/// What is in `shared` may be touched from any thread; every other variable only on the loop.
final class PeripheralCore: @unchecked Sendable {
    struct Shared: Sendable {
        weak var manager: CBPeripheralManager?
        var state = CBManagerState.unknown
        var isAdvertising = false
        var centrals = Registry<CBCentral>()
        var updates = UpdateBudget()
    }

    let handle: CBHost
    let delivery: CallbackDelivery
    let backlog = Backlog(maximum: Backlog.callbacksOfAllMaximum)
    let shared = Mutex(Shared())

    private(set) weak var host: Host?
    private(set) var id: ManagerID?
    /// The state that the app was last told of, or is about to be.
    var lastTold = CBManagerState.unknown
    /// By the handle of the declaration.
    var services: [AttributeHandle: CBMutableService] = [:]
    /// By value handle.
    var characteristics: [AttributeHandle: CBMutableCharacteristic] = [:]
    /// Centrals that are connected or subscribed are not forgotten, though the app may hold no reference.
    var standing: [PeerIdentifier: CBCentral] = [:]
    /// Links whose beginning the app was told, and whose end it is told for that.
    var toldLinks: Set<LinkID> = []
    /// Whether the app waits to hear that advertising started.
    var isStartingAdvertising = false
    /// Updates that `updateValue` took and the host had no room for.
    var waiting = WaitingUpdates()
    var router: ChannelRouter?

    init(handle: CBHost, delivery: CallbackDelivery) {
        self.handle = handle
        self.delivery = delivery
    }

    func register(restoreIdentifier: String?) {
        handle.executor.execute { host in
            self.host = host
            let (id, record) = host.registerPeripheral(restoreIdentifier: restoreIdentifier, delegate: self)
            self.id = id
            if let record { self.restore(record, host, id) }
            self.hostStateChanged(host.hostState)
        }
    }

    func unregister() {
        handle.executor.execute { host in
            guard let id = self.id else { return }
            self.id = nil
            host.unregister(id)
            self.services = [:]
            self.characteristics = [:]
            self.standing = [:]
            self.toldLinks = []
        }
    }

    /// Runs a call of the app on the loop.
    func submit(_ body: @escaping @Sendable (Host, ManagerID) -> Void) {
        handle.executor.execute { host in
            guard let id = self.id else { return }
            body(host, id)
        }
    }

    func isPoweredOn(_ what: String) -> Bool {
        if shared.withLock({ $0.state }) == .poweredOn { return true }
        handle.misuse("\(what): the peripheral manager is not powered on")
        return false
    }

    /// Changes what the app sees, and calls the delegate if there is one.
    func tell(
        after change: @escaping @Sendable () -> Void = {},
        _ call: @escaping @Sendable (CBPeripheralManager, any CBPeripheralManagerDelegate) -> Void
    ) {
        delivery.deliver(host) {
            change()
            self.withDelegate(call)
        }
    }

    /// The same for what a peer can cause as often as it likes: it may be dropped, and false is said then.
    @discardableResult
    func tellFlooded(
        by central: CBCentral,
        _ call: @escaping @Sendable (CBPeripheralManager, any CBPeripheralManagerDelegate) -> Void
    ) -> Bool {
        delivery.deliver(host, within: central.backlog) { self.withDelegate(call) }
    }

    private func withDelegate(_ call: (CBPeripheralManager, any CBPeripheralManagerDelegate) -> Void) {
        guard let manager = shared.withLock({ $0.manager }), let delegate = manager.delegate else { return }
        call(manager, delegate)
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
