import BluetoothCore
import LockCentral
import LockPeripheral
import LockProtocol
import VirtualRadio

/// A lock and its keys on one air, and everything that happens to them.
package final class House {
    package static let settings = LockSettings(relockSeconds: 3, lockAndGoSeconds: 4)
    /// How long the lock leaves anything open, and the bolt and the radio take besides.
    private static let settlingMilliseconds: UInt64 = 9_000
    /// What a key waits for at the most when nothing is wrong.
    private static let calmMilliseconds: UInt64 = 30_000

    package let world: World
    package let ledger = Ledger()
    package let door: Door
    package let pockets: [Pocket]
    package private(set) var tally = Tally()
    private var complaints: [String] = []
    /// When the lock had no process.
    private var absences: [(from: Instant, to: Instant?)] = []
    /// What happens by itself, at its time.
    private var agenda: [(at: Instant, act: () -> Void)] = []
    private var restoreFaults: [Schedule.Machine: Schedule.KillPoint] = [:]
    private var downMilliseconds: UInt64 = 0
    private var endsOfSchedule = 0
    /// A key that is killed may have told an end to nobody.
    private var keyHasEnded = false

    /// Makes the machines, and enrols the keys.
    ///
    /// - Throws: ``SimulationFailure`` when it cannot be furnished.
    package init(seed: UInt64, keys: Int, scratch: ScratchSpace) throws {
        world = World(SharedAir(AirConfiguration(pacing: .paced, seed: seed), recorder: nil))
        door = Door(
            world, disk: SimulatedDisk(try scratch.makeDirectory("door"), .lock), settings: Self.settings, seed: seed)
        let (world, ledger) = (world, ledger)
        pockets = try (0..<keys).map { number in
            Pocket(
                world, number, disk: SimulatedDisk(try scratch.makeDirectory("pocket-\(number)"), .key), ledger: ledger,
                seed: seed &+ UInt64(number) &+ 1)
        }
        world.onStandstill = { [unowned self] in complaints.append("\($0) turns at one instant") }
        for (number, pocket) in pockets.enumerated() {
            watch(pocket.node, pocket.disk, .key)
            pocket.node.onSent = { packet in
                if let challenge = Self.command(in: packet) { ledger.sent(number, challenge) }
            }
        }
        // Whoever is heard is in the world, and would keep it.
        door.node.onReceived = { [unowned world] packet in
            if let challenge = Self.command(in: packet) { ledger.arrived(challenge, at: world.now) }
        }
        watch(door.node, door.disk, .lock)
        try furnish()
    }

    private func furnish() throws {
        try door.launch()
        for pocket in pockets { try pocket.launch() }
        world.run(forMilliseconds: 500)
        for pocket in pockets {
            var code: SetupCode?
            var isEnrolled = false
            door.node.call { [unowned self] _ in
                try? door.lock?.openEnrolment(
                    EnrolmentRequest(credential: pocket.name, role: .owner, method: .outOfBand, seconds: 120)
                ) { if case .opened(let opened) = $0 { code = opened } }
            }
            world.run(forMilliseconds: 100) { code != nil }
            guard let code else { throw SimulationFailure.notFurnished("no window opens for \(pocket.name)") }
            pocket.enroll(code) { isEnrolled = true }
            guard world.run(forMilliseconds: 60_000, until: { isEnrolled }) else {
                throw SimulationFailure.notFurnished("\(pocket.name) cannot be enrolled")
            }
            world.run(forMilliseconds: 1_000)
        }
        door.idle()
        guard complaints.isEmpty else { throw SimulationFailure.notFurnished(complaints.joined(separator: "; ")) }
    }

    // MARK: One schedule

    /// Plays it, lets everything that is owed be done, has the same key lock the door, and says what was broken.
    package func play(_ schedule: Schedule) -> [String] {
        complaints = []
        ledger.begin()
        door.metal.begin()
        absences = []
        downMilliseconds = schedule.downMilliseconds
        endsOfSchedule = 0
        keyHasEnded = false
        for fault in schedule.faults { arm(fault, pockets[schedule.key]) }
        let begin = world.now
        pockets[schedule.key].ask(schedule.operation, waitMilliseconds: schedule.waitMilliseconds)
        run(milliseconds: schedule.waitMilliseconds + 1_000) { [unowned self] in
            agenda.isEmpty && !(ledger.requests.last?.ends.isEmpty ?? true)
        }
        disarm(pockets[schedule.key])
        // A point that the schedule did not come to: then where it has come to.
        if endsOfSchedule == 0 { (schedule.killsKey ? pockets[schedule.key].node : door.node).kill() }
        run(milliseconds: Self.settlingMilliseconds + 2 * downMilliseconds)
        door.idle()
        expectObedience(of: pockets[schedule.key])
        tally.schedules += 1
        tally.virtualMilliseconds += world.now.milliseconds(since: begin)
        let judge = Judge(
            requests: ledger.requests, keyHasEnded: keyHasEnded, metal: door.metal.movements, absences: absences,
            end: world.now,
            settings: Self.settings)
        return complaints + judge.broken + ledger.strays.map { "\($0) ended, and nobody had asked for it" }
            + ledger.unasked.map { "a command for \($0) left a key that nobody had asked" }
    }

    /// Whatever happened, the lock obeys its keys afterwards, and says so.
    private func expectObedience(of pocket: Pocket) {
        let count = ledger.requests.count
        pocket.ask(.lock, waitMilliseconds: Self.calmMilliseconds)
        run(milliseconds: Self.calmMilliseconds + 1_000) { [unowned self] in
            ledger.requests.count > count && !(ledger.requests.last?.ends.isEmpty ?? true)
        }
        guard ledger.requests.count == count + 1, let end = ledger.requests.last?.ends.first else {
            return complaints.append("the key neither took a command nor said what became of it, with nothing wrong")
        }
        if end != .done && end != .accepted { complaints.append("a command was \(end), with nothing wrong") }
        run(milliseconds: 1_000) { [unowned self] in !(ledger.requests.last?.outcomes.isEmpty ?? true) }
        if end == .accepted, ledger.requests.last?.outcomes.first != .done {
            complaints.append("what became of a command that was accepted was not told, with nothing wrong")
        }
    }

    // MARK: Faults

    private func arm(_ fault: Schedule.Fault, _ pocket: Pocket) {
        switch fault {
        case .kill(let machine, let point): arm(point, machine, pocket)
        case .killInRestore(let machine, let point): restoreFaults[machine] = point
        case .powerCut(.lock, let delay, let medium, let losesMovement):
            after(delay) { [unowned self] in
                tally.powerCuts += 1
                door.losePower(choice: medium, withMovement: losesMovement)
            }
        case .powerCut(.key, let delay, let medium, _):
            after(delay) { [unowned self] in
                tally.powerCuts += 1
                pocket.losePower(choice: medium)
            }
        case .silence(let delay, let milliseconds):
            after(delay) { [unowned self] in world.cut(door.node, pocket.node) }
            after(delay + milliseconds) { [unowned self] in world.join(door.node, pocket.node) }
        }
    }

    private func arm(_ point: Schedule.KillPoint, _ machine: Schedule.Machine, _ pocket: Pocket) {
        let (node, disk) = machine == .lock ? (door.node, door.disk) : (pocket.node, pocket.disk)
        switch point {
        case .beforeCommit(let count): node.killBeforeCommit = node.commitCount + count
        case .afterActs(let count): node.killAfterActs = node.actCount + count
        case .atCall(let count): disk.die(atCall: count)
        case .after(let milliseconds): after(milliseconds) { if node.host != nil { node.kill() } }
        }
    }

    /// What has not happened does not happen any more.
    private func disarm(_ pocket: Pocket) {
        restoreFaults = [:]
        for (node, disk) in [(door.node, door.disk), (pocket.node, pocket.disk)] {
            (node.killBeforeCommit, node.killAfterActs) = (nil, nil)
            if !disk.hasDied { disk.mend() }
        }
    }

    private func after(_ milliseconds: UInt64, _ act: @escaping () -> Void) {
        agenda.append((world.now.advanced(byMilliseconds: milliseconds), act))
    }

    // MARK: Lives

    private func watch(_ node: Node, _ disk: SimulatedDisk, _ machine: Schedule.Machine) {
        node.keepsPackets = false
        let drop = node.onEnd
        node.onEnd = { [unowned self, unowned node] in
            drop()
            tally.ends[machine, default: 0] += 1
            endsOfSchedule += 1
            // One that is killed while it begins has not been there.
            if machine == .lock, absences.last.map({ $0.to != nil }) ?? true { absences.append((world.now, nil)) }
            if machine == .key { keyHasEnded = true }
            after(downMilliseconds) { [unowned self, unowned node] in revive(node, disk, machine) }
        }
        node.onFailure = { [unowned self] error in
            if !disk.hasDied { complaints.append("\(machine): a process has ended by itself: \(error)") }
        }
    }

    private func revive(_ node: Node, _ disk: SimulatedDisk, _ machine: Schedule.Machine) {
        guard node.host == nil else { return }
        disk.mend()
        if let point = restoreFaults.removeValue(forKey: machine),
            let pocket = machine == .lock ? pockets.first : pockets.first(where: { $0.node === node })
        {
            arm(point, machine, pocket)
        }
        do {
            if machine == .lock {
                try door.launch()
            } else {
                try pockets.first { $0.node === node }?.launch()
            }
            // It may have been killed again already.
            guard node.host != nil else { return }
            tally.restores += 1
            if machine == .lock, !absences.isEmpty { absences[absences.count - 1].to = world.now }
        } catch {
            if !disk.hasDied { complaints.append("\(machine): the next process cannot begin: \(error)") }
            disk.mend()
            after(downMilliseconds + 1) { [unowned self, unowned node] in revive(node, disk, machine) }
        }
    }

    /// Time passes, and what is on the agenda happens. Ends early where `condition` holds.
    private func run(milliseconds: UInt64, until condition: () -> Bool = { false }) {
        let end = world.now.advanced(byMilliseconds: milliseconds)
        while world.now < end, !condition() {
            let count = agenda.count
            let next = Swift.min(agenda.map(\.at).min() ?? end, end)
            if next > world.now {
                // Rounded up: time that is left is at most one millisecond too long.
                let left = next.milliseconds(since: world.now) + 1
                world.run(forMilliseconds: left) { [unowned self] in agenda.count != count || condition() }
            }
            let due = agenda.filter { $0.at <= world.now }
            agenda.removeAll { $0.at <= world.now }
            for entry in due { entry.act() }
        }
    }

    /// The challenge of a command between a host and its controller: ATT Write Request, Write Command or Signed Write Command of eight octets.
    ///
    /// Core 5.4, Vol 3, Part F, 3.4.5 (Writing attributes)
    private static func command(in packet: [UInt8]) -> ChallengeID? {
        guard packet.count >= 20, packet[0] == 2, packet[7] == 4, packet[8] == 0 else { return nil }
        let value: ArraySlice<UInt8>
        switch packet[9] {
        case 0x12, 0x52: value = packet[12...]
        case 0xD2: value = packet[12...].dropLast(12)
        default: return nil
        }
        return (try? LockCommand(exactly: Array(value)))?.challenge
    }
}
