import DaemonControl
import Foundation
import TestSupport
import Testing

@testable import Drills

@Suite("Real processes", .serialized) struct ProcessDrillTests {
    /// The built `latch-lab`, next to the test bundle.
    static var program: URL? {
        let runner = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let file = URL(fileURLWithPath: runner).deletingLastPathComponent().appendingPathComponent("latch-lab")
        return FileManager.default.isExecutableFile(atPath: file.path) ? file : nil
    }

    static func run(_ arguments: [String], of program: URL? = program) throws -> (
        status: Int32, output: String, errors: String
    ) {
        try lab(["drill"] + arguments, of: program)
    }

    /// Any command of `latch-lab`.
    static func lab(_ arguments: [String], of program: URL? = program) throws -> (
        status: Int32, output: String, errors: String
    ) {
        let executable: URL = try #require(program)
        let outcome = try ChildProcess.run(
            [executable.path] + arguments, environment: ProcessInfo.processInfo.environment)
        return (outcome.end.code, outcome.output, outcome.errors)
    }

    @Test("One kill of each: everything is kept, and everything is written down")
    func small() throws {
        let folder = NSTemporaryDirectory() + "latch-report-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (status, output, errors) = try Self.run([
            "processes", "--kills", "1", "--seed", "1", "--json", "--report", folder,
        ])
        #expect(status == 0, "\(output)\n\(errors)")
        let result = try #require(try JSONValue(line: Array(output.utf8)).object)
        #expect(result["kills"] == 2)
        #expect(result["restored"] == 2)
        #expect(result["lost"] == 0)
        #expect(result["integrity"] == "ok")
        #expect(result["commands_accepted"]?.number ?? 0 >= 2)
        #expect(result["replays_sent"]?.number ?? 0 > 0)
        for file in ["index.html", "result.json", "junit.xml", "air.btsnoop"] {
            #expect(FileManager.default.fileExists(atPath: "\(folder)/\(file)"))
        }
    }

    @Test("A drill without a `latch` to start says where it looked and what to do, and starts nothing")
    func missingLatch() throws {
        let outcome = try Self.run(["processes", "--kills", "1", "--latch", "/nonexistent/latch"])
        #expect(outcome.status == 4)
        #expect(outcome.output.isEmpty)
        #expect(
            outcome.errors == "latch-lab drill: option `--latch`: /nonexistent/latch is no program that can be run\n")

        // The program alone, in a directory where nothing is beside it.
        let folder = URL(fileURLWithPath: NSTemporaryDirectory() + "latch-lab-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let alone = folder.appendingPathComponent("latch-lab")
        // By another process: a child of a test beside this one would hold what this one writes, and the program would be busy.
        let copy = try ChildProcess.run(["/bin/cp", try #require(Self.program).path, alone.path])
        try #require(copy.end == .exited(0))
        let bare = try Self.run(["processes", "--kills", "1"], of: alone)
        #expect(bare.status == 4)
        #expect(bare.errors.contains("there is no program \(folder.path)/latch:"), "\(bare.errors)")
        #expect(bare.errors.contains("swift build --product latch") && bare.errors.contains("--latch PATH"))
    }

    @Test("A kill of the key at some of its system calls, and one beyond its last: counted, judged and written down")
    func systemCalls() throws {
        let folder = NSTemporaryDirectory() + "latch-report-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let ledger = folder + "-ledger"
        defer { try? FileManager.default.removeItem(atPath: ledger) }
        let words = ["syscalls", "--role", "key", "--to", "30001", "--part", "401/10000", "--seed", "1", "--json"]
        let (status, output, errors) = try Self.run(words + ["--report", folder, "--resume", ledger])
        #expect(status == 0, "\(output)\n\(errors)")
        let result = try #require(try JSONValue(line: Array(output.utf8)).object)
        #expect(result["cases"] == 3)
        #expect(result["kills"] == 1)
        #expect(result["beyond"] == 2)
        #expect(result["violated"] == 0)
        #expect(errors.contains("drill syscalls: seed 1"))
        for file in ["index.html", "result.json", "junit.xml"] {
            #expect(FileManager.default.fileExists(atPath: "\(folder)/\(file)"))
        }
        // What the ledger has is not done again.
        let again = try Self.run(words + ["--resume", ledger])
        #expect(try JSONValue(line: Array(again.output.utf8)).object?["cases"] == 3)
        #expect(!again.errors.contains("3/3"))
    }

    @Test("A line that is wrong is refused with the status of usage")
    func usage() throws {
        for words in [
            [], ["machines"], ["machine", "--cuts", "none"], ["processes", "--kills", "0"], ["processes", "--bogus"],
            ["syscalls", "--part", "2"],
        ] {
            #expect(try Self.run(words).status == 2)
        }
        #expect(try Self.run(["processes", "--help"]).status == 0)
        #expect(try Self.run(["syscalls", "--help"]).status == 0)
    }
}
