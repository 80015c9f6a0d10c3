import DaemonControl
import Testing

@testable import latch

@Suite("Log lines")
struct LogTests {
    private static let fields: JSONObject = ["peer": "C0:11", "name": "a b\n\u{1b}[2J", "count": 3]

    @Test("text: one line, values quoted where they need it, nothing that a terminal obeys")
    func text() {
        let line = Log.line(.info, "connected", Self.fields, format: .text, time: "T")
        #expect(line == #"T info connected peer=C0:11 name="a b\n\u001b[2J" count=3"#)
    }

    @Test("journal: the syslog level in front")
    func journal() {
        #expect(Log.line(.warning, "x", [:], format: .journal, time: "T") == "<4>x")
    }

    @Test("JSON: an object, and no field forges the level or the time")
    func json() throws {
        let line = Log.line(.error, "x", ["level": "info", "a": 1], format: .json, time: "T")
        #expect(
            try JSONValue(line: Array(line.utf8)) == ["time": "T", "level": "error", "message": "x", "a": 1])
    }
}
