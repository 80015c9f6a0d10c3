import FaultDisk

/// What goes wrong in a schedule.
package enum Fault: Sendable {
    case kill(Machine, KillPoint)
    /// While the next process begins.
    case killInRestore(Machine, KillPoint)
    case killBoth(afterMilliseconds: UInt64)
    /// The machine's power: with one of the states that its medium may have, and with or without what the bolt had begun.
    case powerCut(Machine, afterMilliseconds: UInt64, medium: Int, losesMovement: Bool)
    /// Lock and key hear nothing of each other.
    case silence(afterMilliseconds: UInt64, milliseconds: UInt64)
    /// Calls of SQLite fail, from the `call`-th on; and then the power goes, where it says so.
    case disk(Machine, FaultDisk.Kind, call: Int, calls: Int, powerCut: PowerCut?)
    /// Every commit takes so long.
    case slowDisk(Machine, milliseconds: UInt64)
    /// The process, or the whole machine with its controller, stands still.
    case suspension(Machine, afterMilliseconds: UInt64, milliseconds: UInt64, withController: Bool)
    /// The controller is unplugged, and plugged in again.
    case controllerReset(Machine, afterMilliseconds: UInt64)
    /// Somebody sets the lock's clock on the wall.
    case clockStep(afterMilliseconds: UInt64, ClockStep)
    case packets(Machine, PacketFault)
    /// Somebody starts a second process on the machine's database.
    case secondProcess(Machine, afterMilliseconds: UInt64)
    /// Somebody near the door who keeps to no rules.
    case attack(Attack, afterMilliseconds: UInt64)

    package struct PowerCut: Sendable {
        let afterMilliseconds: UInt64
        let medium: Int
    }

    init(_ dice: inout Dice, keys: Int, doors: Int) {
        switch dice.below(19) {
        case 0:
            self = .silence(afterMilliseconds: UInt64(dice.below(600)), milliseconds: UInt64(100 + dice.below(3_000)))
        case 1, 2: self = .killInRestore(Machine(&dice), KillPoint(&dice))
        case 3:
            self = .powerCut(
                Machine(&dice), afterMilliseconds: UInt64(dice.below(1_500)), medium: dice.below(1 << 16),
                losesMovement: dice.oneIn(2))
        case 4, 5, 6:
            self = .attack(Attack(&dice, keys: keys, doors: doors), afterMilliseconds: UInt64(dice.below(2_000)))
        case 7, 8: self = Self.disk(&dice)
        case 9: self = .slowDisk(Machine(&dice), milliseconds: dice.choice([40, 400, 1_500, 4_000]))
        case 10:
            self = .suspension(
                Machine(&dice), afterMilliseconds: UInt64(dice.below(1_500)),
                milliseconds: dice.choice([100, 1_500, 6_000, 30_000]), withController: dice.oneIn(2))
        case 11: self = .controllerReset(Machine(&dice), afterMilliseconds: UInt64(dice.below(1_500)))
        case 12: self = .secondProcess(Machine(&dice), afterMilliseconds: UInt64(dice.below(1_500)))
        case 13: self = .killBoth(afterMilliseconds: UInt64(dice.below(1_500)))
        case 14, 15: self = .packets(Machine(&dice), PacketFault(&dice))
        case 16:
            self = .clockStep(afterMilliseconds: UInt64(dice.below(1_500)), ClockStep(&dice))
        default: self = .kill(Machine(&dice), KillPoint(&dice))
        }
    }

    private static func disk(_ dice: inout Dice) -> Fault {
        let machine = Machine(&dice)
        let kind = dice.choice(FaultDisk.Kind.allCases)
        let call = 1 + dice.below(60)
        let calls = dice.choice([1, 1, 3, 1_000])
        guard dice.oneIn(2) else { return .disk(machine, kind, call: call, calls: calls, powerCut: nil) }
        let cut = PowerCut(afterMilliseconds: UInt64(dice.below(4_000)), medium: dice.below(1 << 16))
        return .disk(machine, kind, call: call, calls: calls, powerCut: cut)
    }

    /// When it comes, in milliseconds from the schedule's beginning; nil where something else decides that.
    var afterMilliseconds: UInt64? {
        switch self {
        case .kill(_, .after(let delay)): delay
        case .killBoth(let delay), .powerCut(_, let delay, _, _), .silence(let delay, _),
            .suspension(_, let delay, _, _),
            .controllerReset(_, let delay), .clockStep(let delay, _), .secondProcess(_, let delay),
            .attack(_, let delay):
            delay
        case .kill, .killInRestore, .disk, .slowDisk, .packets: nil
        }
    }

    /// Whether a host may wait for something that its controller believes to have said.
    var losesPackets: Bool { if case .packets = self { true } else { false } }

    /// Whether a lock that lives is heard, and hears.
    var leavesAnswers: Bool {
        switch self {
        case .kill, .killInRestore, .killBoth, .powerCut, .clockStep, .secondProcess: true
        case .silence, .disk, .slowDisk, .suspension, .controllerReset, .packets, .attack: false
        }
    }

    /// Its kind, as reports name it.
    package var kind: String {
        switch self {
        case .kill: "kill"
        case .killInRestore: "kill in a restore"
        case .killBoth: "kill of both"
        case .powerCut: "power cut"
        case .silence: "silence"
        case .disk(_, let kind, _, _, nil): "disk, \(kind)"
        case .disk(_, let kind, _, _, _?): "disk, \(kind), and power cut"
        case .slowDisk: "slow disk"
        case .suspension(_, _, _, let withController): withController ? "suspended machine" : "suspended process"
        case .controllerReset: "controller reset"
        case .packets(_, let fault): "packets, \(fault.kind)"
        case .clockStep: "clock step"
        case .secondProcess: "second process"
        case .attack(let attack, _): "attack, \(attack.kind)" + (attack.isElsewhere ? ", at another lock" : "")
        }
    }

    /// Whether a process ends by it, whatever happens.
    var isKill: Bool {
        switch self {
        case .kill, .killBoth, .powerCut: true
        case .killInRestore, .silence, .disk, .slowDisk, .suspension, .controllerReset, .packets, .clockStep,
            .secondProcess, .attack:
            false
        }
    }
}

