import CommandInterface
import DaemonControl
import Foundation
import LockProtocol
import Testing

@testable import latch

@Suite("Commands: schedules")
struct ScheduleCommandTests {
    private static func request(_ words: String) throws -> PeripheralRequest.Schedule {
        let all = "peripheral schedule set --state a --credential anna " + words
        let parsed = try ArgumentParser(Latch.program()).parse(all.split(separator: " ").map(String.init))
        guard case .run(_, let arguments) = parsed else { throw Failure(.usage, "not a run") }
        return try ScheduleCommands.request(arguments)
    }

    @Test("set sends its rules in one form, however they were written")
    func request() throws {
        let request = try Self.request(
            "--from 2026-12-24T15:00:00 --until 2026-12-31T24:00 --weekdays mon,tue,wed --between 08:00-17:00 "
                + "--weekdays sat --between 22:00-00:00 --during 2026-12-24T15:00/2026-12-27T11:00")
        #expect(request.weekdays == ["mon-wed 08:00-17:00", "sat 22:00-24:00"])
        #expect(request.during == ["2026-12-24T15:00/2026-12-27T11:00"])
        let rules = try ScheduleRules(request)
        #expect(rules.from?.description == "2026-12-24T15:00" && rules.until?.description == "2027-01-01T00:00")
        #expect(rules.schedules.weekdays.count == 2 && rules.schedules.yearDays.count == 1)
    }

    @Test(
        "what an option may not be, and which one it is",
        arguments: [
            ("", "option `--from`: there is no rule"), ("--from 2026-12-24", "option `--from`: \"2026-12-24\" is no"),
            ("--until tomorrow", "option `--until`: \"tomorrow\" is no local time"),
            ("--from 2026-12-24T08:00 --until 2026-12-24T08:00", "option `--until`: 2026-12-24T08:00 is not behind"),
            ("--weekdays mon", "option `--weekdays` needs its `--between`: there are 1 and 0"),
            ("--between 08:00-17:00", "option `--weekdays` needs its `--between`: there are 0 and 1"),
            ("--weekdays monday --between 08:00-17:00", "option `--weekdays`: \"monday\" is no day"),
            ("--weekdays mon --between 8-17", "option `--between`: \"8-17\" is no span of a day"),
            ("--during 2026-12-24T08:00", "option `--during`: \"2026-12-24T08:00\" is no span"),
            (
                String(repeating: "--weekdays mon --between 08:00-17:00 ", count: 11),
                "option `--weekdays`: a credential has 10 at most"
            ),
            (
                String(repeating: "--during 2026-12-24T08:00/2026-12-25T08:00 ", count: 11),
                "option `--during`: a credential has 10 at most"
            ),
        ])
    func refused(words: String, message: String) {
        let failure = #expect(throws: Failure.self) { try Self.request(words) }
        #expect(failure?.code == .usage && failure?.message.contains(message) == true, "\(failure?.message ?? "")")
    }
}

/// With a lock, a key and an operator, each a process.
@Suite("Daemons: schedules", .serialized)
struct ScheduleDaemonTests {
    @Test("Rules that are set while the window is open hold from the first command, and the enrolment ends well")
    func beforehand() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        let key = try bench.start("central", "key")
        let window = try Window(["--state", bench.path("lock"), "--credential", "anna", "--role", "owner"])
        let code = try window.code()
        let set = try Program.run([
            "peripheral", "schedule", "set", "--state", bench.path("lock"), "--credential", "anna", "--until",
            "2001-06-02T12:00",
        ])
        #expect(set.output == "anna: scheduled\n", "\(set)")
        let enrolled = try bench.latch("central", "enroll", "key", ["-"], input: code)
        #expect(enrolled.status == 0 && window.end() == 0, "\(enrolled)")
        let refused = try bench.latch("central", "unlock", "key")
        #expect(refused.status == ExitCode.refused.rawValue && refused.errors.contains("expired"), "\(refused)")
        // Enrolled anew outside of its validity: the bond is another one, and the rules are not.
        try bench.enroll("anna", role: "owner")
        #expect(try bench.latch("central", "unlock", "key").errors.contains("expired"))
        #expect(lock.end() == 0)
        #expect(key.end() == 0)
    }

    @Test(
        "A schedule lets its credential in and keeps it out, survives a kill, is told and journalled; clear takes it away"
    )
    func schedule() throws {
        let bench = try Bench()
        let configuration = bench.path("lock.conf")
        try "[lock]\ntime_zone = \"CET-1CEST,M3.5.0,M10.5.0/3\"\nholidays = \"2001-01-01T00:00/2001-01-01T24:00\"\n"
            .write(toFile: configuration, atomically: true, encoding: .utf8)
        let options = ["--config", configuration, "--journal", bench.path("lock.journal")]
        var lock = try bench.start("peripheral", "lock", options)
        let key = try bench.start("central", "key")
        try bench.enroll("anna", role: "owner")
        func schedule(_ act: String, _ more: [String] = [], of name: String = "anna") throws -> Program.Outcome {
            try Program.run(
                ["peripheral", "schedule", act, "--state", bench.path("lock"), "--credential", name] + more)
        }
        let unlock = { try bench.latch("central", "unlock", "key") }

        let always = ["--weekdays", "mon-sun", "--between", "00:00-24:00", "--from", "2001-06-01T12:00"]
        #expect(try schedule("set", always).output == "anna: scheduled\n")
        #expect(try schedule("set", always).output == "anna: scheduled already\n")
        #expect(try unlock().status == 0)
        try bench.succeed("central", "lock", "key")
        let isScheduled = { try bench.latch("peripheral", "status", "lock").output.contains("scheduled: true") }
        #expect(try isScheduled())
        let shown = try schedule("show").output
        for line in [
            "time_zone: CET-1CEST,M3.5.0,M10.5.0/3", "from: 2001-06-01T12:00", #"weekdays: ["mon-sun 00:00-24:00"]"#,
            "now: within", #"holidays: ["2001-01-01T00:00/2001-01-02T00:00"]"#,
        ] { #expect(shown.contains(line), "\(shown)") }

        #expect(try schedule("set", ["--during", "2001-06-01T12:00/2001-06-02T12:00"]).status == 0)
        // Behind its answer the iteration before has ended, and with it what the journal has of the change.
        #expect(try schedule("show").output.contains("now: expired"))
        lock.kill()
        lock = try bench.start("peripheral", "lock", options)
        let refused = try unlock()
        #expect(refused.status == ExitCode.refused.rawValue && refused.errors.contains("expired"), "\(refused)")
        #expect(try schedule("show", ["--json"]).output.contains(#""now":"expired""#))

        #expect(try schedule("clear").output == "anna: at all times\n")
        #expect(try !isScheduled())
        #expect(try unlock().status == 0)
        let unknown = try schedule("show", of: "ana")
        #expect(unknown.status == ExitCode.refused.rawValue && unknown.errors.contains("there are anna"))
        #expect(try schedule("set", ["--until", "x"]).status == ExitCode.usage.rawValue)
        let journal = try String(contentsOfFile: bench.path("lock.journal"), encoding: .utf8)
        #expect(journal.components(separatedBy: #""act":"scheduled""#).count == 4, "three changes")
        #expect(lock.end() == 0)
        #expect(key.end() == 0)
    }
}
