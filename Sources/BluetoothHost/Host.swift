import ATT
import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import L2CAP
import SecurityManager

/// The stack's composition root, for one local identity on one controller.
///
/// In: packets from the controller (``received(_:_:)``), the state of its transport, instants, and the calls of
/// managers. Out: facts for ``store``, and acts (packets, callbacks, deadlines) that ``releaseActs(_:)`` lets go. It
/// has no clock, randomness or I/O of its own, and is confined to its loop's thread.
///
/// An iteration of the loop is: ``beginIteration(now:)``, any number of inputs and API calls, a commit of ``store``
/// and of everything that joined it, and only then ``releaseActs(_:)``.
package final class Host {
    /// What is let go once the iteration is on disk.
    package enum Act: ~Escapable {
        /// One HCI packet with its H4 indicator, for the controller.
        case packet(RawSpan)
        /// To be told to the operator; ``ControllerRemedy/reopen`` is for whoever has the transport to do.
        case controllerFailed(ControllerFailure, ControllerRemedy)
        case call(() -> Void)
    }

    package let configuration: HostConfiguration
    package let identity: LocalIdentity
    /// Which run of the machine ``now`` counts from.
    let boot: BootID
    package private(set) var now = Instant(nanoseconds: 0)
    /// Everything that commits together: this host's store first, then whoever joined.
    package private(set) var participants: [any CommitParticipant]

    let store: any HostStore
    var random: any RandomSource
    var acts = ActQueue()
    /// Empty, with the storage of the acts before these.
    private var spareActs = ActQueue()

    var state = HostState.unknown
    var controller: Controller
    var recovery = ControllerRecovery()
    var gap: GAP

    var links: [LinkID: Link] = [:]
    /// In the order in which they were made.
    var linksInOrder: [Link] = []
    var linksByHandle: [ConnectionHandle: Link] = [:]
    /// Handles of links that found no slot, until the controller has taken them back.
    var rejectedLinks: [ConnectionHandle: LinkLifecycle] = [:]
    var nextLinkNumber: UInt64 = 1

    var server: GATTServer
    var bondBook: BondBook
    var peers: PeerDirectory
    var ledger: RestorationLedger
    var managers = ManagerTable()
    var timers = TimerTable()
    var pairingDoor = PairingDoor()
    weak var pairingAgent: (any PairingAgent)?
    var nextToken: UInt64 = 1
    let makeKeyPair: () -> P256KeyPair
    /// Published services by their declarations.
    var publishedServices: [AttributeHandle: (owner: RestorationLedger.Owner, service: PublishedService)] = [:]
    var publishedChannels = PublishedChannels()
    /// When the first limited discoverable mode ends.
    var limitedDeadline: Instant?
    /// What the next PDU is sent for, where its completion matters.
    var sendPurpose: SendPurpose?
    /// Later than this the next PDU must not leave.
    var sendUntil: Instant?
    /// What apps are to hear at the iteration's end.
    var tellings: [Telling] = []
    /// Empty lists whose storage is used again, since one is needed for every PDU.
    var spareTellings: [Telling] = []
    var spareEndpointOutputs: [[GATTOutput]] = []
    var spareSendOutputs: [ACLSendOutput] = []
    /// Things a controller did that it should not have.
    package internal(set) var faults = 0
    /// Hears what an operator may want to see of links.
    package var onNotice: ((HostNotice) -> Void)?

    /// Reads nothing by itself: `snapshot` is what ``HostStore/load()`` gave. The first launch ever makes the identity
    /// here; it is durable with the first iteration, before a controller hears of it.
    package init(
        configuration: HostConfiguration, boot: BootID, snapshot: HostSnapshot, store: any HostStore,
        random: any RandomSource, makeKeyPair: @escaping () -> P256KeyPair
    ) {
        self.configuration = configuration
        self.boot = boot
        self.store = store
        self.random = random
        self.makeKeyPair = makeKeyPair
        participants = [store]
        if let known = snapshot.identity {
            identity = known
        } else {
            identity = Self.makeIdentity(&self.random)
            store.append(.localIdentity(identity))
        }
        server = GATTServer(
            configuration: GATTServerConfiguration(
                deviceName: configuration.deviceName, appearance: configuration.appearance),
            records: snapshot.gattClients)
        bondBook = BondBook(localIdentity: identity, bonds: snapshot.bonds)
        peers = PeerDirectory(snapshot.peers)
        ledger = RestorationLedger(snapshot.restorations)
        controller = Controller()
        gap = GAP(configuration, identity: identity)
        for mutation in bondBook.discardUnfinished() { persist(mutation) }
        restorePublishedServices()
        noteLimitedDeadline()
    }

    /// A static random address and an IRK.
    ///
    /// Core 5.4, Vol 6, Part B, 1.3.2.1 (Static device address)
    private static func makeIdentity(_ random: inout any RandomSource) -> LocalIdentity {
        while true {
            let bits = random.uint64() & 0x3FFF_FFFF_FFFF | 0xC000_0000_0000
            // All ones and all zeros in the random part are not allowed.
            guard bits & 0x3FFF_FFFF_FFFF != 0, bits & 0x3FFF_FFFF_FFFF != 0x3FFF_FFFF_FFFF,
                let address = IdentityAddress(DeviceAddress(kind: .random, bits: bits))
            else { continue }
            var irk = random.octets(16)
            return LocalIdentity(address: address, irk: Secret(wiping: &irk))
        }
    }
}

