import CoreBluetoothEssentials
import Foundation
import Synchronization

/// How a link ended.
enum LinkEnd: Sendable {
    /// This side asked for it.
    case asked
    case lost(any Error)

    var error: (any Error)? { if case .lost(let error) = self { error } else { nil } }
}

/// One link to a peripheral: the calls that are under way on it, and who listens to values. Every one of them ends with
/// it.
final class ConnectedLink: Sendable {
    /// Which callback ends a call.
    enum Key: Hashable, Sendable {
        case services
        case includedServices(CBService)
        case characteristics(CBService)
        case descriptors(CBCharacteristic)
        case read(CBCharacteristic)
        case readDescriptor(CBDescriptor)
        case write(CBCharacteristic)
        case writeDescriptor(CBDescriptor)
        case strength
        case channel
    }

    /// A write without response that waits for room.
    fileprivate struct Command: Sendable {
        let promise: Promise<Void>
        let write: @Sendable () -> Void
    }

    struct State: Sendable {
        fileprivate var calls = CallLanes<Key>()
        fileprivate var commands: [Command] = []
        fileprivate var watchers: [Promise<LinkEnd>] = []
        var listening = ValueListeners()
        /// Its end was asked for: nothing more is.
        fileprivate(set) var isClosing = false
        fileprivate(set) var end: LinkEnd?

        var isOpen: Bool { !isClosing && end == nil }
    }

    let peripheral: CBPeripheral
    let state = Mutex(State())

    init(_ peripheral: CBPeripheral) { self.peripheral = peripheral }

    // MARK: What an app asks for

    /// Asks, and waits for the callback.
    func perform(
        _ key: Key, within limit: Duration?, _ ask: @escaping @Sendable (CBPeripheral) -> Void
    ) async throws -> Answer {
        let promise = Promise<Answer>()
        state.turn { [peripheral] state, effects in
            guard state.isOpen else { return effects.end(promise, .failure(CBError(.notConnected))) }
            state.calls.add(promise, to: key) { ask(peripheral) }
        }
        return try await promise.value(within: limit)
    }

    /// Writes as soon as there is room.
    func command(_ value: Data, _ characteristic: CBCharacteristic, within limit: Duration?) async throws {
        let promise = Promise<Void>()
        state.turn { [peripheral] state, effects in
            guard state.isOpen else { return effects.end(promise, .failure(CBError(.notConnected))) }
            state.commands.append(
                Command(promise: promise) {
                    peripheral.writeValue(value, for: characteristic, type: .withoutResponse)
                })
            Self.writeOn(peripheral, &state, &effects)
        }
        try await promise.value(within: limit)
    }

    /// In the order in which they were asked for, as far as there is room.
    private static func writeOn(_ peripheral: CBPeripheral, _ state: inout State, _ effects: inout Effects) {
        state.commands.removeAll(where: \.promise.isOver)
        while let first = state.commands.first, peripheral.canSendWriteWithoutResponse {
            state.commands.removeFirst()
            first.write()
            effects.end(first.promise, .success(()))
        }
    }

    func ended() async throws -> LinkEnd {
        let promise = Promise<LinkEnd>()
        state.turn { state, effects in
            if let end = state.end { return effects.end(promise, .success(end)) }
            state.watchers.removeAll(where: \.isOver)
            state.watchers.append(promise)
        }
        return try await promise.value()
    }

    // MARK: What is heard of the peripheral

    func answered(_ key: Key, _ result: Result<Answer, any Error>) {
        state.turn { state, effects in state.calls.end(key, result, &effects) }
    }

    func hasRoom() {
        state.turn { [peripheral] state, effects in
            if state.isOpen { Self.writeOn(peripheral, &state, &effects) }
        }
    }

    // MARK: Its end

    func close() { state.withLock { $0.isClosing = true } }

    /// `failure` is what calls end in, where the end itself is none.
    func end(_ end: LinkEnd, failing failure: any Error = CBError(.operationCancelled)) {
        state.turn { state, effects in
            guard state.end == nil else { return }
            state.end = end
            let error = end.error ?? failure
            state.calls.fail(error, &effects)
            for command in state.commands { effects.end(command.promise, .failure(error)) }
            state.commands = []
            for watcher in state.watchers { effects.end(watcher, .success(end)) }
            state.watchers = []
            state.listening.finish(throwing: end.error, &effects)
        }
    }
}
