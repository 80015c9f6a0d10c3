import BluetoothCore
import LockCentral
import LockPeripheral
import LockProtocol
import Testing

@testable import Simulation

/// Each thing that somebody may not do and does, made up, and next to it what looks like it and is nothing.
@Suite("The judge of who may do what")
struct AccessJudgeTests {
    private static func seconds(_ number: UInt64) -> Instant { Instant(nanoseconds: number * 1_000_000_000) }
    private static let origin: Int64 = 1_800_000_000
    private static let challenge = ChallengeID(bits: 7)

    /// One lock and five keys: owner, administrator, resident, guest, and one that only locks.
    private final class Course {
        let ledger = Ledger()
        let metal = MetalJournal()
        let register: Register
        var absences: [Stretch] = []

        init(_ kind: UserKind = .ordinary, role: Role = .resident) {
            var tenants = [Role.owner, .administrator, .resident, .guest, .lockOnly].enumerated().map {
                Tenant(name: "\($0)", role: $1, kind: .ordinary, user: "\($0)")
            }
            tenants.append(Tenant(name: "5", role: role, kind: kind, user: "five"))
            tenants.append(Tenant(name: "6", role: role, kind: kind, user: "five"))
            register = Register(
                tenants, Ask.Settings(calendar: HouseCalendar(zone: Zone.all[1])), clock: AccessJudgeTests.origin)
        }

        /// The lock opens, or locks, for a command of this key that came to it a tenth before.
        @discardableResult
        func moves(
            _ key: Int, _ operation: LockOperation = .unlock, _ argument: RelockArgument = .setting, at second: UInt64,
            for challenge: ChallengeID = challenge, heard: UInt64? = nil, isSigned: Bool = false
        ) -> Self {
            let at = AccessJudgeTests.seconds(second)
            let command = LockCommand(operation: operation, argument: argument, challenge: challenge)
            if let heard { ledger.visits(key, operation, of: 0, challenge, heard: AccessJudgeTests.seconds(heard)) }
            ledger.sent(key, command, isSigned: isSigned, at: at)
            ledger.arrived(challenge, at: 0, at)
            register.arrived(challenge, of: key, opens: operation != .lock, at: at)
            let movement: Movement = operation == .lock ? .lock : operation == .unlatch ? .unlatch : .unlock
            moves(movement, for: challenge, at: at.advanced(byMilliseconds: 100))
            register.moved(challenge, at: at.advanced(byMilliseconds: 100))
            return self
        }

        func moves(_ movement: Movement, for command: ChallengeID?, at instant: Instant) {
            metal.append(
                ActuatorOrder(
                    intent: IntentID(rawValue: UInt64(metal.lines.count + 1)), movement: movement, command: command,
                    notAfter: nil), now: instant)
        }

        /// Asked for in this second, and told in that one.
        @discardableResult
        func change(_ change: Register.Change, asked: UInt64, told: UInt64?, isMade: Bool = true) -> Self {
            let ticket = register.ask(change, at: AccessJudgeTests.seconds(asked))
            if let told { register.tell(ticket, isMade: isMade, at: AccessJudgeTests.seconds(told)) }
            return self
        }

        @discardableResult
        func answer(_ key: Int, _ ask: Ask, _ result: Ledger.Answer.Result, at second: UInt64 = 10) -> Self {
            ledger.answered(
                Ledger.Answer(
                    key: key, door: 0, ask: ask, asked: AccessJudgeTests.seconds(second), result: result,
                    told: AccessJudgeTests.seconds(second)))
            return self
        }

        var broken: [String] {
            AccessJudge(
                register: register, ledger: ledger, door: 0, metal: metal.movements, absences: absences,
                end: AccessJudgeTests.seconds(600)
            ).broken
        }
        var isSound: Bool { broken.isEmpty }
    }

    // MARK: Rights

