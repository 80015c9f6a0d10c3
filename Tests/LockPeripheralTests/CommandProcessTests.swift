import Foundation
import Glibc
import LockPeripheral
import TestSupport
import Testing

@Suite("A bolt that is a command: its process", .serialized, .timeLimit(.minutes(30)))
struct CommandProcessTests {
    private let directory = ScratchDirectory()

    private func runner(_ script: String) throws -> CommandProcess {
        let path = directory.path + "/bolt"
        try ChildProcess.writeScript("cd \"$(dirname \"$0\")\"\n" + script, to: path)
        return try again()
    }

    /// As the next daemon has it.
    private func again() throws -> CommandProcess {
        try CommandProcess([directory.path + "/bolt", "--door", "two  words"], claim: directory.path + "/claim")
    }

    private func text(_ name: String) -> String {
        (try? String(contentsOfFile: directory.path + "/" + name, encoding: .utf8)) ?? ""
    }

    private func awaitEnd(_ runner: CommandProcess) -> CommandEnd? {
        var interest = pollfd(fd: runner.descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&interest, 1, 60_000) > 0 { if let end = runner.end() { return end } }
        return nil
    }

    private func waits(_ condition: () -> Bool) -> Bool {
        for _ in 0..<3_000 {
            if condition() { return true }
            usleep(10_000)
        }
        return false
    }

    @Test("It gets its words and the movement, no shell between, and nothing of the daemon but the hold of its claim")
    func clean() throws {
        let runner = try runner(
            """
            for word; do echo "$word"; done > arguments
            tr '\\0' '\\n' < /proc/$$/environ > environment
            cat > input
            readlink /proc/$$/fd/3 > claim.name
            exit 21
            """)
        try runner.start(.unlock, for: IntentID(rawValue: 812))
        #expect(awaitEnd(runner) == .exited(21))
        #expect(text("arguments") == "--door\ntwo  words\nunlock\n")
        #expect(text("environment") == "PATH=/usr/bin:/bin\nLC_ALL=C\nLATCH_INTENT=812\n")
        #expect(text("input").isEmpty)
        #expect(text("claim.name").hasSuffix("/claim\n"))
        #expect(runner.end() == nil, "told once")
    }

    @Test("Reading waits for the answer, and kills at its time what does not give one")
    func reading() throws {
        let runner = try runner("[ -e slow ] && sleep 1000 &\n[ -e slow ] && sleep 1000\nexit 20")
        #expect(try runner.answer(.read, milliseconds: 60_000) == .exited(20))
        _ = FileManager.default.createFile(atPath: directory.path + "/slow", contents: nil)
        #expect(try runner.answer(.read, milliseconds: 50) == nil)
        unlink(directory.path + "/slow")
        #expect(try runner.answer(.read, milliseconds: 60_000) == .exited(20), "what was killed holds nothing up")
    }

    @Test("A program that is not there has not been started")
    func missing() throws {
        let reason = "it cannot be started: No such file or directory"
        #expect(throws: CommandNotStarted(reason: reason)) { try again().start(.lock, for: nil) }
    }

    @Test("A movement that a killed daemon has left at work is waited for; nothing runs beside it")
    func outlived() throws {
        let first = try runner("echo x > begun\nread line < gate\necho y > over\nexit 0")
        try #require(mkfifo(directory.path + "/gate", 0o600) == 0)
        try first.start(.unlock, for: nil)
        #expect(waits { !text("begun").isEmpty })
        // Another hand on the same claim knows nothing of that process.
        let next = try again()
        let reason = "an earlier process of it is at work: nothing else is begun before its end"
        #expect(throws: CommandNotStarted(reason: reason)) { try next.start(.lock, for: nil) }
        let gate = open(directory.path + "/gate", O_RDWR)
        defer { close(gate) }
        #expect(write(gate, "x\n", 2) == 2)
        #expect(next.awaitEarlier(milliseconds: 60_000))
        #expect(text("over") == "y\n")
        #expect(first.end() == .exited(0))
    }

    @Test("One that goes on behind its time is ended by the next launch, with what it has begun")
    func outlivedItsTime() throws {
        let first = try runner("sleep 1000 &\necho $$ > begun\nsleep 1000")
        try first.start(.unlock, for: nil)
        #expect(waits { !text("begun").isEmpty })
        #expect(try again().awaitEarlier(milliseconds: 0))
        #expect(awaitEnd(first) == .signalled(SIGKILL))
    }

    @Test("A claim that names somebody else ends nobody")
    func forgedClaim() throws {
        let first = try runner("echo x > begun\nsleep 1000")
        try first.start(.unlock, for: nil)
        #expect(waits { !text("begun").isEmpty })
        let bystander = try ChildProcess(["/bin/sleep", "1000"])
        for claim in ["\(bystander.pid) 1\n", "\(bystander.pid)\n", "-1 1\n", "1 1\n", "0 0\n", "", "x y z"] {
            try claim.write(toFile: directory.path + "/claim", atomically: false, encoding: .utf8)
            #expect(try !again().awaitEarlier(milliseconds: 0), "\(claim)")
        }
        #expect(bystander.isRunning)
        bystander.signal(SIGKILL)
        bystander.wait()
        first.kill()
        #expect(awaitEnd(first) == .signalled(SIGKILL))
    }
}
