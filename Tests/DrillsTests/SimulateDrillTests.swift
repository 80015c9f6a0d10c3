import DaemonControl
import Foundation
import TestSupport
import Testing

@Suite("The simulated drill's command") struct SimulateDrillTests {
    private static func figures(_ output: String) throws -> JSONObject {
        var object = try #require(try JSONValue(line: Array(output.utf8)).object)
        for name in ["schedules_per_second", "schedules_per_processor_second"] { object[name] = nil }
        return object
    }

    @Test("A seed comes to the same figures on any number of threads, and to a page, figures and verdicts as files")
    func report() throws {
        let folder = NSTemporaryDirectory() + "latch-report-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let words = ["simulate", "--seed", "7", "--schedules", "202", "--json"]
        let one = try ProcessDrillTests.run(words + ["--jobs", "1", "--report", folder])
        let two = try ProcessDrillTests.run(words + ["--jobs", "3"])
        #expect(one.status == 0 && two.status == 0, "\(one.errors)\(two.errors)")
        let figures = try Self.figures(one.output)
        #expect(try Self.figures(two.output) == figures)
        #expect(figures["schedules"] == 202 && figures["violations"] == 0)
        #expect(one.errors.hasPrefix("seed 7\n") && one.errors.contains("report: \(folder)/index.html"))

        for file in ["index.html", "junit.xml"] {
            let data = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(file)"))
            let text = String(decoding: data, as: UTF8.self)
            #expect(text.contains(file == "index.html" ? "Every promise held" : "failures=\"0\""))
        }
        let result = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/result.json"))
        #expect(try Self.figures(String(decoding: result.dropLast(), as: UTF8.self)) == figures)
    }

    @Test("A signal ends it behind the schedules under way, with the figures so far", arguments: [SIGINT, SIGTERM])
    func cutOff(signal: Int32) throws {
        let program = try #require(ProcessDrillTests.program)
        let drill = try ChildProcess(
            [program.path, "drill", "simulate", "--seed", "7", "--minutes", "10000", "--jobs", "2", "--json"],
            environment: ProcessInfo.processInfo.environment)
        // It says its seed when the signals are its own.
        var said = ""
        while !said.contains("seed 7\n") {
            let more = drill.errors.availableData
            try #require(!more.isEmpty, "\(said)")
            said += String(decoding: more, as: UTF8.self)
        }
        drill.signal(signal)
        let output = String(decoding: try drill.output.readToEnd() ?? Data(), as: UTF8.self)
        #expect(drill.wait() == .exited(1))
        let figures = try Self.figures(output)
        #expect(figures["interrupted"] == true && figures["violations"] == 0)
    }

    @Test("What nobody can have meant is said, and what to do")
    func usage() throws {
        for (words, wrong) in [
            (["--jobs", "0"], "--jobs"), (["--minutes", "x"], "--minutes"), (["--schedule", "1"], "--schedules"),
        ] {
            let (status, output, errors) = try ProcessDrillTests.run(["simulate"] + words)
            #expect(status == 2 && output.isEmpty && errors.contains(wrong), "\(errors)")
        }
        let (status, _, errors) = try ProcessDrillTests.run(
            ["simulate", "--schedules", "1", "--report", "/nonexistent/report"])
        #expect(status == 4 && errors.contains("cannot make /nonexistent/report"), "\(errors)")
    }
}
