import BluetoothCore
import HCI
import SecurityManager

/// The Generic Access Profile as one value: under which address this side is on the air, what it advertises, whom it listens
/// for and whom it connects to.
///
/// - In: what is wanted (``Wishes``), as one whole; what the controller answers and reports; what became of links in a
///   peer's name; time.
/// - Out: HCI commands, each with the machine that waits for its answer, and what others have to hear (``Output``).
///
/// Its machines hold what is wanted and what the controller was last told, and name the one command that brings them closer
/// (docs/GAP.md). ``Host`` owns it, and calls ``settle(_:now:random:into:)`` once an iteration at most.
///
/// Core 5.4, Vol 3, Part C, 9 (Operational modes and procedures) and 10.7 (Privacy feature)
struct GAP {
    typealias Owner = RestorationLedger.Owner

    /// The machine that waits for a command's answer.
    enum Machine {
        case ownAddress
        case resolvingList
        case advertiser(LEAdvertisingHandle)
        case scanner
        case initiator
    }

    enum Event {
        /// The controller is reset, or away: it knows nothing any more, and takes no command.
        case controllerLost
        case controllerReady(ControllerFacts)
        case answered(Machine, HCIErrorCode)
        /// Something of ``Wishes`` may be another one now.
        case wishesChanged
        /// An app has begun to listen: it hears those too who were heard before.
        case scanBegun
        /// A manager asked to advertise, and wants to hear when its wish is on the air.
        case advertisingAsked(ManagerID, Owner)
        case advertisingWithdrawn(ManagerID)
        /// LE Connection Complete with a link, in this role.
        case linkMade(LinkRole)
        /// LE Connection Complete without one.
        case linkFailed(HCIErrorCode)
        /// LE Advertising Set Terminated.
        case setTerminated(LEAdvertisingHandle)
        /// Somebody who can be connected to was heard `onAir`, in the name of `peer`.
        case heard(peer: DeviceAddress, onAir: DeviceAddress)
        /// A link in a bonded peer's name ended, and nobody had proved to be that peer (``ContestedPeers``).
        case unproven(peer: DeviceAddress, at: DeviceAddress)
        /// An app wants every link to this bonded peer encrypted.
        case proofAsked(of: DeviceAddress)
        /// A bonded peer has encrypted a link that this side made.
        case proven(peer: DeviceAddress, at: DeviceAddress)
        /// The controller has room that it did not have: what it refused may be asked of it again.
        case roomMade
        case timerFired
    }

    enum Output {
        case command(any HCICommand, Machine)
        /// The controller answered a command for advertising: whether it has room for whoever answers.
        case advertisingAnswered(HCIErrorCode)
        /// What a manager asked for so many times is on the air.
        case advertisingStarted(ManagerID, times: Int)
        /// The controller refuses what a manager waits for, and is asked again. Once for a start.
        case advertisingRefused(HCIErrorCode)
        /// The controller has answered this command, and does not do what it asks for.
        case controllerStuck(HCIOpcode)
    }

    /// What the controller refused is asked again after this long: a lock that no longer advertises, and a connection that
    /// waits for ever, are worth more than a quiet controller.
    static let retryMilliseconds: UInt64 = 5_000

    private(set) var commands: GAPCommands
    private(set) var ownAddress: OwnAddress
    private var privateAddress: PrivateAddress
    private(set) var resolvingList = ResolvingList(capacity: 0)
    private(set) var advertisingSets = AdvertisingSets<Owner>(count: 1)
    private(set) var scanner = Scanner()
    private(set) var initiator = Initiator(acceptListCapacity: 1)
    private(set) var contestedPeers = ContestedPeers()
    private var assembler = AdvertisementAssembler()
    /// The wishes that the machines were told last.
    private var wishes = Wishes()
    /// Counts the scans that apps have begun.
    private var scanGeneration = 0
    /// How often each manager has asked to advertise and not heard of it yet, and whether the controller has refused it since.
    private var advertisingAwaited: [ManagerID: (owner: Owner, times: Int, isRefused: Bool)] = [:]
    /// When what the controller refused is asked of it again.
    private var retryAt: Instant?
    private var isControllerReady = false
    /// Commands that the controller has not answered.
    private var unansweredCount = 0
    /// Something has happened since the machines were last told what is wanted.
    private(set) var isUnsettled = false
    /// When ``Event/timerFired`` is due. Kept and not computed each time, because the loop asks in every iteration.
    private(set) var deadline: Instant?

    init(_ configuration: HostConfiguration, identity: LocalIdentity) {
        commands = GAPCommands(
            family: .legacy, advertisingInterval: configuration.advertisingInterval,
            connectionInterval: configuration.connectionInterval, supervisionTimeout: configuration.supervisionTimeout)
        ownAddress = OwnAddress(wanted: identity.address.address)
        privateAddress = PrivateAddress(
            irk: identity.irk, lifeMilliseconds: configuration.privateAddressLifeMilliseconds)
    }

