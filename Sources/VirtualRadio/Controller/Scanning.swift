/// A scanner.
struct Scanning: Sendable {
    struct Parameters: Sendable {
        var isActive = false
        var intervalNanoseconds: UInt64 = 0x10 * AdvertisingSet.baseband
        var windowNanoseconds: UInt64 = 0x10 * AdvertisingSet.baseband
        var ownAddressType = OwnAddressType.publicDevice
        var usesAcceptList = false
    }

    /// What a duplicate is a duplicate of. The data itself does not count, its identifier does.
    ///
    /// Core 5.4, Vol 6, Part B, 4.4.3.5 (Advertising reports)
    struct Report: Hashable, Sendable {
        let address: RadioAddress?
        let properties: AdvertisingEventProperties
        let isScanResponse: Bool
        /// Advertising SID and DID, of extended PDUs.
        let dataInfo: UInt32?
    }

    /// Core 5.4, Vol 4, Part E, 7.8.65 (LE Set Extended Scan Enable command), Filter_Duplicates
    enum DuplicateFilter: UInt8, Sendable {
        case off = 0
        case on = 1
        case perPeriod = 2
    }

    struct Run: Sendable {
        /// Tells this run's end from an earlier one's.
        let epoch: UInt64
        let since: UInt64
        let filter: DuplicateFilter
        /// How long of each period is spent scanning; 0 for no end.
        var durationNanoseconds: UInt64 = 0
        var periodNanoseconds: UInt64 = 0
        private(set) var seen: Set<Report> = []
        private var seenInPeriod: UInt64 = 0

        init(
            epoch: UInt64, since: UInt64, filter: DuplicateFilter, durationNanoseconds: UInt64 = 0,
            periodNanoseconds: UInt64 = 0
        ) {
            self.epoch = epoch
            self.since = since
            self.filter = filter
            self.durationNanoseconds = durationNanoseconds
            self.periodNanoseconds = periodNanoseconds
        }

        /// Whether the part of the period that is for scanning goes on.
        func isScanning(at now: UInt64) -> Bool {
            durationNanoseconds == 0
                || isListening(at: now, since: since, interval: periodNanoseconds, window: durationNanoseconds)
        }

        /// Whether this report is to go to the host. A controller's memory is finite: a full one starts again.
        mutating func admits(_ report: Report, at now: UInt64) -> Bool {
            guard filter != .off else { return true }
            let period = filter == .perPeriod ? (now &- since) / max(periodNanoseconds, 1) : 0
            if seen.count >= Scanning.maximumRemembered || period != seenInPeriod {
                seen.removeAll(keepingCapacity: true)
                seenInPeriod = period
            }
            return seen.insert(report).inserted
        }
    }

    static let maximumRemembered = 1024

    var parameters = Parameters()
    var run: Run?
}

/// A connection that the host has asked for and that has not come about.
///
/// Core 5.4, Vol 4, Part E, 7.8.12 (LE Create Connection command) and 7.8.66 (LE Extended Create Connection command)
struct PendingConnection: Sendable {
    let since: UInt64
    let intervalNanoseconds: UInt64
    let windowNanoseconds: UInt64
    /// nil: whoever is on the accept list.
    let peer: RadioAddress?
    let ownAddressType: OwnAddressType
    let parameters: ConnectionParameters
    /// What the host would have on the LE 2M PHY, if it says so.
    let parametersOn2M: ConnectionParameters?

    var usesAcceptList: Bool { peer == nil }
}

/// Whether a receiver that began at `since` listens now.
func isListening(at now: UInt64, since: UInt64, interval: UInt64, window: UInt64) -> Bool {
    window >= interval || (now &- since) % max(interval, 1) < window
}
