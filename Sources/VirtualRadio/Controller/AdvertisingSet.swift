/// What an advertising event is: by extended commands set bit for bit, by legacy ones chosen by its type.
///
/// Core 5.4, Vol 4, Part E, 7.8.53 (LE Set Extended Advertising Parameters command), Advertising_Event_Properties
struct AdvertisingEventProperties: OptionSet, Hashable, Sendable {
    let rawValue: UInt16

    static let connectable = Self(rawValue: 1 << 0)
    static let scannable = Self(rawValue: 1 << 1)
    static let directed = Self(rawValue: 1 << 2)
    static let highDutyCycle = Self(rawValue: 1 << 3)
    static let legacyPDUs = Self(rawValue: 1 << 4)
    static let anonymous = Self(rawValue: 1 << 5)
    static let includesTxPower = Self(rawValue: 1 << 6)

    /// Table 7.2 (Advertising_Event_Properties values for legacy PDUs), by Advertising_Type.
    private static let legacyTypes: [Self] = [
        [.legacyPDUs, .connectable, .scannable], [.legacyPDUs, .connectable, .directed, .highDutyCycle],
        [.legacyPDUs, .scannable], [.legacyPDUs], [.legacyPDUs, .connectable, .directed],
    ]

    /// Core 5.4, Vol 4, Part E, 7.8.5 (LE Set Advertising Parameters command), Advertising_Type
    init?(legacyType: UInt8) {
        guard legacyType < Self.legacyTypes.count else { return nil }
        self = Self.legacyTypes[Int(legacyType)]
    }

    init(rawValue: UInt16) { self.rawValue = rawValue }

    var isLegacy: Bool { contains(.legacyPDUs) }
    var isConnectable: Bool { contains(.connectable) }
    var isScannable: Bool { contains(.scannable) }
    var isDirected: Bool { contains(.directed) }
    var isHighDutyCycle: Bool { contains(.highDutyCycle) }

    /// Whether there is such an advertising event.
    ///
    /// Core 5.4, Vol 6, Part B, 4.4.2 (Advertising state): anonymous events are neither connectable nor scannable.
    var isValid: Bool {
        if isLegacy { return Self.legacyTypes.contains(self) }
        return rawValue < 1 << 7 && !isHighDutyCycle && !isSuperset(of: [.connectable, .scannable])
            && (!contains(.anonymous) || isDisjoint(with: [.connectable, .scannable]))
    }

    /// Whether the event has a place for advertising data.
    var carriesData: Bool { isLegacy ? !isDirected : !isScannable }

    /// Core 5.4, Vol 4, Part E, 7.7.65.2 (LE Advertising Report event), Event_Type
    var legacyReportType: UInt8 {
        if isDirected { return 1 }
        return isConnectable ? 0 : isScannable ? 2 : 3
    }
}

/// Own_Address_Type of a command: which of its addresses a controller uses.
enum OwnAddressType: UInt8, Sendable {
    case publicDevice = 0
    case random = 1
    /// As the resolving list has it, or else the public one.
    case resolvableOrPublic = 2
    /// As the resolving list has it, or else the random one.
    case resolvableOrRandom = 3

    var isRandom: Bool { self == .random || self == .resolvableOrRandom }
    var isResolvable: Bool { self == .resolvableOrPublic || self == .resolvableOrRandom }
}

/// The PHYs, as commands and events number them.
///
/// Core 5.4, Vol 6, Part B, 2 (Air interface packets)
enum PHY: UInt8, Sendable {
    case le1M = 1
    case le2M = 2
}

/// Advertising or scan response data, perhaps in part.
struct AdvertisingPayload: Sendable {
    var octets: [UInt8] = []
    /// Its last fragment is still to come.
    var isPartial = false
}

/// An advertiser: its parameters, its data, and its run while it is enabled. Legacy commands have one that is always
/// there, extended ones as many as their host makes.
struct AdvertisingSet: Sendable {
    struct Parameters: Sendable {
        /// The shortest that the host allows: 1.28 s by default.
        var intervalNanoseconds: UInt64 = 0x0800 * baseband
        var properties: AdvertisingEventProperties = [.legacyPDUs, .connectable, .scannable]
        var ownAddressType = OwnAddressType.publicDevice
        var peer = RadioAddress(isRandom: false, value: 0)
        /// Bit 0: scan requests only from the accept list. Bit 1: connections only from it.
        var filterPolicy: UInt8 = 0
        var secondaryPHY = PHY.le1M
        /// Advertising_SID
        var identifier: UInt8 = 0
        var notifiesOfScanRequests = false

        var filtersScanners: Bool { filterPolicy & 1 != 0 }
        var filtersInitiators: Bool { filterPolicy & 2 != 0 }
    }

    struct Run: Sendable {
        /// Tells this run's events from an earlier one's.
        let epoch: UInt64
        /// When advertising gives up.
        let until: UInt64?
        /// How many events there are to be; 0 for no bound.
        let maximumEvents: UInt8
        var completedEvents: UInt64 = 0
    }

    /// Advertising_Handle; nil for the one of the legacy commands.
    let handle: UInt8?
    var parameters = Parameters()
    /// By LE Set Advertising Set Random Address.
    var randomAddress: RadioAddress?
    var data = AdvertisingPayload()
    var scanResponse = AdvertisingPayload()
    /// Advertising DID: another one when the data is, so that nobody takes it for a duplicate.
    var dataIdentifier: UInt16 = 0
    var run: Run?

    init(handle: UInt8?) { self.handle = handle }

    var properties: AdvertisingEventProperties { parameters.properties }

    /// The unit of advertising and scanning intervals.
    static let baseband: UInt64 = 625_000
    /// Core 5.4, Vol 6, Part B, 4.4.2.2.1 (Advertising interval): advDelay
    static let maximumDelayNanoseconds: UInt64 = 10_000_000
    /// Core 5.4, Vol 6, Part B, 4.4.2.4.3 (High duty cycle connectable directed event type)
    static let highDutyIntervalNanoseconds: UInt64 = 3_750_000
    static let highDutyNanoseconds: UInt64 = 1_280_000_000

    static let maximumHandle: UInt8 = 0xEF
    static let maximumLegacyDataOctets = 31

    /// How much data fits into the one AUX_ADV_IND that a connectable set may use.
    ///
    /// Core 5.4, Vol 6, Part B, 2.3.4 (Common Extended Advertising Payload Format)
    var maximumAuxiliaryDataOctets: Int {
        let payload = 255
        let lengthAndMode = 1
        let flags = 1
        let address = 6
        let advDataInfo = 2
        return payload - lengthAndMode - flags - address - advDataInfo - (properties.isDirected ? address : 0)
            - (properties.contains(.includesTxPower) ? 1 : 0)
    }
}