    mutating func handle(_ event: Event, now: Instant, into outputs: inout [Output]) {
        defer { deadline = nextDeadline }
        switch event {
        case .controllerLost: controllerLost()
        case .controllerReady(let facts): controllerReady(facts)
        case .answered(let machine, let status): answered(machine, status, now: now, into: &outputs)
        case .wishesChanged: isUnsettled = true
        case .scanBegun:
            scanGeneration += 1
            isUnsettled = true
        case .advertisingAsked(let manager, let owner):
            advertisingAwaited[manager] = (owner, (advertisingAwaited[manager]?.times ?? 0) + 1, false)
            isUnsettled = true
        case .advertisingWithdrawn(let manager):
            advertisingAwaited[manager] = nil
            isUnsettled = true
        case .linkMade(let role): linkMade(role)
        case .linkFailed(let status):
            initiator.connectionComplete(status)
            noteMissedAttempt(now: now)
            isUnsettled = true
        case .setTerminated(let set):
            advertisingSets.stopped(set)
            isUnsettled = true
        case .heard(let peer, let onAir): heard(peer, at: onAir, now: now)
        case .unproven(let peer, let address):
            if isControllerReady { contestedPeers.lost(peer, at: address, now: now) }
            isUnsettled = true
        case .proofAsked(let peer): contestedPeers.proofAsked(of: peer)
        case .proven(let peer, let address):
            // Nearly every peer is itself the first time, and changes nothing then.
            if contestedPeers.contains(peer) { isUnsettled = true }
            contestedPeers.proven(peer, at: address)
        case .roomMade: retry(now: now)
        case .timerFired: timerFired(now: now, into: &outputs)
        }
    }

    /// Joins the pieces of a long advertisement; the whole, when nothing more of it is to come.
    mutating func assemble(_ report: LEExtendedAdvertisingReport) -> HeardAdvertisement? { assembler.receive(report) }

    /// Nothing is on its way to what is wanted now: the controller does it, or has refused.
    var isAnswered: Bool { isControllerReady && !isUnsettled && unansweredCount == 0 }

    private var nextDeadline: Instant? {
        let rotation = isControllerReady ? privateAddress.deadline : nil
        return [rotation, retryAt, initiator.deadline, contestedPeers.deadline].reduce(nil, Instant.earliest)
    }
}

// MARK: The controller

extension GAP {
    private mutating func controllerLost() {
        isControllerReady = false
        isUnsettled = false
        unansweredCount = 0
        retryAt = nil
        ownAddress.reset()
        resolvingList.reset(capacity: 0)
        advertisingSets.reset(count: 1)
        scanner.reset()
        assembler = AdvertisementAssembler()
        initiator.reset(acceptListCapacity: 1)
        contestedPeers.resume()
    }

    private mutating func controllerReady(_ facts: ControllerFacts) {
        isControllerReady = true
        isUnsettled = true
        commands.family = facts.commandFamily
        resolvingList.reset(capacity: facts.usableResolvingListCapacity)
        advertisingSets.reset(count: facts.advertisingSetCount)
        initiator.reset(acceptListCapacity: facts.acceptListCapacity)
    }

    private mutating func answered(
        _ machine: Machine, _ status: HCIErrorCode, now: Instant, into outputs: inout [Output]
    ) {
        let wasSettled = !isUnsettled
        isUnsettled = true
        unansweredCount -= 1
        switch machine {
        case .ownAddress: ownAddress.completed(status)
        case .resolvingList: resolvingList.completed(status)
        case .advertiser(let set):
            advertisingSets.completed(set, status)
            outputs.append(.advertisingAnswered(status))
            announceAdvertising(into: &outputs)
        case .scanner:
            scanner.completed(status)
            noteRefusedScan(now: now)
        case .initiator:
            initiator.completed(status, now: now)
            noteMissedAttempt(now: now)
            noteRefusedAttempt(now: now)
            // A list of a hundred is filled without a hundred comparisons of everything that is wanted.
            if wasSettled, status == .success, let action = initiator.nextOfAcceptList() {
                isUnsettled = false
                unansweredCount += 1
                outputs.append(.command(commands.command(for: action), .initiator))
            }
        }
    }

    private mutating func retry(now: Instant) {
        retryAt = nil
        isUnsettled = true
        // A controller that cannot scan while it connects hears nobody whom its accept list has no room for.
        if scanner.failure != nil || contestedPeers.isPaused(now) { initiator.rotate() }
        ownAddress.retry()
        advertisingSets.retry()
        scanner.retry()
        initiator.retry()
    }

