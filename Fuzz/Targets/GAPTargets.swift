import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import HCI
import SecurityManager

/// GAP's machines before a controller that refuses what the specification lets it refuse, and whatever else it likes:
/// none of them asks for what is not allowed, and left alone each gets what is wanted.
@Sendable func fuzzGAPMachines(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    let (sets, capacities) = (input.octet(), input.octet())
    var world = GAPWorld(
        sets: Int(sets & 3) + 1, acceptListCapacity: Int(capacities & 3) + 1,
        resolvingListCapacity: Int(capacities >> 2 & 3))
    while let event = input.nextEvent() { world.happen(event, &input) }
    world.finish()
}

/// What a controller knows of one advertising set.
private struct ModelSet {
    var exists = false
    var isEnabled = false
    var mode = ConnectableMode.connectable
}

private struct GAPWorld {
    private static let roundsMaximum = 400

    private var sets: AdvertisingSets<UInt8>
    private var scanner = Scanner()
    private var initiator: Initiator
    private var resolvingList: ResolvingList
    private var now = Instant(nanoseconds: 0)

    private let setCount: Int
    private let acceptListCapacity: Int
    private let resolvingListCapacity: Int
    private var modelSets: [UInt8: ModelSet] = [:]
    private var setCommands: [UInt8: Advertiser.Action] = [:]
    /// How each wish may be answered, the first wish first.
    private var wishes: [ConnectableMode] = []
    private var hasRefusedSet = false
    private var isScanning = false
    private var scanCommand: Scanner.Action?
    private var acceptList: Set<DeviceAddress> = []
    private var isConnecting = false
    private var isCancelled = false
    private var connectCommand: Initiator.Action?
    /// Who is in the list, and with which key; and whether that one is in device privacy mode.
    private var resolvable: [IdentityAddress: (irk: Secret, isDevicePrivacy: Bool)] = [:]
    private var isResolving = false
    private var resolvingCommand: ResolvingList.Action?
    private var resolvingWishes: [ResolvingList.Entry] = []
    private var hasRefusedEntry = false

    init(sets count: Int, acceptListCapacity: Int, resolvingListCapacity: Int) {
        setCount = count
        self.acceptListCapacity = acceptListCapacity
        self.resolvingListCapacity = resolvingListCapacity
        sets = AdvertisingSets(count: count)
        initiator = Initiator(acceptListCapacity: acceptListCapacity)
        resolvingList = ResolvingList(capacity: resolvingListCapacity)
    }

    // MARK: What happens

    mutating func happen(_ event: UInt8, _ input: inout FuzzInput) {
        switch event & 15 {
        case 0, 1: wish(input.octet(), input.octet(), dataOctets: Int(input.octet()) * 4)
        case 2:
            let choice = input.octet()
            scanner.wanted =
                choice & 1 == 0
                ? nil
                : Scanner.Parameters(
                    reportsDuplicates: choice & 2 != 0, isActive: choice & 4 != 0, generation: Int(choice >> 3))
        case 3:
            initiator.want(
                input.chunk().prefix(12).reduce(into: []) { list, octet in
                    let peer = Self.peer(octet)
                    if !list.contains(peer) { list.append(peer) }
                })
        case 4: if event & 0x10 == 0 { sets.isHeld = input.bool() } else { sets.isFull = input.bool() }
        case 5: scanner.isHeld = input.bool()
        case 6: initiator.isHeld = input.bool()
        case 7 where event & 0x80 == 0: sets.ownAddress = Self.peer(input.octet())
        case 7: wishResolved(input.chunk(), keeps: event & 0x40 != 0)
        case 8: answer(input.octet(), HCIErrorCode(rawValue: input.octet()))
        case 9, 10: answer(event >> 4, .success)
        case 11: connectionMade(event >> 4)
        case 12:
            sets.retry()
            scanner.retry()
            initiator.retry()
        case 13:
            let peer = Self.peer(input.octet())
            _ = initiator.heard(peer, at: input.bool() ? peer : Self.peer(input.octet()), now: now)
        case 14:
            now = now.advanced(byMilliseconds: input.milliseconds())
            initiator.timerFired(now: now)
            if event & 0x80 != 0 { initiator.rotate() }
        default: reset()
        }
        ask()
    }

