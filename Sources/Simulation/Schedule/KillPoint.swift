/// One of the two machines of a schedule.
package enum Machine: Sendable {
    case lock, key

    init(_ dice: inout Dice) { self = dice.oneIn(3) ? .key : .lock }
}

/// Where a process is killed, counted from the beginning of the schedule, or of the life that it begins.
package enum KillPoint: Sendable, Hashable {
    /// At an iteration's end, with nothing of it on disk.
    case beforeCommit(Int)
    /// With so many acts let go, and those behind them not: also between a commit and its first act.
    case afterActs(Int)
    /// In the middle of a commit or a launch, at one of SQLite's calls.
    case atCall(Int)
    case after(milliseconds: UInt64)

    package static let commits = 1...60
    package static let acts = 0...59
    package static let calls = 1...120
    package static let milliseconds = 0...1_999

    init(_ dice: inout Dice) {
        self =
            switch dice.below(4) {
            case 0: .beforeCommit(dice.one(of: Self.commits))
            case 1: .afterActs(dice.one(of: Self.acts))
            case 2: .atCall(dice.one(of: Self.calls))
            default: .after(milliseconds: UInt64(dice.one(of: Self.milliseconds)))
            }
    }
}

extension KillPoint: CustomStringConvertible {
    package var description: String {
        switch self {
        case .beforeCommit(let count): "before commit \(count)"
        case .afterActs(let count): "behind act \(count)"
        case .atCall(let count): "at call \(count) of SQLite"
        case .after(let milliseconds): "after \(milliseconds) ms"
        }
    }
}
