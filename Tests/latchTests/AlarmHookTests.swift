import CommandInterface
import DaemonControl
import Foundation
import Glibc
import HCITransport
import TestSupport
import Testing

@testable import latch

@Suite("Alarms that wait for the hook")
struct AlarmQueueTests {
    private static func alarm(_ kind: String, _ number: Int) -> JSONObject {
        ["alarm": .string(kind), "record": JSONValue(number)]
    }

    private static func all(_ queue: inout AlarmQueue) -> [JSONObject] {
        var lines: [JSONObject] = []
        while let next = queue.next() { lines.append(next.fields) }
        return lines
    }

    /// Each has the number behind the one before.
    private static func put(_ alarms: [JSONObject], from number: UInt64 = 1, _ queue: inout AlarmQueue) -> [Bool] {
        zip(alarms, number...).map { alarm, number in queue.put(alarm, number) }
    }

    @Test("They go in their order; past the bound they are counted, by their kinds, and that is said once")
    func bound() {
        var queue = AlarmQueue()
        let first = (0..<AlarmQueue.alarmsMaximum).map { Self.alarm("jam", $0) }
        let later = [Self.alarm("forced", 90), Self.alarm("forced", 91), Self.alarm("jam", 92)]
        let answers = Self.put(first + later, &queue)
        #expect(answers.indices.filter { !answers[$0] } == [AlarmQueue.alarmsMaximum])
        #expect(Self.all(&queue) == first + [["alarm": "several", "count": 3, "kinds": ["forced", "jam"]]])
        #expect(Self.put(first + later, from: 20, &queue) == answers)
    }

    @Test("What was counted keeps its place before what comes when there is room again")
    func order() {
        var queue = AlarmQueue()
        _ = Self.put((0...AlarmQueue.alarmsMaximum).map { Self.alarm("jam", $0) }, &queue)
        for _ in 0..<3 { _ = queue.next() }
        let isSilent = queue.put(Self.alarm("clock", 50), 50)
        #expect(isSilent)
        let rest = Self.all(&queue).map { $0["alarm"]?.string }
        #expect(rest == [String](repeating: "jam", count: AlarmQueue.alarmsMaximum - 3) + ["several", "clock"])
    }

    @Test("It knows the first alarm that waits, of its own line or of one for several")
    func first() {
        var queue = AlarmQueue()
        #expect(queue.first == nil)
        _ = Self.put((0...19).map { Self.alarm("jam", $0) }, &queue)
        for number in 1...16 as ClosedRange<UInt64> {
            #expect(queue.first == number)
            #expect(queue.next()?.first == number)
        }
        #expect(queue.first == 17)
        #expect(queue.next()?.first == 17 && queue.first == nil)
        _ = queue.put(Self.alarm("jam", 20), 21)
        #expect(queue.first == 21)
    }

    @Test("An endless flood takes no more room than its kinds")
    func flood() {
        var queue = AlarmQueue()
        _ = Self.put((0..<100_000).map { Self.alarm(["jam", "forced", "clock"][$0 % 3], $0) }, &queue)
        let lines = Self.all(&queue)
        #expect(lines.count == AlarmQueue.alarmsMaximum + 1)
        #expect(lines.last?["count"] == JSONValue(100_000 - AlarmQueue.alarmsMaximum))
        #expect(lines.last?["kinds"]?.array?.count == 3)
    }
}

/// A program that is run by a loop, as the daemon's is.
private final class HookBench {
    let directory: TemporaryDirectory
    let loop: EventLoop
    private(set) var notices: [AlarmHook.Notice] = []
    private var hook: AlarmHook?
    private var number: UInt64 = 0

    init(_ script: String, timeoutMilliseconds: UInt64 = 60_000) throws {
        directory = try TemporaryDirectory()
        // One that no other test's thread minds.
        loop = try EventLoop(signals: [SIGUSR2])
        let path = directory.path + "/hook"
        try ChildProcess.writeScript(script, to: path)
        hook = AlarmHook(path: path, timeoutMilliseconds: timeoutMilliseconds) { [unowned self] in notices.append($0) }
    }

    var path: String { directory.path }

    func text(_ name: String) -> String { (try? String(contentsOfFile: path + "/" + name, encoding: .utf8)) ?? "" }
    func lines(_ name: String) -> [String] { text(name).split(separator: "\n").map(String.init) }

    func put(_ alarm: JSONObject) {
        number += 1
        hook?.put(alarm, number)
    }
    /// Of the first alarm that the hook has not finished with.
    var firstUnfinished: UInt64? { hook?.firstUnfinished }
    func serve() throws { try hook?.serve(on: loop) }
    func end() { hook = nil }