    private static func peer(_ octet: UInt8) -> DeviceAddress {
        DeviceAddress(kind: .random, bits: 0xC0DE_0000_0000 | UInt64(octet & 15))
    }

    private mutating func wish(_ owners: UInt8, _ kinds: UInt8, dataOctets: Int) {
        var made: [AdvertisingSets<UInt8>.Wish] = []
        wishes = []
        for owner in UInt8(0)..<6 where owners & 1 << owner != 0 {
            let isExtended = kinds & 1 << owner != 0
            let mode = ConnectableMode(rawValue: (kinds >> 6 &+ owner) & 3) ?? .connectable
            let data = [UInt8](repeating: owner, count: isExtended ? dataOctets : min(dataOctets, 31))
            made.append(
                .init(
                    owner: owner,
                    payload: .init(
                        pdus: isExtended ? .extended : .legacy, mode: mode, data: data,
                        scanResponse: isExtended || !mode.isScannable ? [] : data)))
            wishes.append(mode)
        }
        sets.want(made)
    }

    private mutating func wishResolved(_ peers: [UInt8], keeps: Bool) {
        resolvingWishes = []
        for octet in peers.prefix(6) {
            guard let identity = IdentityAddress(Self.peer(octet)) else { continue }
            let entry = ResolvingList.Entry(
                identity: identity, irk: Secret([UInt8](repeating: 1 + octet >> 4 & 1, count: 16)))
            if !resolvingWishes.contains(where: { $0.identity == identity }) { resolvingWishes.append(entry) }
        }
        resolvingList.want(resolvingWishes) { _ in keeps }
    }

    /// As the host does it: whoever is on the air leaves it while the list is to be changed.
    private mutating func holdForResolvingList() {
        guard resolvingList.mustRest else { return }
        (sets.isHeld, scanner.isHeld, initiator.isHeld) = (true, true, true)
    }

    private mutating func connectionMade(_ choice: UInt8) {
        let handles = modelSets.keys.filter { modelSets[$0]?.isEnabled == true && modelSets[$0]?.mode == .connectable }
            .sorted()
        if choice & 1 == 0, isConnecting || isCancelled {
            isConnecting = false
            isCancelled = false
            let outcomes: [HCIErrorCode] = [
                .success, .connectionAlreadyExists, .connectionFailedToBeEstablished, .unknownConnectionIdentifier,
            ]
            initiator.connectionComplete(outcomes[Int(choice >> 1 & 3)])
        } else if let handle = handles.first, setCommands[handle] == nil {
            modelSets[handle]?.isEnabled = false
            _ = sets.stopped(LEAdvertisingHandle(rawValue: handle))
        }
    }

    private mutating func reset() {
        sets.reset(count: setCount)
        scanner.reset()
        initiator.reset(acceptListCapacity: acceptListCapacity)
        self = {
            var fresh = GAPWorld(
                sets: setCount, acceptListCapacity: acceptListCapacity, resolvingListCapacity: resolvingListCapacity)
            (fresh.sets, fresh.scanner, fresh.initiator) = (sets, scanner, initiator)
            fresh.now = now
            return fresh
        }()
    }

    // MARK: The controller

