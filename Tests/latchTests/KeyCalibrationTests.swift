import CommandInterface
import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

/// A person with the key, whom the test moves.
private final class Walker {
    private let process: ChildProcess
    private(set) var heard = ""

    init(_ bench: Bench, _ more: [String]) throws {
        process = try ChildProcess(
            [Program.path, "central", "calibrate", "--state", bench.path("key"), "--yes", "--seconds", "3"] + more,
            environment: Program.environment, errors: .unheard)
    }

    /// Reads on, until it has said this behind what it had said before.
    func hears(_ text: String) throws {
        let from = heard.endIndex
        while heard[from...].contains(text) == false {
            let more = process.output.availableData
            try #require(!more.isEmpty, "\(heard)")
            heard += String(decoding: more, as: UTF8.self)
        }
    }

    func enter() throws { try process.input.write(contentsOf: Data("\n".utf8)) }

    func end() -> Int32 {
        heard += String(decoding: process.output.readDataToEndOfFile(), as: UTF8.self)
        return process.wait().code
    }

    func leave() {
        process.signal(SIGKILL)
        process.wait()
    }
}

extension Bench {
    fileprivate func thresholds() throws -> [String] {
        let names = ["near_dbm", "away_dbm", "calibrated"]
        return try latch("central", "status", "key").output.split(separator: "\n")
            .map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { line in names.contains { line.hasPrefix($0 + ":") } }
    }
}

/// What a person does who wants a lock to open at its door, and not before.
@Suite("Daemons: a lock is calibrated by a walk", .serialized)
struct KeyCalibrationTests {
    private static let configured = ["near_dbm: -62", "away_dbm: -78", "calibrated: false"]

    @Test("A walk sets the lock's thresholds at once and for good, draws itself, and is taken back")
    func walked() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        var daemon = try bench.start("central", "key")
        try bench.enroll("anna")
        #expect(try bench.thresholds() == Self.configured)

        let picture = bench.path("walk.svg")
        let walker = try Walker(bench, ["--svg", picture])
        try walker.hears("Stand where the door should open")
        try walker.hears("dBm, filtered -50.0, near")
        let second = try bench.latch("central", "calibrate", "key", ["--yes"])
        #expect(second.status == ExitCode.refused.rawValue && second.errors.contains("already"), "\(second)")
        #expect(try bench.latch("central", "status", "key").output.contains("proximity_state: calibrating"))
        try walker.enter()
        try walker.hears("Go where the key should count as away")
        try bench.air("distance 1 2 12")
        try walker.hears("filtered -77.0, in between")
        try walker.enter()
        #expect(walker.end() == 0, "\(walker.heard)")
        #expect(walker.heard.contains("proposed: near -50 dBm, away -60 dBm"), "\(walker.heard)")
        #expect(walker.heard.contains("until now: near -62 dBm, away -78 dBm, of the configuration"))
        #expect(walker.heard.hasSuffix("Latch: near -50 dBm, away -60 dBm\n"))
        let own = ["near_dbm: -50", "away_dbm: -60", "calibrated: true"]
        #expect(try bench.thresholds() == own)
        let svg = try String(contentsOfFile: picture, encoding: .utf8)
        #expect(svg.hasPrefix("<svg ") && svg.contains("Calibration of Latch") && svg.contains("-50 near, proposed"))
        let mode = try FileManager.default.attributesOfItem(atPath: picture)[.posixPermissions] as? Int
        #expect(mode == 0o600)

