import BluetoothCore
import BluetoothCrypto
import GATT
import SecurityManager

/// What the host needs kept, for one local identity. StatePersistence implements it on SQLite; the simulator in memory.
///
/// From the launch on the host's memory is the truth, as far as it goes, and the store follows it at once: what memory does
/// not have is read from the store when it is asked for.
package protocol HostStore: CommitParticipant {
    /// Everything kept for this identity.
    func load() throws -> HostSnapshot
    /// What a host needs to be on the air. The bonds are those that are not confirmed; the other bonds, clients and peers are
    /// left to ``rows``, if there are any.
    func launch() throws -> HostSnapshot
    /// What a launch leaves; nil when it leaves nothing.
    var rows: (any HostRows)? { get }
    /// Takes a fact for the commit at the end of this iteration.
    func append(_ mutation: HostMutation)
}

extension HostStore {
    package func launch() throws -> HostSnapshot { try load() }
    package var rows: (any HostRows)? { nil }
}

/// A role and the name that an app gave its manager: what is restored is kept under both.
package struct RestoreKey: Hashable, Sendable {
    package enum Role: String, Sendable { case central, peripheral }
    package var role: Role
    package var identifier: String

    package init(role: Role, identifier: String) {
        self.role = role
        self.identifier = identifier
    }
}

/// A peer that an app has a name for.
package struct PeerRecord: Equatable, Sendable {
    package var identifier: PeerIdentifier
    /// The identity address once it is known, else the address it was last seen under.
    package var address: DeviceAddress
    package var name: String?
    /// The peer's attribute tree as last discovered (``GATT/RemoteDatabase``, encoded), and the Database Hash it belongs
    /// to: while the hash matches, nothing is discovered again.
    package var remoteDatabase: [UInt8]?
    /// 16 octets as read, nil when the peer has no Database Hash.
    package var databaseHash: [UInt8]?

    package init(
        identifier: PeerIdentifier, address: DeviceAddress, name: String? = nil, remoteDatabase: [UInt8]? = nil,
        databaseHash: [UInt8]? = nil
    ) {
        self.identifier = identifier
        self.address = address
        self.name = name
        self.remoteDatabase = remoteDatabase
        self.databaseHash = databaseHash
    }
}

/// A connection that was asked for and not cancelled. It never times out.
package struct PendingConnection: Equatable, Sendable {
    package var peer: PeerIdentifier
    /// Apple's connection options that are kept, as the bits of ``CoreBluetoothEssentials``. Those that the host itself looks at
    /// have names here.
    package var options: UInt32
    /// Seconds since 1970, for people to read; nothing is decided by it.
    package var askedAtSeconds: Int64

    package init(peer: PeerIdentifier, options: UInt32, askedAtSeconds: Int64) {
        self.peer = peer
        self.options = options
        self.askedAtSeconds = askedAtSeconds
    }
}

extension PendingConnection {
    /// The bit that says that the wish outlives the link that comes of it.
    package static let reconnectsOption: UInt32 = 1 << 3
    /// From this bit on: seconds from the call to the first attempt.
    package static let delayShift: UInt32 = 16

    package var reconnects: Bool { options & Self.reconnectsOption != 0 }
    package var delaySeconds: UInt64 { UInt64(options >> Self.delayShift) }
}

/// What a central subscribed to at a peer.
package struct SubscriptionRecord: Hashable, Sendable {
    package enum Kind: UInt16, Sendable { case notify = 1, indicate = 2 }
    package var peer: PeerIdentifier
    package var valueHandle: AttributeHandle
    package var cccHandle: AttributeHandle
    package var kind: Kind

    package init(peer: PeerIdentifier, valueHandle: AttributeHandle, cccHandle: AttributeHandle, kind: Kind) {
        self.peer = peer
        self.valueHandle = valueHandle
        self.cccHandle = cccHandle
        self.kind = kind
    }
}

/// A running scan. No services means every advertiser.
package struct ScanRecord: Equatable, Sendable {
    package var services: [BluetoothUUID]
    package var allowDuplicates: Bool
    package var procedure: DiscoveryProcedure
    /// Says nothing on the air, and so hears no scan responses.
    package var isPassive: Bool

    package init(
        services: [BluetoothUUID], allowDuplicates: Bool, procedure: DiscoveryProcedure = .observation,
        isPassive: Bool = false
    ) {
        self.services = services
        self.allowDuplicates = allowDuplicates
        self.procedure = procedure
        self.isPassive = isPassive
    }
}

/// A published service: its first handle, and its definition with every handle in it (``GATT/ServiceDefinition``, encoded).
package struct PublishedServiceRecord: Equatable, Sendable {
    package var handle: AttributeHandle
    package var encoded: [UInt8]

    package init(handle: AttributeHandle, encoded: [UInt8]) {
        self.handle = handle
        self.encoded = encoded
    }
}

/// A notification or indication that was accepted for a bonded central and not yet delivered.
package struct QueuedUpdate: Equatable, Sendable {
    /// Increases with every update; the order of delivery.
    package var sequence: UInt64
    package var bond: BondID
    package var valueHandle: AttributeHandle
    package var isIndication: Bool
    package var value: [UInt8]

    package init(sequence: UInt64, bond: BondID, valueHandle: AttributeHandle, isIndication: Bool, value: [UInt8]) {
        self.sequence = sequence
        self.bond = bond
        self.valueHandle = valueHandle
        self.isIndication = isIndication
        self.value = value
    }
}

/// What is kept for one manager.
package struct RestorationRecord: Equatable, Sendable {
    package var pendingConnections: [PendingConnection] = []
    package var subscriptions: [SubscriptionRecord] = []
    package var scan: ScanRecord?
    package var services: [PublishedServiceRecord] = []
    package var advertising: AdvertisingRecord?
    package var queuedUpdates: [QueuedUpdate] = []
    /// nil while what is kept runs. At rest, its place in the order in which managers were put to rest: the lower, the longer ago.
    package var rest: UInt64?

    package init() {}
}

/// What is kept for one local identity, as read at launch.
package struct HostSnapshot: Sendable {
    /// nil at the first launch ever.
    package var identity: LocalIdentity?
    package var bonds: [Bond] = []
    package var gattClients: [GATTClientRecord] = []
    package var peers: [PeerRecord] = []
    package var restorations: [RestoreKey: RestorationRecord] = [:]

    package init() {}
}

/// One durable fact. Every case says the new truth rather than a difference, so that writing it twice is writing it once.
package enum HostMutation: Sendable {
    case localIdentity(LocalIdentity)
    case bond(BondMutation)
    case gatt(GATTMutation)
    case peer(PeerRecord)
    case peerForgotten(PeerIdentifier)
    case pendingConnection(RestoreKey, PendingConnection)
    case pendingConnectionEnded(RestoreKey, PeerIdentifier)
    case subscription(RestoreKey, SubscriptionRecord)
    case subscriptionEnded(RestoreKey, PeerIdentifier, valueHandle: AttributeHandle)
    /// nil ends it.
    case scan(RestoreKey, ScanRecord?)
    case servicePublished(RestoreKey, PublishedServiceRecord)
    case serviceRemoved(RestoreKey, handle: AttributeHandle)
    /// nil ends it.
    case advertising(RestoreKey, AdvertisingRecord?)
    case updateQueued(RestoreKey, QueuedUpdate)
    case updateDelivered(RestoreKey, sequence: UInt64)
    /// What is kept for the manager runs no more, or (nil) runs again.
    case managerRested(RestoreKey, UInt64?)
    /// Nothing is kept for it any more.
    case managerForgotten(RestoreKey)
}
