import BluetoothCore

/// Core 5.4, Vol 3, Part F, 3.4.4.7 (Read Multiple Request)
package struct ATTReadMultipleRequest: ATTParameters {
    package static let opcode = ATTOpcode.readMultipleRequest
    /// At least two.
    package var handles: [AttributeHandle]

    package init(handles: [AttributeHandle]) { self.handles = handles }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handles = try readSetOfHandles(&reader)
    }

    package func encode(into writer: inout ByteWriter) {
        for handle in handles { writer.write(handle.rawValue) }
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.4.8 (Read Multiple Response)
package struct ATTReadMultipleResponse: ATTParameters {
    package static let opcode = ATTOpcode.readMultipleResponse
    /// The values one behind the other: only who knows their lengths can part them.
    package var values: [UInt8]

    package init(values: [UInt8]) { self.values = values }

    package init(decoding reader: inout ByteReader) throws(DecodingError) { values = reader.readRemaining() }

    package func encode(into writer: inout ByteWriter) { writer.write(values) }
}

/// Core 5.4, Vol 3, Part F, 3.4.4.11 (Read Multiple Variable Request)
package struct ATTReadMultipleVariableRequest: ATTParameters {
    package static let opcode = ATTOpcode.readMultipleVariableRequest
    /// At least two.
    package var handles: [AttributeHandle]

    package init(handles: [AttributeHandle]) { self.handles = handles }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handles = try readSetOfHandles(&reader)
    }

    package func encode(into writer: inout ByteWriter) {
        for handle in handles { writer.write(handle.rawValue) }
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.4.12 (Read Multiple Variable Response)
package struct ATTReadMultipleVariableResponse: ATTParameters {
    package static let opcode = ATTOpcode.readMultipleVariableResponse

    package struct Entry: Hashable, Sendable {
        /// Octets of the attribute's value; more than `value` has when the MTU cut the last one.
        package var length: UInt16
        package var value: [UInt8]

        package init(length: UInt16, value: [UInt8]) {
            self.length = length
            self.value = value
        }
    }

    package var entries: [Entry]

    package init(entries: [Entry]) { self.entries = entries }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        entries = []
        repeat {
            let length = try reader.readUInt16()
            let present = min(Int(length), reader.remaining)
            entries.append(Entry(length: length, value: try reader.readBytes(present)))
        } while reader.remaining > 0
    }

    package func encode(into writer: inout ByteWriter) {
        for entry in entries {
            writer.write(entry.length)
            writer.write(entry.value)
        }
    }
}

private func readSetOfHandles(_ reader: inout ByteReader) throws(DecodingError) -> [AttributeHandle] {
    var handles: [AttributeHandle] = []
    repeat { handles.append(AttributeHandle(try reader.readUInt16())) } while reader.remaining > 0
    guard handles.count >= 2 else { throw .invalidValue(field: "handles") }
    return handles
}
