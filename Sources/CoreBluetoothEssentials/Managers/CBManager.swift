import BluetoothHost

/// What central and peripheral managers have in common.
///
/// Only this module makes subclasses, and each guards its mutable state with a `Mutex`.
public class CBManager: Hashable, @unchecked Sendable {
    init() {}

    /// The state of the adapter, as last told to the delegate.
    public var state: CBManagerState { .unknown }

    /// Always ``CBManagerAuthorization/allowedAlways``: on Linux nobody is asked. Whether this process may open the adapter
    /// is for the system to say, and ``state`` tells.
    public class var authorization: CBManagerAuthorization { .allowedAlways }

    /// The same, as iOS 13.0 had it.
    @available(*, deprecated, message: "Use CBManager.authorization instead.")
    public var authorization: CBManagerAuthorization { Self.authorization }

    /// Whether both are the same object.
    public static func == (a: CBManager, b: CBManager) -> Bool { a === b }
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension CBManagerState {
    init(_ state: HostState) {
        self =
            switch state {
            case .unknown: .unknown
            case .resetting: .resetting
            case .unsupported: .unsupported
            case .unauthorized: .unauthorized
            case .poweredOff: .poweredOff
            case .poweredOn: .poweredOn
            }
    }

    /// What an app is to be told when the host's state becomes `state`; nil for nothing. A controller that is starting for
    /// the first time is still unknown to the app.
    mutating func news(_ state: HostState) -> CBManagerState? {
        let new = CBManagerState(state)
        guard new != self, self != .unknown || new != .resetting else { return nil }
        self = new
        return new
    }
}
