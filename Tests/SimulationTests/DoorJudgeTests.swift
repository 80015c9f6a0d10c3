import BluetoothCore
import LockPeripheral
import LockProtocol
import StrikeControl
import Testing

@testable import Simulation

/// Each thing that the judge of doors has to see, made up, and next to it what looks like it and is nothing.
@Suite("The judge of simulated doors")
struct DoorJudgeTests {
    /// What the metal of one door has seen. Times are in milliseconds.
    private struct Course {
        var record = DoorRecord()
        var fit = DoorFit(seed: 0)
        var absences = Absences()
        var isSound = true
        var end: UInt64 = 60_000
        var commands: [Instant] = []
        var mayBeInPassage: (Instant, Instant) -> Bool = { _, _ in false }

        init(_ drive: StrikeRules.Drive = .pulse) {
            fit.drive = drive
            fit.failure = .secure
            (fit.hasFeedback, fit.hasContact, fit.retries) = (true, true, 1)
            (fit.pulseMilliseconds, fit.orphanMilliseconds) = (3_000, 5_000)
            fit.rules = DoorRules(ajarSeconds: 4, locksWhenClosed: false, exit: .opens)
        }

        var broken: [String] {
            DoorJudge(
                DoorEvidence(
                    record: record, fit: fit, absences: absences.all, isSound: isSound, end: at(end),
                    commands: commands, mayBeInPassage: mayBeInPassage)
            ).broken
        }

        mutating func order(_ movement: StrikeMovement = .unlock, _ intent: UInt64 = 7, at instant: UInt64) {
            record.orders.append(DoorRecord.Order(Self.order(movement, intent), at: DoorJudgeTests.at(instant)))
        }

        private static func order(_ movement: StrikeMovement, _ intent: UInt64) -> StrikeOrder {
            StrikeOrder(intent: intent, movement: movement, pulseMilliseconds: 3_000, notAfter: nil)
        }

        /// Ordered, released, and the bolt with it.
        mutating func opens(_ movement: StrikeMovement = .unlock, _ intent: UInt64 = 7, from: UInt64, to: UInt64) {
            order(movement, intent, at: from)
            record.release(true, for: Self.order(movement, intent), at: DoorJudgeTests.at(from))
            record.free.turn(true, at: DoorJudgeTests.at(from + 80))
            record.free.turn(false, at: DoorJudgeTests.at(to + 80))
            record.release(false, for: nil, at: DoorJudgeTests.at(to))
        }

        mutating func tells(_ alarm: Alarm, at instant: UInt64) {
            record.alarms.append((alarm, DoorJudgeTests.at(instant)))
        }

        func away(_ reason: Absences.Reason = .keeper, from: UInt64, to: UInt64) -> Self {
            var course = self
            course.record.absences.begin(reason, at: DoorJudgeTests.at(from))
            course.record.absences.end(reason, at: DoorJudgeTests.at(to))
            return course
        }

        func dead(from: UInt64, to: UInt64) -> Self {
            var course = self
            course.absences.begin(.dead, at: DoorJudgeTests.at(from))
            course.absences.end(.dead, at: DoorJudgeTests.at(to))
            return course
        }

        func unsound() -> Self {
            var course = self
            course.isSound = false
            return course
        }
    }

