import ATT
import BluetoothCore
import GATT
import HCI
import L2CAP
import SecurityManager

/// Which end of a link this side is.
enum LinkRole { case central, peripheral }

/// One connection and everything that lives and dies with it. A class so that its machines are changed in place.
final class Link {
    let id: LinkID
    let handle: ConnectionHandle
    let role: LinkRole
    let connectedAt: Instant
    /// Its object, where bluetoothd has the link; the handle is nobody's then.
    var device: String?
    /// What this side was called when the link was made.
    var ownAddress: DeviceAddress
    /// What the peer connected under.
    var address: DeviceAddress
    var peer: PeerIdentifier
    /// Whom the address names or resolves to; nil for a stranger, and where more than one matches.
    var identity: IdentityAddress?
    /// It is in a bonded peer's name, and nobody has proved to be that peer.
    var isImpostorPossible: Bool { identity != nil && !isProven }
    /// Whether its end counts against the peer's name.
    var contest = LinkContest()
    var secured: LinkSecurityMachine { didSet { isDeadlineStale = true } }
    var security: LinkSecurity { secured.security }
    var isProven: Bool { secured.isProven }
    /// That identity's bond; once the link is proven, the one that it is encrypted with.
    var bond: BondID? { secured.bond }

    var recombiner: Recombiner
    var endpoint: GATTEndpoint
    var logical: LELogicalLink { didSet { isDeadlineStale = true } }
    /// Of the channels that an app was told of, or asked for.
    var channelOwners: [ChannelNumber: ChannelOwner] = [:]
    var pairing: PairingMachine { didSet { isDeadlineStale = true } }
    /// Of the pairing under way, or of the last one.
    var pairingOrigin = PairingOrigin.rules
    var client = ClientSession()

    var lifecycle: LinkLifecycle { didSet { isDeadlineStale = true } }
    var layer: LinkLayer { didSet { isDeadlineStale = true } }
    /// Of all of them but the bearer, as far as they have not changed since.
    private var machinesDeadline: Instant?
    private var isDeadlineStale = true
    /// When the first of its machines wants to be called. It is asked for at each iteration's end, and with most packets only the
    /// bearer's changes.
    var deadline: Instant? {
        if isDeadlineStale {
            machinesDeadline = Instant.earliest(
                Instant.earliest(logical.deadline, pairing.deadline),
                Instant.earliest(
                    // Nothing is asked for on a link that ends.
                    isDisconnecting ? nil : layer.deadline, Instant.earliest(secured.deadline, lifecycle.deadline)))
            isDeadlineStale = false
        }
        return Instant.earliest(endpoint.bearer.deadline, machinesDeadline)
    }
    /// This side asked for the disconnection, or the link is gone: nothing more is read from it, or asked of it.
    var isDisconnecting: Bool { lifecycle.state != .open }
    /// ``peer`` is the name that apps have this link under, and not the peer's any more: with the link it goes.
    var isSuperseded = false
    /// An app of this side asked for it: nobody is at fault.
    var isEndedByApp = false
    /// Whether this side's central managers are clients of the peer.
    var isClient: Bool { role == .central || !client.users.isEmpty }

    init(
        id: LinkID, handle: ConnectionHandle, role: LinkRole, connectedAt: Instant, ownAddress: DeviceAddress,
        address: DeviceAddress, peer: PeerIdentifier,
        identity: IdentityAddress?, bond: BondID?, mtu: Int, pairing: PairingMachine, lifecycle: LinkLifecycle,
        layer: LinkLayer
    ) {
        self.lifecycle = lifecycle
        self.layer = layer
        self.pairing = pairing
        self.identity = identity
        secured = LinkSecurityMachine(named: bond)
        self.id = id
        self.handle = handle
        self.role = role
        self.connectedAt = connectedAt
        self.ownAddress = ownAddress
        self.address = address
        self.peer = peer
        endpoint = GATTEndpoint(maximumMTU: mtu)
        // The greatest of ATT's MTU, SMP's 65, and a K-frame.
        recombiner = Recombiner(maximumPayloadOctets: max(mtu, 65, CreditBasedChannel.frameOctetsMaximum))
        logical = LELogicalLink(role: role == .central ? .central : .peripheral)
    }

    var info: LinkInfo {
        LinkInfo(
            link: id, peer: peer, bond: bond, isProven: isProven, security: security, mtu: endpoint.bearer.mtu,
            address: address, facts: layer.facts)
    }
}

/// Who let a pairing begin, and by which method.
enum PairingOrigin: Equatable {
    /// The host's rules: the pairing agent is asked what there is to ask.
    case rules
    /// An app of this side, which named the method.
    case request
    /// The operator's window of this number, which names the method.
    case window(Int)
}

/// An operation at the peer, with all that is needed to ask once more when it was refused for want of security.
struct SecuredOperation {
    var operation: GATTClientOperation
    var origin: OperationOrigin
    var token: OperationToken
    var isRetry = false
    /// Whoever asked has given the connection up, and has been told that this is over. What it does at the peer counts all the same.
    var isAbandoned = false
}

/// What one manager wants of one value.
enum SubscriptionChange: Equatable {
    case begun(SubscriptionRecord)
    case ended(AttributeHandle)

    /// The value's handle.
    var value: AttributeHandle {
        switch self {
        case .begun(let record): record.valueHandle
        case .ended(let handle): handle
        }
    }

    var kind: SubscriptionRecord.Kind? {
        switch self {
        case .begun(let record): record.kind
        case .ended: nil
        }
    }
}

/// Who asked for an operation, and what is to be done with its result.
enum OperationOrigin {
    case procedure(ManagerID, OperationToken)
    case signedWrite(ManagerID, OperationToken)
    /// A CCC write of ours: what to keep once the peer took it.
    case changeSubscription(ManagerID, OperationToken, SubscriptionChange)
    /// The host's own, on each link that it made.
    case exchangeMTU
    /// The host's own read of the peer's Database Hash.
    case readDatabaseHash
    /// The host's own write of the features that this client has.
    case claimFeatures
    /// The host's own read of what the peer calls itself.
    case readName
}
