import BluetoothHost
import Dispatch
import Synchronization

/// Where a manager calls its delegates.
package enum CallbackDelivery: Sendable {
    /// On a serial queue, after the commit of the iteration that has something to say: what the app hears is on disk. Behind a launch,
    /// what that has restored is at work as well.
    case queue(DispatchQueue)
    /// On the loop, inside the iteration's transaction: what the app persists and asks for in the callback is committed
    /// and let go together with what it heard.
    case inline

    /// On the app's queue, or the main one. Callbacks come one after the other also where the app's queue is a concurrent one: a serial
    /// queue stands in front of it.
    static func app(_ queue: DispatchQueue?) -> Self {
        guard let queue else { return .queue(.main) }
        return .queue(DispatchQueue(label: "CoreBluetooth.callbacks", target: queue))
    }

    func deliver(_ host: Host?, _ callback: @escaping @Sendable () -> Void) {
        switch self {
        case .inline: callback()
        case .queue(let queue):
            guard let host else { return queue.async(execute: callback) }
            host.tellAfterCommit { queue.async(execute: callback) }
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
/// does not make them pile up without end. Each peer has a share of its own, so that one that never stops takes nothing
/// from the others.
///
/// Core 5.4, Vol 3, Part F, 3.3.2 (Sequential protocol): commands and notifications have no flow control, and what cannot
/// be processed of them is discarded.
final class Backlog: Sendable {
    /// Of one peer.
    static let callbacksMaximum = 1_024
    /// Of all peers of a manager: whoever comes back under another name has another share.
    static let callbacksOfAllMaximum = 8_192
    /// Of all advertisers that a manager hears.
    static let discoveriesMaximum = 1_024

    private let maximum: Int
    private let whole: Backlog?
    private let waiting = Atomic(0)

    /// `whole` counts the same callbacks with those of others.
    init(maximum: Int = callbacksMaximum, within whole: Backlog? = nil) {
        self.maximum = maximum
        self.whole = whole
    }

    var isFull: Bool { waiting.load(ordering: .relaxed) >= maximum || whole?.isFull == true }

    func take() -> Bool {
        guard whole?.take() ?? true else { return false }
        guard waiting.wrappingAdd(1, ordering: .relaxed).newValue > maximum else { return true }
        giveBack()
        return false
    }

    func giveBack() {
        waiting.wrappingSubtract(1, ordering: .relaxed)
        whole?.giveBack()
    }
}

/// A delegate: not retained, and called where its manager was told to, so that it need not be `Sendable` itself.
struct Delegate<Value>: @unchecked Sendable {
    private weak var object: AnyObject?

    init() {}
    init(_ value: Value?) { object = value.map { $0 as AnyObject } }

    var value: Value? { object as? Value }
}
