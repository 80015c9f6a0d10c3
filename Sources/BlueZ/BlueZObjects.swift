import ATT
import BluetoothCore
import DBus
import GATT

/// bluetoothd's objects, as this side has heard of them: what there is when it asks, and each change from then on.
///
/// - In: the answer to GetManagedObjects, and the signals InterfacesAdded, InterfacesRemoved and PropertiesChanged.
/// - Out: what has changed of a device (``Change``).
/// - Owner: ``BlueZCentral``.
struct BlueZObjects: Sendable {
    /// What has changed, for the owner to look at.
    enum Change: Hashable {
        case adapters
        /// The device at this path, before the change: nil for one that is new.
        case device(String, before: BlueZDevice?)
        case tree(device: String)
        case value(device: String, AttributeHandle, [UInt8])
    }

    /// Devices come and go while somebody looks for some: so many are known at once, and one more is not, unless it is paired.
    static let devicesMaximum = 1_024
    /// Attributes of one device: a handle has 16 bits, and nobody that is a lock has thousands.
    static let attributesMaximum = 4_096

    private(set) var adapters: [String: BlueZAdapter] = [:]
    private(set) var devices: [String: BlueZDevice] = [:]
    private(set) var trees: [String: BlueZTree] = [:]
    /// Until a paired device, or a service of one, has changed: what else bluetoothd tells comes far more often.
    private var choice: (devices: [String], services: Set<BluetoothUUID>)?

    /// Everything that there is, in the place of what was known.
    init(_ objects: [String: [String: [String: DBusValue]]] = [:]) {
        for (path, interfaces) in objects.sorted(by: { $0.key < $1.key }) { _ = add(path, interfaces) }
    }

    mutating func add(_ path: String, _ interfaces: [String: [String: DBusValue]]) -> Change? {
        if let properties = interfaces[BlueZName.adapter] {
            adapters[path] = BlueZAdapter(path: path, properties)
            return .adapters
        }
        if let properties = interfaces[BlueZName.device] {
            let device = BlueZDevice(path: path, properties)
            guard devices[path] != nil || devices.count < Self.devicesMaximum || device.isPaired else { return nil }
            let before = devices.updateValue(device, forKey: path)
            changed(before, to: device)
            return .device(path, before: before)
        }
        guard let place = BlueZAttributePath(path), devices[place.device] != nil,
            let attribute = BlueZAttribute(interfaces),
            trees[place.device, default: BlueZTree()].count < Self.attributesMaximum
        else { return nil }
        trees[place.device, default: BlueZTree()].insert(attribute, at: place.handle, path: path)
        agreed(interfaces[BlueZName.gattCharacteristic], of: place.device)
        return .tree(device: place.device)
    }

    mutating func remove(_ path: String, _ interfaces: [String]) -> Change? {
        if interfaces.contains(BlueZName.adapter) {
            adapters[path] = nil
            return .adapters
        }
        if interfaces.contains(BlueZName.device) {
            guard let device = devices.removeValue(forKey: path) else { return nil }
            trees[path] = nil
            changed(device, to: nil)
            return .device(path, before: device)
        }
        guard let place = BlueZAttributePath(path), trees[place.device] != nil,
            !Set(interfaces).isDisjoint(with: [
                BlueZName.gattService, BlueZName.gattCharacteristic, BlueZName.gattDescriptor,
            ])
        else { return nil }
        trees[place.device]?.remove(place.handle)
        return .tree(device: place.device)
    }

    mutating func change(
        _ path: String, _ interface: String, _ properties: [String: DBusValue], invalidated: [String]
    ) -> Change? {
        switch interface {
        case BlueZName.adapter:
            guard adapters[path] != nil else { return nil }
            adapters[path]?.take(properties)
            return .adapters
        case BlueZName.device:
            guard let before = devices[path] else { return nil }
            devices[path]?.take(properties)
            devices[path]?.lose(invalidated)
            // The next link agrees anew.
            if devices[path]?.isConnected == false { trees[path]?.agreed(mtu: UInt16(ATTBound.defaultMTUOctets)) }
            changed(before, to: devices[path])
            return .device(path, before: before)
        case BlueZName.gattService:
            guard let included = BlueZAttribute.included(properties), let place = BlueZAttributePath(path),
                trees[place.device]?.include(included, in: place.handle) == true
            else { return nil }
            return .tree(device: place.device)
        case BlueZName.gattCharacteristic:
            if let place = BlueZAttributePath(path) { agreed(properties, of: place.device) }
            guard let value = properties["Value"]?.octets, let place = BlueZAttributePath(path), place.handle < .last,
                trees[place.device] != nil
            else { return nil }
            return .value(device: place.device, AttributeHandle(place.handle.rawValue + 1), value)
        default: return nil
        }
    }

    private mutating func agreed(_ characteristic: [String: DBusValue]?, of device: String) {
        if let mtu: UInt16 = characteristic?["MTU"]?.integer() { trees[device]?.agreed(mtu: mtu) }
    }

    private mutating func changed(_ before: BlueZDevice?, to after: BlueZDevice?) {
        func pairedServices(_ device: BlueZDevice?) -> [BluetoothUUID]? {
            device.flatMap { $0.isPaired ? $0.services : nil }
        }
        if pairedServices(before) != pairedServices(after) { choice = nil }
    }

    /// One service of each of these devices: of those that it has, the one that the fewest other devices have, as bluetoothd connects with each
    /// bonded device that has it. GAP and GATT, which all have, are nobody's.
    mutating func services(of wanted: [String]) -> Set<BluetoothUUID> {
        if let choice, choice.devices == wanted { return choice.services }
        let owners = devices.values.reduce(into: [BluetoothUUID: Int]()) { owners, device in
            if device.isPaired { for service in Set(device.services) { owners[service, default: 0] += 1 } }
        }
        let services = Set(
            wanted.compactMap { path in
                devices[path]?.services.filter { $0 != .gapService && $0 != .gattService }
                    .min { (owners[$0, default: 0], $0.bits) < (owners[$1, default: 0], $1.bits) }
            })
        choice = (wanted, services)
        return services
    }

    /// The device that is known by this address, on this adapter.
    func device(at address: DeviceAddress, on adapter: String) -> BlueZDevice? {
        devices.values.first { $0.address == address && $0.adapter == adapter }
    }
}
