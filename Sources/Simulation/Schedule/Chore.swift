import LockProtocol

/// What the lock's operator says at its terminal in a schedule.
package struct Chore: Sendable {
    enum Word: Sendable {
        case disable(Int), enable(Int), remove(Int)
        case rules(Int, RuleDraft)
        case noRules(Int)
        /// Of every device of his user.
        case disableUser(Int)
        case mode(LockMode)
        /// Another configuration: the program begins anew with it.
        case configure(zone: Int, holiday: RuleDraft?)
    }

    let word: Word
    /// From the schedule's beginning; 0: before anybody asks for anything.
    let afterMilliseconds: UInt64

    init(_ word: Word, afterMilliseconds: UInt64 = 0) {
        (self.word, self.afterMilliseconds) = (word, afterMilliseconds)
    }

    init(_ dice: inout Dice, keys: Int, key: Int) {
        // Mostly about whom the schedule is about.
        let whom = dice.oneIn(3) ? dice.below(keys) : key
        switch dice.below(16) {
        case 0, 1: word = .disable(whom)
        case 2: word = .enable(whom)
        case 3: word = dice.oneIn(3) ? .remove(whom) : .disable(whom)
        case 4, 5, 6, 7, 8: word = .rules(whom, RuleDraft(&dice))
        case 9: word = .noRules(whom)
        case 10: word = .disableUser(whom)
        case 11: word = .configure(zone: dice.below(Zone.all.count), holiday: dice.oneIn(2) ? RuleDraft(&dice) : nil)
        default: word = .mode(dice.choice(LockMode.allCases))
        }
        afterMilliseconds = dice.oneIn(2) ? 0 : UInt64(dice.below(2_500))
    }
}

extension Chore: CustomStringConvertible {
    package var description: String { "the operator: \(word), after \(afterMilliseconds) ms" }
}

extension Visit: CustomStringConvertible {
    package var description: String {
        "key \(key) with software of its own, after \(afterMilliseconds) ms: "
            + wishes.map { "\($0)" }.joined(separator: ", ")
    }
}
