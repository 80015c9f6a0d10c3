import LockProtocol

/// One schedule: somebody gives a command, and something goes wrong meanwhile. All of it comes from a seed and its place.
package struct Schedule: Sendable, CustomStringConvertible {
    package let place: Int
    package let key: Int
    package let operation: LockOperation
    /// The key is enrolled once more instead, under the name that it has.
    package let isEnrolment: Bool
    package let waitMilliseconds: UInt64
    /// How long a machine stays without a process.
    package let downMilliseconds: UInt64
    package var faults: [Fault]
    /// What somebody does to the lock's disk behind it.
    package let vandalism: Vandalism?

    package init(seed: UInt64, place: Int, keys: Int) {
        var dice = Dice(seed: seed, part: UInt64(place))
        self.place = place
        key = dice.below(keys)
        operation = dice.choice([.unlock, .unlock, .unlock, .lock, .unlatch, .lockAndGo])
        isEnrolment = dice.oneIn(20)
        waitMilliseconds = dice.choice([3_000, 8_000, 20_000])
        downMilliseconds = dice.choice([0, 50, 700, 2_500, 6_000])
        faults = [Fault(&dice, keys: keys)]
        while dice.oneIn(3), faults.count < 4 { faults.append(Fault(&dice, keys: keys)) }
        vandalism =
            place % Simulation.schedulesPerHouse == Simulation.schedulesPerHouse - 1
            ? dice.choice(Vandalism.allCases) : nil
        if !faults.contains(where: \.isKill) { faults.append(.kill(Machine(&dice), KillPoint(&dice))) }
    }

    /// Which machine's process a schedule ends that has ended none.
    var killsKey: Bool {
        faults.contains { if case .kill(.key, _) = $0 { true } else { false } }
    }

    package var description: String {
        let wrongs = faults.isEmpty ? "killed at its end" : faults.map(\.description).joined(separator: "; ")
        return
            "\(place): \(isEnrolment ? "enrolment of" : "\(operation.name) by") key \(key) within \(waitMilliseconds) ms, down for \(downMilliseconds) ms: \(wrongs)"
            + (vandalism.map { "; and then \($0)" } ?? "")
    }
}
