import BluetoothCore

/// Core 5.4, Vol 3, Part F, 3.4.3.1 (Find Information Request)
package struct ATTFindInformationRequest: ATTParameters {
    package static let opcode = ATTOpcode.findInformationRequest
    package var range: ATTHandleRange

    package init(range: ATTHandleRange) { self.range = range }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        range = try ATTHandleRange(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) { range.encode(into: &writer) }
}

/// Core 5.4, Vol 3, Part F, 3.4.3.2 (Find Information Response)
package struct ATTFindInformationResponse: ATTParameters {
    package static let opcode = ATTOpcode.findInformationResponse

    /// How long every UUID of the list is.
    package enum Format: UInt8, Sendable { case short = 1, long = 2 }

    package struct Information: Hashable, Sendable {
        package var handle: AttributeHandle
        package var uuid: BluetoothUUID

        package init(handle: AttributeHandle, uuid: BluetoothUUID) {
            self.handle = handle
            self.uuid = uuid
        }
    }

    package var format: Format
    package var information: [Information]

    package init(format: Format, information: [Information]) {
        self.format = format
        self.information = information
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        guard let format = Format(rawValue: try reader.readUInt8()) else { throw .invalidValue(field: "format") }
        self.format = format
        information = []
        repeat {
            let handle = AttributeHandle(try reader.readUInt16())
            let uuid = try BluetoothUUID(decoding: &reader, length: format == .short ? 2 : 16)
            information.append(Information(handle: handle, uuid: uuid))
        } while reader.remaining > 0
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(format.rawValue)
        for entry in information {
            writer.write(entry.handle.rawValue)
            switch format {
            case .short: entry.uuid.encode(into: &writer)
            case .long: writer.write(entry.uuid.bits)
            }
        }
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.3.3 (Find By Type Value Request)
package struct ATTFindByTypeValueRequest: ATTParameters {
    package static let opcode = ATTOpcode.findByTypeValueRequest
    package var range: ATTHandleRange
    package var type: UInt16
    package var value: [UInt8]

    package init(range: ATTHandleRange, type: UInt16, value: [UInt8]) {
        self.range = range
        self.type = type
        self.value = value
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        range = try ATTHandleRange(decoding: &reader)
        type = try reader.readUInt16()
        value = reader.readRemaining()
    }

    package func encode(into writer: inout ByteWriter) {
        range.encode(into: &writer)
        writer.write(type)
        writer.write(value)
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.3.4 (Find By Type Value Response)
package struct ATTFindByTypeValueResponse: ATTParameters {
    package static let opcode = ATTOpcode.findByTypeValueResponse
    /// Found Attribute Handle and Group End Handle.
    package var groups: [ATTHandleRange]

    package init(groups: [ATTHandleRange]) { self.groups = groups }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        groups = []
        repeat { groups.append(try ATTHandleRange(decoding: &reader)) } while reader.remaining > 0
    }

    package func encode(into writer: inout ByteWriter) {
        for group in groups { group.encode(into: &writer) }
    }
}