    private mutating func timerFired(now: Instant, into outputs: inout [Output]) {
        if initiator.isEndOverdue(now: now) {
            return outputs.append(.controllerStuck(HCILECreateConnectionCancel.opcode))
        }
        if let due = deadline, due <= now { isUnsettled = true }
        if let due = retryAt, due <= now { retry(now: now) }
        if let due = initiator.deadline, due <= now {
            initiator.timerFired(now: now)
            noteMissedAttempt(now: now)
        }
        contestedPeers.expire(now: now)
    }
}

// MARK: Links

extension GAP {
    /// The address that a link was made with, as far as Connection Complete tells. With several sets on the air, the one that
    /// it was says so itself.
    func ownAddress(of role: LinkRole) -> DeviceAddress {
        let told = ownAddress.told ?? ownAddress.wanted
        switch role {
        case .central: return told
        case .peripheral: return advertisingSets.onlyConnectable.flatMap(advertisingSets.address) ?? told
        }
    }

    private mutating func linkMade(_ role: LinkRole) {
        isUnsettled = true
        switch role {
        case .central: initiator.connectionComplete()
        case .peripheral: if let set = advertisingSets.onlyConnectable { advertisingSets.stopped(set) }
        }
    }

    /// Nearly every advertisement changes nothing, and costs nothing more then.
    private mutating func heard(_ peer: DeviceAddress, at onAir: DeviceAddress, now: Instant) {
        guard isToBeTried(peer, at: onAir, now: now), initiator.heard(peer, at: onAir, now: now) else { return }
        contestedPeers.tried(peer)
        isUnsettled = true
    }

    /// Whether an advertisement from `onAir` in the name of `peer` is one to connect to.
    private mutating func isToBeTried(_ peer: DeviceAddress, at onAir: DeviceAddress, now: Instant) -> Bool {
        guard !contestedPeers.isEmpty, initiator.contested.contains(peer) else { return true }
        return contestedPeers.heard(peer, at: onAir, now: now, isBusy: wishes.addressesWithLinks.contains)
    }

    /// The attempt to connect to one who was heard has ended.
    private mutating func noteMissedAttempt(now: Instant) {
        guard let missed = initiator.takeMissed() else { return }
        switch missed.refusal {
        case nil: contestedPeers.lost(missed.wanted, at: missed.onAir, now: now)
        // A controller that does not connect while it scans: the next contest would end like this one.
        case .commandDisallowed: contestedPeers.pause(now: now)
        default: contestedPeers.giveUp(missed.wanted)
        }
    }

    /// The scan that tells contested peers' addresses apart was refused, perhaps because of the standing attempt. Without it
    /// nobody would connect to them.
    private mutating func noteRefusedScan(now: Instant) {
        if scanner.failure != nil, !initiator.contested.isEmpty { contestedPeers.pause(now: now) }
    }

    /// The same the other way round: the standing attempt was refused, perhaps because of the scan. Nobody at all would be
    /// connected to.
    private mutating func noteRefusedAttempt(now: Instant) {
        guard initiator.failure == .commandDisallowed, scanner.isEnabled, initiator.needsScan else { return }
        contestedPeers.pause(now: now)
        // With an app's scan in its way it would be refused again.
        if wantedScan(now: now) == nil { initiator.retry() }
    }

    /// Whether a peer's addresses are told apart, which takes a scan: without one the controller's lists find who they find.
    private func isTold(_ peer: DeviceAddress) -> Bool { scanner.failure == nil && contestedPeers.contains(peer) }
}

// MARK: Advertising

extension GAP {
    /// Answers those who asked to advertise, once for each time, when what they asked for is on the air. What the controller
    /// refuses it is asked again: that has not failed, and begins later.
    private mutating func announceAdvertising(into outputs: inout [Output]) {
        for (manager, asked) in advertisingAwaited.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            guard let advertiser = advertisingSets.advertiser(of: asked.owner) else { continue }
            if advertiser.isOnAir {
                advertisingAwaited[manager] = nil
                outputs.append(.advertisingStarted(manager, times: asked.times))
            } else if let failure = advertiser.failure, !asked.isRefused {
                advertisingAwaited[manager]?.isRefused = true
                outputs.append(.advertisingRefused(failure))
            }
        }
    }
}

// MARK: What is wanted