extension Fault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .kill(let machine, let point): "the \(machine) is killed \(point)"
        case .killInRestore(let machine, let point): "the \(machine)'s next process is killed \(point)"
        case .killBoth(let delay): "both are killed after \(delay) ms"
        case .powerCut(let machine, let delay, let medium, let losesMovement):
            "the \(machine)'s power is cut after \(delay) ms, medium \(medium)"
                + (losesMovement ? ", what moved is lost" : "")
        case .silence(let delay, let milliseconds): "nothing is heard after \(delay) ms, for \(milliseconds) ms"
        case .disk(let machine, let kind, let call, let calls, let cut):
            "the \(machine)'s disk fails (\(kind)) at call \(call) of SQLite, \(calls) times"
                + (cut.map { ", and its power is cut after \($0.afterMilliseconds) ms, medium \($0.medium)" } ?? "")
        case .slowDisk(let machine, let milliseconds): "each commit of the \(machine) takes \(milliseconds) ms"
        case .suspension(let machine, let delay, let milliseconds, let withController):
            "the \(machine) is suspended after \(delay) ms, for \(milliseconds) ms"
                + (withController ? ", its controller too" : "")
        case .clockStep(let delay, let step): "the lock's clock \(step) after \(delay) ms"
        case .packets(let machine, let fault): "at the \(machine), \(fault)"
        case .controllerReset(let machine, let delay): "the \(machine)'s controller is unplugged after \(delay) ms"
        case .secondProcess(let machine, let delay):
            "a second process begins on the \(machine)'s database after \(delay) ms"
        case .attack(let attack, let delay): "\(attack), after \(delay) ms"
        }
    }
}
