import BluetoothCore

/// The code of an event inside LE Meta.
package struct HCILESubeventCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let connectionComplete = Self(rawValue: 0x01)
    package static let advertisingReport = Self(rawValue: 0x02)
    package static let connectionUpdateComplete = Self(rawValue: 0x03)
    package static let readRemoteFeaturesComplete = Self(rawValue: 0x04)
    package static let longTermKeyRequest = Self(rawValue: 0x05)
    package static let remoteConnectionParameterRequest = Self(rawValue: 0x06)
    package static let dataLengthChange = Self(rawValue: 0x07)
    package static let enhancedConnectionComplete = Self(rawValue: 0x0A)
    package static let phyUpdateComplete = Self(rawValue: 0x0C)
    package static let extendedAdvertisingReport = Self(rawValue: 0x0D)
    package static let scanTimeout = Self(rawValue: 0x11)
    package static let advertisingSetTerminated = Self(rawValue: 0x12)
    package static let scanRequestReceived = Self(rawValue: 0x13)
    package static let channelSelectionAlgorithm = Self(rawValue: 0x14)
}

/// Core 5.4, Vol 4, Part E, 7.7.65 (LE Meta event)
package enum HCILEEvent: WireCodable {
    case connectionComplete(HCILEConnectionComplete)
    case advertisingReport(HCILEAdvertisingReport)
    case connectionUpdateComplete(HCILEConnectionUpdateComplete)
    case readRemoteFeaturesComplete(HCILEReadRemoteFeaturesComplete)
    case longTermKeyRequest(HCILELongTermKeyRequest)
    case remoteConnectionParameterRequest(HCILERemoteConnectionParameterRequest)
    case dataLengthChange(HCILEDataLengthChange)
    case enhancedConnectionComplete(HCILEEnhancedConnectionComplete)
    case phyUpdateComplete(HCILEPHYUpdateComplete)
    case extendedAdvertisingReport(HCILEExtendedAdvertisingReport)
    /// Core 5.4, Vol 4, Part E, 7.7.65.17 (LE Scan Timeout event): the scan's duration is over.
    case scanTimeout
    case advertisingSetTerminated(HCILEAdvertisingSetTerminated)
    case scanRequestReceived(HCILEScanRequestReceived)
    case channelSelectionAlgorithm(HCILEChannelSelectionAlgorithm)
    /// An event of no interest to this host, or of a later version.
    case unknown(HCILESubeventCode, parameters: [UInt8])

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let code = HCILESubeventCode(rawValue: try reader.readUInt8())
        switch code {
        case .connectionComplete: self = .connectionComplete(try .init(decoding: &reader))
        case .advertisingReport: self = .advertisingReport(try .init(decoding: &reader))
        case .connectionUpdateComplete: self = .connectionUpdateComplete(try .init(decoding: &reader))
        case .readRemoteFeaturesComplete: self = .readRemoteFeaturesComplete(try .init(decoding: &reader))
        case .longTermKeyRequest: self = .longTermKeyRequest(try .init(decoding: &reader))
        case .remoteConnectionParameterRequest:
            self = .remoteConnectionParameterRequest(try .init(decoding: &reader))
        case .dataLengthChange: self = .dataLengthChange(try .init(decoding: &reader))
        case .enhancedConnectionComplete: self = .enhancedConnectionComplete(try .init(decoding: &reader))
        case .phyUpdateComplete: self = .phyUpdateComplete(try .init(decoding: &reader))
        case .extendedAdvertisingReport: self = .extendedAdvertisingReport(try .init(decoding: &reader))
        case .scanTimeout: self = .scanTimeout
        case .advertisingSetTerminated: self = .advertisingSetTerminated(try .init(decoding: &reader))
        case .scanRequestReceived: self = .scanRequestReceived(try .init(decoding: &reader))
        case .channelSelectionAlgorithm: self = .channelSelectionAlgorithm(try .init(decoding: &reader))
        default: self = .unknown(code, parameters: reader.readRemaining())
        }
    }

    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .connectionComplete(let event): Self.write(.connectionComplete, event, into: &writer)
        case .advertisingReport(let event): Self.write(.advertisingReport, event, into: &writer)
        case .connectionUpdateComplete(let event): Self.write(.connectionUpdateComplete, event, into: &writer)
        case .readRemoteFeaturesComplete(let event): Self.write(.readRemoteFeaturesComplete, event, into: &writer)
        case .longTermKeyRequest(let event): Self.write(.longTermKeyRequest, event, into: &writer)
        case .remoteConnectionParameterRequest(let event):
            Self.write(.remoteConnectionParameterRequest, event, into: &writer)
        case .dataLengthChange(let event): Self.write(.dataLengthChange, event, into: &writer)
        case .enhancedConnectionComplete(let event): Self.write(.enhancedConnectionComplete, event, into: &writer)
        case .phyUpdateComplete(let event): Self.write(.phyUpdateComplete, event, into: &writer)
        case .extendedAdvertisingReport(let event): Self.write(.extendedAdvertisingReport, event, into: &writer)
        case .scanTimeout: writer.write(HCILESubeventCode.scanTimeout.rawValue)
        case .advertisingSetTerminated(let event): Self.write(.advertisingSetTerminated, event, into: &writer)
        case .scanRequestReceived(let event): Self.write(.scanRequestReceived, event, into: &writer)
        case .channelSelectionAlgorithm(let event): Self.write(.channelSelectionAlgorithm, event, into: &writer)
        case .unknown(let code, let parameters):
            writer.write(code.rawValue)
            writer.write(parameters)
        }
    }

    private static func write(
        _ code: HCILESubeventCode, _ event: some WireCodable, into writer: inout ByteWriter
    ) {
        writer.write(code.rawValue)
        event.encode(into: &writer)
    }
}
