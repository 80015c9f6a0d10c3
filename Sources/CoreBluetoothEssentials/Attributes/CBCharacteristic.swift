import BluetoothCore
import FoundationEssentials
import GATT
import Synchronization

/// A characteristic: of a peer, as discovered, or of this side, as published.
public class CBCharacteristic: CBAttribute, @unchecked Sendable {
    /// Handles of a characteristic in its server.
    struct Handles: Hashable, Sendable {
        var declaration: AttributeHandle
        var value: AttributeHandle
        var end: AttributeHandle
    }

    struct State: Sendable {
        weak var service: CBService?
        var properties: CBCharacteristicProperties
        var value: Data?
        var descriptors: [CBDescriptor]?
        var isNotifying = false
        /// nil while a local characteristic is not published.
        var handles: Handles?
        // Local characteristics only.
        var permissions: CBAttributePermissions = []
        var subscribedCentrals: [CBCentral] = []
        var access: AttributeAccess?
        var keepsUpdatesForAbsentCentrals = true
    }

    let state: Mutex<State>

    init(uuid: CBUUID, state: sending State) {
        self.state = Mutex(state)
        super.init(uuid: uuid)
    }

    /// Whose characteristic this is.
    public var service: CBService? { state.withLock { $0.service } }

    /// What the value can be used for.
    public var properties: CBCharacteristicProperties { state.withLock { $0.properties } }

    /// The value as last read, notified or indicated; of a local characteristic the value that every reader gets, nil when
    /// the delegate is asked.
    public var value: Data? { state.withLock { $0.value } }

    /// The descriptors that were discovered or set; nil before.
    public var descriptors: [CBDescriptor]? { state.withLock { $0.descriptors } }

    /// Whether this side is subscribed.
    public var isNotifying: Bool { state.withLock { $0.isNotifying } }

    /// Always false: nothing is broadcast, as with Apple.
    @available(*, deprecated)
    public var isBroadcasted: Bool { false }

    var handles: Handles? { state.withLock { $0.handles } }
}

/// A local characteristic. What is changed after ``CBPeripheralManager/add(_:)`` is not published.
public final class CBMutableCharacteristic: CBCharacteristic, @unchecked Sendable {
    /// A characteristic of this type. One with a `value` is answered without asking the delegate and must be read-only;
    /// with nil the delegate is asked at each read.
    public init(
        type UUID: CBUUID, properties: CBCharacteristicProperties, value: Data?, permissions: CBAttributePermissions
    ) {
        super.init(uuid: UUID, state: State(properties: properties, value: value, permissions: permissions))
    }

    /// What peers may do with the value.
    public var permissions: CBAttributePermissions {
        get { state.withLock { $0.permissions } }
        set { state.withLock { $0.permissions = newValue } }
    }

    /// Who is subscribed: connected centrals, and bonded ones that are away.
    public var subscribedCentrals: [CBCentral]? { state.withLock { $0.subscribedCentrals } }

    /// What the value can be used for.
    public override var properties: CBCharacteristicProperties {
        get { super.properties }
        set { state.withLock { $0.properties = newValue } }
    }

    /// The value that every reader gets; nil asks the delegate.
    public override var value: Data? {
        get { super.value }
        set { state.withLock { $0.value = newValue } }
    }

    /// ``CBMutableDescriptor``s.
    public override var descriptors: [CBDescriptor]? {
        get { super.descriptors }
        set {
            state.withLock { $0.descriptors = newValue }
            for descriptor in newValue ?? [] { descriptor.state.withLock { $0.characteristic = self } }
        }
    }
}
