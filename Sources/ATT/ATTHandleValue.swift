import BluetoothCore

/// Core 5.4, Vol 3, Part F, 3.4.7.1 (Handle Value Notification)
package struct ATTHandleValueNotification: ATTParameters {
    package static let opcode = ATTOpcode.handleValueNotification
    package var handle: AttributeHandle
    package var value: [UInt8]

    package init(handle: AttributeHandle, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        (handle, value) = try reader.readHandleAndValue()
    }

    package func encode(into writer: inout ByteWriter) { writer.write(handle, value) }
}

/// Core 5.4, Vol 3, Part F, 3.4.7.2 (Handle Value Indication)
package struct ATTHandleValueIndication: ATTParameters {
    package static let opcode = ATTOpcode.handleValueIndication
    package var handle: AttributeHandle
    package var value: [UInt8]

    package init(handle: AttributeHandle, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        (handle, value) = try reader.readHandleAndValue()
    }

    package func encode(into writer: inout ByteWriter) { writer.write(handle, value) }
}

/// Core 5.4, Vol 3, Part F, 3.4.7.3 (Handle Value Confirmation)
package struct ATTHandleValueConfirmation: ATTParameters {
    package static let opcode = ATTOpcode.handleValueConfirmation

    package init() {}

    package init(decoding reader: inout ByteReader) throws(DecodingError) {}

    package func encode(into writer: inout ByteWriter) {}
}

/// Core 5.4, Vol 3, Part F, 3.4.7.4 (Multiple Handle Value Notification)
package struct ATTMultipleHandleValueNotification: ATTParameters {
    package static let opcode = ATTOpcode.multipleHandleValueNotification
    /// The specification's list has two or more; BlueZ puts each of its notifications into a list of one.
    package var notifications: [ATTHandleValueNotification]

    package init(notifications: [ATTHandleValueNotification]) { self.notifications = notifications }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        notifications = []
        repeat {
            let handle = AttributeHandle(try reader.readUInt16())
            let length = Int(try reader.readUInt16())
            notifications.append(ATTHandleValueNotification(handle: handle, value: try reader.readBytes(length)))
        } while reader.remaining > 0
    }

    package func encode(into writer: inout ByteWriter) {
        for notification in notifications {
            writer.write(notification.handle.rawValue)
            writer.write(UInt16(truncatingIfNeeded: notification.value.count))
            writer.write(notification.value)
        }
    }
}

// What notifications, indications and writes are made of: a handle, and its value to the end of the PDU.

extension ByteReader {
    @_lifetime(self: copy self)
    mutating func readHandleAndValue() throws(DecodingError) -> (AttributeHandle, [UInt8]) {
        (AttributeHandle(try readUInt16()), readRemaining())
    }
}

extension ByteWriter {
    mutating func write(_ handle: AttributeHandle, _ value: [UInt8]) {
        write(handle.rawValue)
        write(value)
    }
}