    private static func at(_ milliseconds: UInt64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    private static func course(_ drive: StrikeRules.Drive = .pulse, _ body: (inout Course) -> Void) -> Course {
        var course = Course(drive)
        body(&course)
        return course
    }

    private static func during(_ stretches: inout Stretches, _ from: UInt64, _ to: UInt64) {
        stretches.turn(true, at: at(from))
        stretches.turn(false, at: at(to))
    }

    @Test("A release that is longer than was asked, by nobody's absence")
    func pulses() {
        #expect(Self.course { $0.opens(from: 1_000, to: 4_000) }.broken == [])
        let long = Self.course { $0.opens(from: 1_000, to: 4_001) }
        #expect(long.broken == ["the door was released for 1 ms more than was asked"])
        #expect(Self.course { $0.opens(from: 1_000, to: 4_800) }.away(from: 2_000, to: 4_500).broken == [])
        #expect(Self.course { $0.opens(from: 1_000, to: 5_800) }.away(from: 2_000, to: 4_500).broken.count == 1)
        // Asked for once more.
        let twice = Self.course {
            $0.opens(from: 1_000, to: 6_000)
            $0.order(.unlock, 8, at: 3_000)
        }
        #expect(twice.broken == [])
        #expect(Self.course(.hold) { $0.opens(from: 1_000, to: 9_000) }.broken == [])
        #expect(Self.course(.hold) { $0.opens(.unlatch, from: 1_000, to: 9_000) }.broken.count == 1)
    }

    @Test("An opening that is made more often than it may be tried")
    func attempts() {
        func made(_ count: UInt64, _ movement: StrikeMovement = .unlock, hasFeedback: Bool = true) -> [String] {
            Self.course {
                $0.fit.hasFeedback = hasFeedback
                for number in 0..<count { $0.opens(movement, from: 1_000 + number * 5_000, to: 2_000 + number * 5_000) }
            }.broken
        }
        #expect(made(2) == [] && made(3) == ["opening 7 was made 3 times"])
        #expect(made(2, hasFeedback: false) == ["opening 7 was made 2 times"])
        #expect(made(2, .unlatch) == ["opening 7 was made 2 times"])
    }

    @Test("A door that is held for a lock that has gone")
    func orphans() {
        func held(until end: UInt64, back: UInt64 = 30_000) -> Course {
            Self.course(.hold) {
                $0.opens(from: 1_000, to: end)
                Self.during(&$0.record.unattended, 4_000, back)
            }
        }
        #expect(held(until: 9_900).broken == [])
        #expect(held(until: 9_901).broken == ["the door was held for a lock that was gone"])
        #expect(held(until: 20_000, back: 8_900).broken == [])
        #expect(held(until: 10_600).away(from: 9_000, to: 10_500).broken == [])
        var safe = held(until: 20_000)
        safe.fit.failure = .safe
        #expect(safe.broken == [])
    }

    @Test("A door that stays locked in a fire, or is locked in it for longer than it takes to open it")
    func fires() {
        func burning(_ openings: [(UInt64, UInt64)], until end: UInt64 = 20_000) -> Course {
            Self.course {
                Self.during(&$0.record.fires, 2_000, end)
                for (from, to) in openings { $0.opens(from: from, to: to) }
                $0.fit.retries = 9
            }
        }
        #expect(burning([(2_100, 5_000), (5_100, 8_000)], until: 8_500).broken == [])
        #expect(burning([]).broken == ["the door was locked for 18000 ms in a fire"])
        #expect(
            burning([(2_100, 5_000), (9_000, 12_000)], until: 12_500).broken == [
                "the door was locked for 4000 ms in a fire"
            ])
        #expect(burning([(2_100, 5_000)]).away(from: 4_500, to: 18_000).broken == [])
        #expect(burning([(2_100, 5_000)]).dead(from: 4_500, to: 18_000).broken == [])
        #expect(burning([]).unsound().broken == [])
        // Too short to be one.
        #expect(burning([], until: 2_020).broken == [])
    }

    @Test("Somebody inside presses the button, and stays inside")
    func exits() {
        func pressed(for milliseconds: UInt64 = 500, _ exit: DoorRules.Exit = .opens, opens: UInt64? = nil) -> Course {
            Self.course {
                $0.fit.rules.exit = exit
                Self.during(&$0.record.presses, 2_000, 2_000 + milliseconds)
                if let opens { $0.opens(from: opens, to: opens + 1_000) }
            }
        }
        #expect(pressed().broken == ["somebody pressed the button inside, and the door stayed locked"])
        #expect(pressed(opens: 4_900).broken == [] && !pressed(opens: 4_930).broken.isEmpty)
        // What ends before he is at the door does not let him out, unless it is he who opens it.
        var early = pressed()
        early.opens(from: 1_000, to: 2_300)
        #expect(early.broken.count == 1)
        var late = pressed()
        late.opens(from: 1_000, to: 2_420)
        #expect(late.broken == [])
        var others = early
        Self.during(&others.record.open, 1_500, 2_400)
        #expect(others.broken.count == 1)
        var own = early
        Self.during(&own.record.open, 2_100, 2_400)
        #expect(own.broken == [])
        #expect(pressed(for: 20).broken == [] && pressed(.announces).broken == [])
        #expect(pressed().dead(from: 4_000, to: 6_000).broken == [])
        #expect(pressed().away(.chip, from: 700, to: 800).broken == [])
        #expect(pressed().away(.chip, from: 700, to: 799).broken.count == 1)
    }

