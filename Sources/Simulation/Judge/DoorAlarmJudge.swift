import BluetoothCore
import LockPeripheral
import StrikeControl

/// Whether alarms of a door were told when there was something to tell, and only then, while lock and keeper lived.
struct DoorAlarmJudge {
    private let door: DoorEvidence

    init(_ door: DoorEvidence) { self.door = door }

    var broken: [String] {
        guard door.isSound else { return brokenJams }
        return brokenJams + brokenCrimes + brokenRecords + brokenForced + brokenAjar + brokenTampers + brokenHands
    }

    /// Whether a program had seen everything in this time, and some time before: it knows a door then.
    private func wasThere(_ begin: Instant, _ end: Instant) -> Bool {
        !door.wasAway(Self.before(begin, Self.acquaintanceMilliseconds), end)
    }

    private static func before(_ instant: Instant, _ milliseconds: UInt64) -> Instant {
        Instant(nanoseconds: instant.nanoseconds - min(instant.nanoseconds, milliseconds * 1_000_000))
    }
    private static let acquaintanceMilliseconds: UInt64 = 5_000

    /// Or whether so many of its kind were told in the last minute that no more are.
    private func isTold(_ from: Instant, _ to: Instant, _ isIt: (Alarm) -> Bool) -> Bool {
        let all = (door.record.earlierAlarms + door.record.alarms).filter { isIt($0.alarm) && $0.at <= to }
        return all.contains { $0.at >= from }
            || all.count { to.milliseconds(since: $0.at) <= DoorRecord.meterMilliseconds } >= Self.toldInAMinute
    }
    private static let toldInAMinute = 5

    // MARK: By force

    /// A door that is forced is told, whoever is killed meanwhile: at once, or by the next program that finds it open for long enough.
    private var brokenCrimes: [String] {
        guard door.fit.hasContact else { return [] }
        return door.record.crimes.compactMap { crime in
            let first = firstOpening(at: crime)
            guard let due = promptAlarm(of: crime) ?? lateAlarm(of: crime), door.record.crimes.contains(first),
                !isTold(first, due, { $0 == .forced(.door) })
            else { return nil }
            return "the door was forced, and nobody was told"
        }
    }

    /// When it has been told by a program that was there before and behind; nil for what none can tell.
    private func promptAlarm(of crime: Instant) -> Instant? {
        let due = door.prompt(crime)
        guard due <= door.end, wasThere(crime, due), !wasExpected(crime), !isReleased(soonBehind: crime) else {
            return nil
        }
        return due
    }

    /// When it has been told by programs that knew the door before, and were killed or away then; nil while none has looked at it for long
    /// enough, and where the lock cannot tell it from a door that was opened.
    private func lateAlarm(of crime: Instant) -> Instant? {
        guard wasThere(crime, crime), let due = door.settled(behind: crime, door.allAbsences),
            door.record.open.all.contains(where: { $0.from == crime && $0.covers(crime, due) }),
            !mayMove(Self.before(crime, DoorRules.exitMilliseconds + DoorEvidence.promptMilliseconds), due)
        else { return nil }
        return due
    }

    /// Whether a movement may be under way in this time, or who goes out may have said so. A door that is found open is not forced then:
    /// it may have opened before the bolt went out.
    private func mayMove(_ begin: Instant, _ end: Instant) -> Bool {
        let causes = [door.record.free, door.record.presses, door.record.fires, door.record.hands]
        let orders = door.commands + door.record.orders.map(\.at)
        return causes.contains { $0.all.contains { $0.meets(begin, end) } }
            || orders.contains { begin <= $0 && $0 <= end } || door.mayBeInPassage(begin, end)
    }

    /// What a record of the audit says is told, whenever the lock is killed behind it, and whatever becomes of the door.
    private var brokenRecords: [String] {
        door.record.forcedRecords.compactMap { record in
            guard let leaf = door.record.open.all.last(where: { $0.from <= record }),
                let due = door.settled(behind: record, door.absences),
                !isTold(firstOpening(of: leaf, door.record.open), due, { $0 == .forced(.door) })
            else { return nil }
            return "the audit has that the door was forced, and nobody was told"
        }
    }

    /// Somebody went out before, where that is announced.
    private func wasExpected(_ instant: Instant) -> Bool {
        door.fit.rules.exit == .announces
            && door.record.presses.all.contains {
                $0.from <= instant
                    && $0.from.advanced(byMilliseconds: DoorRules.exitMilliseconds + DoorEvidence.promptMilliseconds)
                        >= instant
            }
    }

    /// The bolt was withdrawn, for a command, before the contact's word was heard.
    private func isReleased(soonBehind crime: Instant) -> Bool {
        let heard = crime.advanced(byMilliseconds: Self.contactMilliseconds)
        return door.record.free.all.contains { crime <= $0.from && $0.from < heard }
    }
    /// The contact's word comes a little behind the bolt's.
    private static let contactMilliseconds: UInt64 = 200

    /// One that was not forced is not.
    private var brokenForced: [String] {
        door.record.alarms.filter { $0.alarm == .forced(.door) }.compactMap { _, at in
            guard let leaf = door.record.open.all.last(where: { $0.from <= at }) else {
                return "a door that nobody opened was forced, it was told"
            }
            let isInLastMoment = isInLastMoment(leaf.from)
            // Somebody holds the bolt back, which a sensor alone can tell.
            let isByHand = door.record.hands.all.contains { $0.meets(leaf.from, leaf.from) }
            if door.record.crimes.contains(leaf.from) || isInLastMoment || isByHand || !wasThere(leaf.from, at) {
                return nil
            }
            return "a door that was opened was forced, it was told"
        }
    }

