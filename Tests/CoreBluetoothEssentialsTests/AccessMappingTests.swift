import GATT
import Testing

@testable import CoreBluetoothEssentials

@Suite("Properties and permissions")
struct AccessMappingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var properties: CBCharacteristicProperties
        var permissions: CBAttributePermissions
        var access: AttributeAccess
        var testDescription: String { "properties \(properties.rawValue), permissions \(permissions.rawValue)" }
    }

    @Test(
        "Core 5.4, Vol 3, Part F, 3.2.5: a path is open when both the property and a permission say so",
        arguments: [
            Row(properties: [], permissions: [.readable, .writeable], access: AttributeAccess()),
            Row(properties: [.read, .write], permissions: [], access: AttributeAccess()),
            Row(properties: .read, permissions: .readable, access: AttributeAccess(read: .open)),
            Row(
                properties: .read, permissions: [.readable, .readEncryptionRequired],
                access: AttributeAccess(read: .encrypted)),
            Row(properties: .write, permissions: .writeable, access: AttributeAccess(writeRequest: .open)),
            Row(
                properties: .writeWithoutResponse, permissions: .writeEncryptionRequired,
                access: AttributeAccess(writeCommand: .encrypted)),
            Row(
                properties: [.write, .authenticatedSignedWrites], permissions: .writeable,
                access: AttributeAccess(writeRequest: .open, signedWrite: true)),
            Row(properties: .authenticatedSignedWrites, permissions: .readable, access: AttributeAccess()),
            Row(properties: .notify, permissions: [], access: AttributeAccess(subscribe: .open)),
            Row(
                properties: .indicateEncryptionRequired, permissions: [], access: AttributeAccess(subscribe: .encrypted)
            ),
            Row(
                properties: [.notify, .indicateEncryptionRequired], permissions: [],
                access: AttributeAccess(subscribe: .encrypted)),
        ])
    func access(row: Row) {
        #expect(AttributeAccess(row.properties, row.permissions) == row.access)
    }

    @Test("Encryption required implies the property that it restricts, in the declaration's octet")
    func declaration() {
        #expect(CharacteristicProperties(.notifyEncryptionRequired) == .notify)
        #expect(CharacteristicProperties([.read, .indicateEncryptionRequired]) == [.read, .indicate])
        #expect(CharacteristicProperties(.authenticatedSignedWrites) == .authenticatedSignedWrites)
    }

    @Test("What is restored says what was published")
    func restored() {
        let rows: [(CBCharacteristicProperties, CBAttributePermissions)] = [
            ([.read, .write], [.readable, .writeable]),
            ([.read, .notify, .notifyEncryptionRequired], [.readEncryptionRequired]),
            ([.write, .authenticatedSignedWrites], [.writeable]),
            ([.indicate, .indicateEncryptionRequired, .writeWithoutResponse], [.writeEncryptionRequired]),
        ]
        for (properties, permissions) in rows {
            let access = AttributeAccess(properties, permissions)
            #expect(CBCharacteristicProperties(CharacteristicProperties(properties), access) == properties)
            #expect(CBAttributePermissions(access) == permissions)
        }
    }
}
