/// Lives of a program that are all known beforehand.
struct AppLives: CasePlan {
    private var rest: ArraySlice<AppPlan>
    let planned: Int

    init(_ plans: [AppPlan]) {
        rest = plans[...]
        planned = plans.count
    }

    mutating func next() -> AppPlan? { rest.popFirst() }

    func add(_ result: AppResult) {}

    func progress(done: Int, violated: Int) -> String { "\(done)/\(planned) lives, \(violated) broke a rule" }

    func story(_ result: AppResult) -> [String] { ["by \(result.text)"] }
}
