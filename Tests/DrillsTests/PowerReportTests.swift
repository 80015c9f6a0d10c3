import DaemonControl
import Foundation
import FoundationXML
import Testing

@testable import Drills

@Suite("Power of a whole machine: its report")
struct PowerReportTests {
    private static let head = #"{"seed": 7, "lies": false}"#
    private static let held =
        #"{"cut": 1, "at": "write", "number": 14, "kept": 512, "unconfirmed": 1024, "mended": true, "back_ms": 9000, "answers": ["accepted", "done"], "violations": []}"#
    private static let broken =
        #"{"cut": 2, "at": "flush", "number": 15, "kept": 0, "unconfirmed": 0, "mended": false, "back_ms": null, "answers": [], "violations": ["<b>never</b>"]}"#

    @Test("Cuts in figures, with what comes back to a violation")
    func figures() throws {
        let report = try PowerReport(lines: [Self.head, Self.held, Self.broken])
        #expect(!report.isOK)
        #expect(report.json["cuts"] == 2)
        #expect(report.json["cuts_that_lost_something"] == 1)
        #expect(report.json["cuts_whose_boot_mended_the_disk"] == 1)
        #expect(report.json["back_ms"] == ["p50": 9000, "p99": 9000, "max": 9000])
        let violation = try #require(report.json["violations"]?.array?.first?.object)
        #expect(violation["place"] == "flush 15")
        #expect(violation["replay"] == "scripts/drill-power --seed 7 --cuts 2")
        #expect(try PowerReport(lines: [Self.head, Self.held]).isOK)
    }

    @Test("The page is well-formed and has each cut; JUnit has a failure for what broke")
    func forms() throws {
        let report = try PowerReport(lines: [Self.head, Self.held, Self.broken]).report
        let page = try XMLDocument(xmlString: report.page)
        #expect(try page.nodes(forXPath: "//b").isEmpty)
        #expect(try page.nodes(forXPath: "//table[.//th='cut']/tbody/tr").count == 2)
        #expect(report.page.contains("write 14"))
        #expect(report.junit.cases.map(\.failures.isEmpty) == [true, false])
        #expect(report.junit.cases[1].failures.last == "again with: scripts/drill-power --seed 7 --cuts 2")
    }

    @Test("A disk that lies is said, and repeated with it")
    func lies() throws {
        let report = try PowerReport(lines: [#"{"seed": 7, "lies": true}"#, Self.broken])
        #expect(report.report.page.contains("scripts/drill-power --seed 7 --cuts 2 --lying"))
        #expect(report.json["lies"] == true)
    }

    @Test(
        "What is no line of cuts is refused by its number",
        arguments: [
            ([], "line 1 is"), (["{}"], "line 1 is"), ([head], "no cut"), ([head, held, "{}"], "line 3 is"),
            ([head, held.replacingOccurrences(of: "512", with: "2048")], "line 2 is"),
            ([head, held.replacingOccurrences(of: "9000", with: "null")], "line 2 is"),
            ([head, held.replacingOccurrences(of: #""done""#, with: "3")], "line 2 is"),
        ])
    func malformed(lines: [String], message: String) throws {
        let error = #expect(throws: DrillError.self) { try PowerReport(lines: lines) }
        #expect(error?.description.contains(message) == true)
    }
}
