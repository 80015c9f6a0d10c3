/// What befalls a door that a strike holds: people, and metal that is bad.
package struct Incident: Sendable, Hashable {
    enum Word: Sendable, Hashable {
        /// Somebody comes, opens the door as soon as it is released, and leaves it open for so long.
        case comes(openMilliseconds: UInt64)
        /// The button inside is held for so long.
        case exit(milliseconds: UInt64)
        /// The same, as the door is locked next.
        case exitAtLocking(milliseconds: UInt64)
        /// The door is forced, and stands open for so long.
        case crime(openMilliseconds: UInt64)
        /// The same, and the lock is killed as it has that on record, before it tells anybody.
        case crimeUntold(openMilliseconds: UInt64)
        case fire(milliseconds: UInt64)
        case tamper(milliseconds: UInt64)
        /// Somebody holds the bolt back by hand.
        case hand(milliseconds: UInt64)
        /// nil: for good.
        case jam(milliseconds: UInt64?)
        case keeperKilled(downMilliseconds: UInt64)
        case keeperKilledAtCall(KeeperKill)
        /// The line stays as it is, whatever it is set to.
        case deafLine(milliseconds: UInt64)
        /// The line reads otherwise than it is.
        case lyingLine(milliseconds: UInt64)
        case stuckSensor(isLocked: Bool, milliseconds: UInt64)
        case unplugged(milliseconds: UInt64)
        /// Each call to the chip fails.
        case failingCalls(milliseconds: UInt64)
    }

    let word: Word
    /// From the schedule's beginning.
    let afterMilliseconds: UInt64

    init(_ word: Word, afterMilliseconds: UInt64) { (self.word, self.afterMilliseconds) = (word, afterMilliseconds) }

    init(_ dice: inout Dice) {
        afterMilliseconds = UInt64(dice.below(dice.oneIn(3) ? 8_000 : 2_500))
        switch dice.below(24) {
        case 0, 1, 2, 3, 4, 5: word = .comes(openMilliseconds: dice.choice([300, 1_000, 4_000, 9_000, 20_000]))
        case 6, 7: word = .exit(milliseconds: dice.choice([10, 100, 1_500]))
        case 8: word = .exitAtLocking(milliseconds: dice.choice([100, 1_500]))
        case 9, 10:
            let milliseconds: UInt64 = dice.choice([500, 3_000, 8_000])
            word =
                dice.oneIn(2) ? .crimeUntold(openMilliseconds: milliseconds) : .crime(openMilliseconds: milliseconds)
        case 11, 12: word = .fire(milliseconds: dice.choice([100, 2_000, 7_000]))
        case 13: word = .tamper(milliseconds: dice.choice([100, 2_000]))
        case 14: word = .hand(milliseconds: dice.choice([300, 4_000]))
        case 15: word = .jam(milliseconds: dice.choice([300, 1_500, nil]))
        case 16, 17: word = .keeperKilled(downMilliseconds: Self.down(&dice))
        case 18, 19:
            word = .keeperKilledAtCall(
                KeeperKill(call: 1 + dice.below(4), isBehind: dice.oneIn(2), downMilliseconds: Self.down(&dice)))
        case 20:
            let milliseconds: UInt64 = dice.choice([200, 2_000])
            word = dice.oneIn(2) ? .deafLine(milliseconds: milliseconds) : .lyingLine(milliseconds: milliseconds)
        case 21: word = .stuckSensor(isLocked: dice.oneIn(2), milliseconds: dice.choice([500, 4_000]))
        case 22: word = .unplugged(milliseconds: dice.choice([50, 700, 4_000]))
        default: word = .failingCalls(milliseconds: dice.choice([50, 700, 4_000]))
        }
    }

    private static func down(_ dice: inout Dice) -> UInt64 { dice.choice([0, 20, 500, 4_000]) }

    /// Of one schedule. Leaving it out changes nothing else of that.
    static func all(seed: UInt64, place: Int) -> [Incident] {
        var dice = Dice(seed: seed ^ 0x5DEE_CE66_D1CE_F00D, part: UInt64(place))
        var all: [Incident] = []
        while all.count < 5, all.count < 1 || !dice.oneIn(3) { all.append(Incident(&dice)) }
        return all
    }

    /// Whether the metal itself, or a sensor of it, does not do what it looks like.
    var isOfBadMetal: Bool {
        switch word {
        case .jam, .deafLine, .lyingLine, .stuckSensor: true
        case .comes, .exit, .exitAtLocking, .crime, .crimeUntold, .fire, .tamper, .hand, .keeperKilled,
            .keeperKilledAtCall, .unplugged, .failingCalls:
            false
        }
    }

    /// Its kind, as reports name it.
    package var kind: String {
        switch word {
        case .comes: "door, somebody comes"
        case .exit: "door, exit"
        case .exitAtLocking: "door, exit as it locks"
        case .crime: "door, forced"
        case .crimeUntold: "door, forced, and the lock killed"
        case .fire: "door, fire"
        case .tamper: "door, tampered with"
        case .hand: "door, by hand"
        case .jam: "strike, jam"
        case .keeperKilled: "strike, keeper killed"
        case .keeperKilledAtCall: "strike, keeper killed at a call"
        case .deafLine: "strike, deaf line"
        case .lyingLine: "strike, lying line"
        case .stuckSensor: "strike, stuck sensor"
        case .unplugged: "strike, unplugged"
        case .failingCalls: "strike, failing calls"
        }
    }
}

extension Incident: CustomStringConvertible {
    package var description: String { "\(text), after \(afterMilliseconds) ms" }

    private var text: String {
        switch word {
        case .comes(let open): "somebody comes and leaves the door open for \(open) ms"
        case .exit(let held): "the button inside is held for \(held) ms"
        case .exitAtLocking(let held): "the button inside is held for \(held) ms as the door is locked next"
        case .crime(let open): "the door is forced, and stands open for \(open) ms"
        case .crimeUntold(let open):
            "the door is forced, and stands open for \(open) ms; the lock is killed as it has that on record"
        case .fire(let lasts): "there is a fire for \(lasts) ms"
        case .tamper(let lasts): "the housing is open for \(lasts) ms"
        case .hand(let lasts): "a hand holds the bolt back for \(lasts) ms"
        case .jam(let lasts): "the bolt is jammed" + (lasts.map { " for \($0) ms" } ?? "")
        case .keeperKilled(let down): "the keeper is killed, down for \(down) ms"
        case .keeperKilledAtCall(let point):
            "the keeper is killed \(point.isBehind ? "behind" : "before") call \(point.call) of its line from then on, down for \(point.downMilliseconds) ms"
        case .deafLine(let lasts): "the strike's line does not move for \(lasts) ms"
        case .lyingLine(let lasts): "the strike's line reads otherwise for \(lasts) ms"
        case .stuckSensor(let isLocked, let lasts):
            "the bolt's sensor says \(isLocked ? "locked" : "unlocked") for \(lasts) ms"
        case .unplugged(let lasts): "the chip is unplugged for \(lasts) ms"
        case .failingCalls(let lasts): "each call to the chip fails for \(lasts) ms"
        }
    }
}
