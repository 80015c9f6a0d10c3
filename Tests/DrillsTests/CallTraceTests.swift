import Foundation
import Testing

@testable import Drills

@Suite("Tracing of system calls") struct CallTraceTests {
    private static func run(
        _ side: CallTrace.Side = .entry, killAt: UInt64 = 0, _ script: String = "echo made >\"$0\""
    ) throws -> (end: ProcessHandle.End?, trace: CallTrace, hasMade: Bool) {
        let folder = NSTemporaryDirectory() + "latch-trace-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let trace = try CallTrace(side, killAt: killAt)
        let process = try ProcessHandle(
            ["/bin/sh", "-c", script, folder + "/made"], log: folder + "/log", trace: trace)
        let end = try process.wait(Waiter(), until: Clock.now + Clock.milliseconds(30_000))
        #expect(trace.failure == nil)
        return (end, trace, FileManager.default.fileExists(atPath: folder + "/made"))
    }

    @Test("Without a kill a program ends as it would, and its calls are counted by their names")
    func count() throws {
        let (end, trace, hasMade) = try Self.run()
        #expect(end == .exited(0))
        #expect(hasMade)
        #expect(trace.killedAt == nil)
        #expect(UInt64(trace.names.count) == trace.count)
        #expect(trace.names.last == "exit_group")
        #expect(trace.names.contains("openat"))
        #expect(!trace.names.contains("execve"), "the calls begin behind the exec")
    }

    @Test("A program's status is its tracer's", arguments: [3, 77])
    func status(status: Int32) throws {
        #expect(try Self.run(.entry, "exit \(status)").end == .exited(status))
    }

    @Test("A call at whose entry the program is killed is not made; one at whose exit it is killed is")
    func sides() throws {
        let all = try Self.run().trace.names
        let opening = try #require(all.lastIndex(of: "openat")) + 1
        let before = try Self.run(.entry, killAt: UInt64(opening))
        #expect(before.end == .killed(9))
        #expect(before.trace.killedAt == "openat")
        #expect(before.trace.count == UInt64(opening))
        #expect(!before.hasMade)
        let behind = try Self.run(.exit, killAt: UInt64(opening))
        #expect(behind.end == .killed(9))
        #expect(behind.trace.killedAt == "openat")
        #expect(behind.hasMade)
    }

    @Test("A number beyond the end kills nobody")
    func beyond() throws {
        let (end, trace, hasMade) = try Self.run(.entry, killAt: 60_000)
        #expect(end == .exited(0))
        #expect(hasMade)
        #expect(!trace.hasKilled)
    }

    @Test("A signal reaches the program through its tracer, and so does the end of a drill")
    func signals() throws {
        let folder = NSTemporaryDirectory() + "latch-trace-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let waiter = try Waiter()
        for ends in [false, true] {
            let trace = try CallTrace(.entry)
            let ready = "\(folder)/ready-\(ends)"
            let process = try ProcessHandle(
                [
                    "/bin/sh", "-c", "trap 'exit 9' TERM; echo >\"$0\"; while :; do read line <\"$1\"; done", ready,
                    "/dev/null",
                ],
                log: folder + "/log", trace: trace)
            try waiter.until("the trap is set", seconds: 30) { access(ready, F_OK) == 0 }
            if ends { process.kill() } else { process.terminate() }
            let end = try process.wait(waiter, until: Clock.now + Clock.milliseconds(30_000))
            #expect(end == (ends ? .killed(9) : .exited(9)))
        }
    }
}
