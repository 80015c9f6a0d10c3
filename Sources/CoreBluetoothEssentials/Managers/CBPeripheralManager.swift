import BluetoothHost
import Dispatch
import FoundationEssentials
import Synchronization

/// Publishes services and advertises them.
///
/// In: calls of the app, on any thread; they never block. Out: calls of the delegate, on the manager's queue, after
/// everything that they speak of is on disk. Calls before ``CBManagerState/poweredOn`` are misuse and ignored, as with
/// Apple.
///
/// What is asked for under a restore identifier is on disk before anything comes of it. It runs until it is taken back,
/// through power cycles of the adapter and any number of launches. A manager without an identifier takes everything
/// with it when it goes.
public final class CBPeripheralManager: CBManager, @unchecked Sendable {
    let core: PeripheralCore

    /// A manager on `host` that calls its delegate on `queue`, a serial one, or the main queue.
    package convenience init(
        callbacks: (any CBPeripheralManagerCallbacks)?, queue: DispatchQueue?, options: [String: Any]? = nil,
        startsEndWithPower: Bool = false, host: CBHost
    ) {
        self.init(
            callbacks: callbacks, delivery: .app(queue), options: options, startsEndWithPower: startsEndWithPower,
            host: host)
    }

    /// A manager that calls its delegate where `delivery` says. With `startsEndWithPower` an adapter that goes takes a start of
    /// advertising back which has not been answered.
    package init(
        callbacks: (any CBPeripheralManagerCallbacks)?, delivery: CallbackDelivery, options: [String: Any]? = nil,
        startsEndWithPower: Bool = false, host: CBHost
    ) {
        core = PeripheralCore(
            handle: host, delivery: delivery, delegate: callbacks, startsEndWithPower: startsEndWithPower,
            endsWithPower: options?[CBManagerOptionEndsWithPowerKey] as? Bool ?? false)
        super.init()
        core.register(self, restoreIdentifier: options?[CBPeripheralManagerOptionRestoreIdentifierKey] as? String)
    }

    deinit { core.unregister() }

    /// Who hears of this manager; not retained.
    package weak var callbacks: (any CBPeripheralManagerCallbacks)? {
        get { core.delegate }
        set { core.delegate = newValue }
    }

    public override var state: CBManagerState { core.state }

    /// What Apple's systems before iOS 13 said of the app: always authorised, as ``CBManager/authorization-type.property`` is.
    @available(*, deprecated, message: "Use CBManager.authorization instead.")
    public class func authorizationStatus() -> CBPeripheralManagerAuthorizationStatus { .authorized }

    /// Whether advertising started, or was restored, and was not stopped.
    public var isAdvertising: Bool { core.shared.withLock { $0.isAdvertising } }

    /// Advertises the local name and the services of this dictionary. Ends in `peripheralManagerDidStartAdvertising`.
    public func startAdvertising(_ advertisementData: [String: Any]?) { _ = takesStart(of: advertisementData) }

    /// The same, and whether the call was taken: then `peripheralManagerDidStartAdvertising` comes for it.
    package func takesStart(of advertisementData: [String: Any]?) -> Bool {
        let absences = core.absencesHeard
        guard core.isPoweredOn("startAdvertising") else { return false }
        core.startAdvertising(AdvertisingRecord(advertisementData), absencesHeard: absences)
        return true
    }

    /// Stops advertising.
    public func stopAdvertising() {
        guard core.isPoweredOn("stopAdvertising") else { return }
        core.stopAdvertising()
    }

    /// Publishes a service; the services that it includes must be published. Ends in `didAdd`. One that was restored and
    /// is added again as it was keeps its handles and subscribers, with the new objects.
    public func add(_ service: CBMutableService) {
        guard core.isPoweredOn("add") else { return }
        core.add(service)
    }

    /// Takes a service back.
    public func remove(_ service: CBMutableService) {
        guard core.isPoweredOn("remove") else { return }
        core.remove(service)
    }

    /// Takes every service of this manager back.
    public func removeAllServices() {
        guard core.isPoweredOn("removeAllServices") else { return }
        core.removeAllServices()
    }

    /// Answers a request, once; of several writes that came together, the first, for all.
    public func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
        core.respond(to: request, result)
    }

    /// Sends a value to these subscribers, or to all: a notification or an indication, as each chose. Bonded subscribers
    /// that are away get it when they return. False when there is no room: then
    /// `peripheralManagerIsReady(toUpdateSubscribers:)` says when there is.
    @discardableResult
    public func updateValue(
        _ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?
    ) -> Bool {
        guard core.isPoweredOn("updateValue") else { return false }
        return core.updateValue(Array(value), for: characteristic, onSubscribedCentrals: centrals)
    }

    /// Offers a service that peers open channels to, under a PSM of the host's choice; with encryption, only on a link that
    /// is encrypted. Ends in `didPublishL2CAPChannel`. It stands until it is taken back or the manager goes away, and is
    /// not kept under a restore identifier.
    public func publishL2CAPChannel(withEncryption encryptionRequired: Bool) {
        guard core.isPoweredOn("publishL2CAPChannel") else { return }
        core.publishChannel(encryptionRequired)
    }

    /// Takes a service back; channels that are open stay. Ends in `didUnpublishL2CAPChannel`.
    public func unpublishL2CAPChannel(_ PSM: CBL2CAPPSM) {
        guard core.isPoweredOn("unpublishL2CAPChannel") else { return }
        core.unpublishChannel(PSM)
    }

    /// Asks a connected central for a link that is quick to answer or cheap to keep. The central decides; it is asked at the
    /// earliest 5 s after it connected, and 30 s after it was last asked.
    public func setDesiredConnectionLatency(_ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral) {
        guard core.isPoweredOn("setDesiredConnectionLatency") else { return }
        core.setDesiredLatency(latency, for: central)
    }
}

extension CBPeripheralManager: CoreManager {
    static var role: RestoreKey.Role { .peripheral }

    func tellState(_ delegate: any CBPeripheralManagerCallbacks) { delegate.peripheralManagerDidUpdateState(self) }
}
