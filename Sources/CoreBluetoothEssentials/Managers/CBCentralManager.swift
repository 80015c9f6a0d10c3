import BluetoothHost
import Dispatch
import FoundationEssentials
import Synchronization

/// Scans for peripherals and connects to them.
///
/// In: calls of the app, on any thread; they never block. Out: calls of the delegate, on the manager's queue, after
/// everything that they speak of is on disk. Calls before ``CBManagerState/poweredOn`` are misuse and ignored, as with
/// Apple.
///
/// What is asked for under a restore identifier is on disk before anything comes of it. It runs until it is taken back,
/// through power cycles of the adapter and any number of launches. A manager without an identifier takes everything
/// with it when it goes.
public final class CBCentralManager: CBManager, @unchecked Sendable {
    let core: CentralCore

    /// A manager on `host` that calls its delegates on `queue`, a serial one, or the main queue.
    package convenience init(
        callbacks: (any CBCentralManagerCallbacks)?, queue: DispatchQueue?, options: [String: Any]? = nil, host: CBHost
    ) {
        self.init(callbacks: callbacks, delivery: .app(queue), options: options, host: host)
    }

    /// A manager that calls its delegates where `delivery` says. What apps may ask at any time, and a key never does, is looked up for
    /// apps alone: who else is connected, and what peers call themselves.
    package init(
        callbacks: (any CBCentralManagerCallbacks)?, delivery: CallbackDelivery, options: [String: Any]? = nil,
        isApp: Bool = true, host: CBHost
    ) {
        core = CentralCore(
            handle: host, delivery: delivery, delegate: callbacks,
            isApp: isApp,
            showsGenericServices: options?[CBCentralManagerOptionShowsGenericServicesKey] as? Bool ?? !isApp,
            endsWithPower: options?[CBManagerOptionEndsWithPowerKey] as? Bool ?? false)
        super.init()
        core.register(self, restoreIdentifier: options?[CBCentralManagerOptionRestoreIdentifierKey] as? String)
    }

    deinit { core.unregister() }

    /// Who hears of this manager; not retained.
    package weak var callbacks: (any CBCentralManagerCallbacks)? {
        get { core.delegate }
        set { core.delegate = newValue }
    }

    public override var state: CBManagerState { core.state }

    /// Whether a scan was asked for and not stopped.
    public var isScanning: Bool { core.peripherals.withLock { $0.isScanning } }

    /// For a delegate that is being told of a peripheral: whether the scan that has heard it is still the last one asked for. Another
    /// thread may have asked for one meanwhile.
    package var isTellingOfLatestScan: Bool { core.peripherals.withLock { $0.isToldOfLatestScan } }

    /// Looks for peripherals that advertise any of these services, or for all. Replaces the scan that was asked for
    /// before.
    public func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil) {
        guard core.isPoweredOn("scanForPeripherals") else { return }
        core.peripherals.withLock {
            $0.isScanning = true
            $0.scans += 1
        }
        core.startScan(ScanRecord(serviceUUIDs, options))
    }

    /// Stops looking.
    public func stopScan() {
        guard core.isPoweredOn("stopScan") else { return }
        core.peripherals.withLock { $0.isScanning = false }
        core.stopScan()
    }

    /// Whether the peripheral is one of this manager's objects. Calls with others are misuse.
    package func owns(_ peripheral: CBPeripheral) -> Bool { peripheral.core === core }

    /// Connects whenever the peripheral comes near; never times out. Ends in `didConnect` or `didFailToConnect`, or in
    /// `didDisconnectPeripheral` when it is cancelled first.
    public func connect(_ peripheral: CBPeripheral, options: [String: Any]? = nil) {
        guard core.isPoweredOn("connect") else { return }
        guard owns(peripheral) else { return core.handle.misuse("connect: another manager's peripheral") }
        peripheral.content.withLock { $0.connection.make(.connect) }
        core.connect(peripheral, ConnectionOptions(options))
    }

    /// Ends a connection, or the wish for one, in `didDisconnectPeripheral`.
    public func cancelPeripheralConnection(_ peripheral: CBPeripheral) {
        guard core.isPoweredOn("cancelPeripheralConnection") else { return }
        guard owns(peripheral) else {
            return core.handle.misuse("cancelPeripheralConnection: another manager's peripheral")
        }
        peripheral.content.withLock { $0.connection.make(.cancel) }
        core.cancelConnection(peripheral)
    }

    /// The peripherals with these identifiers that are known: those that an app of this host has ever asked to connect to or is
    /// bonded with, and those that this manager has met in this life.
    public func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] {
        guard core.isPoweredOn("retrievePeripherals") else { return [] }
        return core.retrieve(identifiers)
    }

    /// The peers that are connected to this host, whoever asked for it and whichever side made the link, and that have any of these
    /// services, as far as any manager of this host has ever discovered them. For this manager each is connected once it asks.
    public func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral] {
        guard core.isPoweredOn("retrieveConnectedPeripherals") else { return [] }
        return core.retrieveConnected(Set(serviceUUIDs.map(\.bluetoothUUID)))
    }

    /// From now on `connectionEventDidOccur` comes when a peer that matches any of these options connects to this host or is gone,
    /// whichever manager asked for the connection, and whichever side made it. nil ends that.
    public func registerForConnectionEvents(options: [CBConnectionEventMatchingOption: Any]? = nil) {
        guard core.isPoweredOn("registerForConnectionEvents") else { return }
        core.matchConnectionEvents(options.map { ConnectionEventFilter($0) })
    }
}

extension CBCentralManager: CoreManager {
    static var role: RestoreKey.Role { .central }

    func tellState(_ delegate: any CBCentralManagerCallbacks) { delegate.centralManagerDidUpdateState(self) }
}
