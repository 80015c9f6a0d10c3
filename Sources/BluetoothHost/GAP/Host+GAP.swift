import BluetoothCore
import HCI
import SecurityManager

// MARK: Advertising, scanning and connecting, as the managers together want them

extension Host {
    /// Compares what is wanted with what the controller does, and sends what brings them closer.
    func reconcile() {
        guard state == .poweredOn else { return }
        endLimitedModes()
        ownAddress.wanted = addressForAir
        let pending = pendingConnections
        contestedPeers.expire(now: now)
        wantResolved(pending)
        let isUnresolved = resolvingList.mustRest
        let mustRest = ownAddress.mustRest || isUnresolved
        advertisingSets.want(advertisingWishes)
        advertisingSets.isHeld = isUnresolved || (mustRest && commands.family == .legacy)
        advertisingSets.isFull = isFull
        advertisingSets.ownAddress = commands.family == .extended ? ownAddress.wanted : nil
        initiator.isHeld = mustRest
        initiator.contested = contestedPeers.isEmpty ? [] : Set(pending.lazy.map(\.address).filter(isTold))
        initiator.want(isFull ? [] : unconnected(of: pending))
        initiator.privatePeers = privatePeers(among: initiator.wanted)
        initiator.resolvedPeers = resolvingList.resolved
        scanner.isHeld = mustRest
        scanner.wanted = wantedScan
        sendGAPCommands()
        if gapRetryAt == nil, gapFailure != nil || (initiator.needsScan && contestedPeers.isPaused(now)) {
            gapRetryAt = now.advanced(byMilliseconds: Self.gapRetryMilliseconds)
        }
    }

    /// The machines go their ways side by side, each one command at a time, since its next one builds on what became of
    /// the last; the command queue sends as many at once as the controller takes.
    private func sendGAPCommands() {
        let isQuiet = scanner.isAtRest && initiator.isAtRest
        let isUnused = isQuiet && (commands.family == .extended || advertisingSets.isAtRest)
        if let address = ownAddress.next(isUnused: isUnused) {
            submit(HCILESetRandomAddress(address: address.bits), for: .ownAddress)
        }
        if let action = resolvingList.next(isUnused: isQuiet && advertisingSets.isAtRest) {
            submit(commands.command(for: action), for: .resolvingList)
        }
        while let (set, action) = advertisingSets.next() {
            if let command = commands.command(for: action, of: set) {
                submit(command, for: .advertiser(set))
            } else {
                advertisingSets.completed(set, .success)
            }
        }
        if let action = scanner.next() { submit(commands.command(for: action), for: .scanner) }
        if let action = initiator.next() { submit(commands.command(for: action), for: .initiator) }
    }

    private var gapFailure: HCIErrorCode? {
        ownAddress.failure ?? advertisingSets.failure ?? scanner.failure ?? initiator.failure
    }

    /// What the controller refused is asked again after this long: a lock that no longer advertises, and a connection that
    /// waits for ever, are worth more than a quiet controller.
    static let gapRetryMilliseconds: UInt64 = 5_000

    func retryGAP() {
        gapRetryAt = nil
        // A controller that cannot scan while it connects hears nobody whom its accept list has no room for.
        if scanner.failure != nil || contestedPeers.isPaused(now) { initiator.rotate() }
        ownAddress.retry()
        advertisingSets.retry()
        scanner.retry()
        initiator.retry()
    }

    /// Each manager's advertisement as every scanner understands it, the manager that was first going first; behind them,
    /// where the controller has room, those that are longer than such a one in full.
    private var advertisingWishes: [AdvertisingSets<RestorationLedger.Owner>.Wish] {
        let records = ledger.owners(of: .peripheral).compactMap { owner in
            ledger.record(owner).advertising.map { (owner: owner, record: $0) }
        }
        let appearance = configuration.appearance
        let legacy = records.map { AdvertisingData.payload(for: $0.record, appearance: appearance) }
        let extended = records.map {
            AdvertisingData.extendedPayload(
                for: $0.record, appearance: appearance, room: controller.facts.advertisingDataOctets)
        }
        return (zip(records, legacy).map { .init(owner: $0.owner, payload: $1) })
            + zip(records, extended).compactMap { record, payload in
                payload.map { .init(owner: record.owner, payload: $0) }
            }
    }

