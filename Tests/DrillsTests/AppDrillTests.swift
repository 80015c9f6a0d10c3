import DaemonControl
import Foundation
import Testing

@testable import Drills

@Suite("Drills of somebody's program", .serialized) struct AppDrillTests {
    /// Something that was built beside the test bundle.
    private static func beside(_ name: String) throws -> String {
        let program: URL = try #require(ProcessDrillTests.program)
        return program.deletingLastPathComponent().appendingPathComponent(name).path
    }

    private static let tree = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    private static func drill(_ rules: String, _ program: String, _ options: String...) throws -> (
        status: Int32, output: String, errors: String
    ) {
        try ProcessDrillTests.run(
            ["app", "--rules", "\(tree)/\(rules)"] + options + ["--", try beside(program)])
    }

    @Test(
        "The examples keep what they promise at one kill, and behind a lost link, a peer's kill and an adapter's absence",
        arguments: [
            ("Examples/Visitor/visitor.drill", "Visitor"), ("Examples/Doorbell/doorbell.drill", "Doorbell"),
            ("Examples/HeartRateMonitor/monitor.drill", "HeartRateMonitor"),
            ("Examples/HeartRateSensor/sensor.drill", "HeartRateSensor"),
        ])
    func examples(rules: String, program: String) throws {
        let (status, output, errors) = try Self.drill(
            rules, program, "--faults", "kill@40,kill@end,cut@end,unplug@end,peer@end", "--seed", "1", "--json")
        #expect(status == 0, "\(output)\n\(errors)")
        let result = try #require(try JSONValue(line: Array(output.utf8)).object)
        #expect(result["faults"]?.object?["kill"] == 2)
        for kind in ["cut", "unplug", "peer"] { #expect(result["faults"]?.object?[kind] == 1) }
        #expect(result["excused"] == 0)
    }

    @Test(
        "Without a program, with one that is not there, and with rules that cannot be read: what is wrong, and what to do"
    )
    func refused() throws {
        let none = try Self.drill("Examples/Visitor/none.drill", "Visitor")
        #expect(none.status == 2)
        #expect(none.errors.contains("none.drill: No such file or directory: write what the program promises there"))
        let page = try Self.drill("README.md", "Visitor")
        #expect(page.status == 2)
        #expect(page.errors.contains("README.md:3: `Locks` is no rule"))
        let missing = try Self.drill("Examples/Visitor/visitor.drill", "Nobody")
        #expect(missing.status == 4)
        #expect(missing.errors.contains("Nobody is no program that can be run: build it, or name another"))
    }

    @Test("A central that does not look at what it is restored with is found, and by one kill at a system call alone")
    func planted() throws {
        let folder = NSTemporaryDirectory() + "latch-report-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (status, output, errors) = try Self.drill(
            "Tests/ForgetfulVisitor/forgetful.drill", "ForgetfulVisitor", "--faults", "cut@end,kill@end",
            "--seed",
            "1", "--json", "--report", folder)
        #expect(status == 1, "\(output)\n\(errors)")
        // What is kept for people is not for this test.
        let kept = try #require(errors.firstMatch(of: /everything is kept in (\S+)/)).output.1
        defer { try? FileManager.default.removeItem(atPath: String(kept)) }
        let result = try #require(try JSONValue(line: Array(output.utf8)).object)
        let violation = try #require(result["violations"]?.array?.first?.object)
        #expect(violation["found"]?.string == "cut@end, kill@end")
        // Such as `kill@1387 (pwrite64)`: before it there was nothing to forget.
        let least = try #require(violation["least"]?.string)
        #expect(least.wholeMatch(of: /kill@[0-9]+ \([a-z0-9_]+\)/) != nil, "\(least)")
        #expect(violation["replay"]?.string?.contains("--faults \(least.prefix { $0 != " " }) ") == true)
        #expect(
            violation["texts"]?.array?.first?.string?.hasPrefix(
                "line 6: after prints \"listening\" restart never prints \"discovered a doorbell\"") == true)
        let page = try String(contentsOfFile: folder + "/index.html", encoding: .utf8)
        #expect(page.contains("broken in 1 lives") && page.contains(least))
        let cases = try String(contentsOfFile: folder + "/junit.xml", encoding: .utf8)
        #expect(cases.contains("failures=\"1\"") && cases.contains("least: \(least)"))
        #expect(FileManager.default.fileExists(atPath: folder + "/result.json"))
    }
}
