import CoreBluetoothEssentials
import DaemonControl
import GATT

/// A set's members by the names that Apple gave them.
protocol NamedOptions: OptionSet where Element == Self {
    static var names: KeyValuePairs<String, Self> { get }
}

extension NamedOptions {
    init(named names: [String]) throws(Refusal) {
        self = []
        for name in names {
            guard let option = Self.names.first(where: { $0.key == name })?.value else {
                throw Refusal("`\(name)` is not one of \(Self.names.map(\.key))")
            }
            insert(option)
        }
    }

    var json: JSONValue { .array(Self.names.filter { contains($0.value) }.map { .string($0.key) }) }
}

extension CBCharacteristicProperties: NamedOptions {
    static let names: KeyValuePairs<String, Self> = [
        "broadcast": .broadcast, "read": .read, "writeWithoutResponse": .writeWithoutResponse, "write": .write,
        "notify": .notify, "indicate": .indicate, "authenticatedSignedWrites": .authenticatedSignedWrites,
        "extendedProperties": .extendedProperties, "notifyEncryptionRequired": .notifyEncryptionRequired,
        "indicateEncryptionRequired": .indicateEncryptionRequired,
    ]
}

extension CBAttributePermissions: NamedOptions {
    static let names: KeyValuePairs<String, Self> = [
        "readable": .readable, "writeable": .writeable, "readEncryptionRequired": .readEncryptionRequired,
        "writeEncryptionRequired": .writeEncryptionRequired,
    ]
}

extension AttributeRequirement {
    /// nil for none of them.
    init?(named name: String) {
        guard let found = Self.allCases.first(where: { "\($0)" == name }) else { return nil }
        self = found
    }
}