    /// Answers those who asked to advertise, once for each time, when what they asked for is on the air or was refused.
    func announceAdvertising() {
        for (manager, times) in advertisingAwaited.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            guard let owner = managers[manager]?.owner, let advertiser = advertisingSets.advertiser(of: owner),
                advertiser.failure != nil || advertiser.isOnAir
            else { continue }
            let error = advertiser.failure.map(HostError.connectionFailed)
            advertisingAwaited[manager] = nil
            for _ in 0..<times { managers[manager]?.peripheral?.advertisingStarted(error: error) }
        }
    }

    /// What apps listen for, and whom the initiator must hear of: then nobody's second advertisement may be kept back, and
    /// without an app nothing is asked of the advertisers.
    var wantedScan: Scanner.Parameters? {
        let scans = ledger.owners(of: .central).compactMap { ledger.record($0).scan }
        let isForInitiator = initiator.needsScan && !contestedPeers.isPaused(now)
        guard !scans.isEmpty || isForInitiator else { return nil }
        return Scanner.Parameters(
            reportsDuplicates: isForInitiator || scans.contains { $0.allowDuplicates },
            isActive: scans.contains { !$0.isPassive }, generation: scanGeneration)
    }

    /// Whoever is to be connected, whether they are or not.
    private var pendingConnections: [(peer: PeerIdentifier, address: DeviceAddress)] {
        var found: Set<PeerIdentifier> = []
        return ledger.owners(of: .central).flatMap { ledger.record($0).pendingConnections }.compactMap { pending in
            guard let address = peers[pending.peer]?.address, found.insert(pending.peer).inserted else { return nil }
            return (pending.peer, address)
        }
    }

    private func unconnected(of pending: [(peer: PeerIdentifier, address: DeviceAddress)]) -> [DeviceAddress] {
        // A stranger's link that is on its way out does not keep its peer waiting, who is at another address.
        let connected = Set(links.values.lazy.filter { $0.isClient && !self.isContestedAndEnding($0) }.map(\.peer))
        var found: Set<DeviceAddress> = []
        return pending.filter { !connected.contains($0.peer) }.map(\.address).filter { found.insert($0).inserted }
    }

    /// The controller resolves those who are to be connected: also while they are, since the list is changed with nobody on
    /// the air, and links come and go. But for those who are contested: the host tells their addresses apart.
    private func wantResolved(_ pending: [(peer: PeerIdentifier, address: DeviceAddress)]) {
        resolvingList.want(
            pending.compactMap { isTold($0.address) ? nil : resolvingEntry(of: $0.address) }
        ) { !isTold($0.identity.address) && resolvingEntry(of: $0.identity.address) == $0 }
    }

    /// The command of a GAP machine was answered.
    func completedGAP(_ purpose: CommandPurpose, _ status: HCIErrorCode) {
        switch purpose {
        case .ownAddress: ownAddress.completed(status)
        case .resolvingList: resolvingList.completed(status)
        case .advertiser(let set):
            advertisingSets.completed(set, status)
            connectionRefused(status)
            announceAdvertising()
        case .scanner:
            scanner.completed(status)
            noteRefusedScan()
        case .initiator:
            initiator.completed(status)
            noteMissedAttempt()
            noteRefusedAttempt()
        case .bringUp, .link, .rejectLink, .ignored: break
        }
        reconcile()
    }

    /// A set of ours has ended, because somebody connected to it.
    ///
    /// Core 5.4, Vol 4, Part E, 7.7.65.18 (LE Advertising Set Terminated event)
    func advertisingSetTerminated(_ event: HCILEAdvertisingSetTerminated) {
        let address = advertisingSets.stopped(event.advertisingHandle)
        if event.status == .success, let address, let link = link(at: event.handle), link.role == .peripheral {
            connected(link, at: address)
        }
        reconcile()
    }
}
