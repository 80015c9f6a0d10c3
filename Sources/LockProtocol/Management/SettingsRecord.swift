import BluetoothCore

/// The settings as a manager reads them.
package struct SettingsRecord: WireCodable, Hashable {
    package var settings: LockSettings
    /// Those that the lock's operator has fixed: nobody changes them over the air.
    package var fixed: LockSettings.Fields

    package init(_ settings: LockSettings, fixed: LockSettings.Fields) {
        self.settings = settings
        self.fixed = fixed
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        fixed = LockSettings.Fields(rawValue: try reader.readUInt8())
        settings = try LockSettings(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(fixed.rawValue)
        settings.encode(into: &writer)
    }
}