    /// The door opened as the bolt was about to go out, or as the coil let it go: a lock without a sensor of the bolt takes it for locked
    /// then, also where the bolt is withdrawn again before it has gone out.
    private func isInLastMoment(_ opening: Instant) -> Bool {
        let begin = Self.before(opening, Self.contactMilliseconds)
        let end = opening.advanced(byMilliseconds: Self.contactMilliseconds)
        let ends = (door.record.free.all + door.record.releases.map(\.stretch)).compactMap(\.to)
        return door.record.free.all.contains { $0.meets(opening, opening) } && ends.contains { begin < $0 && $0 < end }
    }

    /// A bolt that a hand moves is told.
    private var brokenHands: [String] {
        guard door.fit.hasFeedback else { return [] }
        return door.record.hands.all.compactMap { hand in
            let due = door.prompt(hand.from)
            let isBusy = door.record.orders.contains {
                $0.at <= due && due.milliseconds(since: $0.at) <= Self.acquaintanceMilliseconds
            }
            let lasted = (hand.to ?? door.end).milliseconds(since: hand.from)
            guard due <= door.end, wasThere(hand.from, due), !isBusy, lasted >= Self.handMilliseconds,
                !isTold(hand.from, due, { $0 == .forced(.bolt) })
            else { return nil }
            return "a hand moved the bolt, and nobody was told"
        }
    }
    private static let handMilliseconds: UInt64 = 200

    // MARK: Left open

    private static let launchMilliseconds: UInt64 = 500

    private var brokenAjar: [String] {
        guard door.fit.hasContact else { return [] }
        let alarms = door.record.alarms.filter { $0.alarm == .ajar }.map(\.at)
        guard let ajar = door.fit.rules.ajarSeconds.map({ UInt64($0) * 1_000 }) else {
            return alarms.map { _ in "a door was ajar, it was told, and no door ever is" }
        }
        let untold: [String] = door.record.open.all.compactMap { leaf in
            // A program that has come back meanwhile counts from then on at the latest, and no sooner than from the beginning.
            let lastBack = door.allAbsences.compactMap(\.to)
                .filter {
                    $0.advanced(byMilliseconds: Self.launchMilliseconds) < leaf.from.advanced(byMilliseconds: ajar)
                }
                .max()
            let begin = max(leaf.from, lastBack ?? leaf.from)
            let due = door.prompt(begin.advanced(byMilliseconds: ajar))
            // A forced one is told as that.
            guard due <= door.end, !door.record.crimes.contains(leaf.from), leaf.covers(leaf.from, due),
                !door.wasAway(Instant(nanoseconds: begin.nanoseconds + 1), due),
                !isTold(firstOpening(of: leaf, door.record.open), due, { $0 == .ajar || $0 == .forced(.door) })
            else { return nil }
            return "the door was left open, and nobody was told"
        }
        let mistold: [String] = alarms.compactMap { at in
            let before = Self.before(at, ajar)
            let isOpen = door.record.open.all.contains { $0.covers(before, before) }
            return isOpen || !wasThere(before, at) ? nil : "a door was left open, it was told, and it was not"
        }
        return untold + mistold
    }

    // MARK: Bolt and housing

    /// A bolt that does not come when it is called is told.
    private var brokenJams: [String] {
        guard door.fit.hasFeedback else { return [] }
        return door.record.releases.compactMap { release in
            guard release.order != nil else { return nil }
            let from = release.stretch.from
            let due = door.prompt(from.advanced(byMilliseconds: door.fit.wholeMilliseconds))
            let isFree = door.record.free.all.contains { $0.meets(from, due) }
            let mayLookFree = door.record.lies.all.contains { $0.meets(from, due) }
            guard due <= door.end, !isFree, !mayLookFree, wasThere(from, due),
                door.record.jams.all.contains(where: { $0.covers(from, due) }),
                !isTold(from, due, { if case .jam = $0 { true } else { false } })
            else { return nil }
            return "the bolt was jammed, and nobody was told"
        }
    }

    private var brokenTampers: [String] {
        door.record.tampers.all.compactMap { tamper in
            let due = door.prompt(tamper.from)
            let lasted = (tamper.to ?? door.end).milliseconds(since: tamper.from)
            guard due <= door.end, wasThere(tamper.from, due), lasted >= Self.tamperMilliseconds,
                !isTold(firstOpening(of: tamper, door.record.tampers), due, { $0 == .tamper(.door) })
            else { return nil }
            return "the housing was opened, and nobody was told"
        }
    }
    private static let tamperMilliseconds: UInt64 = 60

    // MARK: What looks like one opening

    /// An opening counts as one with the opening before it when the sensor's word of the closing was not believed, or nobody looked.
    private func firstOpening(of opening: Stretch, _ openings: Stretches) -> Instant {
        guard let before = openings.all.last(where: { $0.from < opening.from }), let end = before.to,
            opening.from.milliseconds(since: end) < Self.tamperMilliseconds || isUnseen(end, opening.from)
        else { return opening.from }
        return firstOpening(of: before, openings)
    }

    /// When the opening that begins at this instant was first seen.
    private func firstOpening(at instant: Instant) -> Instant {
        let leaf = door.record.open.all.first { $0.from == instant }
        return leaf.map { firstOpening(of: $0, door.record.open) } ?? instant
    }

    private func isUnseen(_ end: Instant, _ begin: Instant) -> Bool {
        let heard = end.advanced(byMilliseconds: Self.contactMilliseconds)
        return door.allAbsences.contains { $0.covers(heard, begin) }
    }
}
