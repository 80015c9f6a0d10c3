import BluetoothCore
import BluetoothHost
import LockCentral
import LockPeripheral
import LockProtocol
import VirtualRadio

/// Locks and their keys on one air, and everything that happens to them.
package final class House {
    package static let settings = LockSettings(relockSeconds: 3, lockAndGoSeconds: 4)
    /// How long the lock leaves anything open, and the bolt and the radio take besides.
    private static let settlingMilliseconds: UInt64 = 9_000
    /// No fault lasts longer.
    private static let longestFaultMilliseconds: UInt64 = 40_000
    /// What a key waits for at the most when nothing is wrong.
    private static let calmMilliseconds: UInt64 = 30_000
    /// The same where a controller may still owe the end of a link, which its host gives up by then: LinkLifecycle.
    private static let owedMilliseconds = LinkLifecycle.disconnectTimeoutMilliseconds + calmMilliseconds

    /// Its disks go with it.
    private let scratch: ScratchSpace
    package let world: World
    package let ledger = Ledger()
    package let doors: [Door]
    /// The one that the schedule is about.
    package private(set) var door: Door
    package let pockets: [Pocket]
    let adversary: Adversary
    let agenda: Agenda
    let tenants: [Tenant]
    /// Where more lives in it than keys; nil: that is all that there is.
    private(set) var household: Household?
    package internal(set) var tally = Tally()
    var complaints: [String] = []
    /// Where a process is to be killed, and has not come to.
    var armed: [Machine: KillPoint] = [:]
    var restoreFaults: [Machine: KillPoint] = [:]
    var downMilliseconds: UInt64 = 0
    var endsOfSchedule = 0
    /// A key that is killed may have told an end to nobody.
    var keyHasEnded = false
    /// Of the schedule that is played, where somebody wants to see it.
    private(set) var chronicle: Chronicle?

    /// Makes the machines, and enrols each key at each door.
    ///
    /// - Throws: ``SimulationFailure`` when it cannot be furnished.
    /// - Parameters:
    ///   - isHousehold: whether there is an operator, and people with software of their own. It has one door then.
    ///   - fit: of its doors, where strikes hold them.
    package init(
        seed: UInt64, doors count: Int = 1, keys: Int, isHousehold: Bool = false, fit: DoorFit? = nil,
        scratch: ScratchSpace
    ) throws {
        self.scratch = scratch
        tenants = Tenants.of(seed, keys: keys)
        let zone = isHousehold ? Zone.all[Int(seed / 2 % UInt64(Zone.all.count))] : Zone.all[0]
        world = World(SharedAir(AirConfiguration(pacing: .paced, seed: seed), recorder: nil))
        let (world, ledger) = (world, ledger)
        let doors = try (0..<count).map { number in
            try Door(
                world, number, disk: SimulatedDisk(try scratch.makeDirectory("door-\(number)"), .lock),
                zone: zone, seed: Self.seed(of: number, in: seed), fit: fit)
        }
        guard let first = doors.first else { throw SimulationFailure.notFurnished("it has no door") }
        (self.doors, door) = (doors, first)
        pockets = try (0..<keys).map { number in
            Pocket(
                world, number, disk: SimulatedDisk(try scratch.makeDirectory("pocket-\(number)"), .key), ledger: ledger,
                seed: Self.seed(of: count + number, in: seed))
        }
        let agenda = Agenda(world)
        self.agenda = agenda
        let adversary = Adversary(world, doors, pockets, agenda)
        self.adversary = adversary
        world.onStandstill = { [unowned self] in complaints.append("\($0) turns at one instant") }
        for (number, pocket) in pockets.enumerated() {
            watch(pocket)
            pocket.node.onSent = { [unowned world, unowned adversary] packet in
                adversary.heard.heardKey(number, packet)
                guard let (command, isSigned) = Self.command(in: packet) else { return }
                ledger.sent(number, command, isSigned: isSigned, at: world.now)
            }
        }
        for door in doors {
            let number = door.number
            // Whoever is heard is in the world, and would keep it.
            door.node.onReceived = { [unowned world] packet in
                guard let (command, _) = Self.command(in: packet) else { return }
                ledger.arrived(command.challenge, at: number, world.now)
            }
            door.node.onSent = { [unowned self, unowned world, unowned adversary, unowned door] in
                adversary.heard.heardLock($0)
                if let began = door.began, RawController.startsAdvertising($0) {
                    tally.restored(within: world.now.milliseconds(since: began))
                    door.began = nil
                }
            }
            watch(door)
        }
        try furnish()
        if isHousehold { household = Household(world, first, pockets, tenants, ledger, agenda) }
    }

    /// The seed of a machine's first process; each next one takes the next. Two machines with the same chance would make the
    /// same keys, and what one of them signed would pass for the other's.
    static func seed(of machine: Int, in seed: UInt64) -> UInt64 { seed &+ seedsApart &* UInt64(machine) }
    /// More than a machine has in all the schedules of a house.
    static let seedsApart: UInt64 = 1_000_000

    private func furnish() throws {
        for resident in doors as [any Resident] + pockets { try resident.launch() }
        world.run(forMilliseconds: 500)
        for door in doors {
            for number in pockets.indices {
                let enrolment = beginEnrolment(of: number, at: door)
                guard world.run(forMilliseconds: 60_000, until: { enrolment.isAnnounced }) else {
                    throw SimulationFailure.notFurnished("\(pockets[number].name) cannot be enrolled at \(door.name)")
                }
                world.run(forMilliseconds: 1_000)
            }
            door.idle()
        }
        guard complaints.isEmpty else { throw SimulationFailure.notFurnished(complaints.joined(separator: "; ")) }
    }

    private var unlatching: Set<Int> {
        Set(pockets.indices.filter { RightsTable.abilities(of: tenants[$0].role).contains(.unlatch) })
    }

    // MARK: One schedule

    /// Plays it, writes down what happens, and says that.
    func chronicle(of schedule: Schedule) -> Chronicle? {
        let begin = world.now
        chronicle = Chronicle(keys: pockets.count, begin: begin)
        for fault in schedule.faults {
            note(.faults, .wrong, "\(fault)", at: begin.advanced(byMilliseconds: fault.afterMilliseconds ?? 0))
        }
        ledger.onNews = { [unowned self] in note(.commands, $1, "key \($0): \($2)") }
        household?.terminal.onNews = { [unowned self] in note(.commands, .asked, "the operator: \($0)") }
        let broken = play(schedule)
        ledger.onNews = nil
        household?.terminal.onNews = { _ in }
        for door in doors {
            for (line, _) in door.metal.movements {
                note(
                    .bolt, line.movement == .lock ? .locked : .opened, "\(door.name): \(line.movement)", at: line.at)
            }
        }
        for promise in broken { note(.faults, .wrong, "broken: \(promise)") }
        chronicle?.milliseconds = world.now.milliseconds(since: begin)
        return chronicle.take()
    }

    func note(
        _ lane: Chronicle.Lane, _ mark: Chronicle.Mark, _ text: @autoclosure () -> String, at instant: Instant? = nil
    ) {
        if chronicle != nil { chronicle?.note(lane, mark, text(), at: instant ?? world.now) }
    }

    /// Plays it, lets everything that is owed be done, has the same key lock the door, and says what was broken.
    package func play(_ schedule: Schedule) -> [String] {
        complaints = []
        ledger.begin()
        door = doors[schedule.door]
        for door in doors {
            door.metal.begin()
            door.absences.forget()
            door.strike?.begin()
        }
        armed = [:]
        downMilliseconds = schedule.downMilliseconds
        endsOfSchedule = 0
        keyHasEnded = false
        watchAir()
        household?.begin(schedule)
        for fault in schedule.faults { arm(fault, pockets[schedule.key]) }
        for incident in schedule.incidents { arm(incident) }
        let begin = world.now
        let eventsBefore = events
        household?.prepare(schedule, downMilliseconds: downMilliseconds)
        agenda.run(milliseconds: schedule.leadMilliseconds)
        let bystander = beginBystander(of: schedule)
        let isOver = beginDeed(of: schedule)
        agenda.run(milliseconds: schedule.waitMilliseconds + Self.longestFaultMilliseconds) { [unowned self] in
            agenda.isEmpty && isOver() && household?.isOver ?? true && door.strike?.scene.isQuiet ?? true
                && bystander.map { !ledger.requests[$0].ends.isEmpty } ?? true
        }
        disarm(pockets[schedule.key])
        household?.stop()
        // A point that the schedule did not come to: then where it has come to.
        if endsOfSchedule == 0 { (schedule.killsKey ? pockets[schedule.key].node : door.node).kill() }
        agenda.run(milliseconds: Self.settlingMilliseconds + 2 * downMilliseconds)
        for door in doors { door.idle() }
        restoreOrder(for: schedule.key)
        let patience = schedule.faults.contains(where: \.losesPackets) ? Self.owedMilliseconds : Self.calmMilliseconds
        if door.strike != nil { expectEntry(within: patience) }
        expectObedience(of: pockets[schedule.key], within: patience)
        tally.events += events - eventsBefore
        tally.schedules += 1
        tally.virtualMilliseconds += world.now.milliseconds(since: begin)
        var broken = complaints
        for door in doors {
            var judge = Judge(
                door: door.number, requests: ledger.requests, keyHasEnded: keyHasEnded, metal: door.metal.movements,
                absences: door.absences.all, unlatching: unlatching, end: world.now, settings: Self.settings)
            judge.commands = ledger.commands
            // A process that ends leaves one unanswered.
            if schedule.leavesAnswers { judge.commandsMaximum = KeyMachine.attemptsMaximum + endsOfSchedule }
            if let household { judge.mayBeInPassage = { household.register.mode.during($0, $1).contains(.passage) } }
            broken += self.broken(at: door, schedule, &judge)
        }
        if let household { broken += household.broken(end: world.now) }
        if let bystander, schedule.sparesBystanders {
            let request = ledger.requests[bystander]
            if !request.ends.contains(.done), !request.outcomes.contains(.done) {
                broken.append(
                    "key \(request.key) did not open door \(request.door), where nothing was wrong: \(request.ends)")
            }
        }
        broken += ledger.strays.map { "\($0) ended, and nobody had asked for it" }
        broken += ledger.unasked.map { "a command for \($0) left a key that nobody had asked" }
        if let vandalism = schedule.vandalism { broken += self.broken(by: vandalism) }
        return broken
    }

    /// Whoever is near the door sees who is there.
    func watchAir() {
        for door in doors { adversary.heard.sawLock(door.number, door.node.host?.addressOnAir) }
        for (number, pocket) in pockets.enumerated() {
            adversary.heard.sawKey(number, pocket.node.host?.addressOnAir)
        }
    }

    /// What somebody does in it; says whether that is over.
    private func beginDeed(of schedule: Schedule) -> () -> Bool {
        // His own software has his key then.
        if household != nil, schedule.visit?.key == schedule.key { return { true } }
        guard !schedule.isEnrolment else {
            let enrolment = beginEnrolment(of: schedule.key, at: door)
            return { enrolment.isOver }
        }
        let place = ledger.requests.count
        pockets[schedule.key].ask(schedule.operation, of: door, waitMilliseconds: schedule.waitMilliseconds)
        return { [unowned self] in !(ledger.requests[place].ends.isEmpty) }
    }

    /// The place of his request in the ledger.
    private func beginBystander(of schedule: Schedule) -> Int? {
        guard schedule.hasBystander, let other = doors.first(where: { $0 !== door }),
            let key = pockets.indices.first(where: { $0 != schedule.key })
        else { return nil }
        pockets[key].ask(.unlock, of: other, waitMilliseconds: Self.calmMilliseconds)
        return ledger.requests.count - 1
    }

    /// Iterations and acts of every process so far.
    private var events: Int {
        (doors as [any Resident] + pockets).map(\.node).reduce(0) { $0 + $1.commitCount + $1.actCount }
    }

    private func restoreOrder(for key: Int) {
        guard let household else { return }
        let complaint = household.restore(key) { [unowned self] number in
            let enrolment = beginEnrolment(of: number, at: door)
            agenda.run(milliseconds: 40_000) { enrolment.isOver }
            // The lock's operator is told first.
            agenda.run(milliseconds: 5_000) { enrolment.isAnnounced }
            return enrolment.isAnnounced ? nil : enrolment.failure
        }
        if let complaint { complaints.append(complaint) }
        agenda.run(milliseconds: 1_000)
    }

    /// An owner who comes when nothing is wrong gets in.
    private func expectEntry(within milliseconds: UInt64) {
        if household?.register.mayBeLockedOut(0, at: world.now) ?? false {
            agenda.run(milliseconds: Household.lockoutMilliseconds)
        }
        let begin = world.now
        expectObedience(of: pockets[0], .unlock, within: milliseconds)
        // The bolt follows its coil.
        let isOpened = { [unowned self] in
            door.strike?.scene.record.free.all.contains { $0.meets(begin, world.now) } ?? true
        }
        agenda.run(milliseconds: 2 * DoorScene.travelMilliseconds, until: isOpened)
        if !isOpened() { complaints.append("the owner cannot come in, with nothing wrong") }
    }

    /// Whatever happened, the lock obeys its keys afterwards, and says so.
    private func expectObedience(
        of pocket: Pocket, _ operation: LockOperation = .lock, within milliseconds: UInt64
    ) {
        var answer = answer(of: pocket, operation, within: milliseconds)
        // The bolt was on its way back just then. Once more, it rests.
        if answer == .refused(.busy) {
            agenda.run(milliseconds: 1_000)
            answer = self.answer(of: pocket, operation, within: milliseconds)
        }
        guard let end = answer else {
            return complaints.append("the key neither took a command nor said what became of it, with nothing wrong")
        }
        if end != .done && end != .accepted { complaints.append("a command was \(end), with nothing wrong") }
        if let key = ledger.requests.last?.key { household?.register.granted(key, at: world.now) }
        agenda.run(milliseconds: 1_000) { [unowned self] in !(ledger.requests.last?.outcomes.isEmpty ?? true) }
        if end == .accepted, ledger.requests.last?.outcomes.first != .done {
            complaints.append("what became of a command that was accepted was not told, with nothing wrong")
        }
    }

    /// How a command of this key ends; nil where the key did not take it, or has not said.
    private func answer(of pocket: Pocket, _ operation: LockOperation, within milliseconds: UInt64) -> KeyVerdict? {
        let count = ledger.requests.count
        pocket.ask(operation, of: door, waitMilliseconds: milliseconds)
        agenda.run(milliseconds: milliseconds + 1_000) { [unowned self] in
            ledger.requests.count > count && !(ledger.requests.last?.ends.isEmpty ?? true)
        }
        return ledger.requests.count == count + 1 ? ledger.requests.last?.ends.first : nil
    }

    /// A command between a host and its controller: ATT Write Request, Write Command or Signed Write Command of eight octets.
    ///
    /// Core 5.4, Vol 3, Part F, 3.4.5 (Writing attributes)
    private static func command(in packet: [UInt8]) -> (LockCommand, isSigned: Bool)? {
        guard let pdu = RawController.attributePDU(packet), pdu.count > 3 else { return nil }
        let value: ArraySlice<UInt8>
        switch pdu[0] {
        case 0x12, 0x52: value = pdu[3...]
        case 0xD2: value = pdu[3...].dropLast(12)
        default: return nil
        }
        return (try? LockCommand(exactly: Array(value))).map { ($0, pdu[0] == 0xD2) }
    }
}
