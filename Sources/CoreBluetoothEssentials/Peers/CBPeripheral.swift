import BluetoothCore
import FoundationEssentials
import Synchronization

/// A peripheral: found by a scan, retrieved, or restored.
///
/// Calls never block. Each ends in exactly one call of the delegate, but `writeValue` without response, which says
/// nothing. What the properties say changes right before the delegate hears of it.
public final class CBPeripheral: CBPeer, @unchecked Sendable {
    struct State: Sendable {
        var delegate = PeripheralDelegate()
        var name: String?
        /// Whether the name is the peripheral's own word, and not only advertised.
        var isNameRead = false
        var connection = ShownConnection()
        var services: [CBService]?
        /// Every service that was ever discovered here and stands, whether or not ``services`` shows it: the same handles
        /// stay the same object.
        var tree = RemoteTree()
        /// Octets of a Write Command's value.
        var writeLength = CBPeripheral.writeLengthMinimumOctets
        var commands = CommandBudget()
        /// As last read, dBm.
        var rssi: Int?
    }

    /// A Write Command's value at the default ATT_MTU of 23.
    static let writeLengthMinimumOctets = 20
    /// Core 5.4, Vol 3, Part F, 3.2.9 (Long attribute values)
    static let valueLengthMaximumOctets = 512

    let core: CentralCore
    let content: Mutex<State>

    init(_ peer: PeerIdentifier, name: String?, isNameRead: Bool = false, core: CentralCore) {
        self.core = core
        content = Mutex(State(name: name, isNameRead: isNameRead))
        super.init(peer, backlog: Backlog(within: core.backlog))
    }

    /// Who hears of this peripheral; not retained.
    package weak var callbacks: (any CBPeripheralCallbacks)? {
        get { content.withLock { $0.delegate.loadCallbacks() } }
        set {
            let delegate = PeripheralDelegate(newValue)
            content.withLock { $0.delegate = delegate }
        }
    }

    /// The same one, if it tells apart what was sent and what was read.
    var receiving: (any CBPeripheralReceiving)? { content.withLock { $0.delegate.loadReceiving() } }

    /// The name that the peripheral says it has.
    public var name: String? { content.withLock { $0.name } }

    /// The signal strength that was read last, dBm; nil before.
    package var lastRSSI: Int? { content.withLock { $0.rssi } }

    /// Where the connection stands.
    public var state: CBPeripheralState { content.withLock { $0.connection.state } }

    /// The services that were discovered or restored; nil before.
    public var services: [CBService]? { content.withLock { $0.services } }

    /// Whether a write without response would be sent: false while too many wait, and then
    /// `peripheralIsReady(toSendWriteWithoutResponse:)` says when it would. A write while it is false is dropped.
    public var canSendWriteWithoutResponse: Bool { content.withLock { $0.commands.hasRoom } }

    /// Octets of a value that one write carries: up to 512 with response, where the host writes long values in parts; the
    /// ATT_MTU less three without.
    public func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int {
        switch type {
        case .withResponse: Self.valueLengthMaximumOctets
        case .withoutResponse: content.withLock { $0.writeLength }
        }
    }
}

/// A peripheral's delegate: not retained, and asked once, when it is set, what else it is. Called where its manager was told to, so that
/// it need not be `Sendable` itself.
struct PeripheralDelegate: @unchecked Sendable {
    private weak var callbacks: (any CBPeripheralCallbacks)?
    private weak var receiving: (any CBPeripheralReceiving)?

    init(_ callbacks: (any CBPeripheralCallbacks)? = nil) {
        self.callbacks = callbacks
        receiving = callbacks as? any CBPeripheralReceiving
    }

    // Each is said by it, where it is: a look at it from outside would copy both references.

    mutating func loadCallbacks() -> (any CBPeripheralCallbacks)? { callbacks }
    mutating func loadReceiving() -> (any CBPeripheralReceiving)? { receiving }
}

/// Writes without response on their way to the controller, bounded.
struct CommandBudget: Sendable {
    static let maximumWaiting = 32

    private var waiting = 0
    private var wasRefused = false

    var hasRoom: Bool { waiting < Self.maximumWaiting }

    /// False when the write is to be dropped.
    mutating func take() -> Bool {
        guard hasRoom else {
            wasRefused = true
            return false
        }
        waiting += 1
        // The app that fills the budget is told when there is room, whether or not it tries once more.
        if !hasRoom { wasRefused = true }
        return true
    }

    /// Whether the app is to be told that there is room again.
    mutating func giveBack() -> Bool {
        waiting = max(waiting - 1, 0)
        guard wasRefused, waiting <= Self.maximumWaiting / 2 else { return false }
        wasRefused = false
        return true
    }
}

// MARK: Discovery

extension CBPeripheral {
    /// Discovers the services of these types, or all. A peripheral whose tree is kept and still valid is not asked again.
    public func discoverServices(_ serviceUUIDs: [CBUUID]?) {
        let wanted = serviceUUIDs.map { Set($0.map(\.bluetoothUUID)) }
        core.submit(.discoverServices(wanted), for: self)
    }

    /// Discovers the services of these types, or all, that `service` includes.
    public func discoverIncludedServices(_ includedServiceUUIDs: [CBUUID]?, for service: CBService) {
        let wanted = includedServiceUUIDs.map { Set($0.map(\.bluetoothUUID)) }
        core.submit(.discoverIncludedServices(service, wanted), for: self)
    }

    /// Discovers the characteristics of these types, or all, of `service`.
    public func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService) {
        let wanted = characteristicUUIDs.map { Set($0.map(\.bluetoothUUID)) }
        core.submit(.discoverCharacteristics(service, wanted), for: self)
    }

    /// Discovers the descriptors of `characteristic`.
    public func discoverDescriptors(for characteristic: CBCharacteristic) {
        core.submit(.discoverDescriptors(characteristic), for: self)
    }
}

// MARK: Values

extension CBPeripheral {
    /// Reads a value, long ones whole.
    public func readValue(for characteristic: CBCharacteristic) {
        core.submit(.read(characteristic), for: self)
    }

    /// Reads a descriptor's value.
    public func readValue(for descriptor: CBDescriptor) {
        core.submit(.readDescriptor(descriptor), for: self)
    }

    /// Writes a value. See ``canSendWriteWithoutResponse`` for writes without response.
    public func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType) {
        let octets = Array(data)
        switch type {
        case .withResponse: core.submit(.write(characteristic, octets), for: self)
        case .withoutResponse: core.submit(.writeWithoutResponse(characteristic, octets), for: self)
        }
    }

    /// Writes a descriptor's value. The Client Characteristic Configuration is ``setNotifyValue(_:for:)``'s.
    public func writeValue(_ data: Data, for descriptor: CBDescriptor) {
        let octets = Array(data)
        core.submit(.writeDescriptor(descriptor, octets), for: self)
    }

    /// Subscribes to a characteristic's notifications, or indications when it has no notifications, or unsubscribes. Kept
    /// under the manager's restore identifier.
    public func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
        core.submit(.setNotify(characteristic, enabled), for: self)
    }

    /// Reads the link's signal strength.
    public func readRSSI() {
        core.submit(.readRSSI, for: self)
    }
}

// MARK: Channels

extension CBPeripheral {
    /// Opens a channel to one of the peripheral's services. One that asks for encryption pairs, as a read does. Ends in
    /// `peripheral(_:didOpen:error:)`.
    public func openL2CAPChannel(_ PSM: CBL2CAPPSM) {
        core.submit(.openChannel(PSM), for: self)
    }
}
