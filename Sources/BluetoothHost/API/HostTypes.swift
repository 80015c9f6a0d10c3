import BlueZ
import BluetoothCore
import GATT
import HCI
import SecurityManager

/// One connection, from its Connection Complete to its Disconnection Complete. Never used twice in a process, unlike
/// the controller's handle.
package struct LinkID: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package var description: String { "link \(rawValue)" }
}

/// One manager of an app, for as long as it is registered.
package struct ManagerID: Hashable, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
}

/// Names one operation of an app: the delegate gets it back with the result, exactly once.
package struct OperationToken: Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// What Apple's `CBManagerState` says of the adapter.
package enum HostState: Sendable {
    /// No controller has answered yet.
    case unknown
    /// The controller went away or is starting over; what was running will run again.
    case resetting
    /// There is no controller that could be used, or it lacks what the host needs: LE, or buffers.
    case unsupported
    /// There is a controller, and this process may not open it.
    case unauthorized
    /// There is a controller, and a switch or another program keeps it away.
    case poweredOff
    case poweredOn
}

/// Who is on the other end of a link, as far as is known now.
package struct LinkInfo: Sendable {
    package var link: LinkID
    package var peer: PeerIdentifier
    /// The bond that the peer's address names or resolves to. Resolution identifies, it never authenticates.
    package var bond: BondID?
    /// Whether the link has been encrypted with that bond's LTK: only then is the peer who it says.
    package var isProven: Bool
    package var security: LinkSecurity
    /// ATT_MTU in octets.
    package var mtu: Int
    package var address: DeviceAddress
    /// What is known of the link below L2CAP.
    package var facts: LinkFacts

    package init(
        link: LinkID, peer: PeerIdentifier, bond: BondID?, isProven: Bool, security: LinkSecurity, mtu: Int,
        address: DeviceAddress, facts: LinkFacts = LinkFacts()
    ) {
        self.link = link
        self.peer = peer
        self.bond = bond
        self.isProven = isProven
        self.security = security
        self.mtu = mtu
        self.address = address
        self.facts = facts
    }
}

/// One advertising report, of a peer that has a name here from now on.
package struct AdvertisementReport: Sendable {
    package var peer: PeerIdentifier
    package var address: DeviceAddress
    /// dBm; 127 when the controller does not know.
    package var rssi: Int8
    /// Of the advertiser, also when this is its scan response.
    package var isConnectable: Bool
    /// What the advertiser's flags say, also when this is its scan response, which has none.
    package var mode: DiscoverableMode
    /// What this advertisement, or this scan response, carries.
    package var data: AdvertisingData

    package init(
        peer: PeerIdentifier, address: DeviceAddress, rssi: Int8, isConnectable: Bool,
        mode: DiscoverableMode = .nonDiscoverable, data: AdvertisingData
    ) {
        self.peer = peer
        self.address = address
        self.rssi = rssi
        self.isConnectable = isConnectable
        self.mode = mode
        self.data = data
    }

    package var localName: String? { data.localName }
    package var services: [BluetoothUUID] { data.services }
}

/// Why the host refuses or ends something. Local faults are the caller's; peer faults carry what the peer said.
package enum HostError: Error, Equatable, Sendable {
    /// The manager's call needs `poweredOn`.
    case notPoweredOn
    case unknownManager
    case unknownPeer
    /// No structure of advertising data can say that.
    case invalidAdvertisement
    /// The tree does not take the service.
    case publishing(AttributeDatabaseError)
    case notConnected
    /// No service can have that SPSM.
    case invalidPSM
    /// Every slot or queue that this needs is taken; the bound is a named constant of the host.
    case noResources
    /// The controller has no command for it.
    case unsupportedByController
    /// The link went away before the answer came.
    case disconnected(HCIErrorCode)
    /// This side gave the connection up before the answer came.
    package static let abandoned = Self.disconnected(.connectionTerminatedByLocalHost)
    case connectionFailed(HCIErrorCode)
    /// The peer's answer breaks the protocol, or says an ATT error.
    case gatt(GATTClientError)
    case pairing(PairingError)
    /// bluetoothd has not paired.
    case blueZ(BlueZPairingFailure)
    case notBonded
    /// The peer has another key than ours, or none.
    case encryptionFailed(HCIErrorCode)
    /// A signed write was asked on an encrypted link, or to a bond that has no CSRK left to sign with.
    case cannotSign
}

/// A central that subscribed to a characteristic, connected now or not.
package struct Subscriber: Sendable {
    package var peer: PeerIdentifier
    package var bond: BondID?
    /// nil while a bonded central is away.
    package var link: LinkInfo?
    /// Octets that one notification carries.
    package var maximumUpdateLength: Int

    package init(peer: PeerIdentifier, bond: BondID?, link: LinkInfo?, maximumUpdateLength: Int) {
        self.peer = peer
        self.bond = bond
        self.link = link
        self.maximumUpdateLength = maximumUpdateLength
    }
}

/// Whom an update is for.
package enum UpdateRecipient: Hashable, Sendable {
    /// The central on this link. Nobody gets it once the link is gone.
    case link(LinkID)
    /// A central, here or away.
    case peer(PeerIdentifier)
}

/// One timer of an app on the loop.
package struct TimerToken: Hashable, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
}

/// How a manager on another thread reaches its host.
package protocol HostExecutor: AnyObject, Sendable {
    /// Runs `body` on the loop: at once when called there, joining the running iteration, else in its next one.
    func execute(_ body: @escaping @Sendable (Host) -> Void)
    /// The host, for a caller on the loop, who joins the running iteration; nil elsewhere. What ``execute(_:)`` does there,
    /// without a closure.
    func join() -> Host?
    var isOnLoop: Bool { get }
}
