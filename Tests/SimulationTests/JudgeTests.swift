import BluetoothCore
import LockCentral
import LockPeripheral
import LockProtocol
import Testing

@testable import Simulation

/// Each thing that the judge has to see, made up, and next to it what looks like it and is nothing.
@Suite("The judge of simulated schedules")
struct JudgeTests {
    /// One schedule, as operators and the metal saw it: an unlock whose command came to the lock at 1.25 s.
    private struct Course {
        let ledger = Ledger()
        let metal = MetalJournal()
        var absences = Absences()
        var unlatching: Set<Int> = [0]
        var end = seconds(60)
        var keyHasEnded = false
        var presses: [(at: Instant, heard: Instant)] = []
        var freeUntil: Instant?
        /// Whose metal it is; the command is for the first one.
        var door = 0
        var commandsMaximum: Int?

        init(
            _ operation: LockOperation = .unlock, sentAt sent: UInt64? = 1_200, arrivesAt arrival: UInt64? = 1_250
        ) {
            ledger.asked(0, operation, of: 0, until: seconds(9))
            ledger.took(0, id)
            guard let sent else { return }
            ledger.sent(
                0, LockCommand(operation: operation, challenge: challenge), isSigned: true, at: milliseconds(sent))
            if let arrival { ledger.arrived(challenge, at: 0, milliseconds(arrival)) }
        }

        func moves(_ movement: Movement, at milliseconds: UInt64, for command: ChallengeID? = challenge) -> Self {
            let intent = IntentID(rawValue: UInt64(metal.lines.count + 1))
            metal.append(
                ActuatorOrder(intent: intent, movement: movement, command: command, notAfter: nil),
                now: JudgeTests.milliseconds(milliseconds))
            return self
        }

        func ends(_ verdict: KeyVerdict) -> Self {
            ledger.ended(0, id, verdict)
            return self
        }

        func tells(_ result: LockResult) -> Self {
            ledger.outcome(0, id, result)
            return self
        }

        func away(from: UInt64, to: UInt64) -> Self {
            var course = self
            course.absences.begin(.dead, at: seconds(from))
            course.absences.end(.dead, at: seconds(to))
            return course
        }

        var broken: [String] {
            var judge = Judge(
                door: door, requests: ledger.requests, keyHasEnded: keyHasEnded, metal: metal.movements,
                absences: absences.all,
                unlatching: unlatching, end: end, settings: House.settings)
            judge.presses = presses
            judge.commandsMaximum = commandsMaximum
            judge.commands = ledger.commands
            judge.wasFree = { [freeUntil] at in freeUntil.map { at <= $0 } ?? false }
            return judge.broken
        }
    }

    private static let challenge = ChallengeID(bits: 7)
    private static let id = KeyRequestID(rawValue: 3)
    private static func seconds(_ number: UInt64) -> Instant { milliseconds(number * 1_000) }
    private static func milliseconds(_ number: UInt64) -> Instant { Instant(nanoseconds: number * 1_000_000) }

    @Test("What is as it should be is nothing: opened, told, and locked by itself")
    func sound() {
        let course = Course().moves(.unlock, at: 1_300).ends(.done).tells(.done).moves(.lock, at: 4_800, for: nil)
        #expect(course.broken == [])
        #expect(Course(sentAt: nil).ends(.expired).broken == [])
        #expect(Course().ends(.unknown).broken == [])
        // An end that a kill has kept from being told.
        var untold = Course().moves(.unlock, at: 1_300).moves(.lock, at: 4_800, for: nil)
        untold.keyHasEnded = true
        #expect(untold.broken == [])
        untold.keyHasEnded = false
        #expect(untold.broken == ["unlock of key 0 was taken, and has no end"])
    }

