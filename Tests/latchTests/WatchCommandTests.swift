import CLinux
import DaemonControl
import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

@Suite("Daemons: watching a key", .serialized, .timeLimit(.minutes(30)))
struct WatchCommandTests {
    /// A key with one lock, and a watcher of it.
    private final class Watched {
        let bench: Bench
        let lock: Daemon
        let key: Daemon

        init() throws {
            bench = try Bench()
            (lock, key) = (try bench.start("peripheral", "lock"), try bench.start("central", "key"))
            try bench.enroll("anna")
        }

        func watch(_ more: String...) throws -> ChildProcess {
            try ChildProcess(
                [Program.path, "central", "watch", "--state", bench.path("key")] + more,
                environment: Program.environment)
        }
    }

    /// Whole lines, as they come.
    private final class Lines {
        private let output: FileHandle
        private(set) var all: [String] = []
        private var rest = ""

        init(of process: ChildProcess) { output = process.output }

        /// Until one of them is so.
        func wait(for isSo: (String) -> Bool) throws {
            while !all.contains(where: isSo) {
                let more = output.availableData
                try #require(!more.isEmpty, "\(all)")
                var lines = (rest + String(decoding: more, as: UTF8.self)).components(separatedBy: "\n")
                rest = lines.removeLast()
                all += lines
            }
        }
    }

