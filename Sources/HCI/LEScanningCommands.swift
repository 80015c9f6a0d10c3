import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.10 (LE Set Scan Parameters command)
package struct HCILESetScanParameters: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x200B)

    package var scanType: LEScanType
    /// Units of 0.625 ms.
    package var interval: UInt16
    /// Units of 0.625 ms.
    package var window: UInt16
    package var ownAddressType: LEOwnAddressType
    package var filterPolicy: LEScanFilterPolicy

    package init(
        scanType: LEScanType, interval: UInt16, window: UInt16, ownAddressType: LEOwnAddressType,
        filterPolicy: LEScanFilterPolicy
    ) {
        self.scanType = scanType
        self.interval = interval
        self.window = window
        self.ownAddressType = ownAddressType
        self.filterPolicy = filterPolicy
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        scanType = try reader.readCase("LE_Scan_Type")
        interval = try reader.readUInt16()
        window = try reader.readUInt16()
        ownAddressType = try reader.readCase("Own_Address_Type")
        filterPolicy = try reader.readCase("Scanning_Filter_Policy")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(scanType.rawValue)
        writer.write(interval)
        writer.write(window)
        writer.write(ownAddressType.rawValue)
        writer.write(filterPolicy.rawValue)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.11 (LE Set Scan Enable command)
package struct HCILESetScanEnable: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x200C)

    package var enable: Bool
    package var filterDuplicates: Bool

    package init(enable: Bool, filterDuplicates: Bool) {
        self.enable = enable
        self.filterDuplicates = filterDuplicates
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        enable = try reader.readBool("enable")
        filterDuplicates = try reader.readBool("filterDuplicates")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(enable)
        writer.write(filterDuplicates)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.10 (LE Set Scan Parameters, LE_Scan_Type)
package enum LEScanType: UInt8, Sendable, CaseIterable {
    case passive = 0x00
    case active = 0x01
}

/// Core 5.4, Vol 4, Part E, 7.8.10 (LE Set Scan Parameters, Scanning_Filter_Policy)
package enum LEScanFilterPolicy: UInt8, Sendable, CaseIterable {
    case basicUnfiltered = 0x00
    case basicFiltered = 0x01
    case extendedUnfiltered = 0x02
    case extendedFiltered = 0x03
}
