import BluetoothHost
import CoreBluetoothEssentials
import Foundation

/// Publishes services and advertises them, with `async` calls in place of a delegate.
///
/// A session is a `CBPeripheralManager`, its delegate and a serial queue. Every call ends exactly once: with its
/// result, with the error that the delegate would hear, with `BluetoothSessionError` when the adapter is not on or the
/// timeout elapses, or with `CancellationError`. Cancellation and timeouts end the wait, and not what was asked for.
/// The manager goes when nobody holds the session, or iterates over a sequence of it.
public final class PeripheralSession: Sendable {
    /// Events that wait for somebody to iterate; past that the second oldest goes.
    static let eventsMaximum = 64
    /// Requests that wait; more are refused.
    static let requestsMaximum = 64
    /// Subscriptions that wait; past that the second oldest goes.
    static let subscriptionsMaximum = 256
    /// Channels that wait; more are closed.
    static let channelsMaximum = 16

    let router = PeripheralRouter()
    let manager: CBPeripheralManager

    /// A session on the process's host. What is asked for under a restore identifier is kept across launches.
    public convenience init(restoreIdentifier: String? = nil) {
        self.init(restoreIdentifier: restoreIdentifier, host: .default)
    }

    /// A session on `host`.
    package init(restoreIdentifier: String? = nil, host: CBHost) {
        manager = CBPeripheralManager(
            callbacks: router, queue: DispatchQueue(label: "PeripheralSession"),
            options: restoreIdentifier.map { [CBPeripheralManagerOptionRestoreIdentifierKey: $0] },
            startsEndWithPower: true, host: host)
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

    // MARK: Services

    /// Publishes a service; the services that it includes must be published.
    ///
    /// - Throws: `CBError`, `BluetoothSessionError`, or `CancellationError`.
    public func add(_ service: CBMutableService, timeout: Duration? = nil) async throws {
        _ = try await router.perform(.add(service), within: timeout) { [manager] in manager.add(service) }
    }

    /// Takes a service back. Updates of it that wait for room end with `CBError.invalidHandle`. Nothing happens while
    /// the adapter is not on.
    public func remove(_ service: CBMutableService) {
        guard manager.state == .poweredOn else { return }
        manager.remove(service)
        router.forget { $0 === service }
    }

    /// Takes every service back, as ``remove(_:)`` does.
    public func removeAllServices() {
        guard manager.state == .poweredOn else { return }
        manager.removeAllServices()
        router.forget { _ in true }
    }

    /// Advertises a name and services, and returns once that has begun. It runs until ``stopAdvertising()``, also after
    /// the adapter was off. An adapter that goes before it has begun takes it back.
    ///
    /// - Throws: `CBError`, `BluetoothSessionError`, or `CancellationError`.
    public func startAdvertising(
        name: String? = nil, services: [CBUUID] = [], timeout: Duration? = nil
    ) async throws {
        try await router.start(within: timeout) { [manager] in
            var data: [String: Any] = [CBAdvertisementDataServiceUUIDsKey: services]
            data[CBAdvertisementDataLocalNameKey] = name
            return manager.takesStart(of: data)
        }
    }

    /// Stops advertising. Nothing happens while the adapter is not on.
    public func stopAdvertising() {
        if manager.state == .poweredOn { manager.stopAdvertising() }
    }

    /// Whether advertising started, or was restored, and was not stopped.
    public var isAdvertising: Bool { manager.isAdvertising }

    // MARK: Centrals

    /// What centrals ask for. Answer each with ``respond(to:withResult:)``. 64 requests wait for the iteration; more
    /// are refused with `CBATTError.insufficientResources`. A central waits for its answer: iterate for as long as the
    /// services stand.
    public var requests: SessionSequence<Request> { SessionSequence(inbox: router.requests, session: self) }

    /// Answers a request, once; of several writes that came together, the first, for all.
    public func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
        manager.respond(to: request, withResult: result)
    }

    /// Who subscribes and unsubscribes. 256 of these wait for the iteration; past that the second oldest is dropped.
    /// `subscribedCentrals` of a characteristic has those who are subscribed now.
    public var subscriptions: SessionSequence<Subscription> {
        SessionSequence(inbox: router.subscriptions, session: self)
    }

    /// Sends a value to these subscribers, or to all, and returns once it is taken; waits for room where there is none.
    /// Values leave in the order of the calls. Bonded subscribers that are away get it when they return.
    ///
    /// - Throws: `CBError.invalidHandle` when the service is not published or is taken back,
    /// `BluetoothSessionError`, or `CancellationError`.
    public func update(
        _ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]? = nil,
        timeout: Duration? = nil
    ) async throws {
        try await router.update(characteristic, within: timeout) { [manager] in
            manager.updateValue(value, for: characteristic, onSubscribedCentrals: centrals)
        }
    }

    // MARK: Channels

    /// Offers a service that peers open channels to, and returns its PSM; with encryption, only on a link that is
    /// encrypted.
    ///
    /// - Throws: `CBError`, `BluetoothSessionError`, or `CancellationError`.
    public func publishL2CAPChannel(
        withEncryption encryptionRequired: Bool, timeout: Duration? = nil
    ) async throws -> CBL2CAPPSM {
        let answer = try await router.perform(.publish, within: timeout) { [manager] in
            manager.publishL2CAPChannel(withEncryption: encryptionRequired)
        }
        guard case .psm(let psm) = answer else { throw CBError(.unknown) }
        return psm
    }

    /// Takes a service of channels back; channels that are open stay.
    ///
    /// - Throws: `CBError`, `BluetoothSessionError`, or `CancellationError`.
    public func unpublishL2CAPChannel(_ psm: CBL2CAPPSM, timeout: Duration? = nil) async throws {
        _ = try await router.perform(.unpublish(psm), within: timeout) { [manager] in
            manager.unpublishL2CAPChannel(psm)
        }
    }

    /// The channels that peers open. 16 wait for the iteration; more are closed. Hold each: one that nobody holds is
    /// closed.
    public var channels: SessionSequence<CBL2CAPChannel> { SessionSequence(inbox: router.channels, session: self) }
}

extension PeripheralSession {
    /// What a session tells.
    public enum Event: Sendable {
        /// Comes first, and only when something was kept under the restore identifier.
        case restored(Restoration)
        /// The adapter's state changed.
        case state(CBManagerState)
    }

    /// What stands since an earlier launch. It runs already: ask for nothing again.
    public struct Restoration: Sendable {
        /// What is published, with its subscribers.
        public let services: [CBMutableService]
        /// Whether it is advertised.
        public let isAdvertising: Bool

        init(_ state: [String: Any]) {
            services = state[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
            isAdvertising = state[CBPeripheralManagerRestoredStateAdvertisementDataKey] != nil
        }
    }

    /// What a central asks for.
    public enum Request: Sendable {
        /// Set the request's value, from its offset on.
        case read(CBATTRequest)
        /// Take all of the writes or none, and answer the first.
        case write([CBATTRequest])
    }

    /// A central subscribed, or it unsubscribed or is gone and was not bonded.
    public struct Subscription: Sendable {
        /// Who it is.
        public let central: CBCentral
        /// What it is about.
        public let characteristic: CBCharacteristic
        /// Which of both happened.
        public let isSubscribed: Bool
    }
}
