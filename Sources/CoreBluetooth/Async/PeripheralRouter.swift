import CoreBluetoothEssentials
import Foundation
import Synchronization

/// Brings what a peripheral manager says, on the session's queue, to the calls and sequences that wait for it.
final class PeripheralRouter: CBPeripheralManagerCallbacks, Sendable {
    /// Which callback ends a call.
    enum Key: Hashable, Sendable {
        case add(CBService)
        case advertise
        case publish
        case unpublish(CBL2CAPPSM)
    }

    /// A value that waits for room.
    private struct Update: Sendable {
        let promise: Promise<Void>
        let characteristic: CBMutableCharacteristic
        /// False while there is no room.
        let send: @Sendable () -> Bool
    }

    private struct State: Sendable {
        var adapter = Adapter()
        var calls = CallLanes<Key>()
        /// Those that are published: a value of another one is never sent.
        var services: [CBMutableService] = []
        var updates: [Update] = []
    }

    let events = Inbox<PeripheralSession.Event>(maximum: PeripheralSession.eventsMaximum, .replacesSecond)
    let requests = Inbox<PeripheralSession.Request>(maximum: PeripheralSession.requestsMaximum, .refused)
    let subscriptions = Inbox<PeripheralSession.Subscription>(
        maximum: PeripheralSession.subscriptionsMaximum, .replacesSecond)
    let channels = Inbox<CBL2CAPChannel>(maximum: PeripheralSession.channelsMaximum, .refused)
    private let state = Mutex(State())
    /// Starts of advertising that the manager has not answered. Outside of the state, which is locked while calls are made.
    private let starts = Mutex(0)

    func waitUntilPoweredOn(_ promise: Promise<Void>) {
        state.turn { state, effects in state.adapter.wait(promise, &effects) }
    }

    // MARK: Calls

    /// Asks, and waits for the callback.
    func perform(_ key: Key, within limit: Duration?, _ ask: @escaping @Sendable () -> Void) async throws -> Answer {
        let promise = Promise<Answer>()
        state.turn { state, effects in
            if let absence = state.adapter.absence { return effects.end(promise, .failure(absence)) }
            state.calls.add(promise, to: key, ask)
        }
        return try await promise.value(within: limit)
    }

    /// Starts advertising, and waits for the callback, which comes where `ask` says that the call was taken.
    func start(within limit: Duration?, _ ask: @escaping @Sendable () -> Bool) async throws {
        _ = try await perform(.advertise, within: limit) { [self] in
            starts.withLock { $0 += 1 }
            if !ask() { starts.withLock { $0 -= 1 } }
        }
    }

    func isUnderWay(_ key: Key) -> Bool { state.withLock { $0.calls.isUnderWay(key) } }

    /// Forgets the services that `isMeant` names, and what waits to be sent of them.
    func forget(_ isMeant: (CBMutableService) -> Bool) {
        state.turn { state, effects in
            state.services.removeAll(where: isMeant)
            let updates = state.updates
            state.updates = updates.filter { Self.isPublished($0.characteristic, in: state) }
            for update in updates where !Self.isPublished(update.characteristic, in: state) {
                effects.end(update.promise, .failure(CBError(.invalidHandle)))
            }
        }
    }

    private static func isPublished(_ characteristic: CBMutableCharacteristic, in state: State) -> Bool {
        // The host may have put another service in its place, or the app other objects.
        characteristic.valueHandle != nil && state.services.contains { $0 === characteristic.service }
    }

    /// Sends as soon as there is room, behind what waits already.
    func update(
        _ characteristic: CBMutableCharacteristic, within limit: Duration?, _ send: @escaping @Sendable () -> Bool
    ) async throws {
        let promise = Promise<Void>()
        state.turn { state, effects in
            if let absence = state.adapter.absence { return effects.end(promise, .failure(absence)) }
            guard Self.isPublished(characteristic, in: state) else {
                return effects.end(promise, .failure(CBError(.invalidHandle)))
            }
            state.updates.append(Update(promise: promise, characteristic: characteristic, send: send))
            // Those that wait already are told when there is room.
            if state.updates.count == 1 { Self.sendOn(&state, &effects) }
        }
        try await promise.value(within: limit)
    }

    private static func sendOn(_ state: inout State, _ effects: inout Effects) {
        while let first = state.updates.first {
            if !first.promise.isOver, !first.send() {
                // A service that is not published any more gets no room: the update ends.
                guard !isPublished(first.characteristic, in: state) else { return }
                effects.end(first.promise, .failure(CBError(.invalidHandle)))
            } else {
                effects.end(first.promise, .success(()))
            }
            state.updates.removeFirst()
        }
    }

    // MARK: What the manager says

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        let restoration = PeripheralSession.Restoration(dict)
        state.withLock { $0.services = restoration.services }
        events.put(.restored(restoration))
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        let new = peripheral.state
        state.turn { state, effects in
            state.adapter.tell(new, &effects)
            guard let absence = state.adapter.absence else { return }
            state.calls.fail(absence, &effects)
            for update in state.updates { effects.end(update.promise, .failure(absence)) }
            state.updates = []
        }
        events.put(.state(new))
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        state.turn { state, effects in
            if error == nil, let service = service as? CBMutableService, !state.services.contains(service) {
                state.services.append(service)
            }
            state.calls.end(.add(service), error.map { .failure($0) } ?? .success(.done), &effects)
        }
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        // Of several the earlier ones ended with the adapter: this is what the manager says of the first of them.
        let isLast = starts.withLock { starts in
            starts -= 1
            return starts == 0
        }
        if isLast { answered(.advertise, error.map { .failure($0) } ?? .success(.done)) }
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        subscriptions.put(
            PeripheralSession.Subscription(central: central, characteristic: characteristic, isSubscribed: true))
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        subscriptions.put(
            PeripheralSession.Subscription(central: central, characteristic: characteristic, isSubscribed: false))
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        guard !requests.put(.read(request)) else { return }
        peripheral.respond(to: request, withResult: .insufficientResources)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard !self.requests.put(.write(requests)), let first = requests.first else { return }
        peripheral.respond(to: first, withResult: .insufficientResources)
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
        state.turn { state, effects in Self.sendOn(&state, &effects) }
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) { answered(.publish, error.map { .failure($0) } ?? .success(.psm(PSM))) }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) { answered(.unpublish(PSM), error.map { .failure($0) } ?? .success(.done)) }

    func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        // One that finds no room is held by nobody, and so closed.
        if let channel { channels.put(channel) }
    }

    private func answered(_ key: Key, _ result: Result<Answer, any Error>) {
        state.turn { state, effects in state.calls.end(key, result, &effects) }
    }
}
