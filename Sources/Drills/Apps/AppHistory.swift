/// One life of a program with its faults, as it was seen from outside. The judge looks at nothing else.
struct AppHistory: Equatable, Sendable {
    /// A process of the program's, from its start to its end.
    struct Run: Equatable, Sendable {
        var startedAt: UInt64
        /// When it ended, whatever of.
        var endedAt: UInt64?
    }

    struct Seen: Equatable, Sendable {
        enum What: Equatable, Sendable {
            case line(AppSide, String)
            case air(AppAir)
        }

        /// Boot time in nanoseconds: of the air when it happened, of a line when it was read.
        var at: UInt64
        /// Which run of the program it was, from 0; of the peer and the air: during which.
        var run: Int
        /// How many system calls the program had made in this run when this was read, or a few more.
        var calls = 0
        var what: What

        func matches(_ sight: AppRules.Sight) -> Bool {
            switch (what, sight) {
            case (.line(let side, let text), .prints(let wanted, let pattern)):
                side == wanted && pattern.matches(text)
            case (.air(let event), .air(let wanted)): event == wanted
            default: false
            }
        }
    }

    /// A fault that has happened.
    struct Struck: Equatable, Sendable {
        var fault: AppFault
        var at: UInt64
        /// When its cause was gone: the program started again, the adapter back.
        var overAt: UInt64?
        /// Which call a program was killed at.
        var call: String?
        /// Whether there was a link, which it ended.
        var hasTakenLink: Bool
        /// The run that it befell.
        var run: Int
    }

    var began: UInt64 = 0
    var ended: UInt64 = 0
    var runs: [Run] = []
    var seen: [Seen] = []
    var struck: [Struck] = []
    /// What ended without having been told to, in words.
    var deaths: [String] = []

    func first(_ sight: AppRules.Sight) -> Seen? { seen.first { $0.matches(sight) } }
    func all(_ sight: AppRules.Sight) -> [Seen] { seen.filter { $0.matches(sight) } }
}