    @Test(
        "A program hears each change as an object, from a command's link to its receipt, and that a lock is forgotten")
    func json() throws {
        let watched = try Watched()
        let watch = try watched.watch("--json")
        let lines = Lines(of: watch)
        try lines.wait { $0.contains(#""event":"lock""#) }
        #expect(lines.all[0] == #"{"event":"watching","radio":"on","locks":1}"#)
        #expect(lines.all[1].contains(#""name":"Latch","link":"none""#), "\(lines.all)")
        try watched.bench.succeed("central", "unlock", "key")
        try lines.wait { $0.contains(#""bolt":"unlocked""#) && $0.contains(#""operation":"unlock","result":"done""#) }
        try lines.wait { $0.contains(#""signal_dbm":-"#) }
        let links = lines.all.dropFirst(2).compactMap { $0.firstMatch(of: /"link":"(\w+)"/).map { String($0.1) } }
        #expect(links.contains("wanted") && links.contains("unproven") && links.contains("proven"), "\(links)")
        try watched.bench.succeed("central", "forget", "key", ["--lock", "Latch", "--yes"])
        try lines.wait { $0.contains(#""event":"gone""#) }
        for line in lines.all { _ = try JSONValue(line: Array(line.utf8)) }
        #expect(watched.key.end() == 0 && watch.wait().code == 6)
        #expect(String(decoding: watch.errors.readDataToEndOfFile(), as: UTF8.self).contains("the daemon has ended"))
        try lines.wait { $0.contains(#""error":{"code":"unavailable""#) }
    }

    @Test("Without a terminal each change is a line, and a key that is killed ends the watch")
    func plain() throws {
        let watched = try Watched()
        let watch = try watched.watch()
        let lines = Lines(of: watch)
        try lines.wait { $0.hasSuffix("Latch: link none") }
        #expect(!lines.all.joined().contains("\u{1B}"))
        watched.key.kill()
        #expect(watch.wait().code == 6)
        let told = String(decoding: watch.errors.readDataToEndOfFile(), as: UTF8.self)
        #expect(told.split(separator: "\n").count == 1 && told.contains("the daemon has gone"), "\(told)")
    }

    // MARK: A terminal

    /// A terminal with a shell's program on it.
    private final class Terminal {
        private let master: Int32
        /// Held: the last that has it open leaves it as it was made.
        private let slave: Int32
        let path: String
        private let process: ChildProcess
        private(set) var shown = ""

        init(_ command: [String], _ more: [String: String] = [:], columns: Int = 80) throws {
            var ends: (master: Int32, slave: Int32) = (-1, -1)
            try #require(openpty(&ends.master, &ends.slave, nil, nil, nil) == 0)
            (master, slave) = ends
            path = String(cString: try #require(ttyname(slave)))
            for end in [master, slave] { _ = latch_fcntl(end, F_SETFD, FD_CLOEXEC) }
            _ = latch_fcntl(master, F_SETFL, O_NONBLOCK)
            let place = path
            let words = [
                "/bin/sh", "-c", "stty cols \(columns) rows 24 < \(place); exec \"$@\" < \(place) > \(place)", "sh",
            ]
            process = try ChildProcess(
                words + command, environment: Program.environment.merging(["TERM": "xterm"]) { $1 }.merging(more) { $1 }
            )
        }

        deinit {
            close(slave)
            close(master)
        }

        func read(until isSo: (String) -> Bool) -> Bool {
            waits {
                var buffer = [UInt8](repeating: 0, count: 4_096)
                while case let count = Glibc.read(master, &buffer, buffer.count), count > 0 {
                    shown += String(decoding: buffer[..<count], as: UTF8.self)
                }
                return isSo(shown)
            }
        }

        func forget() { shown = "" }
        func signal(_ signal: Int32) { process.signal(signal) }
        func end() -> Int32 { process.wait().code }
        var errors: String { String(decoding: process.errors.readDataToEndOfFile(), as: UTF8.self) }
        var pid: pid_t { process.pid }

        /// Whether what is typed is shown.
        func echoes() throws -> Bool {
            let state = try ChildProcess.run(
                ["/bin/sh", "-c", "stty -a < \(path)"], environment: Program.environment)
            try #require(state.end == .exited(0), "\(state)")
            return !state.output.contains("-echo ")
        }
    }

    private static func command(_ watched: Watched) -> [String] {
        [Program.path, "central", "watch", "--state", watched.bench.path("key")]
    }

    @Test(
        "On a terminal the picture changes where something does, and SIGINT and SIGTERM give the terminal back",
        arguments: [SIGINT, SIGTERM])
    func terminal(signal: Int32) throws {
        let watched = try Watched()
        let terminal = try Terminal(Self.command(watched))
        #expect(terminal.read { $0.contains("Latch             none") }, "\(terminal.shown.debugDescription)")
        let echoes = try terminal.echoes()
        #expect(terminal.shown.hasPrefix(WatchScreen.enter) && !echoes)
        terminal.forget()
        try watched.bench.succeed("central", "unlock", "key")
        #expect(terminal.read { $0.contains("unlock done") })
        #expect(!terminal.shown.contains("Latch: 1 lock"), "the first line is as it was")
        #expect(!terminal.shown.contains("Latch: link"), "no line for each change")
        #expect(terminal.shown.contains("\u{1B}[33m"))
        terminal.signal(signal)
        #expect(terminal.end() == 0 && terminal.errors.isEmpty)
        #expect(terminal.read { $0.hasSuffix(WatchScreen.leave) })
        #expect(try terminal.echoes())
    }

    @Test(
        "SIGTSTP gives the terminal back and stops; when it goes on, the whole picture is drawn again, and a key that ends gives it back too"
    )
    func stopped() throws {
        let watched = try Watched()
        let terminal = try Terminal(Self.command(watched), ["NO_COLOR": "1"])
        #expect(terminal.read { $0.contains("Latch             none") })
        terminal.signal(SIGTSTP)
        #expect(terminal.read { $0.hasSuffix(WatchScreen.leave) })
        #expect(try terminal.echoes())
        #expect(waits { Self.state(terminal.pid) == "T" })
        terminal.forget()
        terminal.signal(SIGCONT)
        #expect(terminal.read { $0.contains("Latch: 1 lock") && $0.contains("Latch             none") })
        try watched.bench.succeed("central", "unlock", "key")
        #expect(terminal.read { $0.contains("unlock done") } && !terminal.shown.contains("\u{1B}[33m"))
        #expect(watched.key.end() == 0 && terminal.end() == 6)
        #expect(terminal.read { $0.hasSuffix(WatchScreen.leave) })
        #expect(try terminal.echoes())
        #expect(terminal.errors.contains("the daemon has ended"))
    }

    /// Of a process, as the kernel calls it.
    private static func state(_ pid: pid_t) -> Substring? {
        let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        return stat?.split(separator: ")").last?.split(separator: " ").first
    }

    @Test("A terminal that can draw nothing gets lines")
    func dumb() throws {
        let watched = try Watched()
        let terminal = try Terminal(Self.command(watched), ["TERM": "dumb"])
        #expect(terminal.read { $0.contains("Latch: link none\r\n") })
        #expect(!terminal.shown.contains("\u{1B}"))
    }
}
