/// A peer as a host is told of it.
struct PeerAddress: Hashable, Sendable {
    let address: RadioAddress
    /// An identity address, where another was heard.
    var isResolved = false

    var typeOctet: UInt8 { (isResolved ? 2 : 0) + (address.isRandom ? 1 : 0) }
}

/// What a scanner has heard.
struct AdvertisingReport: Sendable {
    let properties: AdvertisingEventProperties
    var isScanResponse = false
    /// nil: anonymous.
    let advertiser: PeerAddress?
    /// Whom it is directed at: the scanner, by one of its addresses.
    let target: PeerAddress?
    let secondaryPHY: PHY
    /// Advertising_SID
    let identifier: UInt8
    let dataIdentifier: UInt16
    var data: [UInt8]
    let rssi: Int8

    /// Core 5.4, Vol 4, Part E, 7.7.65.13 (LE Extended Advertising Report event), Event_Type, without the data status
    var eventType: UInt16 {
        let heard = properties.intersection([.connectable, .scannable, .directed, .legacyPDUs]).rawValue
        return heard | (isScanResponse ? 1 << 3 : 0)
    }
}

/// The events about advertisers and about the connections that come of them.
extension Controller {
    // MARK: Reports

    /// By the kind of the commands that scan.
    mutating func report(_ report: AdvertisingReport, at now: UInt64) {
        switch host.family {
        case .extended: extendedAdvertisingReport(report, at: now)
        case .legacy, nil: advertisingReport(report, at: now)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.65.2 (LE Advertising Report event)
    private mutating func advertisingReport(_ report: AdvertisingReport, at now: UInt64) {
        guard let advertiser = report.advertiser else { return }
        let scanResponse: UInt8 = 4
        leEvent(.advertisingReport, at: now) {
            $0.u8(1)
            $0.u8(report.isScanResponse ? scanResponse : report.properties.legacyReportType)
            $0.address(advertiser)
            $0.u8(UInt8(truncatingIfNeeded: report.data.count))
            $0.bytes(report.data)
            $0.i8(report.rssi)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.65.13 (LE Extended Advertising Report event): as many events as the data asks for.
    private mutating func extendedAdvertisingReport(_ report: AdvertisingReport, at now: UInt64) {
        let incompleteMoreToCome: UInt16 = 0b01 << 5
        let anonymous: UInt8 = 0xFF
        let none: UInt8 = 0
        let noIdentifier: UInt8 = 0xFF
        let noTxPower: Int8 = 127
        var start = 0
        repeat {
            let end = min(start + Self.maximumReportedOctets, report.data.count)
            leEvent(.extendedAdvertisingReport, at: now) {
                $0.u8(1)
                $0.u16(report.eventType | (end < report.data.count ? incompleteMoreToCome : 0))
                if let advertiser = report.advertiser {
                    $0.address(advertiser)
                } else {
                    $0.u8(anonymous)
                    $0.zeros(6)
                }
                $0.u8(PHY.le1M.rawValue)
                $0.u8(report.properties.isLegacy ? none : report.secondaryPHY.rawValue)
                $0.u8(report.properties.isLegacy ? noIdentifier : report.identifier)
                $0.i8(report.properties.contains(.includesTxPower) ? Capabilities.txPowerDBm : noTxPower)
                $0.i8(report.rssi)
                $0.u16(0)
                if let target = report.target { $0.address(target) } else { $0.zeros(7) }
                $0.u8(UInt8(truncatingIfNeeded: end - start))
                $0.bytes(report.data[start..<end])
            }
            start = end
        } while start < report.data.count
    }

    /// What is left of an event's 255 octets beside the report's other fields.
    private static let maximumReportedOctets = 229

    /// Core 5.4, Vol 4, Part E, 7.7.65.17 (LE Scan Timeout event)
    mutating func scanTimeout(at now: UInt64) { leEvent(.scanTimeout, at: now) { _ in } }

    // MARK: Advertising sets

    /// Core 5.4, Vol 4, Part E, 7.7.65.18 (LE Advertising Set Terminated event)
    mutating func advertisingSetTerminated(
        _ status: Status, handle: UInt8, connection: UInt16, completedEvents: UInt64, at now: UInt64
    ) {
        leEvent(.advertisingSetTerminated, at: now) {
            $0.u8(status.rawValue)
            $0.u8(handle)
            $0.u16(connection)
            $0.u8(UInt8(clamping: completedEvents))
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.65.19 (LE Scan Request Received event)
    mutating func scanRequestReceived(handle: UInt8, from scanner: PeerAddress, at now: UInt64) {
        leEvent(.scanRequestReceived, at: now) {
            $0.u8(handle)
            $0.address(scanner)
        }
    }

    // MARK: Connections

    /// Core 5.4, Vol 4, Part E, 7.7.65.10 (LE Enhanced Connection Complete event), or to a host that does not listen to
    /// that one, 7.7.65.1 (LE Connection Complete event)
    mutating func connectionComplete(
        handle: UInt16, role: Role, _ end: LinkEnd, peer: RadioAddress, _ parameters: ConnectionParameters,
        at now: UInt64
    ) {
        // 50 ppm; told to the peripheral only.
        let clockAccuracy: UInt8 = role == .peripheral ? 0x05 : 0x00
        let isEnhanced = hasEnhancedConnectionComplete
        leEvent(isEnhanced ? .enhancedConnectionComplete : .connectionComplete, at: now) {
            $0.u8(Status.success.rawValue)
            $0.u16(handle)
            $0.u8(role.rawValue)
            $0.address(isEnhanced ? end.peer : PeerAddress(address: peer))
            if isEnhanced {
                // Local and peer resolvable private address.
                $0.u48(end.isGenerated ? end.address.value : 0)
                $0.u48(end.peer.isResolved ? peer.value : 0)
            }
            $0.u16(parameters.interval)
            $0.u16(parameters.latency)
            $0.u16(parameters.supervisionTimeout)
            $0.u8(clockAccuracy)
        }
    }

    /// The same event for what was cancelled or timed out: only the status and the role mean anything.
    mutating func connectionFailed(_ status: Status, role: Role, at now: UInt64) {
        let isEnhanced = hasEnhancedConnectionComplete
        leEvent(isEnhanced ? .enhancedConnectionComplete : .connectionComplete, at: now) {
            $0.u8(status.rawValue)
            $0.u16(0)
            $0.u8(role.rawValue)
            $0.zeros(isEnhanced ? 26 : 14)
        }
    }

    /// The event came with Core 4.2.
    private var hasEnhancedConnectionComplete: Bool {
        configuration.generation != .core40 && isUnmasked(.enhancedConnectionComplete)
    }

    /// Core 5.4, Vol 4, Part E, 7.7.65.20 (LE Channel Selection Algorithm event)
    mutating func channelSelectionAlgorithm(handle: UInt16, isSecond: Bool, at now: UInt64) {
        guard capabilities.leFeatures.contains(.channelSelectionAlgorithm2) else { return }
        leEvent(.channelSelectionAlgorithm, at: now) {
            $0.u16(handle)
            $0.u8(isSecond ? 1 : 0)
        }
    }
}
