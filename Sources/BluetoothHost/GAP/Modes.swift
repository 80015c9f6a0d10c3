import BluetoothCore

/// Whether those who look for devices are to list this one. It is a word in the advertisement, which discovery procedures
/// heed; who listens to everything hears it all the same.
///
/// Core 5.4, Vol 3, Part C, 9.2.2 to 9.2.4 (Non-discoverable, Limited Discoverable and General Discoverable modes)
package enum DiscoverableMode: UInt8, Sendable, CaseIterable {
    case nonDiscoverable = 0
    /// Just now and for a short while, as after somebody pressed a button: 180 s, then ``nonDiscoverable``.
    case limited = 1
    case general = 2

    /// Core 5.4, Vol 3, Part C, Appendix A (Timers and Constants: TGAP(lim_adv_timeout))
    package static let limitedMilliseconds: UInt64 = 180_000
}

/// What an advertisement may be answered with. Directed advertising is not among it.
///
/// Core 5.4, Vol 3, Part C, 9.3.2 (Non-connectable mode) and 9.3.4 (Undirected connectable mode); Vol 6, Part B, 4.4.2
/// (Advertising state)
package enum ConnectableMode: UInt8, Sendable, CaseIterable {
    /// With a connection, or the request for a scan response: ADV_IND.
    case connectable = 0
    /// With the request for a scan response: ADV_SCAN_IND.
    case scannable = 1
    /// With nothing: ADV_NONCONN_IND.
    case nonConnectable = 2

    package var isScannable: Bool { self != .nonConnectable }
}

/// Whom a scan lists.
///
/// Core 5.4, Vol 3, Part C, 9.1.2 (Observation procedure), 9.2.5 (Limited Discovery procedure) and 9.2.6 (General
/// Discovery procedure)
package enum DiscoveryProcedure: UInt8, Sendable, CaseIterable {
    /// Everybody who is heard.
    case observation = 0
    case limitedDiscovery = 1
    /// Those in the limited discoverable mode too.
    case generalDiscovery = 2

    /// Whether who advertises in this mode is listed.
    package func lists(_ mode: DiscoverableMode) -> Bool {
        switch self {
        case .observation: true
        case .limitedDiscovery: mode == .limited
        case .generalDiscovery: mode != .nonDiscoverable
        }
    }
}

/// The Flags AD type.
///
/// Core Specification Supplement, Part A, 1.3 (Flags)
package struct AdvertisingFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let limitedDiscoverable = Self(rawValue: 1 << 0)
    package static let generalDiscoverable = Self(rawValue: 1 << 1)
    package static let brEDRNotSupported = Self(rawValue: 1 << 2)

    /// What this host says of itself in a mode.
    package init(_ mode: DiscoverableMode) {
        switch mode {
        case .nonDiscoverable: self = .brEDRNotSupported
        case .limited: self = [.limitedDiscoverable, .brEDRNotSupported]
        case .general: self = [.generalDiscoverable, .brEDRNotSupported]
        }
    }

    /// In which mode a peer is that says this. One that says both is in the limited mode.
    package var mode: DiscoverableMode {
        if contains(.limitedDiscoverable) { return .limited }
        return contains(.generalDiscoverable) ? .general : .nonDiscoverable
    }
}
