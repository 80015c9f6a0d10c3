import BluetoothCore
import CoreBluetoothEssentials
import LockPeripheral
import LockProtocol

/// Carries a visit out: somebody whose key the lock knows asks it for one thing after the other, whether he has a right to it or not. He knows
/// the numbers of all credentials, and what the lock's records of them say.
final class Insider {
    private unowned let world: World
    private unowned let door: Door
    private let pocket: Pocket
    private let visit: Visit
    private let register: Register
    private let ledger: Ledger
    private unowned let agenda: Agenda
    /// False where packets are lost or come twice: an answer may be that to another question of the same kind.
    private let believesAnswers: Bool

    private var handset: Handset?
    private var left: [Visit.Wish]
    private var stage = Stage.coming
    /// Of what is waited for: what comes later is for nobody.
    private var turn = 0
    private(set) var isOver = false

    private enum Stage {
        case coming
        /// Between two wishes.
        case resting
        case challenge(operation: UInt8, argument: UInt8, lateMilliseconds: UInt64, isTwice: Bool)
        case command
        /// `ticket`: of what it changes, where it does.
        case answer(Ask, asked: Instant, ticket: Int?)
        case read(Ask, asked: Instant)
    }

    private static let patienceMilliseconds: UInt64 = 12_000
    private static let restMilliseconds: UInt64 = 700

    init(
        _ visit: Visit, _ pocket: Pocket, at door: Door, _ world: World, _ register: Register, _ ledger: Ledger,
        _ agenda: Agenda, believesAnswers: Bool
    ) {
        self.visit = visit
        self.pocket = pocket
        self.door = door
        self.world = world
        self.register = register
        self.ledger = ledger
        self.agenda = agenda
        self.believesAnswers = believesAnswers
        left = visit.wishes
    }

    func begin() {
        guard pocket.node.host != nil, !pocket.node.isSuspended, let address = door.address else {
            return isOver = true
        }
        pocket.node.call { [unowned self] _ in
            guard let loop = pocket.node.loop else { return isOver = true }
            handset = Handset(CBHost(loop), address) { [weak self] in self?.heard($0) }
        }
        wait(Self.patienceMilliseconds)
    }

    /// He goes, whatever he was at.
    func end() {
        unanswered()
        isOver = true
        turn += 1
        guard let handset else { return }
        if pocket.node.host != nil { pocket.node.call { _ in handset.leave() } }
        // What the manager had asked for goes with it, in an iteration of its own.
        pocket.node.call { [unowned self] _ in self.handset = nil }
        self.handset = nil
    }

    /// His machine's process has ended.
    func lostProcess() {
        unanswered()
        (isOver, handset) = (true, nil)
        turn += 1
    }

    func isOf(_ pocket: Pocket) -> Bool { self.pocket === pocket }

    // MARK: Step by step

    /// Gives up what does not come.
    private func wait(_ milliseconds: UInt64) {
        turn += 1
        let waited = turn
        agenda.after(milliseconds) { [weak self] in
            guard let self, turn == waited, !isOver else { return }
            unanswered()
            end()
        }
    }

    private func rest(_ milliseconds: UInt64 = restMilliseconds) {
        stage = .resting
        later(milliseconds) { [weak self] in self?.next() }
    }

    /// In an iteration of his machine, unless something else has come meanwhile.
    private func later(_ milliseconds: UInt64, _ body: @escaping () -> Void) {
        turn += 1
        let waited = turn
        agenda.after(milliseconds) { [weak self] in
            guard let self, turn == waited, !isOver else { return }
            pocket.node.call { _ in body() }
        }
    }

    /// In an iteration of his machine.
    private func next() {
        guard !left.isEmpty else {
            handset?.leave()
            return isOver = true
        }
        let wish = left.removeFirst()
        wait(Self.patienceMilliseconds)
        switch wish {
        case .command(let operation, let argument, let late, let isTwice):
            stage = .challenge(operation: operation, argument: argument, lateMilliseconds: late, isTwice: isTwice)
            handset?.read(LockUUID.challenge)
        case .ask(let ask): self.ask(ask)
        case .draft(let other, let draft):
            ask(.rules(other, draft.rules(at: now, in: calendar.zone)))
        case .settings(let holiday, let milliseconds, let acceptsSigned):
            var calendar = calendar
            calendar.holidays =
                holiday.map {
                    [HouseCalendar.Holiday(span: $0.span(at: now, in: calendar.zone), isVacation: $0.isVacation)]
                }
                ?? []
            ask(
                .setSettings(
                    Ask.Settings(
                        challengeLifeMilliseconds: milliseconds, acceptsSigned: acceptsSigned, calendar: calendar)))
        case .time(let ahead): ask(.setTime(now + ahead - Int64(world.now.nanoseconds / 1_000_000_000)))
        }
    }

