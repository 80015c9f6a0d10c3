import BluetoothCore
import FoundationEssentials

/// What happened to a peer of this host.
public enum CBConnectionEvent: Int, Sendable {
    /// It is not connected any more.
    case peerDisconnected = 0
    /// It is connected.
    case peerConnected = 1
}

/// By what peers are chosen that an app wants to hear of.
public struct CBConnectionEventMatchingOption: RawRepresentable, Hashable, Sendable {
    /// Apple's name of the option.
    public let rawValue: String
    /// The option with this name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// `[CBUUID]`: peers with any of these services, as far as they were ever discovered.
    public static let serviceUUIDs = Self(rawValue: "kCBConnectionEventMatchingOptionServiceUUIDs")
    /// `[UUID]`: peers with any of these identifiers.
    public static let peripheralUUIDs = Self(rawValue: "kCBConnectionEventMatchingOptionPeripheralUUIDs")
}

extension ConnectionEventFilter {
    init(_ options: [CBConnectionEventMatchingOption: Any]) {
        let services = options[.serviceUUIDs] as? [CBUUID] ?? []
        let peers = options[.peripheralUUIDs] as? [UUID] ?? []
        self.init(services: Set(services.map(\.bluetoothUUID)), peers: Set(peers.map { PeerIdentifier($0) }))
    }
}
