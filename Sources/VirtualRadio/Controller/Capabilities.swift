/// What every simulated controller says of itself.
enum Capabilities {
    /// Core 5.4 (Assigned Numbers, 2.1).
    static let version: UInt8 = 0x0D
    static let revision: UInt16 = 1
    /// Reserved by the Assigned Numbers for those who have none.
    static let companyIdentifier: UInt16 = 0xFFFF
    static let subversion: UInt16 = 1

    /// BR/EDR Not Supported and LE Supported (Controller).
    ///
    /// Core 5.4, Vol 2, Part C, 3.2 (Feature definitions)
    static let lmpFeatures: UInt64 = 1 << 37 | 1 << 38

    /// LE Encryption, Peripheral-initiated Features Exchange, LE Data Packet Length Extension.
    ///
    /// Core 5.4, Vol 6, Part B, 4.6 (Feature support)
    static let leFeatures: UInt64 = 1 << 0 | 1 << 3 | 1 << 5

    /// Core 5.4, Vol 4, Part E, 7.8.27 (LE Read Supported States command): all of them.
    static let leStates: UInt64 = 0x0000_03FF_FFFF_FFFF
    static let txPowerDBm: Int8 = 0
}

/// How long one link layer payload may be.
///
/// Core 5.4, Vol 6, Part B, 4.5.10 (Data PDU length management)
enum DataLength {
    static let minimumOctets: UInt16 = 27
    static let maximumOctets: UInt16 = 251
    /// The range of the time parameters reaches to the Coded PHY's.
    static let maximumMicroseconds: UInt16 = 17040

    /// On the LE 1M PHY: preamble, access address, header, MIC and CRC come to 14 octets.
    static func microseconds(octets: UInt16) -> UInt16 { (octets + 14) * 8 }
}
