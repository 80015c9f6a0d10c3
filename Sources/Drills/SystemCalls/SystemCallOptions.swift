/// What `latch-lab drill syscalls` was asked for.
struct SystemCallOptions: Equatable, Sendable {
    static let maximumDownMilliseconds: UInt64 = 60_000

    var common = CaseOptions()
    var side = CallTrace.Side.entry
    var isCounting = false
    var ledger: String?
    /// nil: as the point says.
    var downMilliseconds: UInt64?

    enum Parsed: Equatable {
        case run(SystemCallOptions)
        case help
    }

    static func parse(_ words: [String]) throws(DrillOptions.UsageError) -> Parsed {
        var options = Self()
        var reader = OptionReader(words, command: "syscalls")
        while let name = try reader.next() {
            switch name {
            case "--help", "-h": return .help
            case "--count": try reader.flag { options.isCounting = true }
            case "--at": options.side = try reader.choice(CallTrace.Side.self)
            case "--resume": options.ledger = try reader.value()
            case "--down": options.downMilliseconds = try reader.number(in: 0...maximumDownMilliseconds)
            default: guard try options.common.take(name, from: &reader) else { throw reader.unknown }
            }
        }
        try options.common.check()
        return .run(options)
    }

    /// The points, given how many calls each role makes.
    func points(_ counts: [Role: Int]) -> [CallPoint] {
        common.roles.flatMap { role in
            let (from, last) = (common.from, common.to ?? counts[role] ?? 0)
            guard last >= from else { return [CallPoint]() }
            return stride(from: from + common.part.index - 1, through: last, by: common.part.of).map { point(role, $0) }
        }
    }

    func point(_ role: Role, _ number: Int) -> CallPoint {
        CallPoint(role: role, side: side, number: number, downMilliseconds: downMilliseconds)
    }

    static let help = """
        Usage: latch-lab drill syscalls [OPTIONS]

        Lets a lock and a key of `latch` live one short life over a radio of this program's: they begin, an unlock is asked
        for and carried out, the relock falls due, they end. Kills one of them with SIGKILL at its first system call, in the
        next life at its second, and so on to its last. Starts it again each time, and checks from outside that every promise
        holds. Beforehand it counts the calls.

        Options:
          --role ROLE     Only the lock or only the key is killed: \(CaseOptions.names(Role.self)). Both by default.
          --from N        The first call; 1 by default.
          --to M          The last call; by default the last that a whole life makes.
          --part K/OF     Every OFth call, beginning with the Kth: 3/10 is a tenth of them.
          --at SIDE       Before the call is carried out or behind it: \(CaseOptions.names(CallTrace.Side.self)). Entry by default.
          --down MS       How long the killed one stays dead. By default not at all; where an opening was on the air and not yet
                          made, in one life not at all and in another \(CaseRun.pastDeadlineMilliseconds) ms.
          --count         Only count the calls, by their names.
          --seed S        Of the radio; a fresh one by default, which is printed.
        \(CaseOptions.jobsHelp)
          --resume FILE   Keep a ledger of the calls that are done in FILE, and leave out those that it has.
        \(CaseOptions.endOfHelp)
        """
}
