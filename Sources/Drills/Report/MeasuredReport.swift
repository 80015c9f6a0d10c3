import DaemonControl

/// What a script measured and wrote on lines of JSON: its figures and its report.
package protocol MeasuredReport: SendableMetatype {
    /// - Throws: `DrillError` for a line that is none, or where lines are missing.
    init(lines: [String]) throws

    var isOK: Bool { get }
    var json: JSONObject { get }
    var report: Report { get }
}

extension MeasuredReport {
    /// The object on a line.
    static func object(_ line: String) -> JSONObject? { (try? JSONValue(line: Array(line.utf8)))?.object }

    static func malformed(line number: Int, expected: String) -> DrillError {
        DrillError(.environment, "line \(number) is no object with \(expected)")
    }
}