    @Test("A movement that a role has no right to, of each role")
    func roles() {
        let mays: [LockOperation: [Bool]] = [
            .lock: [true, true, true, true, true], .unlock: [true, true, true, true, false],
            .unlatch: [true, true, true, false, false], .lockAndGo: [true, true, true, true, false],
        ]
        for (operation, may) in mays {
            for key in 0..<5 {
                #expect(Course().moves(key, operation, at: 10).isSound == may[key], "\(operation.name) of \(key)")
            }
        }
        for key in 0..<5 {
            #expect(Course().moves(key, .unlock, .holdOpen, at: 10).isSound == (key < 3), "hold open of \(key)")
        }
        #expect(
            Course().moves(3, .unlatch, at: 10).broken
                == ["unlatch (0) of key 3 moved the bolt, which had to be refused with 3"])
    }

    @Test("A procedure that a role has no right to, and one that it has and is refused")
    func procedures() {
        for ask in [
            Ask.keyStatus, .list, .mode(.normal), .getSettings, .getTime, .audit, .alarm, .getWindow, .get(4), .state,
        ] {
            for key in 0..<5 {
                let isTime = ask == .getTime
                let may = ask == .keyStatus || ask == .state || key == 0 || key == 1 && !isTime
                #expect(Course().answer(key, ask, .granted).isSound == may, "\(ask) of \(key)")
                #expect(
                    Course().answer(key, ask, .notPermitted).isSound == !may || ask == .state,
                    "\(ask) of \(key), refused")
            }
        }
        #expect(Course().answer(3, .list, .other).isSound)
        // Who has no right to it is not told what else is wrong with it.
        #expect(Course().answer(1, .rulesOfNobody, .further).isSound)
        #expect(!Course().answer(3, .rulesOfNobody, .further).isSound)
    }

    @Test("Somebody is changed whom the sender may not change: itself, or one above it")
    func rank() {
        for (sender, mays) in [(0, [false, true, true, true, true]), (1, [false, false, true, true, true])] {
            for target in 0..<5 {
                for ask in [Ask.disable(target), .enable(target), .remove(target), .rules(target, .none)] {
                    #expect(Course().answer(sender, ask, .granted).isSound == mays[target], "\(ask) of \(sender)")
                    #expect(
                        Course().answer(sender, ask, .notPermitted).isSound == !mays[target],
                        "\(ask) of \(sender), refused")
                }
            }
        }
        // Two administrators are each other's equals, and an owner is above both.
        for (sender, other) in [(1, 5), (5, 1)] {
            for ask in [Ask.disable(other), .enable(other), .remove(other), .rules(other, .none)] {
                #expect(!Course(role: .administrator).answer(sender, ask, .granted).isSound, "\(ask) of \(sender)")
                #expect(Course(role: .administrator).answer(sender, ask, .notPermitted).isSound)
            }
        }
        #expect(Course(role: .administrator).answer(0, .disable(5), .granted).isSound)
        #expect(!Course(role: .administrator).answer(1, .open(3, .administrator), .granted).isSound)
        // An owner with a rule changes no owner, and nobody gives more than it may change.
        let owner = { Course(role: .owner) }
        #expect(owner().answer(0, .disable(5), .granted).isSound)
        let rules = RuleBook(notBefore: 1)
        #expect(!owner().change(.ruled(0, rules), asked: 1, told: 2).answer(0, .disable(5), .granted).isSound)
        #expect(!Course().answer(1, .open(3, .owner), .granted).isSound)
        #expect(Course().answer(1, .open(3, .guest), .granted).isSound)
        #expect(!Course().answer(0, .open(0, .guest), .granted).isSound)
        // A name that nobody has is anybody's, as soon as that may be so.
        #expect(!Course().answer(1, .open(0, .guest), .granted).isSound)
        for told in [2, nil] as [UInt64?] {
            let gone = { Course().change(.removed(0), asked: 1, told: told) }
            #expect(gone().answer(1, .open(0, .guest), .granted).isSound)
            #expect(!gone().answer(1, .open(0, .owner), .granted).isSound)
            #expect(gone().answer(1, .open(0, .guest), .notPermitted).isSound)
        }
        let half = { Course(role: .owner).change(.removed(5), asked: 1, told: 2) }
        #expect(!half().answer(1, .open(5, .guest), .granted).isSound)
        #expect(half().change(.removed(6), asked: 3, told: 4).answer(1, .open(5, .guest), .granted).isSound)
    }

    @Test(
        "A calendar that is changed by who has rules of its own, or a kind that ends; the rest of the settings, and who stays"
    )
    func calendar() {
        let other = Ask.Settings(
            challengeLifeMilliseconds: 9_000, acceptsSigned: false, calendar: HouseCalendar(zone: Zone.all[2]))
        let same = Ask.Settings(
            challengeLifeMilliseconds: 9_000, acceptsSigned: false, calendar: HouseCalendar(zone: Zone.all[1]))
        let ruled = { Course().change(.ruled(1, RuleBook(notBefore: 1)), asked: 1, told: 2) }
        let visitor = { Course(.expiring(minutes: 1), role: .owner) }
        for (course, key, isPassing) in [
            (ruled, 1, true), (visitor, 5, true), ({ Course() }, 1, false),
            ({ Course(.duress, role: .owner) }, 5, false),
        ] as [(() -> Course, Int, Bool)] {
            #expect(course().answer(key, .setSettings(other), .granted).isSound == !isPassing)
            #expect(course().answer(key, .setSettings(other), .notPermitted).isSound == isPassing)
            #expect(course().answer(key, .setSettings(same), .granted).isSound)
            #expect(!course().answer(key, .setSettings(same), .notPermitted).isSound)
        }
        // Nobody knows which one was before.
        let doubted = ruled().change(.settings(other), asked: 5, told: nil)
        #expect(doubted.answer(1, .setSettings(other), .granted).isSound)
        #expect(
            ruled().change(.settings(other), asked: 5, told: nil).answer(1, .setSettings(same), .notPermitted).isSound)
        // An owner whose kind ends is limited as one with a rule.
        #expect(
            !visitor().answer(5, .disable(0), .granted).isSound
                && visitor().answer(5, .disable(0), .notPermitted).isSound)
    }

    // MARK: What was told

    @Test(
        "Opened for somebody who was disabled or removed, as the operator was told; where nobody was told it may be so or not"
    )
    func revoked() {
        for change in [Register.Change.disabled(2), .removed(2)] {
            #expect(!Course().change(change, asked: 5, told: 6).moves(2, at: 10).isSound)
            #expect(Course().change(change, asked: 5, told: nil).moves(2, at: 10).isSound)
            #expect(Course().change(change, asked: 5, told: 6, isMade: false).moves(2, at: 10).isSound)
            #expect(Course().change(change, asked: 5, told: 11).moves(2, at: 10).isSound)
            #expect(Course().change(change, asked: 5, told: 6).moves(3, at: 10).isSound)
            #expect(!Course().change(change, asked: 5, told: 6).answer(2, .keyStatus, .granted).isSound)
        }
        let enabled = Course().change(.disabled(2), asked: 5, told: 6).change(.enabled(2), asked: 7, told: 8)
        #expect(enabled.moves(2, at: 10).isSound)
        // Nobody knows which of the two came last.
        let both = Course().change(.disabled(2), asked: 5, told: nil).change(.enabled(2), asked: 5, told: 6)
        #expect(both.moves(2, at: 10).isSound)
        #expect(both.register.standings[2].now.count == 2)
        both.register.settle(at: Self.seconds(11))
        #expect(!both.change(.disabled(2), asked: 12, told: 13).moves(2, at: 14, for: ChallengeID(bits: 8)).isSound)
    }

    @Test("A key is refused what it may do, and told so")
    func refused() {
        func course(_ result: LockResult, _ prepare: (Course) -> Void = { _ in }) -> [String] {
            let course = Course()
            prepare(course)
            course.ledger.asked(3, .unlock, of: 0, until: Self.seconds(20))
            let command = LockCommand(operation: .unlock, challenge: Self.challenge)
            course.ledger.sent(3, command, isSigned: true, at: Self.seconds(10))
            course.ledger.arrived(Self.challenge, at: 0, Self.seconds(10))
            course.ledger.ended(3, KeyRequestID(rawValue: 1), .refused(result))
            return course.broken
        }
        #expect(course(.busy) == [] && course(.challengeDead) == [])
        #expect(
            course(.notPermitted) == [
                "unlock of key 3 was refused with 3, to which it has the right"
            ])
        #expect(course(.notPermitted) { $0.change(.disabled(3), asked: 1, told: nil) } == [])
        #expect(course(.modeForbids).count == 1)
        #expect(course(.modeForbids) { $0.change(.mode(.privacy), asked: 1, told: 2) } == [])
        #expect(course(.outsideSchedule).count == 1)
        #expect(course(.lockedOut).count == 1)
        #expect(course(.clockUntrusted).count == 1)
        func row(from second: UInt64, _ count: Int) -> (Course) -> Void {
            { course in
                for number in 0..<count {
                    let challenge = ChallengeID(bits: UInt64(100 + number))
                    course.register.arrived(challenge, of: 3, opens: true, at: Self.seconds(second))
                }
            }
        }
        #expect(course(.lockedOut, row(from: 9, 10)) == [] && course(.lockedOut, row(from: 9, 9)).count == 1)
        #expect(course(.lockedOut, row(from: 11, 10)).count == 1)
        // What is granted behind it says nothing of it, and what was granted before it does.
        #expect(
            course(.lockedOut) {
                row(from: 9, 10)($0)
                $0.register.granted(3, at: Self.seconds(12))
            } == [])
        #expect(
            course(.lockedOut) {
                row(from: 4, 5)($0)
                $0.register.granted(3, at: Self.seconds(5))
                row(from: 6, 9)($0)
            }.count == 1)
        #expect(
            course(.lockedOut) {
                row(from: 4, 10)($0)
                $0.register.granted(3, at: Self.seconds(5))
                $0.register.forget(at: Self.seconds(5))
                row(from: 6, 9)($0)
            }.count == 1)
        #expect(
            course(.lockedOut) {
                row(from: 4, 4)($0)
                $0.register.forget(at: Self.seconds(5))
                row(from: 6, 6)($0)
            } == [])
    }

    // MARK: Schedules, kinds, modes, clocks

    @Test("Opened outside of a schedule, by the clock that the lock may have")
    func schedules() {
        let begin = Self.origin + 100
        let rules = RuleBook(notBefore: begin, notAfter: begin + 10)
        let course = { Course().change(.ruled(2, rules), asked: 1, told: 2) }
        #expect(!course().moves(2, at: 99).isSound)
        #expect(course().moves(2, at: 100).isSound)
        #expect(course().moves(2, at: 109).isSound)
        #expect(!course().moves(2, at: 110).isSound)
        // Set back by so much that it is not believed, or a little: then what was recorded counts.
        let back = course()
        back.moves(3, at: 200, for: ChallengeID(bits: 9))
        back.register.setClock(Self.origin - 100, at: Self.seconds(201))
        #expect(!back.moves(2, at: 205).isSound)
        let forth = course()
        forth.register.setClock(Self.origin + 95, at: Self.seconds(5))
        #expect(forth.moves(2, at: 10).isSound)
        let unset = course()
        unset.register.setClock(nil, at: Self.seconds(5))
        #expect(!unset.moves(2, at: 105).isSound)
        // Somebody may have told the time, or not.
        unset.change(.time(Self.origin), asked: 300, told: nil)
        unset.change(.ruled(2, RuleBook(notAfter: Self.origin + 400)), asked: 301, told: 302)
        #expect(unset.moves(2, at: 310, for: ChallengeID(bits: 10)).broken.count == 1)
    }

    @Test("A procedure outside of the sender's schedule; what is told to everybody who is enabled stands in none")
    func proceduresOutside() {
        let rules = RuleBook(notBefore: Self.origin + 100, notAfter: Self.origin + 200)
        let course = { Course().change(.ruled(1, rules), asked: 1, told: 2) }
        for ask in [Ask.keyStatus, .list, .getSettings, .audit, .mode(.normal), .disable(3)] {
            for (second, isWithin) in [(50, false), (150, true), (250, false)] as [(UInt64, Bool)] {
                #expect(course().answer(1, ask, .granted, at: second).isSound == isWithin, "\(ask) at \(second)")
                #expect(course().answer(1, ask, .notPermitted, at: second).isSound == !isWithin, "\(ask) at \(second)")
            }
        }
        for ask in [Ask.alarm, .state] { #expect(course().answer(1, ask, .granted, at: 50).isSound, "\(ask)") }
    }

    @Test("A signed command where none is accepted, by what the operator was told; an encrypted one is none")
    func signed() {
        func course(told: UInt64?) -> Course {
            Course().change(
                .settings(
                    Ask.Settings(
                        challengeLifeMilliseconds: 5_000, acceptsSigned: false,
                        calendar: HouseCalendar(zone: Zone.all[1]))), asked: 1, told: told)
        }
        #expect(Course().moves(2, at: 10, isSigned: true).isSound)
        #expect(
            course(told: 2).moves(2, at: 10, isSigned: true).broken
                == ["unlock (0) of key 2 moved the bolt, which had to be refused with 2"])
        #expect(course(told: 2).moves(2, at: 10).isSound)
        #expect(course(told: nil).moves(2, at: 10, isSigned: true).isSound)
    }

    @Test("A disposable user who opens twice, also by his other device; and who was given another opening")
    func disposable() {
        let course = { Course(.disposable).moves(5, at: 10) }
        #expect(course().isSound)
        #expect(!course().moves(5, at: 20, for: ChallengeID(bits: 8)).isSound)
        #expect(!course().moves(6, at: 20, for: ChallengeID(bits: 8)).isSound)
        let again = course().change(.enabled(5), asked: 15, told: 16)
        #expect(again.moves(5, at: 20, for: ChallengeID(bits: 8)).isSound)
        #expect(!again.moves(5, at: 30, for: ChallengeID(bits: 11)).isSound)
        #expect(Course(.disposable).moves(5, .lock, at: 10).moves(5, at: 20, for: ChallengeID(bits: 8)).isSound)
        #expect(Course(.duress).moves(5, at: 10).moves(5, at: 20, for: ChallengeID(bits: 8)).isSound)
    }

    @Test("A user whose minutes are over, counted from his first opening")
    func expiring() {
        let course = { Course(.expiring(minutes: 1)).moves(5, at: 10) }
        #expect(course().moves(6, at: 69, for: ChallengeID(bits: 8)).isSound)
        #expect(!course().moves(6, at: 70, for: ChallengeID(bits: 8)).isSound)
        let unset = Course(.expiring(minutes: 1))
        unset.register.setClock(nil, at: Self.seconds(5))
        #expect(!unset.moves(5, at: 10).isSound)
    }

    @Test("What a mode forbids, and what it does by itself")
    func modes() {
        func course(_ mode: LockMode, _ key: Int, _ operation: LockOperation) -> Bool {
            Course().change(.mode(mode), asked: 1, told: 2).moves(key, operation, at: 10).isSound
        }
        #expect(course(.privacy, 1, .unlock) && !course(.privacy, 2, .unlock) && course(.privacy, 2, .lock))
        #expect(!course(.lockdown, 0, .unlock) && course(.lockdown, 2, .lock))
        #expect(!course(.passage, 0, .lock) && !course(.passage, 0, .lockAndGo) && course(.passage, 3, .unlock))
        #expect(course(.passage, 2, .unlatch) && !course(.privacy, 2, .unlatch) && course(.privacy, 1, .unlatch))
        let passage = Course().change(.mode(.passage), asked: 1, told: 2)
        passage.moves(.lock, for: nil, at: Self.seconds(20))
        #expect(passage.broken == ["the lock locked by itself in passage"])
        let doubted = Course().change(.mode(.passage), asked: 1, told: nil)
        doubted.moves(.lock, for: nil, at: Self.seconds(20))
        #expect(doubted.isSound)
        let open = Course().moves(0, at: 3).change(.mode(.lockdown), asked: 5, told: 6)
        #expect(open.broken == ["the door stands open in lockdown"])
        open.moves(.lock, for: nil, at: Self.seconds(7))
        #expect(open.isSound)
    }

    @Test("A challenge that was answered when it was dead")
    func stale() {
        #expect(Course().moves(2, at: 10, heard: 5).isSound)
        #expect(
            Course().moves(2, at: 11, heard: 5).broken == [
                "unlock (0) of key 2 moved the bolt, and its challenge was dead"
            ])
        let longer = Course().change(
            .settings(
                Ask.Settings(
                    challengeLifeMilliseconds: 9_000, acceptsSigned: true, calendar: HouseCalendar(zone: Zone.all[1]))),
            asked: 1, told: nil)
        #expect(longer.moves(2, at: 11, heard: 5).isSound)
    }

    @Test("A time that is told to a machine that has one, or one that is behind what the lock has known")
    func time() {
        #expect(!Course().answer(0, .setTime(Self.origin), .granted).isSound)
        let unset = { () -> Course in
            let course = Course().change(.disabled(4), asked: 20, told: 21)
            course.register.setClock(nil, at: Self.seconds(30))
            return course
        }
        #expect(unset().answer(0, .setTime(Self.origin), .granted, at: 40).isSound)
        #expect(!unset().answer(0, .setTime(Self.origin - 90), .granted, at: 40).isSound)
        #expect(!unset().answer(1, .setTime(Self.origin), .granted, at: 40).isSound)
    }
}
