import DaemonControl
import Foundation
import Testing

@testable import Drills

@Suite("Kills at system calls") struct SystemCallDrillTests {
    private static func options(_ words: String...) throws -> SystemCallOptions {
        guard case .run(let options) = try SystemCallOptions.parse(words) else { throw CancellationError() }
        return options
    }

    // MARK: Options

    @Test("Options are read, and what is wrong is named")
    func options() throws {
        let options = try Self.options(
            "--role", "key", "--from=5", "--to", "90", "--part", "3/10", "--at", "exit", "--down", "7", "--jobs", "2",
            "--resume", "l", "--seed", "9")
        #expect(options.common.roles == [.key])
        #expect(options.points([:]).map(\.number) == [7, 17, 27, 37, 47, 57, 67, 77, 87])
        #expect(options.points([:]).allSatisfy { $0.side == .exit && $0.downMilliseconds == 7 })
        for (words, wrong) in [
            (["--part", "0/10"], "--part"), (["--part", "11/10"], "--part"), (["--part", "3"], "--part"),
            (["--part", "+3/10"], "--part"), (["--part", "3/+10"], "--part"), (["--from", "+5"], "--from"),
            (["--from", "9", "--to", "8"], "--to"), (["--role", "door"], "--role"), (["--at", "once"], "--at"),
            (["--jobs", "0"], "--jobs"), (["--bogus"], "--bogus"), (["--seed"], "--seed"), (["--json=1"], "--json"),
        ] {
            let error = #expect(throws: DrillOptions.UsageError.self) { try SystemCallOptions.parse(words) }
            #expect(error?.message.contains(wrong) == true, "\(words)")
        }
    }

    @Test("The parts of a drill have every call once")
    func parts() throws {
        let counts: [Role: Int] = [.lock: 101, .key: 57]
        var points: [CallPoint] = []
        for index in 1...10 { points += try Self.options("--part", "\(index)/10").points(counts) }
        #expect(points.count == 158)
        #expect(Set(points) == Set(try Self.options().points(counts)))
    }

    @Test("A point's command line comes back to that point alone")
    func replay() throws {
        let point = CallPoint(role: .lock, side: .exit, number: 812, downMilliseconds: 3_500)
        let words = point.replay(seed: 7, plant: .late).split(separator: " ").map(String.init)
        #expect(words.prefix(3) == ["latch-lab", "drill", "syscalls"])
        guard case .run(let options) = try SystemCallOptions.parse(Array(words.dropFirst(3))) else {
            Issue.record("no options")
            return
        }
        #expect(options.points([.lock: 5_000, .key: 5_000]) == [point])
        #expect(options.common.seed == 7)
        #expect(options.common.plant == .late)
    }

    @Test("An opening that waits for a dead lock is tried at once and past its deadline, each at every other call")
    func choices() {
        for number in 1...4 {
            let point = CallPoint(role: .lock, side: .entry, number: number)
            #expect(point.down(withOpening: false) == 0)
            #expect(point.otherChoice(withOpening: false) == nil)
            let past = CaseRun.pastDeadlineMilliseconds
            #expect(point.down(withOpening: true) == (number % 2 == 1 ? past : 0))
            let other = point.otherChoice(withOpening: true)
            #expect(other?.down(withOpening: true) == (number % 2 == 1 ? 0 : past))
            #expect(other?.otherChoice(withOpening: true) == nil)
        }
    }

    // MARK: The ledger

    static let results = [
        CaseResult(
            point: CallPoint(role: .lock, side: .entry, number: 3), verdict: .ok, call: "pread64",
            restoreMicroseconds: 21_000, milliseconds: 1_300),
        CaseResult(
            point: CallPoint(role: .key, side: .entry, number: 900), verdict: .beyond, milliseconds: 1_200),
        CaseResult(
            point: CallPoint(role: .lock, side: .exit, number: 4, downMilliseconds: 3_500), verdict: .violated,
            call: "write", milliseconds: 9, violations: ["one: a", "two: b"]),
    ]

    private static func withLedger(_ body: (String) throws -> Void) throws {
        let folder = NSTemporaryDirectory() + "latch-ledger-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder + "/ledger")
    }

    @Test("A ledger gives back what was added, without a line that was not written to its end")
    func ledger() throws {
        try Self.withLedger { file in
            for result in Self.results {
                let ledger = try CallLedger(file, seed: 5, plant: nil)
                try ledger.add(result)
                ledger.close()
            }
            let octets = try Data(contentsOf: URL(fileURLWithPath: file))
            try (octets + Data("lock\tentry\t5\t0\tok\tre".utf8)).write(to: URL(fileURLWithPath: file))
            #expect(CallLedger.seed(of: file) == 5)
            let ledger = try CallLedger(file, seed: 5, plant: nil)
            #expect(ledger.results == Self.results)
            try ledger.add(Self.results[0])
            ledger.close()
            #expect(try CallLedger(file, seed: 5, plant: nil).results == Self.results + [Self.results[0]])
        }
    }

