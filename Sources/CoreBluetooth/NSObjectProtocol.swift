import CoreBluetoothEssentials
import Foundation

// Apple's classes are `NSObject`s. Here they have its protocol: `isEqual`, `hash`, `description`, and a place wherever an
// `NSObjectProtocol` is wanted, as in an app's own protocol that refines it.

/// What all of Apple's classes have in common.
protocol AppleObject: NSObjectProtocol, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// What the description tells beside the class.
    var details: [String] { get }
}

extension AppleObject {
    /// Whether `object` is equal to this one; false for nil.
    public func isEqual(_ object: Any?) -> Bool { (object as? Self).map { $0 == self } ?? false }
    /// The same for equal objects.
    public var hash: Int { hashValue }
    /// This object.
    public func `self`() -> Self { self }
    /// Always false.
    public func isProxy() -> Bool { false }
    /// The class and what tells its objects apart. For people: the form is not fixed.
    public var description: String { "<\(([String(describing: type(of: self))] + details).joined(separator: ", "))>" }
    /// The same as `description`.
    public var debugDescription: String { description }
}

extension CBManager: AppleObject {
    var details: [String] { ["state = \(state)"] }
}

extension CBPeer: AppleObject {
    var details: [String] {
        let identifier = "identifier = \(identifier)"
        guard let peripheral = self as? CBPeripheral else { return [identifier] }
        return [identifier, "name = \(peripheral.name ?? "nil")", "state = \(peripheral.state)"]
    }
}

extension CBAttribute: AppleObject {
    var details: [String] {
        let type = "UUID = \(uuid)"
        return switch self {
        case let service as CBService: ["isPrimary = \(service.isPrimary)", type]
        case let characteristic as CBCharacteristic:
            [type, "properties = 0x\(String(characteristic.properties.rawValue, radix: 16, uppercase: true))"]
        default: [type]
        }
    }
}

extension CBUUID: AppleObject {
    var details: [String] { [uuidString] }
}

extension CBATTRequest: AppleObject {
    var details: [String] {
        ["central = \(central.identifier)", "UUID = \(characteristic.uuid)", "offset = \(offset)"]
    }
}

extension CBL2CAPChannel: AppleObject {
    var details: [String] { ["PSM = \(psm)"] }
}