    /// Iterations of the loop, as its descriptors become ready, until `condition` holds, or the operator is told something else.
    func run(expecting expected: [AlarmHook.Notice] = [], until condition: () -> Bool) throws {
        func isOver() -> Bool { condition() || notices.contains { !expected.contains($0) } }
        guard !isOver() else { return }
        try loop.run { isOver() ? .stop : .wait }
    }
}

@Suite("The hook for alarms, as a process", .serialized, .timeLimit(.minutes(30)))
struct AlarmHookTests {
    /// Signals 32 and 33 are glibc's own, which it ignores in what it spawns.
    static let ofTheLibrary: UInt64 = 0x1_8000_0000

    private static func alarm(_ kind: String) -> JSONObject { ["alarm": .string(kind), "cause": "door", "record": 7] }

    @Test("It gets the alarm as one line, and nothing of the daemon but its user and its standard error")
    func clean() throws {
        // What a daemon has open.
        let file = open("/dev/null", O_RDONLY)
        let kept = fcntl(file, F_DUPFD, 200)
        defer {
            close(file)
            close(kept)
        }
        let bench = try HookBench(
            """
            cd "$(dirname "$0")"
            cat > line
            tr '\\0' '\\n' < /proc/$$/environ > environment
            tr '\\0' '\\n' < /proc/$$/cmdline > arguments
            descriptors=$(ls /proc/$$/fd)
            output=$(readlink /proc/$$/fd/1)
            echo "$descriptors" > descriptors
            grep -E '^Sig(Blk|Ign)|^CapAmb' /proc/$$/status | cut -f 2 > signals
            echo "$output" > output
            mv output done
            """)
        signal(SIGUSR1, SIG_IGN)
        defer { signal(SIGUSR1, SIG_DFL) }
        try bench.serve()
        bench.put(Self.alarm("forced"))
        try bench.run { !bench.text("done").isEmpty }
        #expect(bench.text("line") == "{\"alarm\":\"forced\",\"cause\":\"door\",\"record\":7}\n")
        #expect(bench.lines("environment") == ["PATH=/usr/bin:/bin", "LC_ALL=C"])
        #expect(bench.lines("arguments") == ["/bin/sh", bench.path + "/hook"])
        #expect(!bench.lines("descriptors").contains("\(kept)"))
        // The shell's own stand beside the three: for its script, and for what `ls` says.
        #expect(bench.lines("descriptors").filter { (Int($0) ?? 0) > 2 }.count <= 2)
        #expect(bench.lines("signals").map { UInt64($0, radix: 16).map { $0 & ~Self.ofTheLibrary } } == [0, 0, 0])
        #expect(bench.lines("done") == ["/dev/null"])
        #expect(bench.notices.isEmpty)
    }

    @Test("One that hangs is killed at its time with what it has begun, which is said, and the next one runs")
    func hanging() throws {
        let bench = try HookBench(
            """
            cd "$(dirname "$0")"
            read line
            case "$line" in *jam*) echo "$line" > second; exit;; esac
            echo $$ > group
            sleep 1000 &
            sleep 1000
            """, timeoutMilliseconds: 2_000)
        try bench.serve()
        bench.put(Self.alarm("forced"))
        bench.put(Self.alarm("jam"))
        let killed = AlarmHook.Notice.failed(reason: "it did not end in 2000 ms, and was killed")
        try bench.run(expecting: [killed]) { !bench.text("second").isEmpty }
        #expect(bench.notices == [killed])
        let group = try #require(pid_t(bench.lines("group").first ?? ""))
        #expect(waits { Self.isGone(group) })
    }

