/// What somebody near the door does who keeps to no rules.
package struct Attack: Sendable {
    package enum Kind: Sendable, CaseIterable {
        /// Sends the commands again that it has heard, in their order.
        case replay
        /// The same, the newest first.
        case reverse
        /// Sends a command that it has heard, with one bit of it turned over.
        case flip
        /// Answers the lock's challenge with a command of its own, under a counter that is still to come.
        case forge
        /// The same without any signature, on a link that nobody has encrypted.
        case plain
        /// Sends octets of chance, as fast as they are taken.
        case flood
        /// Has the key sign for the lock's challenge, and keeps what it signed for a while.
        case hold
        /// Says that it is the lock, and answers with receipts that it has heard.
        case pretend

        /// Whether a key has to come to him.
        var lures: Bool { self == .hold || self == .pretend }
    }

    package let kind: Kind
    /// The key whose address the stranger takes, or that he lets connect to him.
    package let key: Int
    /// Whether he goes to another lock than the one that the key is asked to open, with what is meant for that one.
    package let isElsewhere: Bool
    /// How long a command is held back.
    package let holdMilliseconds: UInt64
    /// Where its own chance begins.
    package let chance: UInt64

    init(_ kind: Kind, key: Int, isElsewhere: Bool = false, holdMilliseconds: UInt64, chance: UInt64) {
        self.kind = kind
        self.key = key
        self.isElsewhere = isElsewhere
        self.holdMilliseconds = holdMilliseconds
        self.chance = chance
    }

    init(_ dice: inout Dice, keys: Int, doors: Int) {
        kind = dice.choice(Kind.allCases)
        key = dice.below(keys)
        holdMilliseconds = dice.choice([0, 700, 3_000, 6_000, 12_000])
        chance = dice.next()
        // Who says that he is the lock goes to none.
        isElsewhere = doors > 1 && kind != .pretend && dice.oneIn(2)
    }
}

extension Attack: CustomStringConvertible {
    package var description: String { what + (isElsewhere ? ", at another lock" : "") }

    private var what: String {
        switch kind {
        case .replay: "somebody sends again what he has heard of key \(key)"
        case .reverse: "somebody sends again what he has heard of key \(key), the newest first"
        case .flip: "somebody turns a bit over in a command of key \(key)"
        case .forge: "somebody forges a command of key \(key)"
        case .plain: "somebody sends a command as key \(key), with no signature"
        case .flood: "somebody sends octets of chance as key \(key)"
        case .hold: "somebody holds a command of key \(key) back for \(holdMilliseconds) ms"
        case .pretend: "somebody says to key \(key) that he is the lock"
        }
    }
}
