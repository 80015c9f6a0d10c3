import BluetoothCore

/// What happens to a program, and when: at one of its system calls, or at the time when it owes nothing more.
struct AppFault: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, CaseIterable, Hashable, Sendable {
        /// SIGKILL, and another start.
        case kill
        /// The programs do not hear each other until their links have ended.
        case cut
        /// The program's adapter goes away, and comes back.
        case unplug
        /// The peer is killed with SIGKILL and started again.
        case peer
    }

    enum Moment: Hashable, Sendable {
        /// The program's system call with this number, counted from its launch.
        case call(Int)
        /// When the program owes nothing more: it has done all that the rules ask for.
        case end
    }

    var kind: Kind
    var moment: Moment

    static let maximumCall = 60_000
    static let maximumFaults = 32

    var description: String {
        switch moment {
        case .call(let number): "\(kind.rawValue)@\(number)"
        case .end: "\(kind.rawValue)@end"
        }
    }

    /// Reads a fault such as `kill@812` or `cut@end`; nil for any other text.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])) else { return nil }
        if parts[1] == "end" {
            self.init(kind, .end)
        } else if let number = Int(digits: parts[1]), (1...Self.maximumCall).contains(number) {
            self.init(kind, .call(number))
        } else {
            return nil
        }
    }

    init(_ kind: Kind, _ moment: Moment) {
        self.kind = kind
        self.moment = moment
    }

    /// Reads faults with commas between them. The faults of one start have to be in the order of their calls.
    static func list(_ text: String) throws(DrillOptions.UsageError) -> [AppFault] {
        let words = text.split(separator: ",", omittingEmptySubsequences: false)
        guard words.count <= maximumFaults else {
            throw DrillOptions.UsageError(message: "option `--faults` takes \(maximumFaults) faults at most")
        }
        var faults: [AppFault] = []
        var last = 0
        for word in words {
            guard let fault = AppFault(word) else {
                throw DrillOptions.UsageError(
                    message: "option `--faults` takes faults such as kill@812,cut@end, not `\(word)`; the kinds are "
                        + Kind.allCases.map(\.rawValue).joined(separator: ", "))
            }
            let number = if case .call(let number) = fault.moment { number } else { Int.max }
            guard number > last || number == Int.max else {
                throw DrillOptions.UsageError(
                    message:
                        "option `--faults`: `\(word)` stands after a fault at the same call or a later one. The faults of "
                        + "one start have to be in the order of their calls; a kill begins another start")
            }
            last = fault.kind == .kill ? 0 : number
            faults.append(fault)
        }
        return faults
    }

    static func text(_ faults: [AppFault]) -> String { faults.map(\.description).joined(separator: ",") }
}

/// One life: the faults that happen to the program, one after the other. After a kill the calls are counted from 1 again.
struct AppPlan: Hashable, Sendable {
    var faults: [AppFault]
    var side = CallTrace.Side.entry

    var text: String { faults.isEmpty ? "nothing" : AppFault.text(faults) }

    /// Whether the plan is one kill at a call. Such a plan cannot be made smaller.
    var isLeast: Bool {
        guard faults.count == 1, let fault = faults.first, case .call = fault.moment else { return false }
        return fault.kind == .kill
    }

    /// Draws lives from a seed.
    ///
    /// - Parameter calls: the calls of a whole life that a kill may be at.
    /// - Parameter restoredCalls: how many calls a restored start makes.
    static func draw(
        kills: Int, storms: Int, calls: ClosedRange<Int>, restoredCalls: Int, side: CallTrace.Side,
        hasPeer: Bool, seed: UInt64
    ) -> [AppPlan] {
        var random = SeededRandom(seed: seed)
        var numbers: Set<Int> = []
        while numbers.count < min(kills, calls.count) { numbers.insert(Int.random(in: calls, using: &random)) }
        let single = numbers.sorted().map { AppPlan(faults: [AppFault(.kill, .call($0))], side: side) }
        let kinds = AppFault.Kind.allCases.filter { hasPeer || $0 != .peer }
        let mixed = (0..<storms).map { _ in
            AppPlan(faults: storm(kinds, calls.upperBound, restoredCalls, &random), side: side)
        }
        // The long lives first: one that begins last would keep all threads but its own without work.
        return mixed + single
    }

    private static let stormFaults = 2...5

    /// Several faults; at least one is a kill.
    private static func storm(
        _ kinds: [AppFault.Kind], _ calls: Int, _ restoredCalls: Int, _ random: inout SeededRandom
    ) -> [AppFault] {
        let count = Int.random(in: stormFaults, using: &random)
        let sure = Int.random(in: 0..<count, using: &random)
        var faults: [AppFault] = []
        var (since, length) = (1, max(calls, 1))
        for index in 0..<count {
            let kind = index == sure ? .kill : kinds[Int.random(in: kinds.indices, using: &random)]
            let isAtEnd = since >= length || Int.random(in: 0..<4, using: &random) == 0
            let moment = isAtEnd ? AppFault.Moment.end : .call(Int.random(in: since...length, using: &random))
            faults.append(AppFault(kind, moment))
            if kind == .kill {
                (since, length) = (1, max(restoredCalls, 1))
            } else if case .call(let number) = moment {
                since = number + 1
            } else {
                since = length
            }
        }
        return faults
    }
}
