/// The place where simulated controllers meet, as a pure value.
///
/// In: octets of hosts, faults, time. Out: octets for hosts. Everything that happens by itself is on the agenda,
/// ordered by instant, controller and sequence, so that the same inputs give the same outputs. A driver hands in the
/// time: `advance(to:)` before each input, and at `nextEventInstant`.
package struct Air: Sendable {
    package internal(set) var now: UInt64
    let pacing: AirConfiguration.Pacing
    var random: RandomSource
    var terrain = Terrain()
    var agenda = Agenda()
    /// By ordinal.
    var controllers: [Controller] = []
    var links: [Link] = []
    /// Sides of links whose hosts have completed packets to be told of.
    var credited: [(link: LinkID, role: Role)] = []
    private var lastOrdinal = 0
    private var lastNumber: UInt64 = 0

    package init(configuration: AirConfiguration) {
        now = configuration.startNanoseconds
        pacing = configuration.pacing
        random = RandomSource(seed: configuration.seed)
    }

    // MARK: Time

    /// When something next happens by itself.
    package var nextEventInstant: UInt64? { agenda.first?.instant }

    /// Lets everything happen that is due by `instant`.
    mutating func advance(to instant: UInt64) {
        while let entry = agenda.first, entry.instant <= instant {
            agenda.removeFirst()
            now = max(now, entry.instant)
            happen(entry)
            settle()
        }
        now = max(now, instant)
    }

    /// Tells hosts of completed packets and drops what is no longer due. Every input ends with it.
    mutating func settle() {
        if !credited.isEmpty { reportCompletedPackets() }
        while let entry = agenda.first, !isDue(entry) { agenda.removeFirst() }
    }

    private mutating func happen(_ entry: Agenda.Entry) {
        guard isDue(entry) else { return }
        switch entry.event {
        case .advertising(let controller, let epoch): advertisingEvent(controller, epoch: epoch)
        case .scanTimeout(let controller, _): scanTimeout(controller)
        case .connection(let link): connectionEvent(link)
        case .silence(let link, let role, _): supervisionTimeout(link, role)
        case .connectionUpdate(let link): applyConnectionUpdate(link)
        case .phyUpdate(let link): applyPHYUpdate(link)
        case .procedureTimeout(let link, _): procedureTimeout(link)
        }
    }

    /// Whether an entry still means anything.
    private func isDue(_ entry: Agenda.Entry) -> Bool {
        switch entry.event {
        case .advertising(let controller, let epoch):
            return index(of: controller).map { controllers[$0].host.advertiser(epoch: epoch) != nil } ?? false
        case .scanTimeout(let controller, let epoch):
            return index(of: controller).map { controllers[$0].host.scanning.run?.epoch == epoch } ?? false
        case .connection(let link):
            return slot(of: link).map { links[$0].scheduledEvent == entry.instant } ?? false
        case .silence(let link, let role, let epoch):
            return slot(of: link).map { links[$0][role].isAlive && links[$0][role].silence?.epoch == epoch } ?? false
        case .connectionUpdate(let link):
            return slot(of: link).map { links[$0].pendingUpdate != nil } ?? false
        case .phyUpdate(let link):
            return slot(of: link).map { links[$0].phyProcedure?.agreed != nil } ?? false
        case .procedureTimeout(let link, let procedure):
            return slot(of: link).map {
                links[$0].procedure == procedure && links[$0].awaitsEncryption
                    || links[$0].parameterRequest?.procedure == procedure
            } ?? false
        }
    }

    // MARK: Controllers

    mutating func addController(_ configuration: ControllerConfiguration) -> ControllerID {
        lastOrdinal += 1
        let id = ControllerID(ordinal: lastOrdinal)
        controllers.append(Controller(id: id, configuration: configuration))
        return id
    }

    /// Takes a controller away; its peers hear nothing more of it.
    mutating func removeController(_ controller: ControllerID) {
        guard let index = index(of: controller) else { return }
        forgetState(of: index)
        controllers.remove(at: index)
        terrain.forget(.ordinal(controller))
        settle()
    }

    /// The controller tells its host that it has failed; what that does about it is up to it.
    mutating func failHardware(of controller: ControllerID, code: UInt8) {
        guard let index = index(of: controller), controllers[index].isPowered else { return }
        controllers[index].hardwareError(code, at: now)
    }

    /// These octets reach the host between two packets, as noise on a serial line would.
    mutating func injectOctets(_ octets: [UInt8], to controller: ControllerID) {
        guard let index = index(of: controller) else { return }
        controllers[index].outbox.garbage(octets, at: now)
    }

    mutating func setPower(_ controller: ControllerID, on: Bool) {
        guard let index = index(of: controller), controllers[index].isPowered != on else { return }
        controllers[index].isPowered = on
        if on {
            controllers[index].hardwareError(.poweredUp, at: now)
        } else {
            controllers[index].outbox.clear()
            forgetState(of: index)
        }
        settle()
    }

    /// What HCI_Reset and the loss of power do: connections end without a word to either host.
    mutating func forgetState(of index: Int) {
        for connection in controllers[index].connections {
            if let slot = slot(of: connection.link) { drop(slot, connection.role, reason: nil) }
        }
        controllers[index].host = HostSettings()
        controllers[index].buffersInUse = 0
    }

    func index(of controller: ControllerID) -> Int? {
        var low = 0
        var high = controllers.count
        while low < high {
            let middle = (low + high) / 2
            if controllers[middle].id < controller { low = middle + 1 } else { high = middle }
        }
        return low < controllers.count && controllers[low].id == controller ? low : nil
    }

    func slot(of link: LinkID) -> Int? {
        link.slot < links.count && links[link.slot].number == link.number ? link.slot : nil
    }

    /// A number that was never used: for links, and for runs, silences and procedures to be told from older ones.
    mutating func uniqueNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    // MARK: Terrain

    mutating func setDistance(_ a: RadioName, _ b: RadioName, metres: Double) {
        terrain.setDistance(a, b, metres: metres)
        refreshPaths()
    }

    mutating func setLoss(_ a: RadioName, _ b: RadioName, percent: Double) {
        terrain.setLoss(a, b, percent: percent)
        refreshPaths()
    }

    mutating func setCut(_ a: RadioName, _ b: RadioName, _ isCut: Bool) {
        terrain.setCut(a, b, isCut)
        refreshPaths()
    }

    func path(_ a: Int, _ b: Int) -> Path { terrain.path(controllers[a].names, controllers[b].names) }

    /// Links follow what lies between their ends.
    func currentPath(of link: Link) -> Path? {
        guard let central = index(of: link.central.controller), let peripheral = index(of: link.peripheral.controller)
        else { return nil }
        return path(central, peripheral)
    }

    mutating func refreshPaths() {
        for slot in links.indices where links[slot].number != 0 {
            guard let path = currentPath(of: links[slot]), path != links[slot].path else { continue }
            let wasReachable = links[slot].path.isReachable
            links[slot].path = path
            guard path.isReachable != wasReachable else { continue }
            for role in [Role.central, .peripheral] {
                if path.isReachable { endSilence(slot, role) } else { beginSilence(slot, role) }
            }
            wake(slot)
        }
        settle()
    }

    // MARK: Hosts

    /// One H4 packet of a host.
    ///
    /// Core 5.4, Vol 4, Part A, 2 (UART Transport Layer)
    mutating func receive(_ packet: Span<UInt8>, from controller: ControllerID) {
        guard let index = index(of: controller), controllers[index].isPowered else { return }
        guard packet.count > 0, let type = PacketType(rawValue: packet[0]) else {
            return controllers[index].hardwareError(.malformedPacket, at: now)
        }
        let body = packet.extracting(1..<packet.count)
        switch type {
        case .command where body.count >= 3 && body.count == 3 + Int(body[2]):
            execute(
                opcode: UInt16(body[0]) | UInt16(body[1]) << 8, CommandParameters(body.extracting(3..<body.count)),
                of: index)
        case .aclData where body.count >= 4 && body.count == 4 + Int(body[2]) + Int(body[3]) << 8:
            receiveData(body, from: index)
        case .command, .aclData, .synchronousData, .event, .isoData:
            controllers[index].hardwareError(.malformedPacket, at: now)
        }
    }

    /// Puts an end to an octet stream in which no packet can be found any more.
    mutating func reportMalformedStream(of controller: ControllerID) {
        guard let index = index(of: controller), controllers[index].isPowered else { return }
        controllers[index].hardwareError(.malformedPacket, at: now)
    }

    mutating func takePackets(of controller: ControllerID) -> [(instant: UInt64, octets: [UInt8])] {
        guard let index = index(of: controller) else { return [] }
        var packets: [(instant: UInt64, octets: [UInt8])] = []
        controllers[index].outbox.forEachPacket { packets.append(($0, Array($1))) }
        discardPackets(of: index)
        return packets
    }

    /// The packets of a controller have been taken.
    mutating func discardPackets(of index: Int) {
        let wasFull = controllers[index].outbox.isFull
        controllers[index].outbox.clear()
        if wasFull { wakeLinks(of: index) }
    }
}
