import BluetoothCore
import Synchronization

/// A service: of a peer, as discovered, or of this side, as published.
public class CBService: CBAttribute, @unchecked Sendable {
    /// Handles of a service in its server, the declaration's first.
    typealias Range = ClosedRange<AttributeHandle>

    struct State: Sendable {
        weak var peripheral: CBPeripheral?
        var includedServices: [CBService]?
        var characteristics: [CBCharacteristic]?
        /// nil while a local service is not published.
        var range: Range?
    }

    /// Whether the service is primary, and not only there to be included.
    public let isPrimary: Bool
    let state: Mutex<State>

    init(uuid: CBUUID, isPrimary: Bool, state: sending State) {
        self.isPrimary = isPrimary
        self.state = Mutex(state)
        super.init(uuid: uuid)
    }

    /// Whose service this is; nil for a local one.
    public var peripheral: CBPeripheral? { state.withLock { $0.peripheral } }

    /// The included services that were discovered or set; nil before.
    public var includedServices: [CBService]? { state.withLock { $0.includedServices } }

    /// The characteristics that were discovered or set; nil before.
    public var characteristics: [CBCharacteristic]? { state.withLock { $0.characteristics } }

    /// The handles in the server; nil while a local service is not published.
    var range: Range? { state.withLock { $0.range } }
}

/// A local service. What is changed after ``CBPeripheralManager/add(_:)`` is not published; remove it and add it again.
public final class CBMutableService: CBService, @unchecked Sendable {
    /// A service of this type, empty.
    public init(type UUID: CBUUID, primary isPrimary: Bool) {
        super.init(uuid: UUID, isPrimary: isPrimary, state: State())
    }

    /// Local services that were added before this one.
    public override var includedServices: [CBService]? {
        get { super.includedServices }
        set { state.withLock { $0.includedServices = newValue } }
    }

    /// ``CBMutableCharacteristic``s, in the order in which they are published.
    public override var characteristics: [CBCharacteristic]? {
        get { super.characteristics }
        set {
            state.withLock { $0.characteristics = newValue }
            for characteristic in newValue ?? [] { characteristic.state.withLock { $0.service = self } }
        }
    }
}