extension GAP {
    /// Compares what is wanted with what the controller does, and sends what brings them closer.
    mutating func settle(
        _ wishes: Wishes, now: Instant, random: inout any RandomSource, into outputs: inout [Output]
    ) {
        defer { deadline = nextDeadline }
        isUnsettled = false
        guard isControllerReady else { return }
        self.wishes = wishes
        ownAddress.wanted = addressForAir(now: now, random: &random)
        contestedPeers.expire(now: now)
        wantResolved()
        let isUnresolved = resolvingList.mustRest
        let mustRest = ownAddress.mustRest || isUnresolved
        advertisingSets.want(wishes.advertisements)
        advertisingSets.isHeld = isUnresolved || (mustRest && commands.family == .legacy)
        advertisingSets.isFull = wishes.isFull
        advertisingSets.ownAddress = commands.family == .extended ? ownAddress.wanted : nil
        initiator.isHeld = mustRest
        initiator.contested = contestedPeers.isEmpty ? [] : Set(wishes.connections.lazy.map(\.address).filter(isTold))
        initiator.want(wishes.isFull ? [] : unconnected)
        initiator.privatePeers = Set(wishes.connections.lazy.filter(\.isPrivate).map(\.address))
            .intersection(initiator.wanted)
        initiator.resolvedPeers = resolvingList.resolved
        scanner.isHeld = mustRest
        scanner.wanted = wantedScan(now: now)
        sendCommands(into: &outputs)
        announceAdvertising(into: &outputs)
        let failure = ownAddress.failure ?? advertisingSets.failure ?? scanner.failure ?? initiator.failure
        let isPaused = initiator.needsScan && contestedPeers.isPaused(now)
        if retryAt == nil, failure != nil || isPaused { retryAt = now.advanced(byMilliseconds: Self.retryMilliseconds) }
    }

    /// A resolvable private address, where somebody can resolve it; else the identity address.
    ///
    /// Core 5.4, Vol 3, Part C, 10.7.1 to 10.7.3 (Privacy feature in each role)
    private mutating func addressForAir(now: Instant, random: inout any RandomSource) -> DeviceAddress {
        guard !wishes.showsIdentity else {
            // The one from before must not come back behind it: whoever has heard both would know whose it was.
            privateAddress.forget()
            return wishes.identity
        }
        return privateAddress.address(at: now, random: &random)
    }

    /// The controller resolves those who are to be connected: also while they are, since the list is changed with nobody on
    /// the air, and links come and go. But for those who are contested: the host tells their addresses apart.
    private mutating func wantResolved() {
        let needed = wishes.connections.compactMap { isTold($0.address) ? nil : $0.resolving }
        let valid = wishes.resolvable.filter { !isTold($0.identity.address) }
        resolvingList.want(needed, isValid: valid.contains)
    }

    private var unconnected: [DeviceAddress] {
        var found: Set<DeviceAddress> = []
        return wishes.connections.filter { !isConnected($0) }.map(\.address).filter { found.insert($0).inserted }
    }

    /// A stranger's link that is on its way out does not keep its peer waiting, who is at another address.
    private func isConnected(_ connection: Wishes.Connection) -> Bool {
        switch connection.link {
        case .none: false
        case .ending: !contestedPeers.contains(connection.address)
        case .standing: true
        }
    }

    /// What apps listen for, and whom the initiator must hear of: then nobody's second advertisement may be kept back, and
    /// without an app nothing is asked of the advertisers.
    private func wantedScan(now: Instant) -> Scanner.Parameters? {
        let isForInitiator = initiator.needsScan && !contestedPeers.isPaused(now)
        guard !wishes.scans.isEmpty || isForInitiator else { return nil }
        return Scanner.Parameters(
            reportsDuplicates: isForInitiator || wishes.scans.contains { $0.allowDuplicates },
            isActive: wishes.scans.contains { !$0.isPassive }, generation: scanGeneration)
    }

    /// The machines go their ways side by side, each one command at a time, since its next one builds on what became of
    /// the last; the command queue sends as many at once as the controller takes.
    private mutating func sendCommands(into outputs: inout [Output]) {
        let alreadyThere = outputs.count
        let isQuiet = scanner.isAtRest && initiator.isAtRest
        let isUnused = isQuiet && (commands.family == .extended || advertisingSets.isAtRest)
        if let address = ownAddress.next(isUnused: isUnused) {
            outputs.append(.command(HCILESetRandomAddress(address: address.bits), .ownAddress))
        }
        if let action = resolvingList.next(isUnused: isQuiet && advertisingSets.isAtRest) {
            outputs.append(.command(commands.command(for: action), .resolvingList))
        }
        while let (set, action) = advertisingSets.next() {
            if let command = commands.command(for: action, of: set) {
                outputs.append(.command(command, .advertiser(set)))
            } else {
                advertisingSets.completed(set, .success)
            }
        }
        if let action = scanner.next() { outputs.append(.command(commands.command(for: action), .scanner)) }
        if let action = initiator.next() { outputs.append(.command(commands.command(for: action), .initiator)) }
        unansweredCount += outputs.count - alreadyThere
    }
}
