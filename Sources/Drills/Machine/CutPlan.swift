/// The cuts of a drill, and those that stand in for cuts that never came.
struct CutPlan: CasePlan {
    private var points: ArraySlice<CutPoint>
    private(set) var planned: Int
    /// How many cuts stand in for those that never came.
    private var standIns = 0
    private let options: MachineOptions
    private let seed: UInt64

    init(_ points: [CutPoint], options: MachineOptions, seed: UInt64) {
        self.points = points[...]
        planned = points.count
        self.options = options
        self.seed = seed
    }

    mutating func next() -> CutPoint? { points.popFirst() }

    mutating func add(_ result: CutResult) {
        guard let point = result.standIn(standIns), options.common.to == nil else { return }
        points.append(point)
        planned += 1
        standIns += 1
    }

    func progress(done: Int, violated: Int) -> String { "\(done)/\(planned) cuts, \(violated) violated" }

    func story(_ result: CutResult) -> [String] {
        [
            "the \(result.point.role.rawValue)'s power at \(result.place); again with:",
            result.point.replay(seed: seed, options: options),
        ]
    }
}

extension CutResult {
    /// Lives differ by some operations: a cut whose operation never came is made earlier in a life, with a choice that no other has.
    func standIn(_ number: Int) -> CutPoint? {
        guard operation == nil, point.number > 1, violations.isEmpty else { return nil }
        return CutPoint(role: point.role, number: point.number / 2, choice: Self.standInChoice + number)
    }

    private static let standInChoice = 10_000

    /// Where the power went, for people.
    var place: String {
        guard let operation else { return "operation \(point.number), which never came" }
        return "\(operation.rawValue) \(point.number), \(keptOctets) of \(unflushedOctets) unconfirmed octets kept"
    }
}
