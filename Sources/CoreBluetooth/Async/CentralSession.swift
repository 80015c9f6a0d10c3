import BluetoothHost
import CoreBluetoothEssentials
import Foundation

/// Scans for peripherals and connects to them, with `async` calls in place of a delegate.
///
/// A session is a `CBCentralManager`, its delegate and a serial queue. Every call ends exactly once: with its result,
/// with the error that the delegate would hear, with `BluetoothSessionError` when the adapter is not on or the timeout
/// elapses, or with `CancellationError`. Make peripherals' calls through ``PeripheralConnection``, and leave their
/// `delegate` alone. The manager goes when nobody holds the session, a connection or a sequence of it.
public final class CentralSession: Sendable {
    /// Events that wait for somebody to iterate; past that the second oldest goes.
    static let eventsMaximum = 64
    /// Discoveries that wait; past that the oldest go.
    static let discoveriesMaximum = 256

    let router = CentralRouter()
    let manager: CBCentralManager

    /// A session on the process's host. What is asked for under a restore identifier is kept across launches.
    public convenience init(restoreIdentifier: String? = nil) {
        self.init(restoreIdentifier: restoreIdentifier, host: .default)
    }

    /// A session on `host`.
    package init(restoreIdentifier: String? = nil, host: CBHost) {
        manager = CBCentralManager(
            callbacks: router, queue: DispatchQueue(label: "CentralSession"),
            options: restoreIdentifier.map { [CBCentralManagerOptionRestoreIdentifierKey: $0] }, host: host)
    }

    // MARK: The adapter

    /// The adapter's state, as last told.
    public var state: CBManagerState { manager.state }

    /// What was restored, if anything was, and then each state of the adapter. 64 events are kept while nobody
    /// iterates: the first, and the newest.
    public var events: SessionSequence<Event> { SessionSequence(inbox: router.events, session: self) }

    /// Waits until the adapter is on, however often it goes and comes before.
    ///
    /// - Throws: `CancellationError`, or `BluetoothSessionError.timedOut`.
    public func waitUntilPoweredOn(timeout: Duration? = nil) async throws {
        let promise = Promise<Void>()
        router.waitUntilPoweredOn(promise)
        try await promise.value(within: timeout)
    }

    // MARK: Peripherals

    /// Scans for peripherals that advertise any of these services, or for all, until nobody holds the sequence or
    /// iterates over it. Begins as soon as the adapter is on, and goes on when that was off. A session has one scan:
    /// the next ends this sequence. 256 discoveries wait for the iteration; past that the oldest are dropped.
    ///
    /// A peripheral is told once, and again when it says something new; with `allowingDuplicates` each time that it is
    /// heard.
    public func discoveries(
        withServices services: [CBUUID]? = nil, allowingDuplicates: Bool = false
    ) -> AsyncStream<Discovery> { router.discoveries(services, allowingDuplicates, self) }

    /// Stops the scan and ends its sequence; also a scan that was restored.
    public func stopScanning() { router.stopScan(manager) }

    /// The peripherals with these identifiers that are known: bonded, restored, or met by this session. None while the
    /// adapter is not on.
    public func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] {
        manager.state == .poweredOn ? manager.retrievePeripherals(withIdentifiers: identifiers) : []
    }

    /// Connects whenever the peripheral comes near. Without a timeout it waits as long as that takes. A connection that
    /// stands, or that was restored, is returned at once.
    ///
    /// Whatever ends the call without a connection takes the wish for one back: cancellation, the timeout, and an
    /// adapter that goes. Several calls for one peripheral share the wish; the last of them takes it back.
    ///
    /// - Throws: `CBError` when it cannot be connected to, `BluetoothSessionError`, or `CancellationError`.
    public func connect(_ peripheral: CBPeripheral, timeout: Duration? = nil) async throws -> PeripheralConnection {
        let promise = Promise<ConnectedLink>()
        let claim = router.claim(peripheral, promise, manager)
        do {
            let link = try await promise.value(within: timeout)
            // The connection came at the moment of the cancellation: nobody would have it.
            try Task.checkCancellation()
            return PeripheralConnection(link: link, session: self)
        } catch {
            if let claim { router.giveUp(claim, peripheral, manager) }
            throw error
        }
    }

    /// Ends the connection to a peripheral, or the wish for one: calls that wait for it end with
    /// `CBError.operationCancelled`. Takes back what was restored, too.
    public func disconnect(_ peripheral: CBPeripheral) { router.disconnect(peripheral, nil, manager) }
}

extension CentralSession {
    /// What a session tells.
    public enum Event: Sendable {
        /// Comes first, and only when something was kept under the restore identifier.
        case restored(Restoration)
        /// The adapter's state changed.
        case state(CBManagerState)
    }

    /// What stands since an earlier launch. It runs already: ask for nothing again.
    public struct Restoration: Sendable {
        /// Connected, or with a wish for a connection, and with the services that were discovered.
        /// ``connect(_:timeout:)`` gives the connection.
        public let peripherals: [CBPeripheral]
        /// Whether a scan runs. ``discoveries(withServices:allowingDuplicates:)`` takes its place.
        public let isScanning: Bool
        /// What the scan looks for; nil for everything.
        public let scannedServices: [CBUUID]?

        init(_ state: [String: Any]) {
            peripherals = state[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
            isScanning = state[CBCentralManagerRestoredStateScanOptionsKey] != nil
            scannedServices = state[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID]
        }
    }

    /// A peripheral that a scan found, or something new about it.
    ///
    /// Unchecked: nothing in the dictionary can be changed by whoever reads it.
    public struct Discovery: @unchecked Sendable {
        /// The peripheral.
        public let peripheral: CBPeripheral
        /// What it said, under the `CBAdvertisementData…` keys.
        public let advertisementData: [String: Any]
        /// The signal strength, in dBm.
        public let rssi: Int
    }
}
