import CoreBluetoothEssentials
import Foundation

/// What ends a call of a session besides `CBError`, `CBATTError` and `CancellationError`.
public enum BluetoothSessionError: LocalizedError, Hashable, Sendable {
    /// The adapter is not on, or is not any more; its state.
    case unavailable(CBManagerState)
    /// The call's timeout has elapsed.
    case timedOut

    /// A sentence for people.
    public var errorDescription: String? {
        switch self {
        case .unavailable(let state): "Bluetooth is not available: \(state)."
        case .timedOut: "The operation took too long."
        }
    }
}

/// The adapter as a session was last told of it, and who waits for it.
struct Adapter: Sendable {
    private(set) var state = CBManagerState.unknown
    private var waiting: [Promise<Void>] = []

    /// Why nothing can be asked for now; nil while the adapter is on.
    var absence: BluetoothSessionError? { state == .poweredOn ? nil : .unavailable(state) }

    mutating func tell(_ new: CBManagerState, _ effects: inout Effects) {
        state = new
        guard new == .poweredOn else { return }
        for promise in waiting { effects.end(promise, .success(())) }
        waiting = []
    }

    mutating func wait(_ promise: Promise<Void>, _ effects: inout Effects) {
        waiting.removeAll(where: \.isOver)
        guard absence != nil else { return effects.end(promise, .success(())) }
        waiting.append(promise)
    }
}
