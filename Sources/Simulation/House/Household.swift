import BluetoothCore
import LockPeripheral
import LockProtocol

/// What a household has beside keys: an operator with a terminal, people with software of their own, schedules, modes and a clock. What
/// may be so of all that is in the register.
final class Household {
    let register: Register
    let terminal: Terminal
    private unowned let world: World
    private unowned let door: Door
    private let pockets: [Pocket]
    private let ledger: Ledger
    private let agenda: Agenda
    private var insider: Insider?
    /// Of whom nobody knows whether his key is still one.
    private var removed: Set<Int> = []

    init(_ world: World, _ door: Door, _ pockets: [Pocket], _ tenants: [Tenant], _ ledger: Ledger, _ agenda: Agenda) {
        self.world = world
        self.door = door
        self.pockets = pockets
        self.ledger = ledger
        self.agenda = agenda
        register = Register(tenants, Ask.Settings(calendar: door.homeCalendar), clock: door.clockOrigin)
        terminal = Terminal(world, door, register)
        ledger.onArrival = { [unowned register, unowned world] challenge, command, number in
            guard number == 0 else { return }
            register.arrived(challenge, of: command.key, opens: command.operation != 1, at: world.now)
        }
        door.metal.onChange = { [unowned register, unowned door] in
            guard let line = door.metal.last, let challenge = line.command else { return }
            register.moved(challenge, at: line.at)
        }
    }

    // MARK: One schedule

    func begin(_ schedule: Schedule) {
        register.forget(at: world.now)
        terminal.begin()
        removed = []
        insider = nil
        door.leavesSettingsFree()
        for chore in schedule.chores where chore.afterMilliseconds > 0 {
            agenda.after(chore.afterMilliseconds) { [unowned self] in carryOut(chore.word) }
        }
        guard let visit = schedule.visit, pockets.indices.contains(visit.key) else { return }
        let insider = Insider(
            visit, pockets[visit.key], at: door, world, register, ledger, agenda,
            believesAnswers: !schedule.faults.contains(where: \.losesPackets))
        self.insider = insider
        agenda.after(visit.afterMilliseconds) { [weak insider] in insider?.begin() }
    }

    /// What is to be so before anybody asks for anything.
    func prepare(_ schedule: Schedule, downMilliseconds: UInt64) {
        for chore in schedule.chores where chore.afterMilliseconds == 0 {
            carryOut(chore.word)
            let isConfiguration = if case .configure = chore.word { true } else { false }
            agenda.run(milliseconds: isConfiguration ? downMilliseconds + 1_500 : 20)
        }
    }

    private func carryOut(_ word: Chore.Word) {
        if case .remove(let tenant) = word { removed.insert(tenant) }
        terminal.say(word)
    }

    var isOver: Bool { insider?.isOver ?? true }

    func launched(_ resident: any Resident) { if resident === door { terminal.launched() } }

    func ended(_ resident: any Resident) {
        guard let pocket = resident as? Pocket, insider?.isOf(pocket) == true else { return }
        insider?.lostProcess()
    }

    func stop() { insider?.end() }

    // MARK: Order

    /// The operator has everything as it was: then whoever has a key is obeyed again. Says what keeps it from being so.
    func restore(_ key: Int, enrol: (Int) -> String?) -> String? {
        register.settle(at: world.now)
        for answer in ledger.answers {
            switch answer.ask {
            case .remove(let tenant): removed.insert(tenant)
            case .open(let tenant, _): register.mayBeOffered(tenant)
            default: break
            }
        }
        setClockRight()
        let home = Ask.Settings(calendar: door.homeCalendar)
        if register.settings.certain != home {
            terminal.configure(home.calendar)
            agenda.run(milliseconds: 9_000)
        }
        for tenant in register.tenants.indices where !removed.contains(tenant) { restoreStanding(of: tenant) }
        for tenant in removed.sorted() {
            withdrawOffer(to: tenant)
            if let reason = renew(tenant, enrol) { return "key \(tenant) cannot be enrolled again: \(reason)" }
            // Nobody may have heard that it was to be removed.
            restoreStanding(of: tenant)
        }
        if register.mode.certain != .normal {
            for _ in 0..<3 where register.mode.certain != .normal {
                terminal.say(.mode(.normal))
                agenda.run(milliseconds: 2_000)
            }
        }
        if register.mayBeLockedOut(key, at: world.now) { agenda.run(milliseconds: Self.lockoutMilliseconds) }
        let isHome =
            register.standings.allSatisfy { $0.certain == Register.Standing() } && register.mode.certain == .normal
        return isHome && register.settings.certain == home
            ? nil : "the operator's words were not obeyed, with nothing wrong"
    }
    /// The longest that there is.
    static let lockoutMilliseconds: UInt64 = 970_000

    /// Nothing is believed that is earlier than what the lock has seen.
    private func setClockRight() {
        let times = register.clock.times(at: world.now)
        guard times.mayBeNone || times.seconds.count != 1 else { return }
        let passed = Int64(world.now.nanoseconds / 1_000_000_000)
        terminal.setClock(max(register.clock.latestEver(at: world.now), 1_800_000_000) + 2 - passed)
    }

    private func restoreStanding(of tenant: Int) {
        let standing = { [register] in register.standings[tenant].certain }
        if standing().map({ !$0.rules.isEmpty }) ?? true { terminal.say(.noRules(tenant)) }
        if standing() != Register.Standing() { terminal.say(.enable(tenant)) }
        agenda.run(milliseconds: 20)
    }

    /// Over the air nobody says whose device the new one is: the offer to a name that nobody had is to a user of that name, and stands.
    private func withdrawOffer(to tenant: Int) {
        let whom = register.tenants[tenant]
        guard register.offered.contains(tenant), whom.user != whom.name else { return }
        terminal.say(.remove(tenant))
        agenda.run(milliseconds: 20)
    }

    /// As often as a window of the schedule may be open still.
    private func renew(_ tenant: Int, _ enrol: (Int) -> String?) -> String? {
        var reason: String?
        for _ in 0..<3 {
            reason = enrol(tenant)
            if reason == nil { return nil }
            agenda.run(milliseconds: 15_000)
        }
        return reason
    }

    func broken(end: Instant) -> [String] {
        var judge = AccessJudge(
            register: register, ledger: ledger, door: door.number, metal: door.metal.movements,
            absences: door.allAbsences, end: end)
        if let strike = door.strike { judge.hear(strike.scene.record) }
        return terminal.complaints + judge.broken
    }
}
