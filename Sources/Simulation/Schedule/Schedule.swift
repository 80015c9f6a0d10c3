import LockProtocol

/// One schedule: somebody gives a command, and something goes wrong meanwhile. All of it comes from a seed and its place.
package struct Schedule: Sendable, CustomStringConvertible {
    package enum Machine: Sendable { case lock, key }

    /// Where a process is killed, counted from the beginning of the schedule, or of the life that it begins.
    package enum KillPoint: Sendable {
        /// At an iteration's end, with nothing of it on disk.
        case beforeCommit(Int)
        /// With so many acts let go, and those behind them not: also between a commit and its first act.
        case afterActs(Int)
        /// In the middle of a commit or a launch, at one of SQLite's calls.
        case atCall(Int)
        case after(milliseconds: UInt64)
    }

    package enum Fault: Sendable {
        case kill(Machine, KillPoint)
        /// While the next process begins.
        case killInRestore(Machine, KillPoint)
        /// The machine's power: with one of the states that its medium may have, and with or without what the bolt had begun.
        case powerCut(Machine, afterMilliseconds: UInt64, medium: Int, losesMovement: Bool)
        /// Lock and key hear nothing of each other.
        case silence(afterMilliseconds: UInt64, milliseconds: UInt64)
    }

    package let place: Int
    package let key: Int
    package let operation: LockOperation
    package let waitMilliseconds: UInt64
    /// How long a machine stays without a process.
    package let downMilliseconds: UInt64
    package var faults: [Fault]

    package init(seed: UInt64, place: Int, keys: Int) {
        var dice = Dice(seed: seed, part: UInt64(place))
        self.place = place
        key = dice.below(keys)
        operation = dice.choice([.unlock, .unlock, .unlock, .lock, .unlatch, .lockAndGo])
        waitMilliseconds = dice.choice([3_000, 8_000, 20_000])
        downMilliseconds = dice.choice([0, 50, 700, 2_500, 6_000])
        faults = [Self.fault(&dice)]
        while dice.oneIn(3), faults.count < 4 { faults.append(Self.fault(&dice)) }
        if !faults.contains(where: \.isKill) { faults.append(.kill(Self.machine(&dice), Self.point(&dice))) }
    }

    private static func machine(_ dice: inout Dice) -> Machine { dice.oneIn(3) ? .key : .lock }

    private static func fault(_ dice: inout Dice) -> Fault {
        switch dice.below(8) {
        case 0: .silence(afterMilliseconds: UInt64(dice.below(600)), milliseconds: UInt64(100 + dice.below(3_000)))
        case 1, 2: .killInRestore(machine(&dice), point(&dice))
        case 3:
            .powerCut(
                machine(&dice), afterMilliseconds: UInt64(dice.below(1_500)), medium: dice.below(1 << 16),
                losesMovement: dice.oneIn(2))
        default: .kill(machine(&dice), point(&dice))
        }
    }

    private static func point(_ dice: inout Dice) -> KillPoint {
        switch dice.below(4) {
        case 0: .beforeCommit(1 + dice.below(60))
        case 1: .afterActs(dice.below(60))
        case 2: .atCall(1 + dice.below(120))
        default: .after(milliseconds: UInt64(dice.below(2_000)))
        }
    }

    /// Which machine's process a schedule ends that has ended none.
    var killsKey: Bool {
        faults.contains { if case .kill(.key, _) = $0 { true } else { false } }
    }

    package var description: String {
        let wrongs = faults.isEmpty ? "killed at its end" : faults.map(\.description).joined(separator: "; ")
        return
            "\(place): \(operation.name) by key \(key) within \(waitMilliseconds) ms, down for \(downMilliseconds) ms: \(wrongs)"
    }
}

extension Schedule.KillPoint: CustomStringConvertible {
    package var description: String {
        switch self {
        case .beforeCommit(let count): "before commit \(count)"
        case .afterActs(let count): "behind act \(count)"
        case .atCall(let count): "at call \(count) of SQLite"
        case .after(let milliseconds): "after \(milliseconds) ms"
        }
    }
}

extension Schedule.Fault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .kill(let machine, let point): "the \(machine) is killed \(point)"
        case .killInRestore(let machine, let point): "the \(machine)'s next process is killed \(point)"
        case .powerCut(let machine, let delay, let medium, let losesMovement):
            "the \(machine)'s power is cut after \(delay) ms, medium \(medium)"
                + (losesMovement ? ", what moved is lost" : "")
        case .silence(let delay, let milliseconds): "nothing is heard after \(delay) ms, for \(milliseconds) ms"
        }
    }
}

extension Schedule.Fault {
    /// Whether a process ends by it, whatever happens.
    var isKill: Bool {
        switch self {
        case .kill, .powerCut: true
        case .killInRestore, .silence: false
        }
    }
}