    @Test("The bolt is sent out into a door that has been open for a while")
    func closings() {
        func closing(at instant: UInt64, intent: UInt64 = 8) -> Course {
            Self.course(.hold) {
                $0.opens(from: 1_000, to: instant)
                $0.order(.lock, intent, at: instant)
                Self.during(&$0.record.open, 2_000, 5_000)
            }
        }
        #expect(closing(at: 4_000).broken == ["the bolt was sent out into an open door"])
        #expect(closing(at: 2_500).broken == [] && closing(at: 5_001).broken == [])
        #expect(closing(at: 4_000, intent: 0).broken == [])
        #expect(closing(at: 4_000).away(from: 3_000, to: 3_100).broken == [])
    }

    @Test("Forced, and nobody is told; or told, and not forced")
    func forced() {
        let crime = Self.course {
            Self.during(&$0.record.open, 10_000, 12_000)
            $0.record.crimes = [Self.at(10_000)]
        }
        #expect(crime.broken == ["the door was forced, and nobody was told"])
        var told = crime
        told.tells(.forced(.door), at: 10_100)
        #expect(told.broken == [])
        // Whoever comes back to a closed door may not know it; who did not know the door before cannot tell.
        #expect(crime.dead(from: 10_200, to: 10_300).broken == [] && crime.away(from: 6_000, to: 6_100).broken == [])
        var announced = crime
        announced.fit.rules.exit = .announces
        Self.during(&announced.record.presses, 3_000, 3_100)
        #expect(announced.broken == [])
        // It shuts for so short that the contact's word is not believed, and is forced once more.
        func again(behind milliseconds: UInt64) -> [String] {
            var course = told
            Self.during(&course.record.open, 12_000 + milliseconds, 15_000)
            course.record.crimes.append(Self.at(12_000 + milliseconds))
            return course.broken
        }
        #expect(again(behind: 10) == [] && again(behind: 500) == ["the door was forced, and nobody was told"])
        // A command withdraws the bolt before the contact's word is heard, or behind it.
        func opened(at instant: UInt64) -> Course {
            var course = crime
            course.opens(from: instant - 80, to: 12_000)
            return course
        }
        #expect(opened(at: 10_025).broken == [])
        #expect(opened(at: 10_300).broken == ["the door was forced, and nobody was told"])

        var opened = Self.course {
            $0.opens(from: 9_000, to: 12_000)
            Self.during(&$0.record.open, 10_000, 11_000)
        }
        #expect(opened.broken == [])
        opened.tells(.forced(.door), at: 10_100)
        #expect(opened.broken == ["a door that was opened was forced, it was told"])
        #expect(opened.dead(from: 9_500, to: 9_600).broken == [])
        var byHand = opened
        Self.during(&byHand.record.hands, 9_900, 10_500)
        byHand.tells(.forced(.bolt), at: 9_930)
        #expect(byHand.broken == [])
        // The coil has let it go, and withdraws it once more before it has gone out.
        func letGo(at instant: UInt64) -> [String] {
            Self.course {
                $0.record.release(true, for: nil, at: Self.at(9_000))
                $0.record.release(false, for: nil, at: Self.at(instant))
                $0.record.release(true, for: nil, at: Self.at(instant + 50))
                $0.record.release(false, for: nil, at: Self.at(12_000))
                Self.during(&$0.record.free, 9_080, 12_080)
                Self.during(&$0.record.open, 10_000, 11_000)
                $0.tells(.forced(.door), at: 10_030)
            }.broken.filter { $0.contains("forced") }
        }
        #expect(letGo(at: 9_950) == [] && letGo(at: 10_010) == [])
        #expect(letGo(at: 9_800).count == 1 && letGo(at: 10_200).count == 1)
        let nothing = Self.course { $0.tells(.forced(.door), at: 10_100) }
        #expect(nothing.broken == ["a door that nobody opened was forced, it was told"])
    }

