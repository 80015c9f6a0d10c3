import Testing

@testable import Drills

@Suite("Cuts of a machine's power") struct MachineDrillTests {
    private static func options(_ words: String...) throws -> MachineOptions {
        guard case .run(let options) = try MachineOptions.parse(words) else { throw CancellationError() }
        return options
    }

    @Test("Options are read, and what is wrong is named")
    func options() throws {
        let options = try Self.options("--cuts", "40", "--lying", "--jobs", "3", "--seed", "9", "--part", "2/4")
        #expect(options.cuts == 40 && options.lies && options.common.jobs == 3 && options.common.seed == 9)
        for (words, wrong) in [
            (["--cuts", "0"], "--cuts"), (["--from", "3", "--to", "2"], "--to"), (["--choice", "x"], "--choice"),
            (["--role", "door"], "--role"), (["--part", "5/4"], "--part"), (["--lying=1"], "--lying"),
            (["--power"], "--power"),
        ] {
            let error = #expect(throws: DrillOptions.UsageError.self) { try MachineOptions.parse(words) }
            #expect(error?.message.contains(wrong) == true, "\(words)")
        }
    }

    @Test(
        "Every operation comes with each choice, until there are as many cuts as were asked for; parts have each once")
    func points() throws {
        let counts: [Role: Int] = [.lock: 7, .key: 4]
        let points = try Self.options("--cuts", "30").points(counts)
        #expect(points.count == 33 && Set(points).count == 33)
        #expect(Set(points.map(\.choice)) == [0, 1, 2])
        #expect(points.prefix(11).allSatisfy { $0.choice == 0 })
        var parts: [CutPoint] = []
        for index in 1...4 { parts += try Self.options("--cuts", "30", "--part", "\(index)/4").points(counts) }
        #expect(parts.count == 33 && Set(parts) == Set(points))
        #expect(try Self.options().points([.lock: 0]).isEmpty)
        #expect(Set(points.map(\.chance)).count == 33)
    }

    @Test("A cut's command line comes back to that cut alone")
    func replay() throws {
        let point = CutPoint(role: .key, number: 12, choice: 5)
        let words = point.replay(seed: 7, options: try Self.options("--lying")).split(separator: " ").map(String.init)
        #expect(words.prefix(3) == ["latch-lab", "drill", "machine"])
        guard case .run(let options) = try MachineOptions.parse(Array(words.dropFirst(3))) else {
            Issue.record("no options")
            return
        }
        #expect(options.points([.lock: 100, .key: 100]) == [point])
        #expect(options.common.seed == 7 && options.lies)
    }

    @Test("Nothing, everything, the first writes, the first and a torn one, or chance is what survives")
    func survivors() {
        let octets = [4_096, 512, 8_192, 4_096, 16_384, 4_096]
        #expect(Survivors.chosen(0, of: octets, seed: 1) == [0, 0, 0, 0, 0, 0])
        #expect(Survivors.chosen(1, of: octets, seed: 1) == octets)
        var seen: Set<[Int]> = []
        for choice in 2..<60 {
            let kept = Survivors.chosen(choice, of: octets, seed: UInt64(choice))
            #expect(kept == Survivors.chosen(choice, of: octets, seed: UInt64(choice)))
            #expect(zip(kept, octets).allSatisfy { $0 <= $1 && ($0 == $1 || $0 % Survivors.sectorOctets == 0) })
            if choice < 4 {
                let whole = zip(kept, octets).prefix { $0 == $1 }.count
                #expect(kept.dropFirst(whole + 1).allSatisfy { $0 == 0 })
            }
            seen.insert(kept)
        }
        #expect(seen.count > 30)
        for choice in 0..<6 { #expect(Survivors.chosen(choice, of: [], seed: 1).isEmpty) }
    }

    @Test("A cut that never came is made earlier in a life instead, as a cut of its own")
    func standIns() {
        let late = CutResult(point: CutPoint(role: .key, number: 50, choice: 2), milliseconds: 1)
        let points = (0..<3).compactMap(late.standIn)
        #expect(points.map(\.number) == [25, 25, 25] && Set(points.map(\.choice)).count == 3)
        #expect(points.allSatisfy { $0.role == .key && $0.choice > 100 })
        var made = late
        made.operation = .write
        #expect(made.standIn(0) == nil)
        var first = late
        first.point.number = 1
        #expect(first.standIn(0) == nil)

        var plan = CutPlan([late.point], options: MachineOptions(), seed: 1)
        #expect(plan.next() == late.point)
        plan.add(late)
        #expect(plan.planned == 2)
        #expect(plan.next() == late.standIn(0) && plan.next() == nil)
    }

    @Test("An opening waits behind every other choice for longer than it lives")
    func down() {
        #expect(CutPoint(role: .lock, number: 1, choice: 0).down(withOpening: true) == 0)
        #expect(CutPoint(role: .lock, number: 1, choice: 1).down(withOpening: true) > 3_000)
        #expect(CutPoint(role: .lock, number: 1, choice: 1).down(withOpening: false) == 0)
    }
}
