import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.64 (LE Set Extended Scan Parameters command)
package struct HCILESetExtendedScanParameters: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2041)

    /// How one PHY is listened on.
    package struct PHYParameters: WireCodable, Hashable {
        package var scanType: LEScanType
        /// Units of 0.625 ms.
        package var interval: UInt16
        /// Units of 0.625 ms.
        package var window: UInt16

        package init(scanType: LEScanType, interval: UInt16, window: UInt16) {
            self.scanType = scanType
            self.interval = interval
            self.window = window
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            scanType = try reader.readCase("Scan_Type")
            interval = try reader.readUInt16()
            window = try reader.readUInt16()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(scanType.rawValue)
            writer.write(interval)
            writer.write(window)
        }
    }

    package var ownAddressType: LEOwnAddressType
    package var filterPolicy: LEScanFilterPolicy
    package var phys: LEPerPHY<PHYParameters>

    package init(
        ownAddressType: LEOwnAddressType, filterPolicy: LEScanFilterPolicy, phys: LEPerPHY<PHYParameters>
    ) {
        self.ownAddressType = ownAddressType
        self.filterPolicy = filterPolicy
        self.phys = phys
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        ownAddressType = try reader.readCase("Own_Address_Type")
        filterPolicy = try reader.readCase("Scanning_Filter_Policy")
        phys = try LEPerPHY(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(ownAddressType.rawValue)
        writer.write(filterPolicy.rawValue)
        phys.encode(into: &writer)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.65 (LE Set Extended Scan Enable command)
package struct HCILESetExtendedScanEnable: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2042)

    package enum DuplicateFilter: UInt8, Sendable, CaseIterable {
        case off = 0x00
        case on = 0x01
        /// Forgets what it has seen with each period.
        case resetEachPeriod = 0x02
    }

    package var enable: Bool
    package var duplicateFilter: DuplicateFilter
    /// Units of 10 ms; 0: until it is disabled.
    package var duration: UInt16
    /// Units of 1.28 s; 0: one period only.
    package var period: UInt16

    package init(enable: Bool, duplicateFilter: DuplicateFilter, duration: UInt16 = 0, period: UInt16 = 0) {
        self.enable = enable
        self.duplicateFilter = duplicateFilter
        self.duration = duration
        self.period = period
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        enable = try reader.readBool("Enable")
        duplicateFilter = try reader.readCase("Filter_Duplicates")
        duration = try reader.readUInt16()
        period = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(enable)
        writer.write(duplicateFilter.rawValue)
        writer.write(duration)
        writer.write(period)
    }
}

/// A value for each PHY that is used, behind the bit field that names them.
///
/// Core 5.4, Vol 4, Part E, 7.8.64 (LE Set Extended Scan Parameters command, Scanning_PHYs)
package struct LEPerPHY<Value: WireCodable & Hashable>: WireCodable, Hashable {
    package var le1M: Value?
    package var le2M: Value?
    package var leCoded: Value?

    package init(le1M: Value? = nil, le2M: Value? = nil, leCoded: Value? = nil) {
        self.le1M = le1M
        self.le2M = le2M
        self.leCoded = leCoded
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let phys = LEPHYSet(rawValue: try reader.readUInt8())
        guard phys.isSubset(of: [.le1M, .le2M, .leCoded]) else { throw .invalidValue(field: "PHYs") }
        if phys.contains(.le1M) { le1M = try Value(decoding: &reader) }
        if phys.contains(.le2M) { le2M = try Value(decoding: &reader) }
        if phys.contains(.leCoded) { leCoded = try Value(decoding: &reader) }
    }

    package func encode(into writer: inout ByteWriter) {
        var phys: LEPHYSet = []
        if le1M != nil { phys.insert(.le1M) }
        if le2M != nil { phys.insert(.le2M) }
        if leCoded != nil { phys.insert(.leCoded) }
        writer.write(phys.rawValue)
        le1M?.encode(into: &writer)
        le2M?.encode(into: &writer)
        leCoded?.encode(into: &writer)
    }
}
