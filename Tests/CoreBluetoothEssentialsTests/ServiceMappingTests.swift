import BluetoothCore
import FoundationEssentials
import GATT
import Testing

@testable import CoreBluetoothEssentials

@Suite("Local services")
struct ServiceMappingTests {
    static func characteristic(
        _ uuid: String = "FFF1", _ properties: CBCharacteristicProperties = .read, value: Data? = nil,
        _ permissions: CBAttributePermissions = .readable
    ) -> CBMutableCharacteristic {
        CBMutableCharacteristic(
            type: CBUUID(string: uuid), properties: properties, value: value, permissions: permissions)
    }

    @Test("A kept value is static and may only be read; without one the app is asked")
    func values() throws {
        let kept = try CharacteristicDefinition(Self.characteristic(value: Data([1, 2])))
        #expect(kept.value == .static([1, 2]))
        #expect(try CharacteristicDefinition(Self.characteristic()).value == .dynamic)
        for properties: CBCharacteristicProperties in [.write, .writeWithoutResponse, .authenticatedSignedWrites] {
            #expect(throws: CBError(.invalidParameters)) {
                try CharacteristicDefinition(Self.characteristic("FFF1", properties, value: Data([1]), .writeable))
            }
        }
    }

    @Test("Properties and descriptors that are not an app's to publish are refused")
    func reserved() {
        for properties: CBCharacteristicProperties in [.broadcast, .extendedProperties] {
            #expect(throws: CBError(.invalidParameters)) {
                try CharacteristicDefinition(Self.characteristic("FFF1", properties))
            }
        }
        for type in ["2900", "2902", "2903"] {
            let characteristic = Self.characteristic()
            characteristic.descriptors = [CBMutableDescriptor(type: CBUUID(string: type), value: Data([0, 0]))]
            #expect(throws: CBError(.invalidParameters)) { try CharacteristicDefinition(characteristic) }
        }
        let empty = Self.characteristic()
        empty.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2901"), value: nil)]
        #expect(throws: CBError(.invalidParameters)) { try CharacteristicDefinition(empty) }
    }

    @Test("An included service must be published first")
    func included() {
        let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
        service.includedServices = [CBMutableService(type: CBUUID(string: "FFF8"), primary: false)]
        #expect(throws: CBError(.invalidParameters)) { try ServiceDefinition(service) }
    }

    @Test("A service comes back from the database as it was published")
    func roundTrip() throws {
        let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
        let described = Self.characteristic("FFF1", [.read, .notify], value: Data([9]))
        described.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2901"), value: "Door")]
        let override = Self.characteristic("FFF2", [.write, .authenticatedSignedWrites], .writeable)
        override.access = AttributeAccess(writeRequest: .encryptedSecureConnections, signedWrite: true)
        service.characteristics = [described, override]
        #expect(described.service === service)
        let definition = try ServiceDefinition(service)

        var server = GATTServer(configuration: GATTServerConfiguration(deviceName: "test"))
        let published = try server.publish(definition)
        let restored = CBMutableService(restoring: published)
        let again = try ServiceDefinition(restored)
        #expect(again == definition)
        #expect(restored.range?.lowerBound == published.declaration)
        let characteristics = try #require(restored.characteristics)
        #expect(characteristics.map { $0.handles?.value } == published.characteristics.map { Optional($0.value) })
        #expect(characteristics.first?.value == Data([9]))
        #expect(characteristics.first?.descriptors?.first?.content as? String == "Door")
        #expect((characteristics.last as? CBMutableCharacteristic)?.access == override.access)
        #expect((characteristics.last as? CBMutableCharacteristic)?.permissions == .writeEncryptionRequired)
    }

    @Test(
        "Core 5.4, Vol 3, Part G, 3.3.3: a descriptor's value reads as its type says",
        arguments: [
            ("2901", [0x41, 0x42] as [UInt8]), ("2902", [1, 0]), ("2900", [2, 0]), ("2904", [4, 0, 0, 0x27, 1, 0, 0]),
        ])
    func descriptors(type: String, octets: [UInt8]) throws {
        let value = CBDescriptor.Value(octets, type: CBUUID(string: type).bluetoothUUID)
        #expect(value.octets == octets)
        switch type {
        case "2901": #expect(value == .text("AB"))
        case "2904": #expect(value == .octets(octets))
        default: #expect(value == .number(UInt16(octets[0])))
        }
        // A peer that sends too little for a number gets what it sent shown.
        #expect(CBDescriptor.Value([1], type: .clientCharacteristicConfiguration) == .octets([1]))
    }
}
