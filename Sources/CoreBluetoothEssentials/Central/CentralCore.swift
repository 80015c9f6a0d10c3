import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import SecurityManager
import Synchronization

/// A central manager's half on the loop: hands the app's calls, and what the host says, to the sessions of the peers, and
/// carries out what these want.
///
/// What is in `peripherals` may be touched from any thread; every other variable only on the loop.
final class CentralCore: ManagerCore<CBCentralManager>, @unchecked Sendable {
    struct Peripherals: Sendable {
        var isScanning = false
        /// Scans that the app has asked for.
        var scans: UInt64 = 0
        /// The one whose report is being told, counted as they are.
        var told: UInt64 = 0
        var met = Registry<CBPeripheral>()
        var known = KnownPeers()
        /// The primary services of each peer that is connected to this host, as far as anybody has discovered them.
        var connected: [PeerIdentifier: Set<BluetoothUUID>] = [:]

        var isToldOfLatestScan: Bool { isScanning && told == scans }
    }

    let discoveriesBacklog = Backlog(maximum: Backlog.discoveriesMaximum)
    let peripherals = Mutex(Peripherals())
    var sessions: [PeerIdentifier: PeerSession] = [:]
    /// Room for outputs, kept from call to call: as much of it as calls have been within each other.
    private var spareOutputs: [[PeerSession.Output]] = []
    /// The scan whose reports come from the host now, and how many the app had asked for then.
    var scan: ScanRecord?
    var scans: UInt64 = 0
    var discoveries = Discoveries()
    /// Of an app's manager; the key asks after no links but its own.
    var linkedPeers = LinkedPeers()
    /// Whether an app of Core Bluetooth has it, and not the key.
    let isApp: Bool
    let showsGenericServices: Bool

    init(
        handle: CBHost, delivery: CallbackDelivery, delegate: (any CBCentralManagerCallbacks)?,
        isApp: Bool = true, showsGenericServices: Bool = false, endsWithPower: Bool = false
    ) {
        self.isApp = isApp
        self.showsGenericServices = showsGenericServices
        super.init(handle: handle, delivery: delivery, delegate: delegate, endsWithPower: endsWithPower)
    }

    func register(_ manager: CBCentralManager, restoreIdentifier: String?) {
        var options: ManagerOptions = isApp ? .observesLinks : []
        if endsWithPower { options.insert(.endsWithPower) }
        if case .queue = delivery { options.insert(.hearsBehindCommit) }
        register(manager, restoreIdentifier: restoreIdentifier) { [options] host in
            if self.isApp { self.reviewKnownPeers(host) }
            let registered = host.registerCentral(
                restoreIdentifier: restoreIdentifier, options: options, delegate: self)
            if self.isApp { for link in host.provenLinks { self.linkChanged(link, isUp: true) } }
            return registered
        }
    }

    override func forget() {
        // Peripherals hold this object, and sessions hold those that stand.
        for peer in sessions.keys { sessions[peer]?.silence() }
    }

    override func powerEnded() -> @Sendable () -> Void { endedWithPower() }

    override func restore(_ record: RestorationRecord, _ host: Host, _ id: ManagerID) { rebuild(record, host) }

    override func channelOpened(_ info: ChannelInfo, _ pipe: ChannelPipe) {
        guard let peripheral = takeOpening(info.id) else { return pipe.close() }
        tell(peripheral, .channel(CBL2CAPChannel(peer: peripheral, psm: info.psm, pipe: pipe), nil))
    }

    override func channelFailed(_ id: HostChannelID, _ end: ChannelEnd) {
        guard let peripheral = takeOpening(id) else { return }
        tell(peripheral, .channel(nil, appleError(end)))
    }

    // MARK: Sessions

    typealias Place = Dictionary<PeerIdentifier, PeerSession>.Index

    /// One event of a peer's session, and everything that it wants done.
    func feed(_ event: PeerSession.Event, _ peripheral: CBPeripheral) {
        feed(event, peripheral, at: sessions.index(forKey: peripheral.peer))
    }

    /// `place` is the session's, nil while the peer has none.
    private func feed(_ event: PeerSession.Event, _ peripheral: CBPeripheral, at place: Place?) {
        // An app that is told calls back.
        var outputs = spareOutputs.popLast() ?? []
        let isEmpty =
            if let place {
                Self.handle(event, in: &sessions.values[place], into: &outputs)
            } else {
                Self.handle(event, in: &sessions[peripheral.peer, default: PeerSession()], into: &outputs)
            }
        // Sessions come and go when it does: only the first output finds its own where it was.
        var known = place
        // Taken out from behind, which moves them: an output that is looked at where it is would be copied.
        outputs.reverse()
        while let output = outputs.popLast() {
            carryOut(output, peripheral, at: known)
            known = nil
        }
        spareOutputs.append(outputs)
        // It may have got something to do again.
        if isEmpty, sessions[peripheral.peer]?.isEmpty == true { sessions[peripheral.peer] = nil }
    }

    // What is asked of a session is said by it, where it is: a look at it from outside would copy it.

    /// Whether the session is then empty.
    private static func handle(
        _ event: PeerSession.Event, in session: inout PeerSession, into outputs: inout [PeerSession.Output]
    ) -> Bool {
        session.handle(event, into: &outputs)
        return session.isEmpty
    }

    private static func take(
        _ token: OperationToken, in session: inout PeerSession
    ) -> (PeerSession.Purpose, CBPeripheral?)? {
        session.take(token).map { ($0, session.peripheral) }
    }

