/// Which cases a drill plays, in their order, and how it speaks of them. The queue that owns it asks one question at a time.
protocol CasePlan: Sendable {
    associatedtype Point: Sendable
    associatedtype Result: CaseOutcome

    /// How many points it has given and has left, as far as is known by now.
    var planned: Int { get }

    /// The next point; nil when none is left.
    mutating func next() -> Point?

    /// Learns what became of a point: others may follow from that.
    mutating func add(_ result: Result) throws

    /// How far it is.
    func progress(done: Int, violated: Int) -> String

    /// What people are told of a case behind the promises that it broke, a line each.
    func story(_ result: Result) -> [String]
}

/// What became of one case.
protocol CaseOutcome: Sendable {
    var isViolated: Bool { get }
    /// A text for each broken promise.
    var violations: [String] { get }
}
