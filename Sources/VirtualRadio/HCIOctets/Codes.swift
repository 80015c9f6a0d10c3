/// Core 5.4, Vol 4, Part A, 2 (UART Transport Layer)
enum PacketType: UInt8, Sendable {
    case command = 1
    case aclData = 2
    case synchronousData = 3
    case event = 4
    case isoData = 5
}

/// Core 5.4, Vol 1, Part F, 1.3 (List of Error Codes): those that this controller has a use for.
struct Status: Error, Hashable {
    let rawValue: UInt8

    static let success = Self(rawValue: 0x00)
    static let unknownCommand = Self(rawValue: 0x01)
    static let unknownConnection = Self(rawValue: 0x02)
    static let pinOrKeyMissing = Self(rawValue: 0x06)
    static let memoryCapacityExceeded = Self(rawValue: 0x07)
    static let connectionTimeout = Self(rawValue: 0x08)
    static let connectionLimitExceeded = Self(rawValue: 0x09)
    static let connectionAlreadyExists = Self(rawValue: 0x0B)
    static let commandDisallowed = Self(rawValue: 0x0C)
    static let unsupportedParameterValue = Self(rawValue: 0x11)
    static let invalidParameters = Self(rawValue: 0x12)
    static let terminatedByLocalHost = Self(rawValue: 0x16)
    static let unsupportedRemoteFeature = Self(rawValue: 0x1A)
    static let linkLayerResponseTimeout = Self(rawValue: 0x22)
    static let advertisingTimeout = Self(rawValue: 0x3C)
    static let micFailure = Self(rawValue: 0x3D)
    static let failedToBeEstablished = Self(rawValue: 0x3E)
    static let unknownAdvertisingIdentifier = Self(rawValue: 0x42)
    static let limitReached = Self(rawValue: 0x43)

    /// Core 5.4, Vol 4, Part E, 7.1.6 (Disconnect command): the reasons that a host may give.
    static let disconnectReasons: Set<UInt8> = [0x05, 0x13, 0x14, 0x15, 0x1A, 0x29, 0x3B]
}

/// Core 5.4, Vol 4, Part E, 7.7 (Events)
struct EventCode: Sendable {
    let rawValue: UInt8

    static let disconnectionComplete = Self(rawValue: 0x05)
    static let encryptionChange = Self(rawValue: 0x08)
    static let readRemoteVersionComplete = Self(rawValue: 0x0C)
    static let commandComplete = Self(rawValue: 0x0E)
    static let commandStatus = Self(rawValue: 0x0F)
    static let hardwareError = Self(rawValue: 0x10)
    static let numberOfCompletedPackets = Self(rawValue: 0x13)
    static let dataBufferOverflow = Self(rawValue: 0x1A)
    static let encryptionKeyRefreshComplete = Self(rawValue: 0x30)
    static let leMeta = Self(rawValue: 0x3E)
}

/// Core 5.4, Vol 4, Part E, 7.7.65 (LE Meta event)
struct LEEventCode: Sendable {
    let rawValue: UInt8

    static let connectionComplete = Self(rawValue: 0x01)
    static let advertisingReport = Self(rawValue: 0x02)
    static let connectionUpdateComplete = Self(rawValue: 0x03)
    static let readRemoteFeaturesComplete = Self(rawValue: 0x04)
    static let longTermKeyRequest = Self(rawValue: 0x05)
    static let remoteConnectionParameterRequest = Self(rawValue: 0x06)
    static let dataLengthChange = Self(rawValue: 0x07)
    static let enhancedConnectionComplete = Self(rawValue: 0x0A)
    static let phyUpdateComplete = Self(rawValue: 0x0C)
    static let extendedAdvertisingReport = Self(rawValue: 0x0D)
    static let scanTimeout = Self(rawValue: 0x11)
    static let advertisingSetTerminated = Self(rawValue: 0x12)
    static let scanRequestReceived = Self(rawValue: 0x13)
    static let channelSelectionAlgorithm = Self(rawValue: 0x14)

    /// Core 5.4, Vol 4, Part E, 7.8.1 (LE Set Event Mask command): subevent n is bit n - 1.
    var maskBit: UInt64 { 1 << UInt64(rawValue - 1) }
}

/// Hardware_Code of the Hardware Error event (Core 5.4, Vol 4, Part E, 7.7.16), which is each vendor's own.
enum HardwareCode: UInt8, Sendable {
    case poweredUp = 0x01
    /// The host's octets are no H4 packet.
    case malformedPacket = 0x02
    /// Longer than the buffers, or with flags that no host may set.
    case malformedData = 0x03
}
