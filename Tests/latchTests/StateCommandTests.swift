import Foundation
import Glibc
import Testing

/// `latch state …` beside a daemon: who looks at a door's database keeps nobody at the door waiting.
@Suite("Looking at a database while its daemon is to run", .serialized)
struct StateCommandTests {
    /// `latch` with these arguments, which stands still in its first flush until this goes.
    private final class Stopped {
        private let process = Process()
        private var pid: pid_t = 0

        init(_ arguments: [String]) throws {
            let trace = Pipe()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments =
                [
                    "strace", "-f", "-o", "|cat", "-e", "trace=fsync,fdatasync", "-e",
                    "inject=fsync,fdatasync:signal=SIGSTOP:when=1", Program.path,
                ] + arguments
            process.environment = ["PATH": "/usr/bin:/bin"]
            process.standardOutput = trace
            try process.run()
            var heard = ""
            while !heard.contains("stopped by SIGSTOP") {
                let more = trace.fileHandleForReading.availableData
                try #require(!more.isEmpty, "it never flushed, or strace does not run here: \(heard)")
                heard += String(decoding: more, as: UTF8.self)
            }
            pid = try #require(heard.split(separator: " ").first.flatMap { pid_t($0) })
        }

        deinit {
            kill(pid, SIGKILL)
            process.waitUntilExit()
        }
    }

    @Test("A backup whose disk stands still: the lock starts and answers meanwhile", arguments: [true, false])
    func slowBackup(hasLog: Bool) throws {
        let bench = try Bench()
        var lock = try bench.start("peripheral", "lock")
        lock.kill()
        let log = bench.path("lock/latch.sqlite-wal")
        if !hasLog {
            // As where a daemon's database was restored: the log is in it.
            let whole = bench.path("whole")
            #expect(try bench.latch("state", "backup", "lock", ["--to", whole]).status == 0)
            for ending in ["", "-wal", "-shm"] { unlink(bench.path("lock/latch.sqlite") + ending) }
            try FileManager.default.moveItem(atPath: whole, toPath: bench.path("lock/latch.sqlite"))
        }
        #expect(FileManager.default.fileExists(atPath: log) == hasLog)
        let backup = try Stopped(["state", "backup", "--state", bench.path("lock"), "--to", bench.path("copy")])
        lock = try bench.start("peripheral", "lock")
        #expect(try bench.latch("state", "check", "lock").status == 0)
        #expect(lock.end() == 0)
        withExtendedLifetime(backup) {}
    }
}