    /// Whether no process of this group runs any more.
    private static func isGone(_ group: pid_t) -> Bool {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return !processes.contains { number in
            guard pid_t(number) != nil, let stat = try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)
            else { return false }
            // State, parent, group.
            let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ").dropFirst()
            return fields.count > 3 && fields[fields.startIndex] != "Z" && fields[fields.startIndex + 2] == "\(group)"
        }
    }

    @Test("What it has left in the background ends with it")
    func background() throws {
        let bench = try HookBench(
            """
            cd "$(dirname "$0")"
            echo $$ > group
            sleep 1000 &
            """)
        try bench.serve()
        bench.put(Self.alarm("forced"))
        try bench.run { !bench.text("group").isEmpty }
        let group = try #require(pid_t(bench.lines("group").first ?? ""))
        // The next one is begun once the first has ended.
        bench.put(Self.alarm("forced"))
        try bench.run { bench.lines("group").first.flatMap { pid_t($0) } != group && !bench.lines("group").isEmpty }
        #expect(waits { Self.isGone(group) })
    }

    @Test("One that fails, by its status or by a signal, is said; one that cannot be started too, and harms nothing")
    func failing() throws {
        for (script, reason) in [
            ("exit 3", "it ended with status 3"), ("kill -TERM $$", "it was ended by signal 15"),
        ] {
            let bench = try HookBench(script)
            try bench.serve()
            bench.put(Self.alarm("jam"))
            try bench.run { !bench.notices.isEmpty }
            #expect(bench.notices == [.failed(reason: reason)])
        }
        let bench = try HookBench("exit 0")
        unlink(bench.path + "/hook")
        try bench.serve()
        for _ in 0..<3 { bench.put(Self.alarm("jam")) }
        let reason = "it cannot be started: No such file or directory"
        #expect(bench.notices == [AlarmHook.Notice](repeating: .failed(reason: reason), count: 3))
    }

    @Test("Flood: one process at a time, sixteen lines behind it, and one line for the rest")
    func flood() throws {
        let bench = try HookBench(
            """
            cd "$(dirname "$0")"
            mkdir running || echo two >> trouble
            cat >> lines
            rmdir running
            """)
        try bench.serve()
        for number in 0..<40 { bench.put(Self.alarm(number < 20 ? "forced" : "jam")) }
        #expect(bench.notices == [.full])
        try bench.run(expecting: [.full]) {
            bench.lines("lines").count == 18 && !FileManager.default.fileExists(atPath: bench.path + "/running")
        }
        let line = try #require(bench.lines("lines").last)
        #expect(line == "{\"alarm\":\"several\",\"count\":23,\"kinds\":[\"forced\",\"jam\"]}")
        #expect(bench.text("trouble").isEmpty && bench.notices == [.full])
    }

    @Test("An alarm is finished with when its process has ended, whatever that says, or cannot be started")
    func finished() throws {
        let bench = try HookBench(
            """
            cd "$(dirname "$0")"
            mkfifo more 2> made
            cat more
            exit 3
            """)
        bench.put(Self.alarm("forced"))
        #expect(bench.firstUnfinished == 1)
        try bench.serve()
        bench.put(Self.alarm("jam"))
        #expect(bench.firstUnfinished == 1)
        let failed = AlarmHook.Notice.failed(reason: "it ended with status 3")
        func letGo() throws {
            #expect(waits { FileManager.default.fileExists(atPath: bench.path + "/more") })
            close(open(bench.path + "/more", O_WRONLY))
            let count = bench.notices.count
            try bench.run(expecting: [failed]) { bench.notices.count > count }
        }
        try letGo()
        #expect(bench.firstUnfinished == 2)
        try letGo()
        #expect(bench.firstUnfinished == nil)
        unlink(bench.path + "/hook")
        bench.put(Self.alarm("jam"))
        #expect(bench.firstUnfinished == nil)
    }

    @Test("What comes before there is a loop waits for it; who goes takes the process along")
    func early() throws {
        let bench = try HookBench(
            """
            cd "$(dirname "$0")"
            echo $$ > group
            sleep 1000
            """)
        bench.put(Self.alarm("jam"))
        #expect(bench.text("group").isEmpty)
        try bench.serve()
        #expect(waits { !bench.text("group").isEmpty })
        let group = try #require(pid_t(bench.lines("group").first ?? ""))
        bench.end()
        #expect(waits { Self.isGone(group) })
    }
}

@Suite("Daemons: alarms", .serialized, .timeLimit(.minutes(30)))
struct AlarmDaemonTests {
    private static func run(_ bench: Bench, hook: String) throws -> Program.Outcome {
        let configuration = try bench.directory.write("[alarms]\nhook = \"\(hook)\"\n", to: "lock.conf")
        return try Program.run(bench.arguments("peripheral", "lock") + ["--config", configuration])
    }

    @Test("A hook that cannot be one is refused at the start, with the file, the key and what to do")
    func unusable() throws {
        let bench = try Bench(withRadio: false)
        let plain = try bench.directory.write("#!/bin/sh\n", to: "plain")
        let open = try bench.directory.write("#!/bin/sh\n", to: "open")
        chmod(plain, 0o600)
        chmod(open, 0o722)
        for (hook, problem, remedy) in [
            ("hook.sh", "key `hook` cannot be that", "write the program's whole path"),
            (bench.path("none"), "cannot be found: No such file or directory", "install it"),
            (plain, "may not be executed", "chmod a+x"),
            (bench.directory.path, "is no file", "name a program"),
            (open, "can be changed by other users", "chmod go-w"),
        ] {
            let outcome = try Self.run(bench, hook: hook)
            #expect(outcome.status == ExitCode.configuration.rawValue && outcome.errorLines.count == 1, "\(outcome)")
            for part in [problem, remedy, "`hook`", bench.path("lock.conf")] {
                #expect(outcome.errors.contains(part), "\(outcome.errors) lacks \(part)")
            }
        }
    }