/// What an operator chooses of a host.
package struct HostConfiguration: Sendable {
    package var deviceName: String
    /// Of the GAP service; 0 says nothing. Assigned Numbers, 2.6 (Appearance Values)
    package var appearance: UInt16 = 0
    /// The largest ATT_MTU, 23–517.
    package var mtu: Int
    /// Links held at once, in both roles together.
    package var linksMaximum: Int
    /// Advertising interval in units of 0.625 ms.
    package var advertisingInterval: UInt16
    /// Connection interval in units of 1.25 ms, and supervision timeout in units of 10 ms, as central.
    package var connectionInterval: UInt16
    package var supervisionTimeout: UInt16
    /// What becomes of pairings that no window and no request pins to a method.
    package var pairing: PairingRules
    /// What this side asks of its centrals, a while after they have connected; nil for nothing.
    package var preferredConnection: PreferredConnection?
    /// Whether this side is on the air under resolvable private addresses, and for how long under each.
    package var privacy = true
    package var privateAddressLifeMilliseconds = PrivateAddress.lifeMilliseconds

    package init(
        deviceName: String, mtu: Int = 247, linksMaximum: Int = 8, advertisingInterval: UInt16 = 160,
        connectionInterval: UInt16 = 24, supervisionTimeout: UInt16 = 200, pairing: PairingRules = .refused,
        preferredConnection: PreferredConnection? = nil
    ) {
        self.deviceName = deviceName
        self.mtu = mtu
        self.linksMaximum = linksMaximum
        self.advertisingInterval = advertisingInterval
        self.connectionInterval = connectionInterval
        self.supervisionTimeout = supervisionTimeout
        self.pairing = pairing
        self.preferredConnection = preferredConnection
    }
}

// MARK: The iteration

extension Host {
    /// Every input of this iteration happens at `now`.
    package func beginIteration(now: Instant) { self.now = now }

    /// Hands over what to do after the commit, in order. Calls among it may ask for more: commit and release again until
    /// there is nothing. What is left when `perform` throws is dropped. `clock` says what time it is at that very moment,
    /// which ``now`` does not: a commit may have taken long, and some packets must not leave late.
    package func releaseActs<E: Error>(
        clock: () -> Instant, _ perform: (borrowing Act) throws(E) -> Void
    ) throws(E) {
        var due = ActQueue()
        swap(&due, &acts)
        swap(&acts, &spareActs)
        defer {
            due.removeAll()
            swap(&due, &spareActs)
        }
        try due.forEach(clock: clock, late: { tooLate($0) }, perform)
    }

    /// Tells the apps what this iteration has brought, and GAP what it has changed. Call it before the commit.
    package func endIteration() {
        tellApps()
        settleGAP()
    }

    /// Whether acts asked for more: then there is another round of commit and acts.
    package var hasWork: Bool { !acts.isEmpty || !tellings.isEmpty || gap.isUnsettled || hasFacts }

    /// Whether anything waits for a commit.
    package var hasFacts: Bool { participants.contains { $0.hasPending } }

    /// Runs `act` after this iteration's commit, in order with the packets asked for before and after it.
    package func afterCommit(_ act: @escaping () -> Void) { acts.append(call: act) }

    /// A store that shares this loop's transaction.
    package func join(_ participant: any CommitParticipant) { participants.append(participant) }

    func persist(_ mutation: HostMutation) {
        #if LATCH_PLANTS
        if Plant.active == .subscription, case .gatt(.clientCharacteristicConfiguration) = mutation { return }
        #endif
        store.append(mutation)
    }

    func persist(_ facts: [HostMutation]) {
        for fact in facts { store.append(fact) }
    }

    /// Changes the ledger, and hands its facts to the store.
    func withLedger<R>(_ body: (inout RestorationLedger, inout [HostMutation]) -> R) -> R {
        var facts: [HostMutation] = []
        let result = body(&ledger, &facts)
        persist(facts)
        return result
    }

    /// The same for the directory of peers.
    func withPeers<R>(_ body: (inout PeerDirectory, inout [HostMutation]) -> R) -> R {
        var facts: [HostMutation] = []
        let result = body(&peers, &facts)
        persist(facts)
        return result
    }

    func makeToken() -> OperationToken {
        defer { nextToken += 1 }
        return OperationToken(rawValue: nextToken)
    }
}
