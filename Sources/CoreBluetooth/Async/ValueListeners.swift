import CoreBluetoothEssentials
import Foundation
import Synchronization

/// Who listens to the values of which characteristic over one link. The first listener of a characteristic subscribes,
/// and the last one unsubscribes.
struct ValueListeners: Sendable {
    typealias Continuation = AsyncThrowingStream<Data, any Error>.Continuation

    private struct Listening: Sendable {
        var continuations: [UInt64: Continuation] = [:]
        /// As the peripheral last agreed.
        var isSubscribed = false
        /// What the peripheral is being asked for; one thing at a time.
        var asked: Bool?
    }

    private var characteristics: [CBCharacteristic: Listening] = [:]
    private var lastListener: UInt64 = 0

    mutating func add(_ continuation: Continuation, to characteristic: CBCharacteristic, _ peripheral: CBPeripheral)
        -> UInt64
    {
        lastListener += 1
        characteristics[characteristic, default: Listening()].continuations[lastListener] = continuation
        settle(characteristic, peripheral)
        return lastListener
    }

    mutating func remove(_ listener: UInt64, from characteristic: CBCharacteristic, _ peripheral: CBPeripheral) {
        guard characteristics[characteristic]?.continuations.removeValue(forKey: listener) != nil else { return }
        settle(characteristic, peripheral)
    }

    func tell(_ value: Data, of characteristic: CBCharacteristic, _ effects: inout Effects) {
        for continuation in characteristics[characteristic]?.continuations.values ?? [:].values {
            effects.then { continuation.yield(value) }
        }
    }

    /// The peripheral agreed to what it was asked for, or did not.
    mutating func answered(
        _ characteristic: CBCharacteristic, _ error: (any Error)?, _ peripheral: CBPeripheral, _ effects: inout Effects
    ) {
        guard let asked = characteristics[characteristic]?.asked else { return }
        characteristics[characteristic]?.asked = nil
        if let error, asked {
            fail(characteristic, error, &effects)
        } else {
            // One that cannot be unsubscribed is left as it is: its values reach nobody.
            characteristics[characteristic]?.isSubscribed = asked
        }
        settle(characteristic, peripheral)
    }

    /// These services are gone from the peripheral, and with them what was subscribed there.
    mutating func invalidate(_ services: [CBService], _ effects: inout Effects) {
        for characteristic in characteristics.keys where characteristic.service.map(services.contains) ?? true {
            fail(characteristic, CBError(.invalidHandle), &effects)
            characteristics[characteristic] = nil
        }
    }

    mutating func finish(throwing error: (any Error)?, _ effects: inout Effects) {
        for characteristic in characteristics.keys { fail(characteristic, error, &effects) }
        characteristics = [:]
    }

    private mutating func fail(
        _ characteristic: CBCharacteristic, _ error: (any Error)?, _ effects: inout Effects
    ) {
        for continuation in characteristics[characteristic]?.continuations.values ?? [:].values {
            effects.then { continuation.finish(throwing: error) }
        }
        characteristics[characteristic]?.continuations = [:]
    }

    /// Asks the peripheral for what is wanted now, unless it is being asked or agreed to that.
    private mutating func settle(_ characteristic: CBCharacteristic, _ peripheral: CBPeripheral) {
        guard let listening = characteristics[characteristic], listening.asked == nil else { return }
        let isWanted = !listening.continuations.isEmpty
        if isWanted != listening.isSubscribed {
            characteristics[characteristic]?.asked = isWanted
            peripheral.setNotifyValue(isWanted, for: characteristic)
        } else if !isWanted {
            characteristics[characteristic] = nil
        }
    }
}

// MARK: By the link

extension ConnectedLink {
    /// Values that wait for one listener; past that its oldest ones are dropped.
    static let valuesMaximum = 256

    /// Each listener has a sequence of its own, which keeps the session for as long as somebody holds it.
    func values(of characteristic: CBCharacteristic, _ session: CentralSession) -> AsyncThrowingStream<Data, any Error>
    {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Data.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(Self.valuesMaximum))
        let listener = state.turn { [peripheral] state, effects -> UInt64? in
            guard state.isOpen else {
                effects.then { continuation.finish(throwing: CBError(.notConnected)) }
                return nil
            }
            return state.listening.add(continuation, to: characteristic, peripheral)
        }
        guard let listener else { return stream }
        continuation.onTermination = { [self] _ in
            withExtendedLifetime(session) {
                state.withLock { if $0.isOpen { $0.listening.remove(listener, from: characteristic, peripheral) } }
            }
        }
        return stream
    }

    func received(_ value: Data, _ characteristic: CBCharacteristic) {
        state.turn { state, effects in state.listening.tell(value, of: characteristic, &effects) }
    }

    func notifies(_ characteristic: CBCharacteristic, _ error: (any Error)?) {
        state.turn { [peripheral] state, effects in
            if state.isOpen { state.listening.answered(characteristic, error, peripheral, &effects) }
        }
    }

    func modified(_ services: [CBService]) {
        state.turn { state, effects in state.listening.invalidate(services, &effects) }
    }
}
