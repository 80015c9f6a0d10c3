import ATT
import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import L2CAP
import SecurityManager

/// The stack without its surroundings: the values of every layer, and the ways between them.
///
/// In: packets from the controller (``receivedPacket(_:_:)``), the state of its transport, instants, and what managers ask for.
/// Out: facts for the store, at once; ``acts`` for after its commit; ``tellings`` for the apps. It calls nobody but the store,
/// which calls nobody back: no app, and no delegate's `deinit`, runs while it works, so that nothing ever finds it half done.
struct HostCore: ~Copyable {
    let configuration: HostConfiguration
    let identity: LocalIdentity
    /// Which run of the machine ``now`` counts from.
    let boot: BootID
    var now = Instant(nanoseconds: 0)
    var random: any RandomSource
    let makeKeyPair: () -> P256KeyPair

    /// Hears each fact at once, and commits it before anything of ``acts`` is let go.
    private let store: any HostStore
    /// What the launch left in the store.
    let rows: (any HostRows)?
    var isEveryClientRecalled = false
    var acts = ActQueue()
    /// What parts of the host want of each other.
    var work = WorkQueue()
    /// What apps are to hear at the iteration's end, or before where much waits.
    var tellings: [Telling] = []

    var state = HostState.unknown
    /// This side leaves the air, and what is wanted of it is for the next life.
    var isLeaving = false
    var controller = Controller()
    var recovery = ControllerRecovery()
    var gap: GAP
    /// In the place of a controller and of ``gap``, where bluetoothd keeps the adapter.
    var blueZ: BlueZSide?
    var advertisements = OwnedAdvertisements()

    var links: LinkTable

    var server: Server
    var bondBook: BondBook
    var peers: PeerDirectory
    var ledger: RestorationLedger
    var managers = ManagerTable()
    var unclaimed = UnclaimedOwners()
    var pairingDoor = PairingDoor()
    /// What the user can see and type, where somebody speaks with one.
    var agent: IOCapability?
    var nextToken: UInt64 = 1
    var publishedChannels = PublishedChannels()
    var delays = DelayedConnections()
    /// When the first limited discoverable mode ends.
    var limitedDeadline: Instant?
    /// What the next PDU is sent for, where its completion matters.
    var sendPurpose: SendPurpose?
    /// Later than this the next PDU must not leave.
    var sendUntil: Instant?
    /// Empty lists whose storage is used again, since one is needed for every PDU, or for every timer of a link.
    var spareEndpointOutputs: [GATTOutput] = []
    var spareLinkLayerOutputs: [LinkLayer.Output] = []
    var spareServerOutputs: [Server.Output] = []
    var spareClients: [Server.Client] = []
    var spareRooms: [Server.Room] = []
    var spareSendOutputs: [ACLSendOutput] = []
    /// Things a controller did that it should not have.
    var faults = 0
    var tellsNotices = false

    init(
        _ configuration: HostConfiguration, boot: BootID, snapshot: HostSnapshot, rows: (any HostRows)?,
        store: any HostStore, random: any RandomSource, makeKeyPair: @escaping () -> P256KeyPair
    ) {
        self.init(
            restoring: snapshot, configuration, boot: boot, rows: rows, store: store, random: random,
            makeKeyPair: makeKeyPair)
        for owner in ledger.owners(of: .central) {
            for pending in ledger.asked(owner).pendingConnections { peers.read(pending.peer) }
        }
        for mutation in bondBook.discardUnfinished() { persist(mutation) }
        endSubscriptionsOfStrangers()
        restorePublishedServices()
        noteLimitedDeadline()
    }

    /// The parts, none of which has done anything yet: before Swift 6.3 no mutating method may be called by the initializer that
    /// gave the constants their values.
    private init(
        restoring snapshot: HostSnapshot, _ configuration: HostConfiguration, boot: BootID, rows: (any HostRows)?,
        store: any HostStore, random: any RandomSource, makeKeyPair: @escaping () -> P256KeyPair
    ) {
        self.configuration = configuration
        self.boot = boot
        self.store = store
        self.rows = rows
        self.random = random
        self.makeKeyPair = makeKeyPair
        if let known = snapshot.identity {
            identity = known
        } else {
            identity = Self.makeIdentity(&self.random)
            store.append(.localIdentity(identity))
        }
        server = Server(configuration, clients: snapshot.gattClients)
        bondBook = BondBook(localIdentity: identity, bonds: snapshot.bonds, rest: rows)
        peers = PeerDirectory(snapshot.peers, rest: rows)
        ledger = RestorationLedger(snapshot.restorations)
        gap = GAP(configuration, identity: identity)
        blueZ = configuration.besideBlueZ.map(BlueZSide.init)
        links = LinkTable(linksMaximum: configuration.linksMaximum)
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

// MARK: Work

extension HostCore {
    /// Until nobody wants anything of anybody. Called behind each input, and by nothing that it calls.
    mutating func run() {
        while let work = work.takeFirst() { carryOut(work) }
    }

    private mutating func carryOut(_ work: Work) {
        switch work {
        case .completed(let completion): completed(completion)
        case .controllerFailed(let failure): withRecovery(.failed(failure))
        case .disconnect(let link, let reason): if let link = links[link] { endNow(link, reason: reason) }
        case .pairing(let link, let event): if let link = links[link] { pairing(link, event) }
        case .securityRequested(let link, let authReq): if let link = links[link] { securityRequested(link, authReq) }
        case .refused(let request, let link): refused(request, on: link)
        case .proved(let link, let bond): if let link = links[link] { provedByEncryption(link, bond) }
        case .notEncrypted(let link, let status):
            if let link = links[link] { securityChanged(link, .encryptionFailed(status)) }
        case .proofOverdue(let link): if let link = links[link] { proofOverdue(link) }
        case .linkLayer(let link, let event): if let link = links[link] { linkLayer(link, event) }
        case .server(let event): tellServer(event)
        case .roomChanged: announceRoom()
        case .blueZ(let event): blueZHappened(event)
        case .nameOfBlueZ(let link, let token): if let link = links[link] { nameOfBlueZ(link, token) }
        case .deliverUpdates(let link): if let link = links[link] { deliverQueuedUpdates(to: link) }
        }
    }
}

// MARK: Facts

extension HostCore {
    /// Whether anything waits to be let go, to be told, or to be compared with what is wanted of the air.
    var hasWork: Bool { !acts.isEmpty || !tellings.isEmpty || isAirUnsettled }

    mutating func persist(_ mutation: HostMutation) {
        #if LATCH_PLANTS
        if Plant.active == .subscription, case .gatt(.clientCharacteristicConfiguration) = mutation { return }
        #endif
        store.append(mutation)
    }

    /// Changes the ledger, and hands its facts to the store.
    mutating func withLedger<R>(_ body: (inout RestorationLedger, inout [HostMutation]) -> R) -> R {
        var facts: [HostMutation] = []
        defer { for fact in facts { store.append(fact) } }
        return body(&ledger, &facts)
    }

    /// The same for the directory of peers.
    mutating func withPeers<R>(_ body: (inout PeerDirectory, inout [HostMutation]) -> R) -> R {
        var facts: [HostMutation] = []
        defer { for fact in facts { store.append(fact) } }
        return body(&peers, &facts)
    }

    mutating func makeToken() -> OperationToken {
        defer { nextToken += 1 }
        return OperationToken(rawValue: nextToken)
    }
}
