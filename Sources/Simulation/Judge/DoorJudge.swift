import BluetoothCore
import LockPeripheral
import StrikeControl

/// What a schedule has broken at a door that a strike holds, by what its metal has seen, the orders that passed, and the alarms that were
/// told. Neither the lock nor its keeper is asked.
struct DoorJudge {
    private let door: DoorEvidence

    init(_ door: DoorEvidence) { self.door = door }

    /// What a keeper needs that is there again: it looks at its line each second.
    private static let keeperMilliseconds: UInt64 = 1_200
    /// Before it counts, what a line says has to stand still for a while.
    private static let debounceMilliseconds: UInt64 = 60

    var broken: [String] {
        brokenPulses + brokenAttempts + brokenOrphans + brokenFires + brokenExits + brokenClosings
            + DoorAlarmJudge(door).broken
    }

    /// Nothing that is due in an absence is late behind it.
    private func later(_ due: Instant, _ absences: [Stretch], by milliseconds: UInt64) -> Instant {
        absences.sorted { $0.from < $1.from }.reduce(due) { due, absence in
            absence.from <= due ? max(due, (absence.to ?? door.end).advanced(byMilliseconds: milliseconds)) : due
        }
    }

    // MARK: Releases

    private func pulse(of order: StrikeOrder) -> UInt64 { min(UInt64(order.pulseMilliseconds), 10_000) }

    /// No release is longer than what was asked for, but for what its keeper needs to be back.
    private var brokenPulses: [String] {
        door.record.releases.compactMap { release in
            let (from, to) = (release.stretch.from, release.stretch.to ?? door.end)
            let orders = door.record.orders.filter { $0.opens && $0.at >= from && $0.at <= to }.map(\.order)
            let all = orders + (release.order.map { [$0] } ?? [])
            // One that is held ends by an order.
            guard !all.isEmpty, door.fit.drive == .pulse || all.allSatisfy({ $0.movement == .unlatch }) else {
                return nil
            }
            let last = door.record.orders.last { $0.opens && $0.at <= to }?.at ?? from
            let asked = max(from, last).advanced(byMilliseconds: all.map(pulse).max() ?? 0)
            let due = later(asked, door.record.absences.all, by: Self.keeperMilliseconds)
            return to > due ? "the door was released for \(to.milliseconds(since: asked)) ms more than was asked" : nil
        }
    }

    /// One opening may be tried again where a sensor says that it has not come to anything.
    private var brokenAttempts: [String] {
        let attempts = Dictionary(grouping: door.record.releases.compactMap(\.order), by: { $0 })
        return attempts.compactMap { order, all in
            let most = door.fit.hasFeedback && order.movement == .unlock ? 1 + door.fit.retries : 1
            return all.count > most ? "opening \(order.intent) was made \(all.count) times" : nil
        }.sorted()
    }

    /// A door that locks without power is held for no longer than it may be for a lock that is gone.
    private var brokenOrphans: [String] {
        guard door.fit.drive == .hold, door.fit.failure == .secure else { return [] }
        return door.record.unattended.all.compactMap { stretch in
            let pulse = door.record.orders.last { $0.at <= stretch.from }.map {
                $0.at.advanced(byMilliseconds: self.pulse(of: $0.order))
            }
            // An opening that is under way comes to its end first.
            let own = stretch.from.advanced(byMilliseconds: door.fit.orphanMilliseconds + door.fit.wholeMilliseconds)
            let due = later(max(own, pulse ?? own), door.record.absences.all, by: Self.keeperMilliseconds)
            guard due < stretch.to ?? door.end,
                door.record.releases.contains(where: {
                    $0.stretch.from < stretch.from && $0.stretch.to ?? door.end > due
                })
            else { return nil }
            return "the door was held for a lock that was gone"
        }
    }

    // MARK: Ways out

    /// In a fire the door is not locked for longer than it takes to open it.
    private var brokenFires: [String] {
        guard door.isSound else { return [] }
        return door.record.fires.all.compactMap { fire in
            let over = fire.to ?? door.end
            guard over > fire.from.advanced(byMilliseconds: Self.debounceMilliseconds) else { return nil }
            var locked = fire.from
            for free in door.record.free.all + [Stretch(from: over)] where free.meets(fire.from, over) {
                let due = later(
                    door.prompt(locked), door.allAbsences, by: DoorEvidence.promptMilliseconds)
                if free.from > due {
                    return "the door was locked for \(free.from.milliseconds(since: locked)) ms in a fire"
                }
                locked = free.to ?? over
            }
            return nil
        }
    }

    /// Who presses the button inside comes out.
    private var brokenExits: [String] {
        guard door.isSound, door.fit.rules.exit == .opens else { return [] }
        return door.record.presses.all.compactMap { press in
            let due = door.prompt(press.from)
            guard press.to ?? door.end >= press.from.advanced(byMilliseconds: Self.debounceMilliseconds),
                due <= door.end,
                !door.wasAway(Self.before(press.from), due), !isWayOut(press.from, due)
            else { return nil }
            return "somebody pressed the button inside, and the door stayed locked"
        }
    }

    /// Whether somebody comes out who presses the button at `begin`: an opening that ends before he is at the door is of no use to him. A
    /// door that opens meanwhile may be opened by himself.
    private func isWayOut(_ begin: Instant, _ due: Instant) -> Bool {
        let reached = begin.advanced(byMilliseconds: Self.reachMilliseconds)
        return (door.record.free.all + door.record.open.all).contains { $0.meets(reached, due) }
            || door.record.open.all.contains { $0.from >= begin && $0.from <= due }
    }
    /// From the button to the door.
    private static let reachMilliseconds: UInt64 = 500

    /// A keeper may not have seen yet that its chip is another one.
    private static func before(_ instant: Instant) -> Instant {
        Instant(nanoseconds: instant.nanoseconds - min(instant.nanoseconds, keeperMilliseconds * 1_000_000))
    }

    /// The bolt is not sent out into an open door, by a lock that knows of it.
    private var brokenClosings: [String] {
        guard door.fit.hasContact else { return [] }
        return door.record.orders.compactMap { order in
            guard !order.opens, order.order.intent != 0 else { return nil }
            let isOpen = door.record.open.all.contains {
                $0.covers($0.from, order.at) && order.at > $0.from.advanced(byMilliseconds: Self.knownMilliseconds)
                    && !door.wasAway($0.from, order.at)
            }
            return isOpen ? "the bolt was sent out into an open door" : nil
        }
    }
    private static let knownMilliseconds: UInt64 = 500
}
