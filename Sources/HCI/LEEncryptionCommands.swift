import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.22 (LE Encrypt command)
package struct HCILEEncrypt: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2017)

    package var key: HCIKey
    package var plaintext: HCIKey

    package init(key: HCIKey, plaintext: HCIKey) {
        self.key = key
        self.plaintext = plaintext
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        key = try HCIKey(decoding: &reader)
        plaintext = try HCIKey(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        key.encode(into: &writer)
        plaintext.encode(into: &writer)
    }

    package struct ReturnParameters: WireCodable {
        package var encrypted: HCIKey

        package init(encrypted: HCIKey) {
            self.encrypted = encrypted
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            encrypted = try HCIKey(decoding: &reader)
        }

        package func encode(into writer: inout ByteWriter) {
            encrypted.encode(into: &writer)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.23 (LE Rand command)
package struct HCILERand: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x2018)

    package init() {}

    package struct ReturnParameters: WireCodable {
        package var random: UInt64

        package init(random: UInt64) {
            self.random = random
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            random = try reader.readUInt64()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(random)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.24 (LE Enable Encryption command)
package struct HCILEEnableEncryption: HCICommand {
    package static let opcode = HCIOpcode(0x2019)

    package var handle: ConnectionHandle
    /// 0 for a key of LE Secure Connections.
    package var randomNumber: UInt64
    /// 0 for a key of LE Secure Connections.
    package var encryptedDiversifier: UInt16
    package var longTermKey: HCIKey

    package init(handle: ConnectionHandle, randomNumber: UInt64, encryptedDiversifier: UInt16, longTermKey: HCIKey) {
        self.handle = handle
        self.randomNumber = randomNumber
        self.encryptedDiversifier = encryptedDiversifier
        self.longTermKey = longTermKey
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = try reader.readConnectionHandle()
        randomNumber = try reader.readUInt64()
        encryptedDiversifier = try reader.readUInt16()
        longTermKey = try HCIKey(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle)
        writer.write(randomNumber)
        writer.write(encryptedDiversifier)
        longTermKey.encode(into: &writer)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.25 (LE Long Term Key Request Reply command)
package struct HCILELongTermKeyRequestReply: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x201A)
    package typealias ReturnParameters = HCIConnectionHandleReturn

    package var handle: ConnectionHandle
    package var longTermKey: HCIKey

    package init(handle: ConnectionHandle, longTermKey: HCIKey) {
        self.handle = handle
        self.longTermKey = longTermKey
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = try reader.readConnectionHandle()
        longTermKey = try HCIKey(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle)
        longTermKey.encode(into: &writer)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.26 (LE Long Term Key Request Negative Reply command)
package struct HCILELongTermKeyRequestNegativeReply: HCICompletingCommand, HCIOneHandle {
    package static let opcode = HCIOpcode(0x201B)
    package typealias ReturnParameters = HCIConnectionHandleReturn

    package var handle: ConnectionHandle

    package init(handle: ConnectionHandle) { self.handle = handle }
}
