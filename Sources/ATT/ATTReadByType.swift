import BluetoothCore

/// Core 5.4, Vol 3, Part F, 3.4.4.1 (Read By Type Request)
package struct ATTReadByTypeRequest: ATTParameters {
    package static let opcode = ATTOpcode.readByTypeRequest
    package var range: ATTHandleRange
    package var type: BluetoothUUID

    package init(range: ATTHandleRange, type: BluetoothUUID) {
        self.range = range
        self.type = type
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        range = try ATTHandleRange(decoding: &reader)
        type = try BluetoothUUID(decoding: &reader, length: reader.remaining)
    }

    package func encode(into writer: inout ByteWriter) {
        range.encode(into: &writer)
        type.encode(into: &writer)
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.4.9 (Read By Group Type Request)
package struct ATTReadByGroupTypeRequest: ATTParameters {
    package static let opcode = ATTOpcode.readByGroupTypeRequest
    package var range: ATTHandleRange
    package var type: BluetoothUUID

    package init(range: ATTHandleRange, type: BluetoothUUID) {
        self.range = range
        self.type = type
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        range = try ATTHandleRange(decoding: &reader)
        type = try BluetoothUUID(decoding: &reader, length: reader.remaining)
    }

    package func encode(into writer: inout ByteWriter) {
        range.encode(into: &writer)
        type.encode(into: &writer)
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.4.2 (Read By Type Response)
package struct ATTReadByTypeResponse: ATTParameters {
    package static let opcode = ATTOpcode.readByTypeResponse

    package struct Entry: Hashable, Sendable {
        package var handle: AttributeHandle
        package var value: [UInt8]

        package init(handle: AttributeHandle, value: [UInt8]) {
            self.handle = handle
            self.value = value
        }
    }

    /// At least one; their values are of one length.
    package var entries: [Entry]

    package init(entries: [Entry]) { self.entries = entries }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let length = Int(try reader.readUInt8())
        guard length >= 2 else { throw .invalidValue(field: "length") }
        entries = []
        repeat {
            let handle = AttributeHandle(try reader.readUInt16())
            entries.append(Entry(handle: handle, value: try reader.readBytes(length - 2)))
        } while reader.remaining > 0
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(UInt8(truncatingIfNeeded: 2 + (entries.first?.value.count ?? 0)))
        for entry in entries {
            writer.write(entry.handle.rawValue)
            writer.write(entry.value)
        }
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.4.10 (Read By Group Type Response)
package struct ATTReadByGroupTypeResponse: ATTParameters {
    package static let opcode = ATTOpcode.readByGroupTypeResponse

    package struct Entry: Hashable, Sendable {
        package var group: ATTHandleRange
        package var value: [UInt8]

        package init(group: ATTHandleRange, value: [UInt8]) {
            self.group = group
            self.value = value
        }
    }

    /// At least one; their values are of one length.
    package var entries: [Entry]

    package init(entries: [Entry]) { self.entries = entries }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let length = Int(try reader.readUInt8())
        guard length >= 4 else { throw .invalidValue(field: "length") }
        entries = []
        repeat {
            let group = try ATTHandleRange(decoding: &reader)
            entries.append(Entry(group: group, value: try reader.readBytes(length - 4)))
        } while reader.remaining > 0
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(UInt8(truncatingIfNeeded: 4 + (entries.first?.value.count ?? 0)))
        for entry in entries {
            entry.group.encode(into: &writer)
            writer.write(entry.value)
        }
    }
}