    @Test("A ledger of another drill, and one that cannot be read, are named with what to do")
    func foreignLedger() throws {
        try Self.withLedger { file in
            try CallLedger(file, seed: 5, plant: nil).close()
            let other = #expect(throws: DrillError.self) { try CallLedger(file, seed: 6, plant: nil) }
            #expect(other?.description.contains("Name another file") == true)
            #expect(throws: DrillError.self) { try CallLedger(file, seed: 5, plant: .late) }
            try Data((CallLedger.header(seed: 5, plant: nil) + "\nnonsense\n").utf8).write(
                to: URL(fileURLWithPath: file))
            let damaged = #expect(throws: DrillError.self) { try CallLedger(file, seed: 5, plant: nil) }
            #expect(damaged?.description.contains("line 2 of") == true)
        }
    }

    // MARK: The plan

    @Test("What is done is left out, and the points go on until nobody lives long enough")
    func queue() throws {
        let options = try Self.options("--role", "lock")
        let done = [1, 3].map { CaseResult(point: options.point(.lock, $0), verdict: .ok, milliseconds: 1) }
        var plan = CallPlan([.lock: 4], results: done, options: options, seed: 1, ledger: nil)
        var numbers: [Int] = []
        while let point = plan.next() {
            numbers.append(point.number)
            // The longest life makes five calls.
            try plan.add(CaseResult(point: point, verdict: point.number > 5 ? .beyond : .ok, milliseconds: 1))
        }
        #expect(numbers == [2] + Array(4...13))
    }

    @Test("Lives that grow without end do not make a drill without end")
    func unending() throws {
        let options = try Self.options("--role", "lock")
        var plan = CallPlan([.lock: 100], results: [], options: options, seed: 1, ledger: nil)
        var last = 0
        while let point = plan.next(), last < 1_000 {
            last = point.number
            try plan.add(CaseResult(point: point, verdict: .ok, milliseconds: 1))
        }
        #expect(last == 133)
    }

    @Test("Where a last call is given the points end there")
    func bounded() throws {
        let options = try Self.options("--role", "key", "--from", "2", "--to", "3")
        var plan = CallPlan([:], results: [], options: options, seed: 1, ledger: nil)
        #expect([plan.next(), plan.next(), plan.next()].map { $0?.number } == [2, 3, nil])
    }

    @Test("An opening that waited for a dead lock is tried the other way too, behind all other points")
    func otherChoice() throws {
        let options = try Self.options("--role", "lock", "--to", "2")
        var plan = CallPlan([:], results: [], options: options, seed: 1, ledger: nil)
        let next = plan.next()
        let first = try #require(next)
        try plan.add(CaseResult(point: first, verdict: .ok, milliseconds: 1, hadOpening: true))
        #expect(plan.planned == 3)
        #expect(plan.next()?.number == 2)
        #expect(plan.next() == first.otherChoice(withOpening: true) && plan.next() == nil)
    }

    // MARK: The machine

    @Test("A machine that stood still is seen in the cases that it touched, and in no other")
    func witness() {
        let witness = MachineWitness(directory: "/nonexistent")
        let began = Clock.now
        func at(_ milliseconds: UInt64) -> UInt64 { began + milliseconds * 1_000_000 }
        for milliseconds: UInt64 in [0, 100, 300, 4_300, 4_400, 4_500] { witness.turn(at: at(milliseconds)) }
        #expect(witness.stall(from: at(0), to: at(200)) == nil)
        #expect(witness.stall(from: at(0), to: at(301)) == 4_000_000_000)
        #expect(witness.stall(from: at(1_000), to: at(2_000)) == 4_000_000_000)
        #expect(witness.stall(from: at(4_301), to: at(4_600)) == nil)
        // A flush that is not over yet.
        #expect(witness.stall(from: at(4_400), to: at(5_200)) == 700_000_000)
    }

    @Test("Several slow flushes in one life are as much as one that is very slow")
    func slowWitness() {
        let witness = MachineWitness(directory: "/nonexistent")
        let began = Clock.now
        func at(_ milliseconds: UInt64) -> UInt64 { began + milliseconds * 1_000_000 }
        for milliseconds: UInt64 in [0, 300, 600, 900, 1_000, 1_100] { witness.turn(at: at(milliseconds)) }
        #expect(witness.stall(from: at(0), to: at(299)) == nil)
        #expect(witness.stall(from: at(0), to: at(1_100)) == 900_000_000)
        #expect(witness.stall(from: at(950), to: at(1_100)) == nil)
    }

    @Test("A disk that takes nothing ends the drill")
    func brokenWitness() {
        let witness = MachineWitness(directory: "/nonexistent")
        witness.watch()
        #expect(witness.failure?.kind == .environment)
    }

    // MARK: The report

    private static let tally = CallTally(
        seed: 7, plant: nil, counts: [.lock: 1_200, .key: 700], results: results)

    @Test("The figures count kills, not lives that ended first")
    func figures() {
        let tally = Self.tally
        #expect(!tally.isOK)
        #expect(tally.killed.count == 2)
        #expect(tally.beyond == 1)
        #expect(tally.killsByCall(.lock).map(\.name) == ["pread64", "write"])
        #expect(tally.json["kills"] == 2)
        #expect(tally.jsonText.contains("--from 4 --to 4 --at exit --down 3500 --seed 7"))
        #expect(tally.summary.contains("VIOLATION"))
        #expect(CallTally(seed: 7, plant: nil, counts: [:], results: [Self.results[0]]).isOK)
    }
}
