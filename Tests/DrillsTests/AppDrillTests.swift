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
        arguments: [("Examples/Visitor/visitor.drill", "Visitor"), ("Examples/Doorbell/doorbell.drill", "Doorbell")])
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
}
