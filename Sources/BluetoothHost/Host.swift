import ATT
import BluetoothCore
import BluetoothCrypto
import DBus
import HCI
import SecurityManager

/// The stack's composition root, for one local identity on one controller.
///
/// In: packets from the controller (``received(_:_:)``), the state of its transport, instants, and the calls of
/// managers. Out: facts for its store, calls of the managers' delegates, and acts (packets, callbacks) that
/// ``releaseActs(clock:_:)`` lets go. It has no clock, randomness or I/O of its own, and is confined to its loop's thread.
///
/// An iteration of the loop is: ``beginIteration(now:)``, any number of inputs and API calls, ``endIteration()``, a commit of the
/// store and of everything that joined it, and only then ``releaseActs(clock:_:)``.
///
/// It decides nothing: ``HostCore`` does, and is left alone whenever somebody else's code runs.
package final class Host {
    /// What is let go once the iteration is on disk.
    package enum Act: ~Escapable {
        /// One HCI packet with its H4 indicator, for the controller.
        case packet(RawSpan)
        /// For the bus, where bluetoothd keeps the adapter.
        case bus(DBusAct)
        /// For the kernel, before bluetoothd pairs by it: ``Host/codeProvided(_:)`` says what came of it.
        case code(OutOfBandData, adapter: UInt16)
        /// For the kernel, of a link that it keeps: ``Host/strengthRead(of:_:)`` says what came of it.
        case strength(DeviceAddress, adapter: UInt16)
        /// To be told to the operator; ``ControllerRemedy/reopen`` is for whoever has the transport to do.
        case controllerFailed(ControllerFailure, ControllerRemedy)
        /// What was asked for by ``Host/afterCommit(_:)``, or something for ``Host/onNotice``.
        case call(() -> Void)
    }

    /// So many things wait to be told, and apps hear them between two packets instead of at the iteration's end: however
    /// much a controller has to say at once, what is held for apps is no more.
    package static let tellingsMaximum = 64

    var core: HostCore
    /// Everything that commits together: this host's store first, then whoever joined.
    package var participants: [any CommitParticipant] { committing }
    private var committing: [any CommitParticipant]
    /// Hears what an operator may want to see of links.
    package var onNotice: ((HostNotice) -> Void)? {
        didSet { core.tellsNotices = onNotice != nil }
    }

    private var timers = TimerTable()
    private var restoredCallbacks: RestoredCallbacks
    private var delegates: [ManagerID: RoleDelegate] = [:]
    private weak var pairingAgent: (any PairingAgent)?
    /// Empty, with the storage of what was let go and told before.
    private var spareActs = ActQueue()
    private var spareTellings: [Telling] = []

    /// `snapshot` is what ``HostStore/load()`` gave, or, with `rows`, ``HostStore/launch()``: what that left is read when it
    /// is asked for. The first launch ever makes the identity here; it is durable with the first iteration, before a controller
    /// hears of it.
    package init(
        configuration: HostConfiguration, boot: BootID, snapshot: HostSnapshot, rows: (any HostRows)? = nil,
        store: any HostStore,
        random: any RandomSource, makeKeyPair: @escaping () -> P256KeyPair
    ) {
        committing = [store]
        core = HostCore(
            configuration, boot: boot, snapshot: snapshot, rows: rows, store: store, random: random,
            makeKeyPair: makeKeyPair)
        restoredCallbacks = RestoredCallbacks(isAnythingRestored: core.hasRestoredWork)
    }

    package var configuration: HostConfiguration { core.configuration }
    package var identity: LocalIdentity { core.identity }
    package var now: Instant { core.now }
    /// As a manager of this role hears it.
    package func hostState(for role: RestoreKey.Role) -> HostState { core.state(for: role) }
    /// Things a controller did that it should not have.
    package var faults: Int { core.faults }
}

// MARK: The iteration

extension Host {
    /// One thing that is asked of the core, and all the work that follows from it.
    func ask<R, E: Error>(_ body: (inout HostCore) throws(E) -> R) throws(E) -> R {
        defer { core.run() }
        return try body(&core)
    }

    /// Every input of this iteration happens at `now`.
    package func beginIteration(now: Instant) { core.now = now }

