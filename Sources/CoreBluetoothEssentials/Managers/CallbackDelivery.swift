import BluetoothHost
import Dispatch
import Synchronization

/// Where a manager calls its delegates.
package enum CallbackDelivery: Sendable {
    /// On a serial queue, after the commit of the iteration that has something to say: what the app hears is on disk.
    case queue(DispatchQueue)
    /// On the loop, inside the iteration's transaction: what the app persists and asks for in the callback is committed
    /// and let go together with what it heard.
    case inline

    func deliver(_ host: Host?, _ callback: @escaping @Sendable () -> Void) {
        switch self {
        case .inline: callback()
        case .queue(let queue):
            guard let host else { return queue.async(execute: callback) }
            host.afterCommit { queue.async(execute: callback) }
        }
    }
}

extension CallbackDelivery {
    /// The same for what a peer can cause as often as it likes. False when so much waits already that it is not delivered.
    func deliver(_ host: Host?, within backlog: Backlog, _ callback: @escaping @Sendable () -> Void) -> Bool {
        guard case .queue = self else {
            callback()
            return true
        }
        guard backlog.take() else { return false }
        deliver(host) {
            defer { backlog.giveBack() }
            callback()
        }
        return true
    }
}

/// Callbacks that peers caused and that wait for their app's queue. An app that stands still, or is slower than its peers,
/// does not make them pile up without end.
///
/// Core 5.4, Vol 3, Part F, 3.3.2 (Sequential protocol): commands and notifications have no flow control, and what cannot
/// be processed of them is discarded.
final class Backlog: Sendable {
    static let callbacksMaximum = 1_024

    private let waiting = Atomic(0)

    var isFull: Bool { waiting.load(ordering: .relaxed) >= Self.callbacksMaximum }

    func take() -> Bool {
        guard waiting.wrappingAdd(1, ordering: .relaxed).newValue > Self.callbacksMaximum else { return true }
        giveBack()
        return false
    }

    func giveBack() { waiting.wrappingSubtract(1, ordering: .relaxed) }
}

/// A delegate: not retained, and called where its manager was told to, so that it need not be `Sendable` itself.
struct Delegate<Value>: @unchecked Sendable {
    private weak var object: AnyObject?

    init() {}
    init(_ value: Value?) { object = value.map { $0 as AnyObject } }

    var value: Value? { object as? Value }
}
