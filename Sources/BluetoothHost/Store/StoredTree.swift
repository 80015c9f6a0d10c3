import BluetoothCore
import GATT

// How trees lie in the store: fields in order behind a version octet, lists behind a 16-bit count. Read as carefully as
// what comes from a peer: a file may be damaged.

private let storedTreeVersion: UInt8 = 1

extension ServiceDefinition: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        guard try reader.readUInt8() == storedTreeVersion else { throw .invalidValue(field: "version") }
        let uuid = BluetoothUUID(bits: try reader.readUInt128())
        let isPrimary = try reader.readUInt8() == 1
        var included: [AttributeHandle] = []
        for _ in 0..<Int(try reader.readUInt16()) { included.append(AttributeHandle(try reader.readUInt16())) }
        var characteristics: [CharacteristicDefinition] = []
        for _ in 0..<Int(try reader.readUInt16()) {
            characteristics.append(try CharacteristicDefinition(decoding: &reader))
        }
        self.init(uuid: uuid, isPrimary: isPrimary, includedServices: included, characteristics: characteristics)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(storedTreeVersion)
        writer.write(uuid.bits)
        writer.write(UInt8(isPrimary ? 1 : 0))
        writer.write(UInt16(truncatingIfNeeded: includedServices.count))
        for handle in includedServices { writer.write(handle.rawValue) }
        writer.write(UInt16(truncatingIfNeeded: characteristics.count))
        for characteristic in characteristics { characteristic.encode(into: &writer) }
    }
}

extension CharacteristicDefinition: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let uuid = BluetoothUUID(bits: try reader.readUInt128())
        let properties = CharacteristicProperties(rawValue: try reader.readUInt8())
        let extended = CharacteristicExtendedProperties(rawValue: try reader.readUInt16())
        let access = try AttributeAccess(decoding: &reader)
        let value = try AttributeValue(decoding: &reader)
        var descriptors: [DescriptorDefinition] = []
        for _ in 0..<Int(try reader.readUInt16()) { descriptors.append(try DescriptorDefinition(decoding: &reader)) }
        self.init(
            uuid: uuid, properties: properties, access: access, value: value, extendedProperties: extended,
            descriptors: descriptors)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(uuid.bits)
        writer.write(properties.rawValue)
        writer.write(extendedProperties.rawValue)
        access.encode(into: &writer)
        value.encode(into: &writer)
        writer.write(UInt16(truncatingIfNeeded: descriptors.count))
        for descriptor in descriptors { descriptor.encode(into: &writer) }
    }
}

extension DescriptorDefinition: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let uuid = BluetoothUUID(bits: try reader.readUInt128())
        let access = try AttributeAccess(decoding: &reader)
        self.init(uuid: uuid, access: access, value: try AttributeValue(decoding: &reader))
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(uuid.bits)
        access.encode(into: &writer)
        value.encode(into: &writer)
    }
}

extension AttributeValue: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        switch try reader.readUInt8() {
        case 0: self = .dynamic
        case 1: self = .static(try reader.readBytes(Int(try reader.readUInt16())))
        default: throw .invalidValue(field: "value")
        }
    }

    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .dynamic: writer.write(UInt8(0))
        case .static(let value):
            writer.write(UInt8(1))
            writer.write(UInt16(truncatingIfNeeded: value.count))
            writer.write(value)
        }
    }
}

extension AttributeAccess: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        func requirement(_ raw: UInt8) throws(DecodingError) -> AttributeRequirement {
            guard let requirement = AttributeRequirement(rawValue: raw) else { throw .invalidValue(field: "access") }
            return requirement
        }
        self.init(
            read: try requirement(try reader.readUInt8()), writeRequest: try requirement(try reader.readUInt8()),
            writeCommand: try requirement(try reader.readUInt8()))
        // 0 for none, else the level of LE security mode 2.
        let signature = try reader.readUInt8()
        guard signature <= 2 else { throw .invalidValue(field: "access") }
        (signedWrite, signatureNeedsAuthentication) = (signature > 0, signature == 2)
        subscribe = try requirement(try reader.readUInt8())
        minimumKeySize = try reader.readUInt8()
        requiresAuthorization = try reader.readUInt8() == 1
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(read.rawValue)
        writer.write(writeRequest.rawValue)
        writer.write(writeCommand.rawValue)
        writer.write(UInt8(signedWrite ? signatureNeedsAuthentication ? 2 : 1 : 0))
        writer.write(subscribe.rawValue)
        writer.write(minimumKeySize)
        writer.write(UInt8(requiresAuthorization ? 1 : 0))
    }
}