    private var calendar: HouseCalendar { register.settings.certain?.calendar ?? door.calendar }
    private var now: Int64 { max(register.clock.latestEver(at: world.now), 1_800_000_000) }

    private func ask(_ ask: Ask) {
        switch ask {
        case .alarm, .state:
            stage = .read(ask, asked: world.now)
            handset?.read(ask == .alarm ? LockUUID.alarm : LockUUID.lockState)
        case .audit:
            stage = .answer(ask, asked: world.now, ticket: nil)
            handset?.write(
                RecordAccessProcedure.report(.last).encoded, to: LockUUID.recordAccessControlPoint)
        default:
            guard let octets = octets(of: ask) else { return rest(1) }
            let ticket = change(by: ask).map { register.ask($0, at: world.now) }
            stage = .answer(ask, asked: world.now, ticket: ticket)
            handset?.write(octets, to: LockUUID.lockControlPoint)
        }
    }

    // MARK: What comes back

    private func heard(_ news: Handset.News) {
        guard !isOver else { return }
        switch (stage, news) {
        case (.coming, .ready): rest(1)
        case (_, .lost):
            unanswered()
            isOver = true
        case (.challenge(let operation, let argument, let late, let isTwice), .value(LockUUID.challenge, let value?))
        where value.count == 8:
            take(value, operation, argument, late, isTwice)
        case (.challenge, .value(LockUUID.challenge, nil)): rest()
        case (.answer(let ask, _, _), .written(let uuid, isRefused: true)) where uuid == Self.characteristic(of: ask):
            told(.other)
        case (.answer(.audit, _, _), .written(LockUUID.recordAccessControlPoint, isRefused: false)): told(.granted)
        case (.answer(let ask, _, _), .value(LockUUID.lockControlPoint, let value?)) where ask != .audit:
            guard let answer = try? ControlPointResponse(exactly: value), answer.request.rawValue == opcode(of: ask)
            else {
                return
            }
            switch answer.result {
            case .success: told(.granted)
            case .notPermitted: told(.notPermitted)
            default: told(.further)
            }
        case (.read(let ask, _), .value(let uuid, let value))
        where uuid == (ask == .alarm ? LockUUID.alarm : LockUUID.lockState) && !Self.isRefusal(value):
            told(value == nil ? .other : .granted)
        default: break
        }
    }

    /// Lock State also tells whose command was refused, and nothing of the bolt: a late one is no answer to what was read since.
    static func isRefusal(_ value: [UInt8]?) -> Bool {
        guard let state = value.flatMap({ try? LockState(exactly: $0) }) else { return false }
        return state.bolt == .unknown && state.door == .unknown && !state.result.isGranted && state.answered != 0
    }

    private static func characteristic(of ask: Ask) -> BluetoothUUID {
        ask == .audit ? LockUUID.recordAccessControlPoint : LockUUID.lockControlPoint
    }

    private func take(_ value: [UInt8], _ operation: UInt8, _ argument: UInt8, _ late: UInt64, _ isTwice: Bool) {
        let heard = world.now
        stage = .command
        guard late > 0 else { return send(value, operation, argument, heard, isTwice) }
        later(late) { [weak self] in self?.send(value, operation, argument, heard, isTwice) }
    }

