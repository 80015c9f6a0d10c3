import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import SecurityManager

/// What a central manager hears, inline on the loop and inside the iteration's transaction.
package protocol CentralRoleDelegate: AnyObject {
    func hostStateChanged(_ state: HostState)
    func discovered(_ report: AdvertisementReport)
    func connected(_ link: LinkInfo)
    func connectionFailed(_ peer: PeerIdentifier, error: HostError)
    /// `error` is nil when this side asked for it. `isReconnecting`: the wish for the connection stands, and ``connected(_:)`` comes
    /// when it is made again.
    func disconnected(_ peer: PeerIdentifier, error: HostError?, isReconnecting: Bool)
    /// Exactly once for each operation that was accepted.
    func completed(_ token: OperationToken, peer: PeerIdentifier, result: Result<OperationValue, HostError>)
    /// A write with a time, of which ``completed(_:peer:result:)`` said that it was on its way, was not released in time:
    /// nothing of it has left, and nothing will.
    func writeLapsed(_ token: OperationToken, peer: PeerIdentifier)
    func valueUpdated(_ peer: PeerIdentifier, handle: AttributeHandle, value: [UInt8], isIndication: Bool)
    /// ATT_MTU was agreed: more fits a PDU than before.
    func mtuChanged(_ link: LinkInfo)
    /// The peer's tree changed between these handles: what was discovered there is void.
    func servicesInvalidated(_ peer: PeerIdentifier, first: AttributeHandle, last: AttributeHandle)
    /// Encryption came up (or failed to) on a link; a bonded peer is proven from here on.
    func securityChanged(_ link: LinkInfo, error: HostError?)
    /// The other side displays six digits: answer with ``Host/enterPasskey(_:for:)``.
    func passkeyRequested(_ peer: PeerIdentifier)
    /// Show these six digits, which the other side's user types.
    func displayPasskey(_ peer: PeerIdentifier, passkey: UInt32)
    /// Both sides show six digits: answer whether they are equal with ``Host/answerPairing(_:_:)``.
    func numericComparisonRequested(_ link: LinkInfo, value: UInt32)
    func paired(_ peer: PeerIdentifier, result: Result<BondID, HostError>)
    /// A link of this side's is there, or has gone, whoever asked for it. Of a link in a bonded peer's name it is said once the peer
    /// has proved itself, and said again of a link whose peer has got another name. For ``ManagerOptions/observesLinks``.
    func linkChanged(_ link: LinkInfo, isUp: Bool)
    /// What is known of the peer's tree has changed, whoever discovered it: ``Host/remoteDatabase(_:)``. For
    /// ``ManagerOptions/observesLinks``.
    func treeChanged(_ peer: PeerIdentifier)
    /// The peer's GAP service says that it is called so. For ``ManagerOptions/observesLinks``, and for who asks
    /// (``Host/readName(of:)``).
    func nameRead(_ peer: PeerIdentifier, _ name: String)
}

extension CentralRoleDelegate {
    /// For those who give no write a time.
    package func writeLapsed(_ token: OperationToken, peer: PeerIdentifier) {}
    /// For those who do not observe links.
    package func linkChanged(_ link: LinkInfo, isUp: Bool) {}
    /// For those who do not observe links.
    package func treeChanged(_ peer: PeerIdentifier) {}
    /// For those who do not observe links.
    package func nameRead(_ peer: PeerIdentifier, _ name: String) {}
}

/// What a manager wants beside what every manager has.
package struct ManagerOptions: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A central manager hears of every link, of what is known of its peers' trees, and by which names these call themselves.
    package static let observesLinks = Self(rawValue: 1 << 0)
    /// What the manager has asked for ends when the adapter goes, as with Apple: connections, the scan, services and advertising.
    package static let endsWithPower = Self(rawValue: 1 << 1)
    /// A central manager's app hears behind the commit. A connection whose link was lost stays on the disk until the manager says that
    /// the app has heard so (``Host/lossHeard(_:_:)``): an app that is killed in between is restored with its wish. Without this option
    /// the app hears inside the iteration, and asks anew in the same commit.
    package static let hearsBehindCommit = Self(rawValue: 1 << 2)
}

/// What an operation of a central brought back.
package enum OperationValue: Sendable {
    /// What the peer was asked: ``Host/perform(_:_:_:until:)``, ``Host/setNotify(_:_:value:ccc:kind:)``.
    case gatt(GATTClientResult)
    /// Of a signed write, the counter that it was signed with: part of what a receipt answers.
    case signed(counter: UInt32)
    /// What the controller was asked: ``Host/read(_:_:_:)``.
    case rssi(Int8)
    case channelMap(LEChannelMap)
}

/// What the controller can be asked about a link at any time.
package enum LinkReading: CaseIterable, Sendable {
    case rssi
    /// Which of the 37 data channels the link uses now.
    case channelMap
}

/// How a central pairs. The method is pinned: another one is a failure, never a fallback.
package enum PairingRequest: Sendable {
    /// From the peer's setup code: address, confirm value and random value.
    case outOfBand(OutOfBandData)
    /// The peer displays or has a keyboard too, the user types here.
    case passkeyEntry
    /// The user types at the peer what this side displays.
    case passkeyDisplay
    case numericComparison
}
