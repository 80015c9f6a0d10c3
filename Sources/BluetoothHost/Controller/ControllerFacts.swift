import BluetoothCore
import HCI

/// How much one link layer packet may carry, and how long it may take.
///
/// Core 5.4, Vol 6, Part B, 4.5.10 (Data PDU length management)
package struct DataLength: Hashable, Sendable {
    package var octets: UInt16
    package var microseconds: UInt16

    package init(octets: UInt16, microseconds: UInt16) {
        self.octets = octets
        self.microseconds = microseconds
    }

    /// What every link begins with.
    package static let minimum = Self(octets: 27, microseconds: 328)
    /// The most that there is, on LE 1M.
    package static let maximum = Self(octets: 251, microseconds: 2120)
}

/// What apps may ask whether the controller can do.
package struct ControllerFeatures: OptionSet, Sendable {
    package let rawValue: UInt
    package init(rawValue: UInt) { self.rawValue = rawValue }

    /// Advertisements of the extended kind are heard, and connected to.
    package static let extendedScanAndConnect = Self(rawValue: 1 << 0)
}

/// What a controller says of itself before anything is asked of it.
package struct ControllerFacts: Sendable {
    package var version = CoreVersion(rawValue: 0)
    package var supportedCommands: SupportedCommands?
    package var features: LEFeatures = []
    package var publicAddress = DeviceAddress(kind: .public, bits: 0)
    /// Octets of the largest ACL data packet that it takes, and how many it holds.
    package var aclDataPacketLength = 0
    package var aclDataPacketCount = 0
    package var acceptListCapacity = 0
    package var resolvingListCapacity = 0
    /// What it sends at most in one packet.
    package var maximumDataLength = DataLength.maximum
    /// With the legacy commands there is one set, of 31 octets.
    package var advertisingSetCount = 1
    package var advertisingDataOctets = LegacyAdvertisingData.maximumOctets

    package init() {}

    /// What there is to ask of one that the kernel keeps.
    static let ofKernel = {
        var facts = ControllerFacts()
        facts.supportedCommands = SupportedCommands([.readRSSI])
        return facts
    }()

    package func supports(_ command: SupportedCommands.Position) -> Bool {
        supportedCommands?.contains(command) ?? false
    }

    /// Extended commands need all that are used of them: the two families do not mix.
    ///
    /// Core 5.4, Vol 4, Part E, 3.1.1 (Legacy and extended advertising)
    package var commandFamily: CommandFamily {
        let isExtended = features.contains(.extendedAdvertising) && Self.extendedCommands.allSatisfy(supports)
        return isExtended ? .extended : .legacy
    }

    var apps: ControllerFeatures { commandFamily == .extended ? .extendedScanAndConnect : [] }

    /// How many peers the resolving list takes, as far as it is of use: without LE Set Privacy Mode a peer that shows its
    /// identity address might not be heard.
    package var usableResolvingListCapacity: Int {
        features.contains(.privacy) && Self.resolvingListCommands.allSatisfy(supports) ? resolvingListCapacity : 0
    }

    private static let resolvingListCommands: [SupportedCommands.Position] = [
        .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList, .leSetAddressResolutionEnable, .leSetPrivacyMode,
    ]

    private static let extendedCommands: [SupportedCommands.Position] = [
        .leSetAdvertisingSetRandomAddress, .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData,
        .leSetExtendedScanResponseData, .leSetExtendedAdvertisingEnable, .leRemoveAdvertisingSet,
        .leSetExtendedScanParameters, .leSetExtendedScanEnable, .leExtendedCreateConnection,
    ]

    /// The events that this controller may have something to say in.
    package var leEventMask: LEEventMask {
        var mask: LEEventMask = [
            .connectionComplete, .advertisingReport, .connectionUpdateComplete, .readRemoteFeaturesComplete,
            .longTermKeyRequest, .remoteConnectionParameterRequest, .dataLengthChange,
        ]
        if features.contains(.privacy) { mask.insert(.enhancedConnectionComplete) }
        if !features.isDisjoint(with: [.le2MPHY, .leCodedPHY]) { mask.insert(.phyUpdateComplete) }
        if features.contains(.channelSelectionAlgorithm2) { mask.insert(.channelSelectionAlgorithm) }
        if commandFamily == .extended { mask.formUnion([.extendedAdvertisingReport, .advertisingSetTerminated]) }
        return mask
    }
}
