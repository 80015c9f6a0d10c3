import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import SecurityManager
import Synchronization

/// A central manager's half on the loop: turns calls into procedures of the host, and what the host says into calls of
/// the delegates.
///
/// What is in `shared` may be touched from any thread; every other variable only on the loop.
final class CentralCore: @unchecked Sendable {
    struct Shared: Sendable {
        weak var manager: CBCentralManager?
        var state = CBManagerState.unknown
        var isScanning = false
        var peripherals = Registry<CBPeripheral>()
        /// Bonded peers: an app may retrieve them though nobody holds an object for them.
        var known: Set<PeerIdentifier> = []
    }

    let handle: CBHost
    let delivery: CallbackDelivery
    let backlog = Backlog(maximum: Backlog.callbacksOfAllMaximum)
    let discoveriesBacklog = Backlog(maximum: Backlog.discoveriesMaximum)
    let shared = Mutex(Shared())

    private(set) weak var host: Host?
    private(set) var id: ManagerID?
    /// The state that the app was last told of, or is about to be.
    var lastTold = CBManagerState.unknown
    var operations: [OperationToken: CentralOperation] = [:]
    /// Procedures that the host is being asked for right now, and has not given a token yet.
    var starting: [CentralOperation] = []
    /// The trees of peers that were discovered or restored in this process.
    var databases: [PeerIdentifier: RemoteDatabase] = [:]
    /// Peers without a bond whose tree was discovered or checked on the link that stands.
    var checkedDatabases: Set<PeerIdentifier> = []
    /// Peers that said that their tree changed, and whose new one is not discovered yet.
    var invalidatedDatabases: Set<PeerIdentifier> = []
    /// Connected peers without a bond.
    var strangers: Set<PeerIdentifier> = []
    /// Value handles that this side is subscribed to.
    var subscriptions: [PeerIdentifier: Set<AttributeHandle>] = [:]
    /// Peripherals with a connection or a wish for one are not forgotten, though the app may hold no reference.
    var standing: [PeerIdentifier: CBPeripheral] = [:]
    var scan: ScanRecord?
    var discoveries = Discoveries()
    var router: ChannelRouter?
    /// Channels that were asked for and are not open yet.
    var openings: [HostChannelID: CBPeripheral] = [:]

    init(handle: CBHost, delivery: CallbackDelivery) {
        self.handle = handle
        self.delivery = delivery
    }

    /// Registers with the host, restores what was kept, and says how the adapter is.
    func register(restoreIdentifier: String?) {
        handle.executor.execute { host in
            self.host = host
            let (id, record) = host.registerCentral(restoreIdentifier: restoreIdentifier, delegate: self)
            self.id = id
            let bonded = host.bonds.compactMap(\.identity).map { host.peer(at: $0.address) }
            self.shared.withLock { $0.known.formUnion(bonded) }
            if let record { self.restore(record, host) }
            self.hostStateChanged(host.hostState)
        }
    }

    func unregister() {
        handle.executor.execute { host in
            guard let id = self.id else { return }
            self.id = nil
            host.unregister(id)
            // Peripherals hold this object, and this object holds those that stand.
            self.standing = [:]
            self.operations = [:]
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
        handle.misuse("\(what): the central manager is not powered on")
        return false
    }

    // MARK: Telling the app

    /// Calls the manager's delegate, where and when it is to be called.
    func tell(_ call: @escaping @Sendable (CBCentralManager, any CBCentralManagerDelegate) -> Void) {
        delivery.deliver(host) { self.withDelegate(call) }
    }

    /// The same for what strangers can cause as often as they like: it may be dropped.
    func tellDiscovery(_ call: @escaping @Sendable (CBCentralManager, any CBCentralManagerDelegate) -> Void) {
        _ = delivery.deliver(host, within: discoveriesBacklog) { self.withDelegate(call) }
    }

    private func withDelegate(_ call: (CBCentralManager, any CBCentralManagerDelegate) -> Void) {
        guard let manager = shared.withLock({ $0.manager }), let delegate = manager.delegate else { return }
        call(manager, delegate)
    }

    /// Changes what the app sees, and then calls a peripheral's delegate if it has one.
    func tell(
        _ peripheral: CBPeripheral, after change: @escaping @Sendable () -> Void = {},
        _ call: @escaping @Sendable (any CBPeripheralDelegate) -> Void
    ) {
        delivery.deliver(host) {
            change()
            if let delegate = peripheral.delegate { call(delegate) }
        }
    }

    // MARK: Peripherals

    /// The one object for a peer.
    func peripheral(_ peer: PeerIdentifier, name: @autoclosure () -> String?) -> CBPeripheral {
        shared.withLock { shared in
            shared.peripherals.object(peer) { CBPeripheral(peer, name: name(), core: self) }
        }
    }

    func peripheral(_ peer: PeerIdentifier) -> CBPeripheral {
        peripheral(peer, name: host?.peerRecord(peer)?.name)
    }

    func retrieve(_ identifiers: [UUID]) -> [CBPeripheral] {
        let isOnLoop = handle.executor.isOnLoop
        return identifiers.compactMap { identifier in
            let peer = PeerIdentifier(identifier)
            if let met = shared.withLock({ $0.peripherals[peer] }) { return met }
            if isOnLoop { return host?.peerRecord(peer).map { peripheral(peer, name: $0.name) } }
            return shared.withLock { $0.known.contains(peer) } ? peripheral(peer, name: nil) : nil
        }
    }
}

/// Objects by the name of the peer that they stand for, not retained, one for each.
struct Registry<Object: AnyObject & Sendable>: Sendable {
    private struct Entry: Sendable { weak var object: Object? }

    /// Entries whose object is gone are dropped when as many have been added since the last time.
    private static var sweepIntervalMinimum: Int { 64 }

    private var entries: [PeerIdentifier: Entry] = [:]
    private var nextSweep = Self.sweepIntervalMinimum

    subscript(peer: PeerIdentifier) -> Object? { entries[peer]?.object }

    mutating func object(_ peer: PeerIdentifier, make: () -> Object) -> Object {
        if let known = entries[peer]?.object { return known }
        let object = make()
        if entries.count >= nextSweep {
            entries = entries.filter { $0.value.object != nil }
            nextSweep = max(Self.sweepIntervalMinimum, entries.count * 2)
        }
        entries[peer] = Entry(object: object)
        return object
    }

    /// Entries, dead ones among them.
    var count: Int { entries.count }

    var all: [Object] { entries.values.compactMap(\.object) }
}
