import DaemonControl
import Foundation
import FoundationXML
import Testing

@testable import Drills

@Suite("A day in the life of a door: its report")
struct DayReportTests {
    private static let scene = #"{"at": 1000000000, "scene": "A <new> door", "text": "It is new."}"#
    private static let lines = [
        scene,
        #"{"at": 1100000000, "command": "latch central unlock", "lines": ["accepted", "<done>"], "status": 0}"#,
        #"{"at": 1200000000, "door": "strike released"}"#, #"{"at": 1250000000, "door": "bolt unlocked"}"#,
        #"{"at": 1300000000, "act": "Anna opens the door"}"#,
        #"{"at": 1400000000, "promise": "she is let in", "held": true}"#,
    ]
    private static let broken = #"{"at": 2000000000, "promise": "it is locked", "held": false}"#

    @Test("A day in figures; without a promise that held it proves nothing")
    func figures() throws {
        let day = try DayReport(lines: Self.lines)
        #expect(day.isOK && day.json["scenes"] == 1 && day.json["commands"] == 1 && day.json["strike_released"] == 1)
        #expect(day.json["promises"] == 1 && day.json["broken"] == [])
        let other = try DayReport(lines: Self.lines + [Self.broken])
        #expect(!other.isOK && other.json["broken"] == ["it is locked"])
        #expect(try !DayReport(lines: [Self.scene]).isOK)
    }

    @Test("The page is well-formed and tells all of it; JUnit has a case for each promise")
    func forms() throws {
        let report = try DayReport(lines: Self.lines + [Self.broken]).report
        let page = try XMLDocument(xmlString: report.page)
        #expect(try page.nodes(forXPath: "//done").isEmpty && page.nodes(forXPath: "//new").isEmpty)
        #expect(try page.nodes(forXPath: "//tbody/tr").count == 6)
        #expect(try page.nodes(forXPath: "//pre").map(\.stringValue) == ["$ latch central unlock\naccepted\n<done>"])
        let paths = try page.nodes(forXPath: "//*[local-name()='path']/@d").compactMap(\.stringValue)
        // The strike is at rest, and released a fifth of the day later.
        #expect(paths.first == "M72.0 72 L257.6 72 L257.6 56 L1000.0 56", "\(paths)")
        #expect(report.junit.cases.map(\.failures.isEmpty) == [true, false])
        #expect(report.junit.cases[0].name == "1. A <new> door: she is let in")
    }

    @Test(
        "What is no line of a day is refused by its number",
        arguments: [
            ([], "no day"), (["{}"], "line 1 is"), ([#"{"at": 1, "act": "x"}"#], "line 1 is no object with a scene"),
            ([scene, #"{"at": 1, "act": 3}"#], "line 2 is"), ([scene, #"{"act": "x"}"#], "line 2 is"),
            ([scene, #"{"at": 1, "command": "x", "lines": [1], "status": 0}"#], "line 2 is"),
            ([scene, #"{"at": 1, "promise": "x"}"#], "line 2 is"), ([scene, "no JSON"], "line 2 is"),
        ])
    func malformed(lines: [String], message: String) throws {
        let error = #expect(throws: DrillError.self) { try DayReport(lines: lines) }
        #expect(error?.description.contains(message) == true)
    }

    @Test("A moment that is told late is drawn where it belongs, and none before the day")
    func order() throws {
        let early = #"{"at": 5, "door": "strike released"}"#
        let page = try DayReport(lines: Self.lines + [early]).report.page
        #expect(page.contains("0.0 s: strike released"))
    }
}