        daemon.kill()
        daemon = try bench.start("central", "key")
        #expect(try bench.thresholds() == own)
        let again = try bench.latch("central", "calibrate", "key", ["--yes", "--svg", picture])
        #expect(again.status == ExitCode.refused.rawValue && again.errors.contains("it exists"), "\(again)")
        #expect(try String(contentsOfFile: picture, encoding: .utf8) == svg)
        let cleared = try bench.latch("central", "calibrate", "key", ["Latch", "--clear"])
        #expect(cleared.output == "Latch: the configuration's thresholds\n")
        #expect(try bench.thresholds() == Self.configured)
        #expect(daemon.end() == 0 && lock.end() == 0)
    }

    @Test("A walk that shows nothing, or that nobody ends, sets nothing, and the key watches as before")
    func nothing() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        let daemon = try bench.start("central", "key", ["--journal", bench.path("journal")])
        let none = try bench.latch("central", "calibrate", "key", ["--yes"])
        #expect(none.status == ExitCode.refused.rawValue && none.errors.contains("no lock is enrolled"), "\(none)")
        try bench.enroll("anna")
        func calibrate(_ words: String..., input: String = "") throws -> Program.Outcome {
            try bench.latch("central", "calibrate", "key", ["--yes", "--seconds", "3"] + words, input: input)
        }
        let unknown = try calibrate("Nobody's")
        #expect(
            unknown.status == ExitCode.refused.rawValue && unknown.errors.contains("no lock is called"), "\(unknown)")
        let picture = bench.path("walk.svg")
        let flat = try calibrate("--svg", picture, input: "\n\n")
        #expect(
            flat.status == ExitCode.refused.rawValue && flat.errors.contains("not 6 dB apart: -50 and -50"), "\(flat)")
        #expect(try String(contentsOfFile: picture, encoding: .utf8).contains("stood away"), "drawn all the same")
        let ended = try calibrate("--svg", bench.path("none.svg"), input: "\n")
        #expect(ended.status == ExitCode.usage.rawValue && ended.errors.contains("standard input ended"), "\(ended)")
        #expect(!FileManager.default.fileExists(atPath: bench.path("none.svg")))

        let json = try calibrate("--json", input: "\n\n")
        let lines = try json.output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        #expect(lines.count { $0["event"] as? String == "reading" && $0["rssi"] as? Int == -50 } >= 30)
        #expect(lines.compactMap { $0["phase"] as? String }.last == "over")
        #expect((lines.last?["error"] as? [String: Any])?["code"] as? String == "refused")

        let walker = try Walker(bench, [])
        try walker.hears("filtered -50.0")
        walker.leave()
        #expect(try waits { try bench.latch("central", "status", "key").output.contains("proximity_state: off") })
        #expect(try bench.thresholds() == Self.configured)
        try bench.succeed("central", "unlock", "key")
        #expect(daemon.end() == 0 && lock.end() == 0)
        let journal = try String(contentsOfFile: bench.path("journal"), encoding: .utf8)
        #expect(journal.matches(of: /"calibrating"/).count == journal.matches(of: /"calibration_ended"/).count)
    }

    @Test(
        "With several locks calibrate asks for a name, and says that the name is its operand LOCK; unlock says its option"
    )
    func several() throws {
        let bench = try Bench()
        try bench.makeRoom("lock2")
        let locks = try [bench.start("peripheral", "lock"), bench.start("peripheral", "lock2")]
        let daemon = try bench.start("central", "key")
        for lock in ["lock", "lock2"] { try bench.enroll("anna", at: lock) }
        for words in [["--yes"], ["--clear"]] {
            let refused = try bench.latch("central", "calibrate", "key", words)
            #expect(refused.status == ExitCode.refused.rawValue, "\(refused)")
            #expect(
                refused.errors == "latch: several locks are enrolled: name one as LOCK (Latch, Latch 2)\n", "\(refused)"
            )
        }
        let cleared = try bench.latch("central", "calibrate", "key", ["Latch 2", "--clear"])
        #expect(cleared.output == "Latch 2: the configuration's thresholds\n", "\(cleared)")
        let unlock = try bench.latch("central", "unlock", "key")
        #expect(
            unlock.errors == "latch: several locks are enrolled: name one with --lock (Latch, Latch 2)\n", "\(unlock)")
        #expect(daemon.end() == 0 && locks.allSatisfy { $0.end() == 0 })
    }
}
