import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.3.1 (Set Event Mask command)
package struct HCISetEventMask: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x0C01)

    package var eventMask: HCIEventMask

    package init(eventMask: HCIEventMask) {
        self.eventMask = eventMask
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        eventMask = HCIEventMask(rawValue: try reader.readUInt64())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(eventMask.rawValue)
    }
}

/// Core 5.4, Vol 4, Part E, 7.3.2 (Reset command)
package struct HCIReset: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x0C03)

    package init() {}
}

/// Core 5.4, Vol 4, Part E, 7.3.1 (Set Event Mask command)
package struct HCIEventMask: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let disconnectionComplete = Self(rawValue: 1 << 4)
    package static let encryptionChange = Self(rawValue: 1 << 7)
    package static let readRemoteVersionInformationComplete = Self(rawValue: 1 << 11)
    package static let hardwareError = Self(rawValue: 1 << 15)
    package static let dataBufferOverflow = Self(rawValue: 1 << 25)
    package static let encryptionKeyRefreshComplete = Self(rawValue: 1 << 47)
    package static let leMeta = Self(rawValue: 1 << 61)
}
