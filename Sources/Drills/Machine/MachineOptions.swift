/// What `latch-lab drill machine` was asked for.
struct MachineOptions: Equatable, Sendable {
    static let maximumCuts = 1_000_000
    static let usualCuts = 1_000
    static let maximumChoice = 60_000

    var common = CaseOptions()
    var cuts = usualCuts
    /// nil: as many as make up the cuts.
    var choice: Int?
    var lies = false

    enum Parsed: Equatable {
        case run(MachineOptions)
        case help
    }

    static func parse(_ words: [String]) throws(DrillOptions.UsageError) -> Parsed {
        var options = Self()
        var reader = OptionReader(words, command: "machine")
        while let name = try reader.next() {
            switch name {
            case "--help", "-h": return .help
            case "--lying": try reader.flag { options.lies = true }
            case "--cuts": options.cuts = try reader.number(in: 1...maximumCuts)
            case "--choice": options.choice = try reader.number(in: 0...maximumChoice)
            default: guard try options.common.take(name, from: &reader) else { throw reader.unknown }
            }
        }
        try options.common.check()
        return .run(options)
    }

    /// The cuts, given how many operations each role's disk has in a whole life: every operation with the first choice, then every
    /// one with the second, until there are enough of them.
    func points(_ counts: [Role: Int]) -> [CutPoint] {
        let places = common.roles.flatMap { role in
            let last = common.to ?? counts[role] ?? 0
            return last < common.from ? [] : (common.from...last).map { (role, $0) }
        }
        guard !places.isEmpty else { return [] }
        let choices = choice.map { $0...$0 } ?? 0...((cuts - 1) / places.count)
        let points = choices.flatMap { choice in
            places.map { CutPoint(role: $0.0, number: $0.1, choice: choice) }
        }
        return stride(from: common.part.index - 1, to: points.count, by: common.part.of).map { points[$0] }
    }

    static let help = """
        Usage: latch-lab drill machine [OPTIONS]

        Lets a lock and a key of `latch` live one short life over a radio of this program's, each on a machine with a disk of its own:
        an ext4 on a block device that this program serves. Cuts the power of one of the machines at the first write or flush of its
        disk, in the next life at the second, and so on to the last. What no flush has confirmed by then is lost, or there, or torn:
        each choice is a cut of its own. Gives the power back each time, and checks from outside that every promise holds. Needs root,
        /dev/fuse, loop devices, ext4 and e2fsprogs. Its mounts go with it.

        Options:
          --cuts N        How many cuts at least; \(usualCuts) by default. Every operation comes with as many choices as that takes.
          --role ROLE     Only the lock's or only the key's power is cut: \(CaseOptions.names(Role.self)). Both by default.
          --from N        The first operation; 1 by default.
          --to M          The last one; by default the last that a whole life has.
          --choice C      Only this choice of what the medium keeps: 0 nothing, 1 everything, 2 the first writes, 3 the first writes
                          and the next one torn, from 4 on chance.
          --part K/OF     Every OFth cut, beginning with the Kth: 3/10 is a tenth of them.
          --lying         The disk says of each flush that it has been made, and makes none: promises must break.
          --seed S        Of the radio and of chance; a fresh one by default, which is printed.
        \(CaseOptions.jobsHelp)
        \(CaseOptions.endOfHelp)
        """
}
