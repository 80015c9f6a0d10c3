import LockProtocol

/// One schedule: somebody gives a command, and something goes wrong meanwhile. All of it comes from a seed and its place.
package struct Schedule: Sendable, CustomStringConvertible {
    package let place: Int
    package let key: Int
    package let door: Int
    package let operation: LockOperation
    /// The key is enrolled once more instead, under the name that it has.
    package let isEnrolment: Bool
    /// Somebody else opens another door with another key meanwhile, where there are some.
    package let hasBystander: Bool
    package let waitMilliseconds: UInt64
    /// How long a machine stays without a process.
    package let downMilliseconds: UInt64
    package var faults: [Fault]
    /// What somebody does to the lock's disk behind it.
    package let vandalism: Vandalism?
    /// In a household: what its operator says.
    package var chores: [Chore] = []
    /// In a household: who comes with software of his own.
    package var visit: Visit?
    /// Where strikes hold the doors: what befalls this one.
    package var incidents: [Incident] = []

    package init(seed: UInt64, place: Int, doors: Int = 1, keys: Int, isHousehold: Bool = false) {
        var dice = Dice(seed: seed, part: UInt64(place))
        self.place = place
        key = dice.below(keys)
        door = doors > 1 ? dice.below(doors) : 0
        operation = dice.choice([.unlock, .unlock, .unlock, .lock, .unlatch, .lockAndGo])
        isEnrolment = dice.oneIn(20)
        hasBystander = doors > 1 && keys > 1 && dice.oneIn(2)
        waitMilliseconds = dice.choice([1_500, 3_000, 8_000, 20_000])
        downMilliseconds = dice.choice([0, 50, 700, 2_500, 6_000])
        faults = [Fault(&dice, keys: keys, doors: doors)]
        while dice.oneIn(3), faults.count < 4 { faults.append(Fault(&dice, keys: keys, doors: doors)) }
        vandalism =
            place % Simulation.schedulesPerHouse == Simulation.schedulesPerHouse - 1
            ? dice.choice(Vandalism.allCases) : nil
        if !faults.contains(where: \.isKill) { faults.append(.kill(Machine(&dice), KillPoint(&dice))) }
        if isHousehold, !isEnrolment { drawHousehold(keys, &dice) }
    }

    /// Each third schedule of a household is like any other.
    private mutating func drawHousehold(_ keys: Int, _ dice: inout Dice) {
        guard !dice.oneIn(3) else { return }
        while chores.count < 3, !dice.oneIn(3) { chores.append(Chore(&dice, keys: keys, key: key)) }
        if dice.oneIn(2) { visit = Visit(&dice, keys: keys, key: dice.oneIn(3) ? dice.below(keys) : key) }
    }

    /// Which machine's process a schedule ends that has ended none.
    var killsKey: Bool {
        faults.contains { if case .kill(.key, _) = $0 { true } else { false } }
    }

    /// How long nobody does anything yet: who lures a key has to be there before it is asked.
    var leadMilliseconds: UInt64 {
        faults.map { fault in
            guard case .attack(let attack, let delay) = fault, attack.kind.lures else { return 0 }
            return delay + Self.knockMilliseconds
        }.max() ?? 0
    }
    private static let knockMilliseconds: UInt64 = 500

    /// Whether nothing that goes wrong concerns anybody but the key and the lock that the schedule is about.
    var sparesBystanders: Bool {
        faults.allSatisfy {
            switch $0 {
            // There is one thread for all, and a stranger goes where he likes.
            case .slowDisk, .attack: false
            case .kill, .killInRestore, .killBoth, .powerCut, .silence, .disk, .suspension, .controllerReset,
                .clockStep,
                .packets, .secondProcess:
                true
            }
        }
    }

    /// Whether each command is answered, but for those that a process takes with it.
    var leavesAnswers: Bool { faults.allSatisfy(\.leavesAnswers) }

    package var description: String {
        let wrongs = faults.isEmpty ? "killed at its end" : faults.map(\.description).joined(separator: "; ")
        return
            "\(place): \(isEnrolment ? "enrolment of" : "\(operation.name) by") key \(key) at door \(door) within \(waitMilliseconds) ms, down for \(downMilliseconds) ms: \(wrongs)"
            + (hasBystander ? "; somebody else opens another door" : "")
            + incidents.map { "; \($0)" }.joined() + chores.map { "; \($0)" }.joined() + (visit.map { "; \($0)" } ?? "")
            + (vandalism.map { "; and then \($0)" } ?? "")
    }
}