extension RemoteDatabase: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        guard try reader.readUInt8() == storedTreeVersion else { throw .invalidValue(field: "version") }
        let hash = try reader.readBytes(Int(try reader.readUInt8()))
        var services: [RemoteService] = []
        for _ in 0..<Int(try reader.readUInt16()) { services.append(try RemoteService(decoding: &reader)) }
        self.init(hash: hash.isEmpty ? nil : hash, services: services)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(storedTreeVersion)
        writer.write(UInt8(truncatingIfNeeded: hash?.count ?? 0))
        writer.write(hash ?? [])
        writer.write(UInt16(truncatingIfNeeded: services.count))
        for service in services { service.encode(into: &writer) }
    }
}

extension RemoteService: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let uuid = BluetoothUUID(bits: try reader.readUInt128())
        let isPrimary = try reader.readUInt8() == 1
        let declaration = AttributeHandle(try reader.readUInt16())
        let end = AttributeHandle(try reader.readUInt16())
        var included: [RemoteIncludedService] = []
        for _ in 0..<Int(try reader.readUInt16()) { included.append(try RemoteIncludedService(decoding: &reader)) }
        var characteristics: [RemoteCharacteristic] = []
        for _ in 0..<Int(try reader.readUInt16()) {
            characteristics.append(try RemoteCharacteristic(decoding: &reader))
        }
        self.init(
            uuid: uuid, isPrimary: isPrimary, declaration: declaration, end: end, includedServices: included,
            characteristics: characteristics)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(uuid.bits)
        writer.write(UInt8(isPrimary ? 1 : 0))
        writer.write(declaration.rawValue)
        writer.write(end.rawValue)
        writer.write(UInt16(truncatingIfNeeded: includedServices.count))
        for service in includedServices { service.encode(into: &writer) }
        writer.write(UInt16(truncatingIfNeeded: characteristics.count))
        for characteristic in characteristics { characteristic.encode(into: &writer) }
    }
}

extension RemoteIncludedService: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let handle = AttributeHandle(try reader.readUInt16())
        let uuid = BluetoothUUID(bits: try reader.readUInt128())
        let declaration = AttributeHandle(try reader.readUInt16())
        self.init(
            handle: handle, uuid: uuid, declaration: declaration, end: AttributeHandle(try reader.readUInt16()))
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle.rawValue)
        writer.write(uuid.bits)
        writer.write(declaration.rawValue)
        writer.write(end.rawValue)
    }
}

extension RemoteCharacteristic: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let uuid = BluetoothUUID(bits: try reader.readUInt128())
        let properties = CharacteristicProperties(rawValue: try reader.readUInt8())
        let declaration = AttributeHandle(try reader.readUInt16())
        let value = AttributeHandle(try reader.readUInt16())
        let end = AttributeHandle(try reader.readUInt16())
        var descriptors: [RemoteDescriptor] = []
        for _ in 0..<Int(try reader.readUInt16()) {
            let uuid = BluetoothUUID(bits: try reader.readUInt128())
            descriptors.append(RemoteDescriptor(uuid: uuid, handle: AttributeHandle(try reader.readUInt16())))
        }
        self.init(
            uuid: uuid, properties: properties, declaration: declaration, value: value, end: end,
            descriptors: descriptors)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(uuid.bits)
        writer.write(properties.rawValue)
        writer.write(declaration.rawValue)
        writer.write(value.rawValue)
        writer.write(end.rawValue)
        writer.write(UInt16(truncatingIfNeeded: descriptors.count))
        for descriptor in descriptors {
            writer.write(descriptor.uuid.bits)
            writer.write(descriptor.handle.rawValue)
        }
    }
}