    /// Tells the apps what this iteration has brought, and brings the controller closer to what is wanted now. Call it before
    /// the commit. A link's packets do not wait for GAP's comparison: while there is anything to commit or to let go, GAP's turn
    /// is the next round (``hasWork``).
    package func endIteration() {
        tellApps()
        if core.acts.isEmpty, !hasFacts { ask { $0.settleAir() } }
    }

    /// One round, and the one place where its three parts follow one another: the iteration ends, what it asks for is put on disk,
    /// and then its acts are let go. There may be more to do behind it: ``hasWork``.
    ///
    /// - Parameters:
    ///   - willCommit: comes before the commit, also where there is nothing to commit.
    ///   - didCommit: comes behind a commit, and before the acts.
    /// - Throws: what the commit, or one of these, throws. No act is let go behind that.
    package func settleRound(
        _ coordinator: any TransactionCoordinator, willCommit: () throws -> Void = {}, didCommit: () -> Void = {},
        clock: () -> Instant, _ perform: (borrowing Act) throws -> Void
    ) throws {
        endIteration()
        #if LATCH_PLANTS
        if Plant.active == .told { try releaseActs(clock: clock, perform) }
        #endif
        try willCommit()
        if hasFacts {
            try coordinator.commit(participants)
            didCommit()
        }
        try releaseActs(clock: clock, perform)
    }

    /// Hands over what to do after the commit, in order. Calls among it may ask for more: commit and release again until
    /// there is nothing. What is left when `perform` throws is dropped. `clock` says what time it is at that very moment,
    /// which ``now`` does not: a commit may have taken long, and some packets must not leave late.
    package func releaseActs<E: Error>(
        clock: () -> Instant, _ perform: (borrowing Act) throws(E) -> Void
    ) throws(E) {
        var due = ActQueue()
        swap(&due, &spareActs)
        swap(&due, &core.acts)
        defer {
            due.removeAll()
            swap(&due, &spareActs)
        }
        try due.forEach(clock: clock, late: { late in ask { $0.tooLate(late) } }, onNotice: onNotice, perform)
        guard !restoredCallbacks.isOver,
            let callbacks = restoredCallbacks.takeAll(isAtWork: core.isRestoredWorkDone, now: now)
        else { return }
        for callback in callbacks { try perform(.call(callback)) }
    }

    /// Whether acts asked for more: then there is another round of commit and acts.
    package var hasWork: Bool { core.hasWork || hasFacts }

    /// Whether anything waits for a commit.
    package var hasFacts: Bool { committing.contains { $0.hasPending } }

    /// Runs `act` after this iteration's commit, in order with the packets asked for before and after it.
    package func afterCommit(_ act: @escaping () -> Void) { core.acts.append(call: act) }

    /// The same for what an app is told. Behind a launch it waits, with all that comes after it, until what the launch has restored is at
    /// work (``RestoredCallbacks``).
    package func tellAfterCommit(_ callback: @escaping () -> Void) {
        guard !restoredCallbacks.isOver else { return afterCommit(callback) }
        afterCommit { [unowned self] in
            if restoredCallbacks.isOver { callback() } else { restoredCallbacks.wait(callback, now: now) }
        }
    }

    /// Runs `act` once apps have heard everything that has happened up to now, in this iteration.
    package func behindTellings(_ act: @escaping () -> Void) { core.tellings.append(.behind(act)) }

    /// Runs `report` behind everything else that this iteration's commit lets go, in order with other reports: words for people,
    /// which no packet and no bolt waits for.
    package func afterActs(_ report: @escaping () -> Void) { core.acts.append(report: report) }

    /// A store that shares this loop's transaction.
    package func join(_ participant: any CommitParticipant) { committing.append(participant) }

    /// After a commit that failed. Nothing that waited for it leaves, and managers hear that there is no adapter any more;
    /// only calls may be released from now on.
    package func abandon() {
        // What is dropped may be the last that holds an app, whose end calls this host.
        var dropped = ActQueue()
        swap(&dropped, &core.acts)
        ask { $0.abandon() }
        tellApps()
    }
}

// MARK: Managers and timers

/// Whoever stands behind a manager; not retained.
private struct RoleDelegate {
    weak var central: (any CentralRoleDelegate)?
    weak var peripheral: (any PeripheralRoleDelegate)?
}