    @Test("Forced, and everybody was away: told by the next program that finds the door open for long enough")
    func forcedMeanwhile() {
        let back: UInt64 = 10_300
        func crime(openUntil end: UInt64 = 19_000) -> Course {
            Self.course {
                Self.during(&$0.record.open, 10_000, end)
                $0.record.crimes = [Self.at(10_000)]
            }
        }
        let broken = ["the door was forced, and nobody was told"]
        #expect(crime().dead(from: 10_100, to: back).broken == broken)
        #expect(crime().away(from: 10_100, to: back).broken == broken)
        #expect(crime().away(.chip, from: 10_100, to: 11_000).dead(from: 10_500, to: 12_000).broken == broken)
        // Told before the kill, or behind it.
        for instant in [10_090, back + DoorEvidence.returnMilliseconds] {
            var told = crime()
            told.tells(.forced(.door), at: instant)
            #expect(told.dead(from: 10_100, to: back).broken == [])
        }
        var late = crime()
        late.tells(.forced(.door), at: back + DoorEvidence.returnMilliseconds + 1)
        #expect(late.dead(from: 10_100, to: back).broken == broken)
        // How long is long enough.
        func closed(_ milliseconds: UInt64) -> [String] {
            crime(openUntil: back + milliseconds).dead(from: 10_100, to: back).broken
        }
        #expect(closed(DoorEvidence.returnMilliseconds) == broken && closed(DoorEvidence.returnMilliseconds - 1) == [])
        #expect(
            crime(openUntil: 15_000).dead(from: 10_100, to: back).dead(from: 13_000, to: 13_100).broken == [],
            "nobody has looked at it for long enough")
        #expect(crime().dead(from: 10_100, to: back).dead(from: 13_000, to: 13_100).broken == broken)
        // What may have had the bolt move before.
        var commanded = crime().dead(from: 10_100, to: back)
        commanded.commands = [Self.at(10_050)]
        #expect(commanded.broken == [])
        commanded.commands = []
        commanded.mayBeInPassage = { _, _ in true }
        #expect(commanded.broken == [])
        var ordered = crime()
        ordered.order(at: 12_000)
        #expect(ordered.dead(from: 10_100, to: back).broken == [])
        var pressed = crime()
        Self.during(&pressed.record.presses, 9_000, 9_010)
        #expect(pressed.dead(from: 10_100, to: back).broken == [])
    }

    @Test(
        "The audit has that the door was forced, and its lock was killed before it told; the door may be closed by then"
    )
    func forcedOnRecord() {
        let crime = Self.course {
            Self.during(&$0.record.open, 10_000, 10_500)
            $0.record.crimes = [Self.at(10_000)]
            $0.record.forcedRecords = [Self.at(10_100)]
        }.dead(from: 10_100, to: 11_000)
        let broken = ["the audit has that the door was forced, and nobody was told"]
        #expect(crime.broken == broken)
        for (instant, expected) in [
            (10_100, []), (11_000 + DoorEvidence.returnMilliseconds, []),
            (11_001 + DoorEvidence.returnMilliseconds, broken),
        ] as [(UInt64, [String])] {
            var told = crime
            told.tells(.forced(.door), at: instant)
            #expect(told.broken == expected)
        }
        // It has not run for long enough since.
        var early = crime
        early.end = 11_000 + DoorEvidence.returnMilliseconds - 1
        #expect(early.broken == [])
        #expect(crime.dead(from: 12_000, to: 58_000).broken == [])
    }

    @Test("Left open, and nobody is told; or told, and closed")
    func ajar() {
        func left(from: UInt64 = 10_000, to: UInt64, told: UInt64? = nil) -> Course {
            Self.course {
                $0.opens(from: 9_000, to: 11_000)
                Self.during(&$0.record.open, from, to)
                if let told { $0.tells(.ajar, at: told) }
            }
        }
        #expect(left(to: 13_900).broken == [] && left(to: 20_000, told: 14_050).broken == [])
        #expect(left(to: 20_000).broken == ["the door was left open, and nobody was told"])
        // Back in time, it knows since when; else it counts from then on.
        #expect(left(to: 20_000).dead(from: 12_000, to: 12_100).broken.count == 1)
        #expect(left(to: 19_000).dead(from: 12_000, to: 12_100).broken == [])
        #expect(left(to: 20_000).dead(from: 9_900, to: 9_950).broken.count == 1)
        #expect(left(to: 20_000).dead(from: 13_000, to: 13_500).broken == [])
        #expect(left(to: 30_000).away(from: 14_100, to: 14_200).broken == [])
        #expect(left(to: 13_000, told: 14_500).broken == [])
        #expect(
            left(from: 12_000, to: 13_000, told: 14_500).broken == ["a door was left open, it was told, and it was not"]
        )
        // Killed as it hears of a door again that it takes for forced, its next program tells it.
        let away = left(to: 20_000).away(.chip, from: 10_500, to: 11_000)
        #expect(away.broken.count == 1 && away.dead(from: 10_100, to: 10_200).broken.count == 1)
        #expect(away.dead(from: 11_100, to: 11_800).broken == ["the door was left open, and nobody was told"])
        // One that shuts and opens again while nobody looks was told before.
        let twice = Self.course(.hold) {
            $0.opens(from: 9_000, to: 21_000)
            for (from, to) in [(10_000, 15_000), (16_000, 40_000)] as [(UInt64, UInt64)] {
                Self.during(&$0.record.open, from, to)
            }
            $0.tells(.ajar, at: 14_050)
        }
        #expect(twice.broken == ["the door was left open, and nobody was told"])
        #expect(twice.dead(from: 14_500, to: 15_500).broken.count == 1)
        #expect(twice.dead(from: 14_500, to: 18_000).broken == [])
        var never = left(to: 20_000, told: 14_050)
        never.fit.rules.ajarSeconds = nil
        #expect(never.broken == ["a door was ajar, it was told, and no door ever is"])
    }

    @Test("A jam, a hand at the bolt and an open housing of which nobody is told")
    func bolt() {
        var jam = Self.course {
            Self.during(&$0.record.jams, 9_000, 30_000)
            $0.order(at: 10_000)
            let order = $0.record.orders[0].order
            $0.record.release(true, for: order, at: Self.at(10_000))
            $0.record.release(false, for: nil, at: Self.at(10_400))
        }.unsound()
        #expect(jam.broken == ["the bolt was jammed, and nobody was told"])
        #expect(jam.dead(from: 10_500, to: 10_600).broken == [])
        var freed = jam
        freed.record.free.turn(true, at: Self.at(10_300))
        freed.record.free.turn(false, at: Self.at(10_500))
        #expect(freed.broken == [])
        // So many were told that no more are.
        var many = jam
        for number in 0..<UInt64(5) { many.tells(.jam(.jammed), at: 1_000 * number) }
        many.record.forget(at: Self.at(5_000))
        many.record.jams = jam.record.jams
        (many.record.releases, many.record.orders) = (jam.record.releases, jam.record.orders)
        #expect(many.broken == [] && many.record.earlierAlarms.count == 5)
        // Its sensor may have said that it came.
        var hidden = jam
        Self.during(&hidden.record.lies, 11_000, 12_000)
        #expect(hidden.broken == [])
        var later = jam
        Self.during(&later.record.lies, 25_000, 26_000)
        #expect(later.broken == ["the bolt was jammed, and nobody was told"])
        jam.tells(.jam(.jammed), at: 11_000)
        #expect(jam.broken == [])

        var hand = Self.course { Self.during(&$0.record.hands, 10_000, 11_000) }
        #expect(hand.broken == ["a hand moved the bolt, and nobody was told"])
        #expect(hand.away(from: 9_000, to: 9_100).broken == [])
        hand.tells(.forced(.bolt), at: 10_150)
        #expect(hand.broken == [])

        var tamper = Self.course { Self.during(&$0.record.tampers, 10_000, 10_500) }
        #expect(tamper.broken == ["the housing was opened, and nobody was told"])
        tamper.tells(.tamper(.door), at: 10_040)
        #expect(tamper.broken == [])
        #expect(Self.course { Self.during(&$0.record.tampers, 10_000, 10_020) }.broken == [])
        // Closed for so short that no sensor's word is believed: it is one opening.
        func twice(_ from: UInt64) -> Course {
            var course = tamper
            Self.during(&course.record.tampers, from, from + 2_000)
            return course
        }
        #expect(twice(10_507).broken == [])
        #expect(twice(10_560).broken == ["the housing was opened, and nobody was told"])
    }

    @Test("What is over is forgotten, and what goes on is not")
    func forgetting() {
        var record = DoorRecord()
        Self.during(&record.open, 1_000, 2_000)
        record.fires.turn(true, at: Self.at(3_000))
        record.crimes = [Self.at(1_000)]
        record.forget(at: Self.at(3_000))
        #expect(record.open.all.isEmpty && record.crimes.isEmpty && record.fires.all.count == 1)
        record.fires.turn(false, at: Self.at(4_000))
        #expect(record.fires.all == [Stretch(from: Self.at(3_000), to: Self.at(4_000))])
        #expect(record.mayOpen(Self.at(3_500), Self.at(9_000)) && !record.mayOpen(Self.at(4_001), Self.at(9_000)))
        #expect(record.mayBeInFire(at: Self.at(5_000), [], end: Self.at(9_000)))
        #expect(!record.mayBeInFire(at: Self.at(6_000), [], end: Self.at(9_000)))
        #expect(!record.mayBeInFire(at: Self.at(2_999), [], end: Self.at(9_000)))
    }
}
