import BluetoothCore

/// An event's code.
package struct HCIEventCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let disconnectionComplete = Self(rawValue: 0x05)
    package static let encryptionChange = Self(rawValue: 0x08)
    package static let readRemoteVersionInformationComplete = Self(rawValue: 0x0C)
    package static let commandComplete = Self(rawValue: 0x0E)
    package static let commandStatus = Self(rawValue: 0x0F)
    package static let hardwareError = Self(rawValue: 0x10)
    package static let numberOfCompletedPackets = Self(rawValue: 0x13)
    package static let dataBufferOverflow = Self(rawValue: 0x1A)
    package static let encryptionKeyRefreshComplete = Self(rawValue: 0x30)
    package static let leMeta = Self(rawValue: 0x3E)
}

/// What a controller reports, with the header that says which event it is.
///
/// Core 5.4, Vol 4, Part E, 5.4.4 (HCI Event packet)
package enum HCIEvent: WireCodable {
    case disconnectionComplete(HCIDisconnectionComplete)
    case encryptionChange(HCIEncryptionChange)
    case readRemoteVersionInformationComplete(HCIReadRemoteVersionInformationComplete)
    case commandComplete(HCICommandComplete)
    case commandStatus(HCICommandStatus)
    /// Core 5.4, Vol 4, Part E, 7.7.16 (Hardware Error event): the controller asks to be reset.
    case hardwareError(code: UInt8)
    case numberOfCompletedPackets(HCINumberOfCompletedPackets)
    /// Core 5.4, Vol 4, Part E, 7.7.26 (Data Buffer Overflow event): more was sent than there were credits for.
    case dataBufferOverflow(linkType: UInt8)
    case encryptionKeyRefreshComplete(HCIEncryptionKeyRefreshComplete)
    case le(HCILEEvent)
    /// An event of no interest to this host, or of a later version.
    case unknown(HCIEventCode, parameters: [UInt8])

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let code = HCIEventCode(rawValue: try reader.readUInt8())
        let length = Int(try reader.readUInt8())
        var parameters = ByteReader(try reader.readSpan(length))
        switch code {
        case .disconnectionComplete: self = .disconnectionComplete(try .init(decoding: &parameters))
        case .encryptionChange: self = .encryptionChange(try .init(decoding: &parameters))
        case .readRemoteVersionInformationComplete:
            self = .readRemoteVersionInformationComplete(try .init(decoding: &parameters))
        case .commandComplete: self = .commandComplete(try .init(decoding: &parameters))
        case .commandStatus: self = .commandStatus(try .init(decoding: &parameters))
        case .hardwareError: self = .hardwareError(code: try parameters.readUInt8())
        case .numberOfCompletedPackets: self = .numberOfCompletedPackets(try .init(decoding: &parameters))
        case .dataBufferOverflow: self = .dataBufferOverflow(linkType: try parameters.readUInt8())
        case .encryptionKeyRefreshComplete: self = .encryptionKeyRefreshComplete(try .init(decoding: &parameters))
        case .leMeta: self = .le(try .init(decoding: &parameters))
        default: self = .unknown(code, parameters: parameters.readRemaining())
        }
        try parameters.expectEnd()
    }

    package func encode(into writer: inout ByteWriter) {
        let (code, parameters) = fields
        writer.write(code.rawValue)
        writer.write(UInt8(truncatingIfNeeded: parameters.count))
        writer.write(parameters)
    }

    private var fields: (HCIEventCode, [UInt8]) {
        switch self {
        case .disconnectionComplete(let event): (.disconnectionComplete, event.encoded)
        case .encryptionChange(let event): (.encryptionChange, event.encoded)
        case .readRemoteVersionInformationComplete(let event): (.readRemoteVersionInformationComplete, event.encoded)
        case .commandComplete(let event): (.commandComplete, event.encoded)
        case .commandStatus(let event): (.commandStatus, event.encoded)
        case .hardwareError(let code): (.hardwareError, [code])
        case .numberOfCompletedPackets(let event): (.numberOfCompletedPackets, event.encoded)
        case .dataBufferOverflow(let linkType): (.dataBufferOverflow, [linkType])
        case .encryptionKeyRefreshComplete(let event): (.encryptionKeyRefreshComplete, event.encoded)
        case .le(let event): (.leMeta, event.encoded)
        case .unknown(let code, let parameters): (code, parameters)
        }
    }
}