extension Host {
    /// The record is what was kept under the identifier; pending connections, scan, advertising and the published tree in
    /// it are already running again by themselves, or run from now on where they were at rest. nil without identifier, and when
    /// nothing was kept under it.
    package func registerCentral(
        restoreIdentifier: String?, options: ManagerOptions = [], delegate: any CentralRoleDelegate
    ) -> (ManagerID, RestorationRecord?) {
        let (id, record) = ask { $0.register(.central, restoreIdentifier: restoreIdentifier, options) }
        delegates[id] = RoleDelegate(central: delegate)
        return (id, record)
    }

    package func registerPeripheral(
        restoreIdentifier: String?, options: ManagerOptions = [], delegate: any PeripheralRoleDelegate
    ) -> (ManagerID, RestorationRecord?) {
        let (id, record) = ask { $0.register(.peripheral, restoreIdentifier: restoreIdentifier, options) }
        delegates[id] = RoleDelegate(peripheral: delegate)
        return (id, record)
    }

    /// Whether a manager of this process has the name now. The next one under it hears what this one has heard up to then.
    package func isRegistered(_ key: RestoreKey) -> Bool { core.isRegistered(key) }

    /// What a manager without identifier asked for ends with it; with one it runs on, and is put to rest when nobody comes for it in
    /// ``UnclaimedOwners/graceMilliseconds``.
    package func unregister(_ manager: ManagerID) {
        delegates[manager] = nil
        ask { $0.unregister(manager) }
    }

    /// Who asks the user, or nil for nobody: then only what needs no user is possible, and wants no consent.
    package func setPairingAgent(_ agent: (any PairingAgent)?) {
        pairingAgent = agent
        core.agent = agent?.ioCapability
    }

    package func makeTimer() -> TimerToken { timers.makeToken() }

    /// Fires once, inline on the loop; replaces what the token was set to, and nil cancels.
    package func setTimer(_ token: TimerToken, at instant: Instant?, _ fire: @escaping (Instant) -> Void) {
        timers.set(token, at: instant, fire)
    }

    /// When ``timerFired()`` wants to be called.
    package var deadline: Instant? {
        Instant.earliest(Instant.earliest(timers.deadline, core.deadline), restoredCallbacks.deadline)
    }

    /// Everything that is due at this iteration's instant: the apps' timers first.
    package func timerFired() {
        for fire in timers.takeDue(now) { fire(now) }
        ask { $0.timerFired() }
    }
}

// MARK: What apps hear

extension Host {
    /// Until nothing is left to hear: apps that hear of something may ask for more.
    func tellApps() {
        while !core.tellings.isEmpty {
            var due: [Telling] = []
            swap(&due, &core.tellings)
            swap(&core.tellings, &spareTellings)
            due.drain { tell($0) }
            swap(&due, &spareTellings)
        }
    }

    private func tell(_ telling: Telling) {
        switch telling {
        case .central(let manager, let news): if let delegate = delegates[manager]?.central { news.tell(delegate) }
        case .peripheral(let manager, let news):
            if let delegate = delegates[manager]?.peripheral { news.tell(delegate) }
        case .read(let manager, let request):
            guard let delegate = manager.flatMap({ delegates[$0]?.peripheral }) else {
                return refuse(request.id, error: .unlikelyError)
            }
            delegate.readRequested(request)
        case .write(let manager, let request):
            guard let delegate = manager.flatMap({ delegates[$0]?.peripheral }) else {
                if let id = request.id { refuse(id, error: .unlikelyError) }
                return
            }
            delegate.writesRequested(request)
        case .agent(let news, let link):
            if let pairingAgent {
                news.tell(pairingAgent, link)
            } else if news.isQuestion {
                answerPairing(link.link, .refusal)
            }
        case .channel(let channel, let news, let owner): tell(news, of: channel, to: owner?.delegate)
        case .behind(let act): act()
        case .settleSecurity(let link, let error): ask { $0.settleSecurity(link, error) }
        }
    }

    /// Nobody is there to take what comes on the channel: it closes.
    private func tell(_ news: ChannelNews, of channel: HostChannelID, to delegate: (any ChannelDelegate)?) {
        switch news {
        case .opened(let info): delegate?.channelOpened(info) ?? closeChannel(channel)
        case .received(let sdu): delegate?.received(sdu, on: channel) ?? closeChannel(channel)
        case .hasRoom: delegate?.channelHasRoom(channel)
        case .closed(let reason): delegate?.channelClosed(channel, reason: reason)
        }
    }
}
