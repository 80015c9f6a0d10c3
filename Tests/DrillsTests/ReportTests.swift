import DaemonControl
import Foundation
import FoundationXML
import Testing

@testable import Drills

@Suite("The report") struct ReportTests {
    private final class Errors: NSObject, XMLParserDelegate {
        var names: [String: Int] = [:]

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) { names[name, default: 0] += 1 }
    }

    private func parse(_ history: History) throws -> [String: Int] {
        try parse(HTMLReport(history: history, tally: Tally(history)).text)
    }

    private func parse(_ text: String) throws -> [String: Int] {
        let parser = XMLParser(data: Data(text.utf8))
        let errors = Errors()
        parser.delegate = errors
        #expect(parser.parse(), "\(String(describing: parser.parserError)) at line \(parser.lineNumber)")
        return errors.names
    }

    @Test("Is well-formed, with a title on everything that is drawn")
    func wellFormed() throws {
        let names = try parse(Sample.good())
        #expect(names["svg"] == 1)
        #expect(names["title"] ?? 0 >= 10)
    }

    @Test("Text from outside cannot break out of it")
    func escaping() throws {
        var history = Sample.good()
        history.kills[0].evidence = "<script>alert(\"x\")</script> & \u{1}"
        history.damage = ["<b>&"]
        history.asked[0].verdict = "]]><svg>"
        let names = try parse(history)
        #expect(names["script"] == nil)
        #expect(names["b"] == nil)
        #expect(names["svg"] == 1)
    }

    @Test("Needs nothing from elsewhere")
    func selfContained() {
        let history = Sample.good()
        let text = HTMLReport(history: history, tally: Tally(history)).text
        let allowed = text.replacingOccurrences(of: "xmlns=\"http://www.w3.org/2000/svg\"", with: "")
        for word in ["http:", "https:", "src=", "href=", "url(", "@import"] { #expect(!allowed.contains(word)) }
        #expect(text.contains("prefers-color-scheme:dark"))
    }

    @Test("An empty history is drawn too")
    func empty() throws { _ = try parse(History(seed: 1, began: 5)) }

    // MARK: Restarts

    @Test("Restarts of peripherals beside each other")
    func restarts() throws {
        let result = try RestartReport(lines: [
            #"{"title": "<ours>", "milliseconds": [300, 100, 200], "lost": 1}"#,
            #"{"title": "theirs", "milliseconds": [9000], "lost": 0}"#,
        ])
        let told = try #require(result.json["peripherals"]?.array)
        #expect(told.map { $0.object?["kills"]?.number } == [3, 1])
        #expect(told[0].object?["notified_ms"] == ["p50": 200, "p99": 300, "max": 300])
        #expect(told.map { $0.object?["lost_links"]?.number } == [1, 0])
        let names = try parse(result.report.page)
        #expect(names["svg"] == 2)
        #expect(names["ours"] == nil)
        #expect(result.report.json == JSONValue.object(result.json).text + "\n")
    }

    @Test(
        "No restarts, or what is no line of them, is refused by its number",
        arguments: [
            ("", "line 1 is"), ("{}", "line 1 is"), (#"{"title": "a", "milliseconds": [], "lost": 0}"#, "line 1 is"),
            (#"{"title": "a", "milliseconds": [-1], "lost": 0}"#, "line 1 is"), (nil, "no restart"),
        ])
    func malformedRestarts(line: String?, message: String) throws {
        let error = #expect(throws: DrillError.self) { try RestartReport(lines: line.map { [$0] } ?? []) }
        #expect(error?.description.contains(message) == true)
    }

    // MARK: A drill at every system call

    private static func tally(_ text: String) -> CallTally {
        var results = SystemCallDrillTests.results
        results[2].violations = [text, "\(CasePromise.told.text): too early"]
        return CallTally(seed: 7, plant: nil, counts: [.lock: 1_200, .key: 700], results: results)
    }

    @Test("The page of every call is well-formed, counts what broke, and has what comes back to it")
    func everyCall() throws {
        let text = CallReport(tally: Self.tally("<script>&\u{1}")).text
        let names = try parse(text)
        #expect(names["script"] == nil)
        #expect(names["svg"] == 2)
        #expect(text.contains("broken 1 times"))
        #expect(text.contains("--role lock --from 4 --to 4"))
        _ = try parse(CallReport(tally: CallTally(seed: 1, plant: nil, counts: [:], results: [])).text)
    }

    @Test("The page of cuts is well-formed, counts what broke, and has what comes back to it")
    func cuts() throws {
        let good = CutResult(
            point: CutPoint(role: .key, number: 2, choice: 0), operation: .flush, unflushedWrites: 2,
            unflushedOctets: 8_192, restoreMicroseconds: 12_345, milliseconds: 900)
        var bad = good
        bad.point = CutPoint(role: .lock, number: 4, choice: 3)
        bad.operation = .write
        bad.violations = [CaseViolation(promise: .counters, text: "<b>&\u{1}").description]
        var beyond = good
        (beyond.point.number, beyond.operation, beyond.unflushedOctets) = (9, nil, 0)
        let tally = CutTally(
            seed: 5, options: MachineOptions(), counts: [.lock: 7, .key: 4], results: [good, bad, beyond])
        #expect(!tally.isOK && tally.cuts.count == 2 && tally.beyond == 1 && tally.losing == 2)
        let text = CutReport(tally: tally).text
        let names = try parse(text)
        #expect(names["b"] == nil && names["svg"] == 2)
        #expect(text.contains("broken 1 times") && text.contains("--role lock --from 4 --to 4 --choice 3"))
        #expect(tally.summary.contains("2 cuts, 2 of which lost something, 1 beyond the end, 1 violated"))
        let junit = try parse(tally.junit.text)
        #expect(junit["testcase"] == 3 && junit["failure"] == 1)
    }

    @Test("A chart of lengths has a bar for each bin up to the longest, and all the rest in the last")
    func lengths() {
        func bars(_ milliseconds: [UInt64]) -> [String] {
            let text = BarChart(title: "lengths", milliseconds: milliseconds, binMilliseconds: 10, bins: 4).text
            return text.matches(of: /<title>([^<]*)/).map { String($0.output.1) }
        }
        #expect(bars([]).isEmpty)
        #expect(bars([0, 9, 10, 25]) == ["2 under 10 ms", "1 under 20 ms", "1 under 30 ms"])
        #expect(bars([29]) == ["0 under 10 ms", "0 under 20 ms", "1 under 30 ms"])
        #expect(bars([30, 39, 40, 7_000]).suffix(2) == ["0 under 30 ms", "4 from 30 ms"])
    }

    @Test("JUnit's file is well-formed and counts its cases and failures")
    func junit() throws {
        let calls = Self.tally("<b>&\u{1}").junit
        let names = try parse(calls.text)
        #expect(names["testcase"] == 3)
        #expect(names["failure"] == 1)
        #expect(names["b"] == nil)
        #expect(calls.text.contains("tests=\"3\" failures=\"1\""))
        #expect(calls.text.contains("time=\"1.300\""))
        #expect(calls.text.contains("again with: latch-lab drill syscalls --role lock --from 4"))

        var bad = Sample.good()
        bad.obstacle = "no answer"
        let processes = Tally(bad).junit(milliseconds: 61_005)
        #expect(try parse(processes.text)["testcase"] == Invariant.allCases.count)
        #expect(processes.text.contains("failures=\"1\""))
        #expect(processes.text.contains("time=\"61.005\""))
        #expect(processes.text.contains("name=\"seed\" value=\"3\""))
    }
}
