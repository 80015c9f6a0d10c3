import BluetoothHost
import Dispatch

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

/// A delegate: not retained, and called where its manager was told to, so that it need not be `Sendable` itself.
struct Delegate<Value>: @unchecked Sendable {
    private weak var object: AnyObject?

    init() {}
    init(_ value: Value?) { object = value.map { $0 as AnyObject } }

    var value: Value? { object as? Value }
}
