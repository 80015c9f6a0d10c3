import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.7.5 (Disconnection Complete event)
package struct HCIDisconnectionComplete: WireCodable {
    package var status: HCIErrorCode
    package var handle: ConnectionHandle
    package var reason: HCIErrorCode

    package init(status: HCIErrorCode, handle: ConnectionHandle, reason: HCIErrorCode) {
        self.status = status
        self.handle = handle
        self.reason = reason
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        status = try reader.readErrorCode()
        handle = try reader.readConnectionHandle()
        reason = try reader.readErrorCode()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(status)
        writer.write(handle)
        writer.write(reason)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.8 (Encryption Change event, version 1)
package struct HCIEncryptionChange: WireCodable {
    package var status: HCIErrorCode
    package var handle: ConnectionHandle
    package var encryptionEnabled: EncryptionState

    package init(status: HCIErrorCode, handle: ConnectionHandle, encryptionEnabled: EncryptionState) {
        self.status = status
        self.handle = handle
        self.encryptionEnabled = encryptionEnabled
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        status = try reader.readErrorCode()
        handle = try reader.readConnectionHandle()
        encryptionEnabled = EncryptionState(rawValue: try reader.readUInt8())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(status)
        writer.write(handle)
        writer.write(encryptionEnabled.rawValue)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.12 (Read Remote Version Information Complete event)
package struct HCIReadRemoteVersionInformationComplete: WireCodable {
    package var status: HCIErrorCode
    package var handle: ConnectionHandle
    package var version: CoreVersion
    package var companyIdentifier: UInt16
    package var subversion: UInt16

    package init(
        status: HCIErrorCode, handle: ConnectionHandle, version: CoreVersion, companyIdentifier: UInt16,
        subversion: UInt16
    ) {
        self.status = status
        self.handle = handle
        self.version = version
        self.companyIdentifier = companyIdentifier
        self.subversion = subversion
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        status = try reader.readErrorCode()
        handle = try reader.readConnectionHandle()
        version = CoreVersion(rawValue: try reader.readUInt8())
        companyIdentifier = try reader.readUInt16()
        subversion = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(status)
        writer.write(handle)
        writer.write(version.rawValue)
        writer.write(companyIdentifier)
        writer.write(subversion)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.39 (Encryption Key Refresh Complete event)
package struct HCIEncryptionKeyRefreshComplete: WireCodable {
    package var status: HCIErrorCode
    package var handle: ConnectionHandle

    package init(status: HCIErrorCode, handle: ConnectionHandle) {
        self.status = status
        self.handle = handle
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        status = try reader.readErrorCode()
        handle = try reader.readConnectionHandle()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(status)
        writer.write(handle)
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.8 (Encryption Change event, Encryption_Enabled)
package struct EncryptionState: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let off = Self(rawValue: 0x00)
    /// On an LE link: AES-CCM.
    package static let on = Self(rawValue: 0x01)
    /// AES-CCM on a BR/EDR link.
    package static let onBREDRAESCCM = Self(rawValue: 0x02)
}