    @Test("Done, it was told, and nothing moved")
    func toldAndNotDone() {
        #expect(Course().ends(.done).broken == ["unlock of key 0 is done, and nothing moved"])
        #expect(
            Course().ends(.accepted).tells(.done).broken == ["unlock of key 0 was done, it was told, and nothing moved"]
        )
    }

    @Test(
        "Of no effect, it was told, and the bolt moved",
        arguments: [KeyVerdict.refused(.busy), .aborted, .expired, .cancelled, .declined, .unproven])
    func doneAndNotTold(verdict: KeyVerdict) {
        let course = Course().moves(.unlock, at: 1_300).ends(verdict).moves(.lock, at: 4_800, for: nil)
        #expect(course.broken == ["unlock of key 0 has not taken effect, it was told, and the bolt moved"])
    }

    @Test("Done twice, and ended twice")
    func twice() {
        let moved = Course().moves(.unlock, at: 1_300).moves(.lock, at: 2_000, for: nil).moves(.unlock, at: 3_000)
            .moves(.lock, at: 6_500, for: nil).ends(.unknown)
        #expect(moved.broken == ["unlock of key 0 was done 2 times"])
        #expect(Course().ends(.unknown).ends(.expired).broken == ["unlock of key 0 has ended 2 times"])
    }

    @Test("Asked of the lock again and again, where it answers")
    func askedOften() {
        var course = Course().ends(.refused(.notPermitted))
        for number in 1...3 {
            let further = LockCommand(operation: .unlock, challenge: ChallengeID(bits: UInt64(100 + number)))
            course.ledger.sent(0, further, isSigned: false, at: Self.seconds(2))
            // The same command once more is none.
            course.ledger.sent(0, further, isSigned: false, at: Self.seconds(3))
        }
        #expect(course.broken == [])
        course.commandsMaximum = 4
        #expect(course.broken == [])
        course.commandsMaximum = 3
        #expect(course.broken == ["unlock of key 0 was asked of the lock with 4 commands"])
    }

    @Test("Opened by itself, for nobody's command, and for a command to lock")
    func opened() {
        func relocked(_ course: Course) -> [String] {
            course.moves(.lock, at: 4_800, for: nil).ends(.unknown).broken
        }
        #expect(relocked(Course().moves(.unlock, at: 1_300, for: nil)) == ["the lock opened by itself"])
        #expect(
            relocked(Course().moves(.unlock, at: 1_300, for: ChallengeID(bits: 8)))
                == ["the lock opened for a command that no key has sent"])
        #expect(relocked(Course(.lock).moves(.unlock, at: 1_300)) == ["the lock opened for a command to lock"])
    }

    @Test("Opened for a command that was meant for another lock")
    func elsewhere() {
        var course = Course().moves(.unlock, at: 1_300).moves(.lock, at: 4_800, for: nil).ends(.done)
        course.door = 1
        #expect(course.broken == ["the lock opened for a command to another lock"])
        // What came to the other one has not come to this one.
        let ledger = Ledger()
        ledger.asked(0, .unlock, of: 0, until: Self.seconds(9))
        ledger.sent(0, LockCommand(operation: .unlock, challenge: Self.challenge), isSigned: true, at: Self.seconds(1))
        ledger.arrived(Self.challenge, at: 1, Self.seconds(1))
        #expect(ledger.requests[0].arrived == nil)
    }

    @Test("Opened late: behind the intent's life, which begins when the command comes; and for one that never came")
    func late() {
        func broken(at milliseconds: UInt64) -> [String] {
            Course().moves(.unlock, at: milliseconds).moves(.lock, at: milliseconds + 3_500, for: nil).ends(.unknown)
                .broken
        }
        #expect(broken(at: 3_250) == [])
        #expect(broken(at: 3_251) == ["the lock opened 2001 ms after its command had come"])
        let unheard = Course(arrivesAt: nil).moves(.unlock, at: 1_300).moves(.lock, at: 4_800, for: nil)
            .ends(.unknown)
        #expect(unheard.broken == ["the lock opened for a command that never came to it"])
    }

    @Test("Opened late: what the key has sent long ago, and what left the key when its time was over")
    func heldBack() {
        func broken(arrival: UInt64) -> [String] {
            Course(sentAt: 1_000, arrivesAt: arrival).moves(.unlock, at: arrival + 10)
                .moves(.lock, at: arrival + 3_500, for: nil).ends(.unknown).broken
        }
        #expect(broken(arrival: 7_990) == [])
        #expect(broken(arrival: 7_991) == ["the lock opened 7001 ms after the key had sent its command"])
        #expect(Course(sentAt: 9_000, arrivesAt: nil).ends(.unknown).broken == [])
        #expect(
            Course(sentAt: 9_001, arrivesAt: nil).ends(.unknown).broken == ["unlock of key 0 left the key 1 ms late"])
    }

    @Test("Opened late: the command left the key in time and came in time, and its user's time was over")
    func heldBackBehindItsTime() {
        func broken(at milliseconds: UInt64) -> [String] {
            Course(sentAt: 7_500, arrivesAt: 7_600).moves(.unlock, at: milliseconds)
                .moves(.lock, at: milliseconds + 3_500, for: nil).ends(.unknown).broken
        }
        #expect(broken(at: 9_000) == [])
        #expect(broken(at: 9_001) == ["the lock opened 1 ms later than its user meant"])
    }

    @Test("The latch is pulled for somebody who has no right to it")
    func rights() {
        var course = Course(.unlatch).moves(.unlatch, at: 1_300).ends(.unknown).moves(.lock, at: 4_800, for: nil)
        #expect(course.broken == [])
        course.unlatching = []
        #expect(course.broken == ["unlatch of key 0 has no right to it, and the bolt moved"])
    }

    @Test("An absence lasts until its last reason is gone")
    func absences() {
        var absences = Absences()
        absences.begin(.slow, at: Self.seconds(1))
        absences.begin(.dead, at: Self.seconds(2))
        absences.end(.slow, at: Self.seconds(3))
        absences.end(.suspended, at: Self.seconds(3))
        #expect(absences.all.count == 1 && absences.all[0].to == nil)
        absences.forget()
        #expect(absences.all.count == 1)
        absences.end(.dead, at: Self.seconds(4))
        #expect(absences.all.map(\.from) == [Self.seconds(1)] && absences.all[0].to == Self.seconds(4))
        absences.begin(.dead, at: Self.seconds(5))
        #expect(absences.all.count == 2)
        absences.forget()
        #expect(absences.all.map(\.from) == [Self.seconds(5)])
    }

    @Test("A relock that is late, or never made; and one that waited for a process")
    func relock() {
        func course(_ locked: UInt64?, away: (from: UInt64, to: UInt64)? = nil, end: UInt64 = 60) -> [String] {
            var course = Course().moves(.unlock, at: 1_300).ends(.done)
            if let locked { course = course.moves(.lock, at: locked, for: nil) }
            if let away { course = course.away(from: away.from, to: away.to) }
            course.end = Self.seconds(end)
            return course.broken
        }
        #expect(course(nil) == ["the door stayed open"])
        #expect(course(7_800) == [])
        #expect(course(7_900) == ["the door was locked 100 ms late"])
        #expect(course(11_500, away: (3, 9)) == [])
        #expect(course(11_600, away: (3, 9)) == ["the door was locked 100 ms late"])
        // Too short to be judged.
        #expect(course(nil, end: 7) == [])
    }

    @Test(
        "A relock that the button inside puts off: while the bolt has to be open, and while nobody lives who could send it out"
    )
    func pressedRelock() {
        func course(_ locked: UInt64, pressed: UInt64, heard: UInt64, away: Bool = false) -> [String] {
            var course = Course().moves(.unlock, at: 1_300).ends(.done).moves(.lock, at: locked, for: nil)
            if away { course = course.away(from: 3, to: 9) }
            course.presses = [(Self.milliseconds(pressed), Self.milliseconds(heard))]
            return course.broken
        }
        #expect(course(13_500, pressed: 7_000, heard: 7_000) == [])
        #expect(course(13_600, pressed: 7_000, heard: 7_000) == ["the door was locked 100 ms late"])
        #expect(course(7_900, pressed: 7_850, heard: 7_850) == ["the door was locked 100 ms late"])
        #expect(course(15_500, pressed: 8_500, heard: 9_000, away: true) == [])
        #expect(course(15_600, pressed: 8_500, heard: 9_000, away: true) == ["the door was locked 100 ms late"])
        #expect(course(11_600, pressed: 11_550, heard: 11_550, away: true) == ["the door was locked 100 ms late"])
    }

    @Test("Done without a movement, as the bolt was open when the command came, and a copy of it when it no longer was")
    func open() {
        var course = Course().ends(.done)
        #expect(course.broken == ["unlock of key 0 is done, and nothing moved"])
        course.freeUntil = Self.seconds(2)
        #expect(course.broken == [])
        course.ledger.arrived(Self.challenge, at: 0, Self.seconds(4))
        #expect(course.broken == [])
    }

    @Test("A relock that another command puts off, which comes while the bolt waits to be sent out")
    func commandedRelock() {
        func course(_ locked: UInt64, arrivesAt arrival: UInt64) -> [String] {
            let course = Course().moves(.unlock, at: 1_300).ends(.done).moves(.lock, at: locked, for: nil)
            let further = ChallengeID(bits: 8)
            course.ledger.sent(
                1, LockCommand(operation: .unlock, challenge: further), isSigned: true, at: Self.milliseconds(arrival))
            course.ledger.arrived(further, at: 0, Self.milliseconds(arrival))
            return course.away(from: 3, to: 9).broken
        }
        #expect(course(17_500, arrivesAt: 11_000) == [])
        #expect(course(17_600, arrivesAt: 11_000) == ["the door was locked 100 ms late"])
        #expect(course(11_600, arrivesAt: 11_550) == ["the door was locked 100 ms late"])
    }

    @Test("An end without a command, and a command without anybody who asked, are strays")
    func strays() {
        let ledger = Ledger()
        ledger.ended(0, Self.id, .done)
        ledger.sent(1, LockCommand(operation: .unlock, challenge: Self.challenge), isSigned: true, at: Self.seconds(1))
        #expect(ledger.strays == [Self.id] && ledger.unasked == [Self.challenge])
        // A key that was killed before it could say that it took the command.
        ledger.asked(0, .unlock, of: 0, until: Self.seconds(9))
        ledger.ended(0, Self.id, .expired)
        #expect(ledger.requests.first?.id == Self.id && ledger.strays.count == 1)
        // The next one's end is not his.
        ledger.ended(0, KeyRequestID(rawValue: 9), .done)
        #expect(ledger.strays.count == 2)
    }
}
