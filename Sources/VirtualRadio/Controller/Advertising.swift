/// Core 5.4, Vol 4, Part E, 7.8.5 (LE Set Advertising Parameters command), Advertising_Type
enum AdvertisingType: UInt8, Sendable {
    case connectableUndirected = 0
    case connectableDirectedHighDuty = 1
    case scannableUndirected = 2
    case nonConnectableUndirected = 3
    case connectableDirectedLowDuty = 4

    var isConnectable: Bool { self != .scannableUndirected && self != .nonConnectableUndirected }
    var isScannable: Bool { self == .connectableUndirected || self == .scannableUndirected }
    var isDirected: Bool { self == .connectableDirectedHighDuty || self == .connectableDirectedLowDuty }

    var reportType: AdvertisingReportType {
        switch self {
        case .connectableUndirected: .connectableUndirected
        case .connectableDirectedHighDuty, .connectableDirectedLowDuty: .connectableDirected
        case .scannableUndirected: .scannableUndirected
        case .nonConnectableUndirected: .nonConnectableUndirected
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.65.2 (LE Advertising Report event), Event_Type
enum AdvertisingReportType: UInt8, Sendable {
    case connectableUndirected = 0
    case connectableDirected = 1
    case scannableUndirected = 2
    case nonConnectableUndirected = 3
    case scanResponse = 4
}

/// An advertiser: its parameters, its data, and its run while it is enabled.
struct Advertising: Sendable {
    struct Parameters: Sendable {
        /// Advertising_Interval_Max, the longest the host allows: 1.28 s by default.
        var intervalNanoseconds: UInt64 = 0x0800 * baseband
        var type = AdvertisingType.connectableUndirected
        var isOwnAddressRandom = false
        var peer = RadioAddress(isRandom: false, value: 0)
        /// Bit 0: scan requests only from the accept list. Bit 1: connections only from it.
        var filterPolicy: UInt8 = 0

        var filtersScanners: Bool { filterPolicy & 1 != 0 }
        var filtersInitiators: Bool { filterPolicy & 2 != 0 }
    }

    struct Run: Sendable {
        /// Tells this run's events from an earlier one's.
        let epoch: UInt64
        let address: RadioAddress
        /// When high duty cycle advertising gives up.
        let until: UInt64?
    }

    var parameters = Parameters()
    var data: [UInt8] = []
    var scanResponse: [UInt8] = []
    var run: Run?

    /// The unit of advertising and scanning intervals.
    static let baseband: UInt64 = 625_000
    /// Core 5.4, Vol 6, Part B, 4.4.2.2.1 (Advertising interval): advDelay
    static let maximumDelayNanoseconds: UInt64 = 10_000_000
    /// Core 5.4, Vol 6, Part B, 4.4.2.4.3 (High duty cycle connectable directed event type)
    static let highDutyIntervalNanoseconds: UInt64 = 3_750_000
    static let highDutyNanoseconds: UInt64 = 1_280_000_000
}

/// A scanner.
struct Scanning: Sendable {
    struct Parameters: Sendable {
        var isActive = false
        var intervalNanoseconds: UInt64 = 0x10 * Advertising.baseband
        var windowNanoseconds: UInt64 = 0x10 * Advertising.baseband
        var isOwnAddressRandom = false
        var usesAcceptList = false
    }

    /// What a duplicate is a duplicate of. The data does not count.
    ///
    /// Core 5.4, Vol 6, Part B, 4.4.3.5 (Advertising reports)
    struct Report: Hashable, Sendable {
        let address: RadioAddress
        let type: AdvertisingReportType
    }

    struct Run: Sendable {
        let since: UInt64
        let filtersDuplicates: Bool
        let address: RadioAddress
        var seen: Set<Report> = []

        /// Whether this report is to go to the host. A controller's memory is finite: a full one starts again.
        mutating func admits(_ report: Report) -> Bool {
            guard filtersDuplicates else { return true }
            if seen.count >= Scanning.maximumRemembered { seen.removeAll(keepingCapacity: true) }
            return seen.insert(report).inserted
        }
    }

    static let maximumRemembered = 1024

    var parameters = Parameters()
    var run: Run?
}

/// A connection that the host has asked for and that has not come about.
///
/// Core 5.4, Vol 4, Part E, 7.8.12 (LE Create Connection command)
struct PendingConnection: Sendable {
    let since: UInt64
    let intervalNanoseconds: UInt64
    let windowNanoseconds: UInt64
    /// nil: whoever is on the accept list.
    let peer: RadioAddress?
    let ownAddress: RadioAddress
    let parameters: ConnectionParameters

    var usesAcceptList: Bool { peer == nil }
}

/// Whether a receiver that began at `since` listens now.
func isListening(at now: UInt64, since: UInt64, interval: UInt64, window: UInt64) -> Bool {
    window >= interval || (now &- since) % max(interval, 1) < window
}