    private static func isServiceChanged(
        _ handle: AttributeHandle, in session: inout PeerSession
    ) -> (Bool, CBPeripheral?) { (session.isServiceChanged(handle), session.peripheral) }

    private func carryOut(_ output: PeerSession.Output, _ peripheral: CBPeripheral, at place: Place?) {
        switch output {
        case .ask(let request, let purpose):
            guard let token = ask(request, of: peripheral.peer) else { return feed(.notBegun(purpose), peripheral) }
            if let place {
                sessions.values[place].began(purpose, token)
            } else {
                sessions[peripheral.peer, default: PeerSession()].began(purpose, token)
            }
        case .tell(let news): tell(peripheral, news)
        case .commandEnded:
            if peripheral.content.withLock({ $0.commands.giveBack() }) { tell(peripheral, .value(.ready)) }
        case .keep(let database): host?.keepRemoteDatabase(peripheral.peer, database)
        }
    }

    private func ask(_ request: PeripheralRequest, of peer: PeerIdentifier) -> OperationToken? {
        guard let host, let id else { return nil }
        return switch request {
        case .perform(let operation, let until): host.perform(id, peer, operation, until: until)
        case .setNotify(let value, let configuration, let kind):
            host.setNotify(id, peer, value: value, ccc: configuration, kind: kind)
        case .read(let reading): host.read(id, peer, reading)
        }
    }

    /// An operation ended. A pairing may show that the peer has another name than when it was asked.
    func ended(_ token: OperationToken, of peer: PeerIdentifier, _ result: Result<OperationValue, HostError>) {
        if let place = sessions.index(forKey: peer),
            let (purpose, known) = Self.take(token, in: &sessions.values[place])
        {
            return feed(.completed(purpose, result), known ?? peripheral(peer), at: place)
        }
        for other in sessions.keys {
            if let purpose = sessions[other]?.take(token) { return feed(.completed(purpose, result), peripheral(peer)) }
        }
    }

    /// A value came that nobody asked for: from the characteristic by which a peer says that its tree changed, or from another,
    /// and the peer's object.
    func sender(of handle: AttributeHandle, at peer: PeerIdentifier) -> (isServiceChanged: Bool, CBPeripheral) {
        guard let place = sessions.index(forKey: peer) else { return (false, peripheral(peer)) }
        let (isServiceChanged, known) = Self.isServiceChanged(handle, in: &sessions.values[place])
        return (isServiceChanged, known ?? peripheral(peer))
    }

    // MARK: Telling the app

    /// For what strangers can cause as often as they like: it may be dropped.
    func tellDiscovery(_ call: @escaping @Sendable (CBCentralManager, any CBCentralManagerCallbacks) -> Void) {
        _ = delivery.deliver(host, within: discoveriesBacklog) { self.withDelegate(call) }
    }

    func tell(_ peripheral: CBPeripheral, _ news: PeripheralNews) {
        if case .inline = delivery { return news.show(peripheral) }
        delivery.deliver(host) { news.show(peripheral) }
    }

    /// The same for what a peer can cause as often as it likes. False when it is dropped.
    func tellFlooded(_ peripheral: CBPeripheral, _ news: PeripheralNews) -> Bool {
        if case .inline = delivery {
            news.show(peripheral)
            return true
        }
        return delivery.deliver(host, within: peripheral.backlog) { news.show(peripheral) }
    }

    // MARK: Peripherals

    /// The one object for a peer.
    func peripheral(_ peer: PeerIdentifier, name: @autoclosure () -> String?) -> CBPeripheral {
        peripherals.withLock { peripherals in
            peripherals.met.object(peer) {
                let kept = peripherals.known[peer]?.name
                return CBPeripheral(peer, name: kept ?? name(), isNameRead: kept != nil, core: self)
            }
        }
    }

    func peripheral(_ peer: PeerIdentifier) -> CBPeripheral {
        peripheral(peer, name: host?.peerRecord(peer)?.name)
    }

    private func reviewKnownPeers(_ host: Host) {
        let kept = host.keptPeers()
        peripherals.withLock { $0.known.take(kept) }
    }

    /// The host keeps this peer. On the loop it is asked itself, and nothing is kept here.
    func keepKnown(_ peer: PeerIdentifier, _ host: Host) {
        guard isApp else { return }
        let isOverfull = peripherals.withLock { peripherals in
            peripherals.known.keep(peer)
            return peripherals.known.isOverfull
        }
        if isOverfull { reviewKnownPeers(host) }
    }

    func retrieve(_ identifiers: [UUID]) -> [CBPeripheral] {
        let isOnLoop = handle.executor.isOnLoop
        return identifiers.compactMap { identifier in
            let peer = PeerIdentifier(identifier)
            if let met = peripherals.withLock({ $0.met[peer] }) { return met }
            if isOnLoop { return host?.peerRecord(peer).map { peripheral(peer, name: $0.name) } }
            return peripherals.withLock { $0.known[peer] == nil } ? nil : peripheral(peer, name: nil)
        }
    }

    func retrieveConnected(_ services: Set<BluetoothUUID>) -> [CBPeripheral] {
        let found = peripherals.withLock { peripherals in
            peripherals.connected.filter { !$0.value.isDisjoint(with: services) }.keys
        }
        return found.sorted { $0.bits < $1.bits }.map { peripheral($0, name: nil) }
    }
}
