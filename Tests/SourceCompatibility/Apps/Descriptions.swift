import CoreBluetooth

// What apps add to Apple's types.

extension CBCharacteristicProperties {
    /// In the order of the bits.
    var names: [String] {
        let all: [(CBCharacteristicProperties, String)] = [
            (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "write without response"),
            (.write, "write"), (.notify, "notify"), (.indicate, "indicate"),
            (.authenticatedSignedWrites, "signed writes"), (.extendedProperties, "extended"),
            (.notifyEncryptionRequired, "notify encrypted"), (.indicateEncryptionRequired, "indicate encrypted"),
        ]
        return all.filter { contains($0.0) }.map { $0.1 }
    }

    var isWritable: Bool { return !intersection([.write, .writeWithoutResponse]).isEmpty }
    var isSubscribable: Bool { return contains(.notify) || contains(.indicate) }

    var writeType: CBCharacteristicWriteType? {
        if contains(.write) { return .withResponse }
        return contains(.writeWithoutResponse) ? .withoutResponse : nil
    }
}

extension CBAttributePermissions {
    static let openForAll: CBAttributePermissions = [.readable, .writeable]
    static let sealed: CBAttributePermissions = [.readEncryptionRequired, .writeEncryptionRequired]
}

extension CBManagerState {
    var name: String {
        switch self {
        case .poweredOn: return "powered on"
        case .poweredOff: return "powered off"
        case .resetting: return "resetting"
        case .unauthorized: return "unauthorized"
        case .unsupported: return "unsupported"
        case .unknown: fallthrough
        @unknown default: return "unknown"
        }
    }
}

extension CBPeripheralState {
    var isOnItsWay: Bool { return self == .connecting || self == .disconnecting }

    var name: String {
        switch self {
        case .disconnected: return "disconnected"
        case .connecting: return "connecting"
        case .connected: return "connected"
        case .disconnecting: return "disconnecting"
        @unknown default: return "state \(rawValue)"
        }
    }
}

extension CBManagerAuthorization {
    var mayAsk: Bool {
        switch self {
        case .notDetermined: return true
        case .restricted, .denied, .allowedAlways: return false
        @unknown default: return false
        }
    }
}

extension CBPeripheral {
    var displayName: String {
        guard let name = name, !name.isEmpty else { return "Device \(identifier.uuidString.prefix(8))" }
        return name
    }

    func service(_ uuid: CBUUID) -> CBService? {
        return services?.first(where: { $0.uuid == uuid })
    }

    func characteristic(_ uuid: CBUUID, in service: CBUUID) -> CBCharacteristic? {
        return self.service(service)?.characteristic(uuid)
    }

    var allCharacteristics: [CBCharacteristic] {
        return (services ?? []).flatMap { $0.characteristics ?? [] }
    }

    var subscribed: Set<CBCharacteristic> {
        return Set(allCharacteristics.filter { $0.isNotifying })
    }
}

extension CBService {
    func characteristic(_ uuid: CBUUID) -> CBCharacteristic? {
        return characteristics?.first { $0.uuid == uuid }
    }

    subscript(uuid: CBUUID) -> CBCharacteristic? { return characteristic(uuid) }

    /// The tree below, one line each.
    func outline(indentation: Int = 0) -> [String] {
        let space = String(repeating: " ", count: indentation)
        var lines = ["\(space)\(isPrimary ? "primary" : "secondary") \(uuid.uuidString)"]
        for included in includedServices ?? [] {
            lines += included.outline(indentation: indentation + 2)
        }
        for characteristic in characteristics ?? [] {
            let properties = characteristic.properties.names.joined(separator: ", ")
            lines.append("\(space)  \(characteristic.uuid.uuidString) (\(properties))")
            for descriptor in characteristic.descriptors ?? [] {
                lines.append("\(space)    \(descriptor.uuid.uuidString)")
            }
        }
        return lines
    }
}

extension CBCharacteristic {
    var text: String? { return value.flatMap { String(data: $0, encoding: .utf8) } }
    var owner: CBPeripheral? { return service?.peripheral }
}

extension CBL2CAPChannel {
    var title: String { return "\(peer?.identifier.uuidString ?? "nobody") at \(psm)" }
}

extension Array where Element == CBUUID {
    init(strings: [String]) { self = strings.map(CBUUID.init(string:)) }
    var strings: [String] { return map { $0.uuidString } }
}

extension Sequence where Element: CBAttribute {
    func only(_ uuids: [CBUUID]) -> [Element] { return filter { uuids.contains($0.uuid) } }
}

/// Equal by what they are, as lists on screens compare them.
struct AttributeKey: Hashable {
    let service: CBUUID
    let characteristic: CBUUID

    init?(_ characteristic: CBCharacteristic) {
        guard let service = characteristic.service else { return nil }
        self.service = service.uuid
        self.characteristic = characteristic.uuid
    }
}