    @Test(
        "A lock whose anchor is gone alarms: its hook, its journal and its status say so, and a hook that fails is logged"
    )
    func tampered() throws {
        let bench = try Bench()
        #expect(try bench.start("peripheral", "lock").end() == 0)
        unlink(bench.path("lock") + "/lock.anchor")
        let hook = try bench.script(
            """
            cd "$(dirname "$0")"
            cat > alarm.part
            tr '\\0' '\\n' < /proc/$$/environ > environment
            grep '^SigIgn' /proc/$$/status | cut -f 2 > ignored
            mv alarm.part alarm
            exit 4
            """, to: "hook")
        let configuration = try bench.directory.write(
            "[lock]\nname = \"Front\"\n[alarms]\nhook = \"\(hook)\"\n", to: "lock.conf")
        // Started by somebody who ignores how children end.
        let daemon = try Daemon(
            ["--ignore-signal=CHLD", Program.path]
                + bench.arguments("peripheral", "lock", logLevel: "warning")
                + ["--config", configuration, "--journal", bench.path("journal")],
            of: "/usr/bin/env", environment: ["WORD": "unheard"])
        #expect(waits { FileManager.default.fileExists(atPath: bench.path("alarm")) })
        let text = try String(contentsOfFile: bench.path("alarm"), encoding: .utf8)
        let line = try #require(try JSONValue(line: Array(text.utf8.dropLast())).object)
        #expect(line["alarm"] == "tamper" && line["cause"] == "anchor_missing" && line["lock"] == "Front")
        #expect(text.hasSuffix("}\n") && line["record"] == nil && line["seconds"]?.number != nil)
        #expect(
            try String(contentsOfFile: bench.path("environment"), encoding: .utf8) == "PATH=/usr/bin:/bin\nLC_ALL=C\n")
        // The daemon ignores SIGPIPE.
        let ignored = try String(contentsOfFile: bench.path("ignored"), encoding: .utf8).dropLast()
        #expect(UInt64(ignored, radix: 16).map { $0 & ~AlarmHookTests.ofTheLibrary } == 0)
        let status = try bench.latch("peripheral", "status", "lock", ["--json"]).output
        #expect(
            status.contains(
                #""alarms":{"count":1,"tamper":1,"last":{"alarm":"tamper","cause":"anchor_missing"}}"#), "\(status)")
        #expect(
            waits {
                (try? String(contentsOfFile: bench.path("journal"), encoding: .utf8))?.contains("alarm_hook_failed")
                    == true
            })
        #expect(daemon.end() == 0)
        let complaint = daemon.complaint
        #expect(complaint.contains("alarm alarm=tamper cause=anchor_missing"), "\(complaint)")
        #expect(complaint.contains("reason=\"it ended with status 4\""), "\(complaint)")
    }

    @Test(
        "Killed while its hook is at an alarm, a lock raises it again at its launch: late, and on the same record; then no more"
    )
    func killed() throws {
        let bench = try Bench()
        #expect(try bench.start("peripheral", "lock").end() == 0)
        // Somebody moves the bolt while there is no lock.
        _ = try bench.directory.write("1 1 1 7 - unlock\n", to: "lock/bolt.journal")
        let hook = try bench.script(
            """
            cd "$(dirname "$0")"
            cat >> lines
            test -e free || sleep 1000
            echo $$ > ended
            """, to: "hook")
        let configuration = try bench.directory.write("[alarms]\nhook = \"\(hook)\"\n", to: "lock.conf")
        func lines() throws -> [JSONObject] {
            let text = (try? String(contentsOfFile: bench.path("lines"), encoding: .utf8)) ?? ""
            return try text.split(separator: "\n").compactMap { try JSONValue(line: Array($0.utf8)).object }
        }
        func start() throws -> Daemon { try bench.start("peripheral", "lock", ["--config", configuration]) }

        let first = try start()
        #expect(try waits { try lines().count == 1 })
        first.kill()
        _ = try bench.directory.write("", to: "free")
        let second = try start()
        #expect(try waits { try lines().count == 2 })
        let told = try lines()
        #expect(told.map { $0["alarm"] } == ["forced", "forced"] && told.map { $0["cause"] } == ["bolt", "bolt"])
        #expect(told.first?["record"]?.number != nil && told.first?["record"] == told.last?["record"])
        #expect(told.map { $0["late"] } == [nil, true])
        // The daemon has heard of the end of its process.
        #expect(
            waits {
                (try? String(contentsOfFile: bench.path("ended"), encoding: .utf8)).flatMap { pid_t($0.dropLast()) }
                    .map { !FileManager.default.fileExists(atPath: "/proc/\($0)") } ?? false
            })
        #expect(second.end() == 0)
        let third = try start()
        let status = try bench.latch("peripheral", "status", "lock", ["--json"]).output
        #expect(status.contains(#""alarms":{"count":0}"#), "\(status)")
        #expect(third.end() == 0)
        #expect(try lines().count == 2)
    }
}
