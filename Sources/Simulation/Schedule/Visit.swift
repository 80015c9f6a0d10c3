import LockProtocol

/// Somebody with a key, and software of his own, who asks a lock for one thing after the other.
package struct Visit: Sendable {
    /// One thing that he wants, in the words of somebody who knows no more than the time of day and whom there are keys of.
    enum Wish: Sendable {
        /// `lateMilliseconds`: how long he waits with the challenge. `isTwice`: and sends it once more.
        case command(operation: UInt8, argument: UInt8, lateMilliseconds: UInt64, isTwice: Bool)
        case ask(Ask)
        /// Rules that begin or end about now.
        case draft(of: Int, RuleDraft)
        /// A holiday about now, or a challenge's life.
        case settings(holiday: RuleDraft?, challengeLifeMilliseconds: UInt64, acceptsSigned: Bool)
        /// So many seconds from now.
        case time(secondsAhead: Int64)
    }

    let key: Int
    let afterMilliseconds: UInt64
    var wishes: [Wish]

    /// What he has no right to he tries all the same.
    init(_ dice: inout Dice, keys: Int, key: Int) {
        self.key = key
        afterMilliseconds = UInt64(dice.below(1_500))
        wishes = (0..<(1 + dice.below(5))).map { _ in Self.wish(&dice, keys: keys) }
    }

    init(key: Int, afterMilliseconds: UInt64 = 0, wishes: [Wish]) {
        (self.key, self.afterMilliseconds, self.wishes) = (key, afterMilliseconds, wishes)
    }

    private static func wish(_ dice: inout Dice, keys: Int) -> Wish {
        let other = dice.below(keys)
        switch dice.below(22) {
        case 0, 1, 2, 3, 4, 5:
            return .command(
                operation: dice.choice([1, 2, 2, 3, 4]), argument: dice.choice([0, 0, 2, 255]),
                lateMilliseconds: dice.choice([0, 0, 0, 7_000]), isTwice: dice.oneIn(6))
        case 6: return .ask(dice.choice([.keyStatus, .list, .get(other), .getSettings, .getWindow, .getTime]))
        case 7, 8: return .ask(.disable(other))
        case 9: return .ask(.enable(other))
        case 10: return dice.oneIn(4) ? .ask(.remove(other)) : .ask(.disable(other))
        case 11: return .ask(.rulesOfNobody)
        case 12: return .draft(of: other, RuleDraft(&dice))
        case 13: return .ask(.open(other, dice.oneIn(2) ? .guest : .owner))
        case 14: return .ask(.close)
        case 15, 16: return .ask(.mode(dice.choice(LockMode.allCases)))
        case 17: return .time(secondsAhead: dice.choice([0, -30, -7_200, 3_600]))
        case 18:
            return .settings(
                holiday: dice.oneIn(2) ? RuleDraft(&dice) : nil,
                challengeLifeMilliseconds: dice.choice([5_000, 2_000, 9_000]), acceptsSigned: !dice.oneIn(3))
        case 19: return .ask(.audit)
        case 20: return .ask(.alarm)
        default: return .ask(.state)
        }
    }
}

/// Rules that are about the time at which they are set.
struct RuleDraft: Sendable, Hashable {
    enum Kind: Sendable, CaseIterable { case validity, weekly, span }

    let kind: Kind
    /// From the present on.
    let beginsSeconds: Int64
    let lastsSeconds: Int64
    /// Week days: not today's.
    let isOtherDay: Bool
    let isVacation: Bool

    init(_ dice: inout Dice) {
        kind = dice.choice(Kind.allCases)
        beginsSeconds = dice.choice([-90_000, -3_600, -3, 2, 4, 60, 3_600])
        lastsSeconds = dice.choice([4, 60, 3_606, 4_000, 100_000])
        isOtherDay = dice.oneIn(4)
        isVacation = dice.oneIn(2)
    }

    func span(at now: Int64, in zone: Zone) -> RuleBook.Span {
        let begin = zone.wall(at: now) + beginsSeconds
        return RuleBook.Span(from: begin, until: begin + lastsSeconds)
    }

    /// `now`: in seconds since 1970.
    func rules(at now: Int64, in zone: Zone) -> RuleBook {
        let local = zone.wall(at: now)
        switch kind {
        case .validity: return RuleBook(notBefore: now + beginsSeconds, notAfter: now + beginsSeconds + lastsSeconds)
        case .span: return RuleBook(spans: [span(at: now, in: zone)])
        case .weekly:
            let today = Zone.weekday(ofDay: Zone.day(of: local))
            let minute = Int((local % Zone.daySeconds + Zone.daySeconds) % Zone.daySeconds / 60)
            let begin = (minute + Int(max(-86_000, beginsSeconds) / 60) + 1_440 * 2) % 1_440
            var end = (begin + max(1, Int(lastsSeconds / 60)) - 1) % 1_440 + 1
            if end == begin { end = end % 1_440 + 1 }
            let bit = UInt8(1) << UInt8(today)
            return RuleBook(weekly: [
                RuleBook.Weekly(days: isOtherDay ? 0x7F & ~bit : bit, fromMinute: begin, untilMinute: end)
            ])
        }
    }
}
