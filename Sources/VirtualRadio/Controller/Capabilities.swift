/// Which generation of controllers one belongs to. A host has to get along with each.
package enum ControllerGeneration: String, CaseIterable, Sendable {
    /// The first with LE: nothing that is optional but encryption.
    case core40 = "4.0"
    /// The last with legacy advertising alone.
    case core42 = "4.2"
    case core54 = "5.4"

    var capabilities: Capabilities {
        switch self {
        case .core40: Capabilities(version: 0x06, leFeatures: [.encryption])
        case .core42:
            Capabilities(
                version: 0x08,
                leFeatures: [
                    .encryption, .connectionParametersRequest, .extendedRejectIndication, .peripheralInitiatedFeatures,
                    .dataPacketLengthExtension, .privacy,
                ])
        case .core54:
            Capabilities(
                version: 0x0D,
                leFeatures: [
                    .encryption, .connectionParametersRequest, .extendedRejectIndication, .peripheralInitiatedFeatures,
                    .dataPacketLengthExtension, .privacy, .phy2M, .extendedAdvertising, .channelSelectionAlgorithm2,
                ])
        }
    }
}

/// What a simulated controller says of itself, and what it therefore does.
struct Capabilities: Sendable {
    /// HCI_Version and LMP_Version (Assigned Numbers, 2.1).
    let version: UInt8
    let leFeatures: LEFeatures
    /// Supported_Commands: of the commands below, those whose features are there.
    let supportedCommands: [UInt8]

    init(version: UInt8, leFeatures: LEFeatures) {
        self.version = version
        self.leFeatures = leFeatures
        supportedCommands = CommandDescription.supportedCommands(leFeatures)
    }

    static let revision: UInt16 = 1
    /// Reserved by the Assigned Numbers for those who have none.
    static let companyIdentifier: UInt16 = 0xFFFF
    static let subversion: UInt16 = 1

    /// BR/EDR Not Supported and LE Supported (Controller).
    ///
    /// Core 5.4, Vol 2, Part C, 3.2 (Feature definitions)
    static let lmpFeatures: UInt64 = 1 << 37 | 1 << 38

    /// Core 5.4, Vol 4, Part E, 7.8.27 (LE Read Supported States command): all of them.
    static let leStates: UInt64 = 0x0000_03FF_FFFF_FFFF
    static let txPowerDBm: Int8 = 0
}

/// Core 5.4, Vol 6, Part B, 4.6 (Feature support)
struct LEFeatures: OptionSet, Hashable, Sendable {
    let rawValue: UInt64

    static let encryption = Self(rawValue: 1 << 0)
    static let connectionParametersRequest = Self(rawValue: 1 << 1)
    static let extendedRejectIndication = Self(rawValue: 1 << 2)
    static let peripheralInitiatedFeatures = Self(rawValue: 1 << 3)
    static let dataPacketLengthExtension = Self(rawValue: 1 << 5)
    static let privacy = Self(rawValue: 1 << 6)
    static let phy2M = Self(rawValue: 1 << 8)
    static let extendedAdvertising = Self(rawValue: 1 << 12)
    static let channelSelectionAlgorithm2 = Self(rawValue: 1 << 14)

    /// Table 4.4: what controllers tell one another. Privacy and extended advertising are no matter of a link.
    static let validBetweenControllers: Self = [
        .encryption, .connectionParametersRequest, .extendedRejectIndication, .peripheralInitiatedFeatures,
        .dataPacketLengthExtension, .phy2M, .channelSelectionAlgorithm2,
    ]
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

    /// Both limits hold: of these octets as many as fit into the time.
    static func fitting(octets: UInt16, microseconds: UInt16) -> UInt16 {
        min(octets, max(microseconds / 8 - 14, minimumOctets))
    }
}