    private func send(_ value: [UInt8], _ operation: UInt8, _ argument: UInt8, _ heard: Instant, _ isTwice: Bool) {
        let octets = [CommandBound.challengeLife.rawValue << 4 | operation, argument] + value.prefix(6)
        guard let command = try? LockCommand(exactly: octets) else { return rest() }
        ledger.visits(visit.key, command.operation, of: door.number, command.challenge, heard: heard)
        handset?.write(octets, to: LockUUID.lockCommand)
        guard isTwice else { return rest(Self.movementMilliseconds) }
        later(Self.relockMilliseconds) { [weak self] in
            self?.handset?.write(octets, to: LockUUID.lockCommand)
            self?.rest(Self.movementMilliseconds)
        }
    }
    private static let movementMilliseconds: UInt64 = 1_200
    /// The bolt is locked again by then, and the challenge would live a little longer.
    private static let relockMilliseconds: UInt64 = 4_300

    private func told(_ result: Ledger.Answer.Result) {
        guard believesAnswers else {
            unanswered()
            return rest()
        }
        switch stage {
        case .answer(let ask, let asked, let ticket):
            if let ticket { register.tell(ticket, isMade: result == .granted, at: world.now) }
            answered(ask, asked, result)
        case .read(let ask, let asked): answered(ask, asked, result)
        default: return
        }
        rest()
    }

    /// Nobody knows whether it has happened.
    private func unanswered() {
        switch stage {
        case .answer(let ask, let asked, _), .read(let ask, let asked): answered(ask, asked, nil)
        default: break
        }
        stage = .resting
    }

    private func answered(_ ask: Ask, _ asked: Instant, _ result: Ledger.Answer.Result?) {
        ledger.answered(
            Ledger.Answer(key: visit.key, door: door.number, ask: ask, asked: asked, result: result, told: world.now))
    }
}

// MARK: Words

extension Insider {
    private func change(by ask: Ask) -> Register.Change? {
        switch ask {
        case .disable(let other): .disabled(other)
        case .enable(let other): .enabled(other)
        case .remove(let other): .removed(other)
        case .rules(let other, let rules): .ruled(other, rules)
        case .mode(let mode): .mode(mode)
        case .setSettings(let settings): .settings(settings)
        case .setTime(let origin): .time(origin)
        case .keyStatus, .list, .get, .rulesOfNobody, .getSettings, .open, .close, .getWindow, .getTime, .audit, .alarm,
            .state:
            nil
        }
    }

    private func opcode(of ask: Ask) -> UInt8? { octets(of: ask)?.first }

    /// nil where he does not know what to write.
    private func octets(of ask: Ask) -> [UInt8]? { procedure(of: ask)?.encoded }

    private func procedure(of ask: Ask) -> ControlPointProcedure? {
        switch ask {
        case .keyStatus: .keyStatus
        case .list: .listCredentials(from: CredentialID(rawValue: 0), .start)
        case .get(let other): number(of: other).map { .getCredential($0, .start) }
        case .disable(let other): change(other, .disabled)
        case .enable(let other): change(other, .enabled)
        case .remove(let other): change(other, .removed)
        case .rules(let other, let rules): change(other, .scheduled(rules.validity, rules.schedules))
        case .rulesOfNobody:
            .change(CredentialID(rawValue: 0), ValueVersion(rawValue: 0), .scheduled(.always, .none))
        case .getSettings: .getSettings(.start)
        case .setSettings(let settings): .setSettings(settingsVersion, settings.wording(in: mode))
        case .open(let other, let role):
            EnrolmentOpening(role: role, seconds: 3, name: register.tenants[other].name).map { .openEnrolment($0) }
        case .close: .closeEnrolment
        case .getWindow: .getEnrolment(.start)
        case .mode(let mode): .setMode(mode)
        case .getTime: .getTime
        case .setTime(let origin): .setTime(origin + Int64(world.now.nanoseconds / 1_000_000_000))
        case .audit, .alarm, .state: nil
        }
    }

    private var mode: LockMode { register.mode.certain ?? .normal }

    private var settingsVersion: ValueVersion {
        let settings = register.settings.certain ?? Ask.Settings(calendar: calendar)
        return ValueVersion(of: SettingsRecord(settings.wording(in: mode), fixed: door.runningFixed).encoded)
    }

    private func number(of other: Int) -> CredentialID? { door.numbers[register.tenants[other].name] }

    private func change(_ other: Int, _ change: CredentialChange) -> ControlPointProcedure? {
        number(of: other).map { number in
            .change(number, ValueVersion(of: register.record(of: other, number: number).encoded), change)
        }
    }
}
