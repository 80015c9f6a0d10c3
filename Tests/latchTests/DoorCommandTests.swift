import CommandInterface
import Foundation
import Simulation
import TestSupport
import Testing

@testable import LatchLab

/// A lock's daemon, and a door at which somebody stands.
@Suite("latch-lab door", .serialized, .timeLimit(.minutes(30)))
struct DoorCommandTests {
    @Test("A lock with this keeper opens it; a forced door, a jam and an exit are what they are at a real one")
    func door() throws {
        let bench = try Bench()
        let socket = bench.path("strike.sock")
        let door = try ChildProcess(
            [Program.lab, "door", "--socket", socket, "--drive", "hold", "--travel-ms", "0"],
            environment: Program.environment, errors: .unheard)
        let heard = Heard(door)
        try door.say("show")
        #expect(heard.awaits("door closed, bolt locked, strike at rest"))
        let file = try bench.directory.write(
            "[lock]\nrelock_seconds = 3600\n[bolt]\nactuator = \"gpio\"\nkeeper = \"\(socket)\"\n", to: "lock.conf")
        let lock = try bench.start("peripheral", "lock", ["--config", file])
        let key = try bench.start("central", "key")
        try bench.enroll("anna")
        try bench.succeed("central", "unlock", "key")
        try #require(heard.awaits("bolt unlocked"))
        try door.say("open")
        #expect(heard.awaits("door open"))
        try door.say("close")
        #expect(heard.awaits("door closed"))
        try bench.succeed("central", "lock", "key")
        #expect(heard.awaits("bolt locked"))
        try door.say("open")
        #expect(heard.awaits("the door does not open: it is locked"))
        try door.say("press")
        #expect(heard.awaits("bolt unlocked"))
        try door.say("let go")
        try door.say("quit")
        #expect(heard.awaits("strike at rest"))
        #expect(door.wait() == .exited(0))
        withExtendedLifetime((lock, key)) {}
    }

    @Test("Wrong words and options: one line each, and nothing is done")
    func wrong() throws {
        let bench = try Bench(withRadio: false)
        let socket = bench.path("strike.sock")
        let long = "force" + String(repeating: " ", count: DoorHands.lineMaximumOctets)
        let outcome = try Program.run(
            ["door", "--socket", socket], of: Program.lab,
            input: "opne\n\u{1B}[2J\n\(long)not\n\n  turn   unlocked \nquit\n")
        #expect(
            outcome.output.split(separator: "\n") == [
                "there is no word `opne`: `help` lists them", #"there is no word `"\u001b[2J"`: `help` lists them"#,
                "a line has more than 256 octets: `help` lists the words", "bolt unlocked",
            ])
        for (words, code, name) in [
            ([], ExitCode.usage, "`--socket`"), (["--socket", socket, "--travel-ms", "-1"], .usage, "`--travel-ms`"),
            (["--config", "/nonexistent", "--drive", "hold"], .usage, "--drive"),
            (["--config", "/nonexistent"], .configuration, "/nonexistent"),
            (["--socket", "/nonexistent/s"], .unavailable, "/nonexistent/s"),
            (["--socket", socket, "--user", "nobody at all"], .configuration, "nobody at all"),
        ] {
            let outcome = try Program.run(["door"] + words, of: Program.lab)
            #expect(outcome.status == code.rawValue && outcome.errorLines.count == 1, "\(outcome)")
            #expect(outcome.errors.contains(name))
        }
    }

    @Test(
        "A socket that may not be given to its group: the unit's remedy, and no restart; a directory that has given it needs no call"
    )
    func group() throws {
        let bench = try Bench(withRadio: false)
        // Without root there is one group to give it to.
        let group = geteuid() == 0 ? 61_009 : getegid()
        let directory = bench.path("run")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let file = try bench.directory.write(
            "chip = \"door\"\n[socket]\npath = \"\(directory)/s\"\nuser = \"0\"\ngroup = \"\(group)\"\n"
                + "[strike]\nline = \"0\"\nfail = \"secure\"\n", to: "strike.conf")
        /// With what the unit's filter answers.
        func run() throws -> Program.Outcome {
            try Program.run(
                [
                    "-f", "-o", "/dev/null", "-e", "trace=?chown,?lchown,fchownat", "-e",
                    "inject=?chown,?lchown,fchownat:error=EPERM", Program.lab, "door", "--config", file,
                ], of: "/usr/bin/strace", input: "quit\n")
        }
        if geteuid() == 0 {
            let refused = try run()
            #expect(refused.status == ExitCode.configuration.rawValue, "\(refused)")
            for words in ["[socket]", "`SupplementaryGroups=\(group)`", "`SystemCallFilter=@chown`"] {
                #expect(refused.errors.contains(words), "\(refused)")
            }
        }
        try #require(chown(directory, uid_t.max, gid_t(group)) == 0 && chmod(directory, 0o2710) == 0)
        let kept = try run()
        #expect(kept.status == 0, "\(kept)")
    }

    @Test("Each word is one, and JSON lines say when")
    func words() throws {
        for (text, word, meaning) in DoorWord.all { #expect(DoorWord(text) == word && meaning.hasSuffix(".")) }
        #expect(Set(DoorWord.all.map(\.word)).count == DoorWord.all.count)
        let bench = try Bench(withRadio: false)
        let outcome = try Program.run(
            ["door", "--socket", bench.path("s"), "--json"], of: Program.lab, input: "turn unlocked\nquit\n")
        let line = try #require(
            JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any], "\(outcome)")
        #expect(line["door"] as? String == "bolt unlocked" && line["at"] is Int)
    }

    /// What a door says, line by line.
    private final class Heard {
        private let door: ChildProcess
        private var rest = ""

        init(_ door: ChildProcess) { self.door = door }

        /// Reads until that line has come. False if the door has ended before.
        func awaits(_ line: String) -> Bool {
            while true {
                if let found = rest.range(of: line + "\n") {
                    rest = String(rest[found.upperBound...])
                    return true
                }
                let more = door.output.availableData
                guard !more.isEmpty else { return false }
                rest += String(decoding: more, as: UTF8.self)
            }
        }
    }
}

extension ChildProcess {
    fileprivate func say(_ word: String) throws { try input.write(contentsOf: Data((word + "\n").utf8)) }
}
