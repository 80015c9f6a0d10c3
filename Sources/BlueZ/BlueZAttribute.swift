import BluetoothCore
import DBus
import GATT

/// What bluetoothd shows of one attribute of a device, at the path that has its handle.
///
/// BlueZ, doc/gatt-api.txt
enum BlueZAttribute: Hashable, Sendable {
    /// `includes`: where the services that it includes are declared.
    case service(BluetoothUUID, isPrimary: Bool, includes: [AttributeHandle])
    case characteristic(BluetoothUUID, CharacteristicProperties)
    case descriptor(BluetoothUUID)

    /// nil for what is no attribute, or has no type.
    init?(_ interfaces: [String: [String: DBusValue]]) {
        if let service = interfaces[BlueZName.gattService], let uuid = Self.uuid(service) {
            self = .service(
                uuid, isPrimary: service["Primary"]?.flag ?? true, includes: Self.included(service) ?? [])
        } else if let characteristic = interfaces[BlueZName.gattCharacteristic], let uuid = Self.uuid(characteristic) {
            self = .characteristic(uuid, CharacteristicProperties(flags: characteristic["Flags"]?.texts ?? []))
        } else if let descriptor = interfaces[BlueZName.gattDescriptor], let uuid = Self.uuid(descriptor) {
            self = .descriptor(uuid)
        } else {
            return nil
        }
    }

    /// nil where nothing is said of them.
    static func included(_ properties: [String: DBusValue]) -> [AttributeHandle]? {
        properties["Includes"]?.texts?.compactMap { BlueZAttributePath($0)?.handle }
    }

    private static func uuid(_ properties: [String: DBusValue]) -> BluetoothUUID? {
        properties["UUID"]?.text.flatMap { BluetoothUUID($0) }
    }
}

extension CharacteristicProperties {
    /// Flags of bluetoothd's that are bits of the declaration. The others say what reading and writing want.
    fileprivate init(flags: [String]) {
        self = flags.reduce(into: []) { properties, flag in
            switch flag {
            case "broadcast": properties.insert(.broadcast)
            case "read": properties.insert(.read)
            case "write-without-response": properties.insert(.writeWithoutResponse)
            case "write": properties.insert(.write)
            case "notify": properties.insert(.notify)
            case "indicate": properties.insert(.indicate)
            case "authenticated-signed-writes": properties.insert(.authenticatedSignedWrites)
            case "extended-properties": properties.insert(.extendedProperties)
            default: break
            }
        }
    }
}

/// Where an attribute is: `…/dev_XX/service0010/char0019/desc001b`. A service is at its declaration's handle, a characteristic at its
/// declaration's too, which its value's follows; a descriptor at its own.
struct BlueZAttributePath: Hashable, Sendable {
    let device: String
    let handle: AttributeHandle

    /// nil for a path that is no attribute's.
    init?(_ path: String) {
        var parts = path.split(separator: "/", omittingEmptySubsequences: true)
        var last: AttributeHandle?
        while let part = parts.last, let handle = Self.handle(part) {
            last = last ?? handle
            parts.removeLast()
        }
        guard let last, parts.last?.hasPrefix("dev_") == true else { return nil }
        device = "/" + parts.joined(separator: "/")
        handle = last
    }

    private static func handle(_ part: Substring) -> AttributeHandle? {
        for kind in ["service", "char", "desc"] where part.hasPrefix(kind) {
            let digits = part.dropFirst(kind.utf8.count)
            guard digits.utf8.count == 4, let value = UInt16(digits: digits, radix: 16), value > 0 else { return nil }
            return AttributeHandle(value)
        }
        return nil
    }
}