    /// Takes every command that there is, and checks that it may be given now.
    private mutating func ask() {
        holdForResolvingList()
        while let (handle, action) = sets.next() {
            require(setCommands[handle.rawValue] == nil, "two commands of one set at once")
            check(action, modelSets[handle.rawValue] ?? ModelSet())
            setCommands[handle.rawValue] = action
        }
        if let action = scanner.next() {
            require(scanCommand == nil, "two scan commands at once")
            if case .setParameters = action { require(!isScanning, "a running scan gets new parameters") }
            require(action != .disable || isScanning, "a scan that does not run is ended")
            scanCommand = action
        }
        if let action = initiator.next() {
            require(connectCommand == nil, "two connection commands at once")
            check(action)
            connectCommand = action
        }
        if let action = resolvingList.next(isUnused: scanner.isAtRest && initiator.isAtRest && sets.isAtRest) {
            require(resolvingCommand == nil, "two commands of the resolving list at once")
            check(action)
            resolvingCommand = action
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.8.38, 7.8.39, 7.8.44 and 7.8.77: not while anything is on the air.
    private func check(_ action: ResolvingList.Action) {
        let isOnAir = isScanning || isConnecting || isCancelled || modelSets.values.contains(where: \.isEnabled)
        require(!isOnAir, "the resolving list changes under those who are on the air")
        switch action {
        case .add(let entry):
            require(resolvable.count < resolvingListCapacity, "the resolving list has no room")
            require(resolvable[entry.identity] == nil, "somebody is resolved twice")
        case .setDevicePrivacyMode(let identity), .remove(let identity):
            require(resolvable[identity] != nil, "somebody is not in the resolving list")
        case .setResolution(let enable): require(isResolving != enable, "resolution is as it was")
        }
    }

    private func check(_ action: Advertiser.Action, _ set: ModelSet) {
        switch action {
        case .setParameters: require(!set.isEnabled && !set.exists, "parameters of a set change")
        case .setAddress: require(set.exists && !set.isEnabled, "the address of a set on the air changes")
        case .setData(let piece):
            require(set.exists, "data for no set")
            require(!set.isEnabled || piece.operation == .complete, "pieces of data for a set on the air")
        case .setScanResponse: require(set.exists && set.mode.isScannable, "data for no set")
        case .enable: require(set.exists && !set.isEnabled, "a set is put on the air twice")
        case .disable: require(set.isEnabled, "a set that is off the air is taken off it")
        case .remove: require(set.exists && !set.isEnabled, "a set on the air is removed")
        }
    }

    private func check(_ action: Initiator.Action) {
        switch action {
        case .addToAcceptList(let address):
            require(!isConnecting, "the list changes while it is used")
            require(acceptList.count < acceptListCapacity && !acceptList.contains(address), "the list has no room")
        case .removeFromAcceptList(let address):
            require(!isConnecting && acceptList.contains(address), "nobody is removed from the list")
        case .connect, .connectBriefly: require(!isConnecting && !isCancelled, "two attempts at once")
        case .connectByAcceptList:
            require(!isConnecting && !isCancelled, "two attempts at once")
            require(!acceptList.isEmpty, "an attempt for nobody")
        case .cancel: break
        }
    }

    private mutating func answer(_ choice: UInt8, _ status: HCIErrorCode) {
        switch choice & 3 {
        case 0 where choice & 4 != 0: answerResolving(status)
        case 0: answerScan(status)
        case 1: answerConnection(status)
        default:
            let waiting = setCommands.keys.sorted()
            guard !waiting.isEmpty else { return }
            answerSet(waiting[Int(choice >> 2) % waiting.count], status)
        }
    }

    private mutating func answerSet(_ handle: UInt8, _ status: HCIErrorCode) {
        guard let action = setCommands.removeValue(forKey: handle) else { return }
        var set = modelSets[handle] ?? ModelSet()
        if status == .success {
            switch action {
            case .setParameters(_, let mode): (set.exists, set.mode) = (true, mode)
            case .enable: set.isEnabled = true
            case .disable: set.isEnabled = false
            case .remove: set = ModelSet()
            case .setAddress, .setData, .setScanResponse: break
            }
        }
        if status == .memoryCapacityExceeded { hasRefusedSet = true }
        modelSets[handle] = set
        sets.completed(LEAdvertisingHandle(rawValue: handle), status)
    }

    private mutating func answerScan(_ status: HCIErrorCode) {
        guard let action = scanCommand else { return }
        scanCommand = nil
        if status == .success {
            switch action {
            case .enable: isScanning = true
            case .disable: isScanning = false
            case .setParameters: break
            }
        }
        scanner.completed(status)
    }

    private mutating func answerResolving(_ status: HCIErrorCode) {
        guard let action = resolvingCommand else { return }
        resolvingCommand = nil
        if status == .success {
            switch action {
            case .add(let entry): resolvable[entry.identity] = (entry.irk, false)
            case .setDevicePrivacyMode(let identity): resolvable[identity]?.isDevicePrivacy = true
            case .remove(let identity): resolvable[identity] = nil
            case .setResolution(let enable): isResolving = enable
            }
        } else {
            hasRefusedEntry = true
        }
        resolvingList.completed(status)
    }

    private mutating func answerConnection(_ status: HCIErrorCode) {
        guard let action = connectCommand else { return }
        connectCommand = nil
        var status = status
        switch action {
        case .addToAcceptList(let address): if status == .success { acceptList.insert(address) }
        case .removeFromAcceptList(let address): if status == .success { acceptList.remove(address) }
        case .connect, .connectBriefly, .connectByAcceptList: isConnecting = status == .success
        case .cancel:
            // Not a matter of liking: what stands is cancelled, what does not is refused.
            status = isConnecting ? .success : .commandDisallowed
            isCancelled = isConnecting
            isConnecting = false
        }
        initiator.completed(status, now: now)
    }

    /// Left alone with a controller that does as it is told, everything is as it is wanted.
    mutating func finish() {
        if let deadline = initiator.deadline {
            now = max(now, deadline)
            initiator.timerFired(now: now)
        }
        sets.retry()
        scanner.retry()
        initiator.retry()
        resolvingList.want(resolvingWishes) { _ in false }
        ask()
        var rounds = 0
        while !setCommands.isEmpty || scanCommand != nil || connectCommand != nil || isCancelled
            || resolvingCommand != nil
        {
            rounds += 1
            require(rounds < Self.roundsMaximum, "GAP never comes to rest")
            for handle in setCommands.keys.sorted() { answerSet(handle, .success) }
            answerScan(.success)
            answerConnection(.success)
            answerResolving(.success)
            if isCancelled {
                isCancelled = false
                initiator.connectionComplete(.unknownConnectionIdentifier)
            }
            ask()
        }
        require(isScanning == (scanner.wanted != nil && !scanner.isHeld), "a scan is not as it is wanted")
        require(isConnecting == (!initiator.wanted.isEmpty && !initiator.isHeld), "no attempt, or one too many")
        require(!resolvingList.mustRest, "everybody rests for ever")
        if isResolving {
            let found = Set(resolvable.filter(\.value.isDevicePrivacy).keys.map(\.address))
            require(resolvingList.resolved == found, "somebody is resolved, or not, without the host's knowledge")
        } else {
            require(resolvingList.resolved.isEmpty, "nobody is resolved")
        }
        if !hasRefusedEntry {
            let wanted = resolvingWishes.prefix(resolvingListCapacity)
            require(
                resolvable.mapValues(\.irk) == Dictionary(uniqueKeysWithValues: wanted.map { ($0.identity, $0.irk) }),
                "the resolving list is not as it is wanted")
            require(isResolving == !wanted.isEmpty, "resolution is not as it is wanted")
        }
        guard !hasRefusedSet else { return }
        let onAir = modelSets.values.count { $0.isEnabled }
        let wanted = wishes.prefix(setCount).count { !sets.isHeld && (!sets.isFull || $0 != .connectable) }
        require(onAir == wanted, "sets are not on the air as they are wanted")
    }
}

/// The pieces of strangers' long advertisements: what is made of them is bounded, however they come.
@Sendable func fuzzAdvertisementAssembler(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var assembler = AdvertisementAssembler()
    while !input.isAtEnd {
        guard case .le(.extendedAdvertisingReport(let event))? = try? HCIEvent(exactly: input.chunk()) else { continue }
        for report in event.reports {
            guard let heard = assembler.receive(report) else { continue }
            require(
                heard.data.count <= AdvertisementAssembler.advertisementMaximumOctets, "an advertisement has no bound")
        }
    }
}

/// The answers to the commands of the bring-up, one after the other: it ends, and an adapter that is up has buffers.
@Sendable func fuzzBringUp(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var bringUp = BringUp()
    for _ in 0...BringUp.Step.allCases.count {
        let status = HCIErrorCode(rawValue: input.octet())
        switch bringUp.completed(status, input.chunk()) {
        case .next(let step): require(step == bringUp.step, "it asks for one thing and waits for another")
        case .ready(let facts):
            require(facts.aclDataPacketLength > 0 && facts.aclDataPacketCount > 0, "an adapter without buffers is up")
            return
        case .unsupported(let step, _): return require(step == bringUp.step, "another step was refused")
        }
    }
    require(false, "a bring-up has no end")
}
