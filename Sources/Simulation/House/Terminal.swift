import BluetoothCore
import BluetoothHost
import LockPeripheral
import LockProtocol

/// The lock's operator: says words to its program, and believes what is answered behind the commit.
final class Terminal {
    private unowned let world: World
    private unowned let door: Door
    private let register: Register
    /// What cannot be true of what was answered.
    private(set) var complaints: [String] = []
    /// Configurations that the next program begins with.
    private var configured: [Int] = []
    var onNews: (String) -> Void = { _ in }

    init(_ world: World, _ door: Door, _ register: Register) {
        self.world = world
        self.door = door
        self.register = register
    }

    func begin() { complaints = [] }

    func say(_ word: Chore.Word) {
        let now = register.clock.times(at: world.now).seconds.max() ?? 1_800_000_000
        let zone = (register.settings.certain?.calendar ?? door.calendar).zone
        onNews("\(word)")
        switch word {
        case .disable(let tenant): administer(tenant, .disabled, as: .disabled(tenant))
        case .enable(let tenant): administer(tenant, .enabled, as: .enabled(tenant))
        case .remove(let tenant): administer(tenant, .removed, as: .removed(tenant))
        case .rules(let tenant, let draft):
            let rules = draft.rules(at: now, in: zone)
            administer(tenant, .scheduled(rules.validity, rules.schedules), as: .ruled(tenant, rules))
        case .noRules(let tenant): administer(tenant, .scheduled(.always, .none), as: .ruled(tenant, .none))
        case .disableUser(let tenant):
            let user = register.tenants[tenant].user
            let devices = register.tenants.indices.filter { register.tenants[$0].user == user }
            administer(.ofUser(user), .disabled, devices.map { .disabled($0) }, devices)
        case .mode(let mode): enter(mode)
        case .configure(let number, let holiday):
            let zone = Zone.all[number]
            let holidays = holiday.map {
                HouseCalendar.Holiday(span: $0.span(at: now, in: zone), isVacation: $0.isVacation)
            }
            configure(HouseCalendar(zone: zone, holidays: holidays.map { [$0] } ?? []))
        }
    }

    // MARK: Credentials

    private func administer(_ tenant: Int, _ change: CredentialChange, as belief: Register.Change) {
        administer(.named(register.tenants[tenant].name), change, [belief], [tenant])
    }

    private func administer(
        _ scope: CredentialScope, _ change: CredentialChange, _ beliefs: [Register.Change], _ tenants: [Int]
    ) {
        let asked = world.now
        guard door.isListening else { return }
        let tickets = beliefs.map { register.ask($0, at: asked) }
        ask { [register, unowned world, unowned self] lock, answer in
            do throws(RevocationRefusal) {
                _ = try lock.administer(scope, change)
                answer {
                    for ticket in tickets { register.tell(ticket, isMade: true, at: world.now) }
                }
            } catch {
                let isDenied = error.deniesExistence
                answer {
                    for ticket in tickets { register.tell(ticket, isMade: false, at: world.now) }
                    let mayBeGone = tenants.allSatisfy { tenant in
                        register.standings[tenant].during(asked, world.now).contains { !$0.isThere }
                    }
                    if isDenied, !mayBeGone {
                        self.complaints.append("the operator was told: \(error), and it is there")
                    }
                }
                if isDenied, door.node.host != nil, !tenants.isEmpty { denied(asked, tenants, error) }
            }
        }
    }

    /// Told at once, and not behind a commit: then it is true all the same.
    private func denied(_ asked: Instant, _ tenants: [Int], _ error: RevocationRefusal) {
        let isThere = tenants.contains { tenant in
            register.standings[tenant].during(asked, asked).allSatisfy(\.isThere)
        }
        if isThere { complaints.append("the lock's program says: \(error), and it is there") }
    }

    // MARK: The lock

    private func enter(_ mode: LockMode) {
        guard door.isListening else { return }
        let ticket = register.ask(.mode(mode), at: world.now)
        ask { [register, unowned world] lock, answer in
            let isMade = (try? lock.enter(mode)) != nil
            answer { register.tell(ticket, isMade: isMade, at: world.now) }
        }
    }

    /// The lock's configuration is another one from the next process on.
    func configure(_ calendar: HouseCalendar) {
        let settings = Ask.Settings(calendar: calendar)
        configured.append(register.ask(.settings(settings), at: world.now))
        door.configure(calendar)
        if door.node.host != nil { door.node.kill() }
    }

    /// A process has begun.
    func launched() {
        for ticket in configured { register.tell(ticket, isMade: true, at: world.now) }
        configured = []
    }

    func setClock(_ origin: Int64?) {
        door.clockOrigin = origin
        register.setClock(origin, at: world.now)
    }

    /// In an iteration of its own. Without a process nobody hears it: what was asked for then is as it was.
    private func ask(_ body: (LockDaemon, _ answer: (@escaping () -> Void) -> Void) -> Void) {
        guard door.isListening else { return }
        door.node.call { [unowned door] host in
            guard let lock = door.lock else { return }
            body(lock) { told in host.afterCommit(told) }
        }
    }
}

extension Ask.Settings {
    /// As the configuration of a house has them.
    init(calendar: HouseCalendar) {
        self.init(
            challengeLifeMilliseconds: House.settings.challengeLifeMilliseconds,
            acceptsSigned: House.settings.acceptsSigned, calendar: calendar)
    }
}

extension RevocationRefusal {
    /// It says that there is nobody of that name.
    fileprivate var deniesExistence: Bool {
        switch self {
        case .unknown, .unknownUser: true
        case .unreadable, .stateUnreadable: false
        }
    }
}
