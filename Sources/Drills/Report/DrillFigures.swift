/// A drill in figures, in every form that somebody reads.
protocol DrillFigures {
    var isOK: Bool { get }
    var summary: String { get }
    var jsonText: String { get }
    var page: String { get }
    var junit: JUnit { get }
}

extension DrillFigures {
    /// Says what came of the drill, and writes its report where one was asked for.
    func tell(isJSON: Bool, report: String?, output: (String) -> Void) throws {
        output(isJSON ? jsonText + "\n" : summary)
        guard let report else { return }
        try Report(page: page, json: jsonText + "\n", junit: junit).write(to: report)
        Progress().say("report: \(report)/index.html")
    }
}

extension CallTally: DrillFigures {
    var page: String { CallReport(tally: self).text }
}

extension CutTally: DrillFigures {
    var page: String { CutReport(tally: self).text }
}

extension AppTally: DrillFigures {
    var page: String { AppReport(tally: self).text }
}
