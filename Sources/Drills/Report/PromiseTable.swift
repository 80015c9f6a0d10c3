extension HTMLReport {
    /// Each promise that a case is held against, with the number of cases that broke it.
    ///
    /// - Parameter violations: the texts of each case that broke some.
    static func promises(_ violations: [[String]]) -> String {
        let rows = CasePromise.allCases.map { promise in
            let broken = violations.count { texts in texts.contains { $0.hasPrefix(promise.text + ":") } }
            return [broken == 0 ? "held" : "broken \(broken) times", promise.text]
        }
        return table(["verdict", "promise"], rows)
    }
}
