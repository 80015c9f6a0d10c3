import GPIO
import Glibc
import Simulation
import StrikeControl
import StrikeKeeping
import Testing

@Suite("A simulated strike: the metal")
struct StrikeMetalTests {
    private typealias Output = StrikeMetal.Output

    /// A door, and a program at its chip.
    private final class Bench: ChipProgram {
        let door: SharedMetal
        let plan: StrikePlan
        /// What has become of it since it was asked last, but for the edges.
        private var heard: [Output] = []
        var isOver = false
        let descriptor: Int32? = nil

        init(_ failure: StrikeRules.Failure = .secure) throws {
            plan = try StrikePlan(
                .simulated(drive: .hold, failure: failure, user: "0"), configuration: "StrikeMetalTests")
            door = SharedMetal(plan.rules)
            door.watch = { [unowned self] in if case .edge = $0 {} else { heard.append($0) } }
        }

        var metal: StrikeMetal { door.metal }
        func open() throws -> any DoorLines { try SimulatedChip(door, plan, self).open() }

        func handle(_ events: StrikeMetal.Event...) -> [Output] {
            for event in events { door.handle(event) }
            return take()
        }

        func take() -> [Output] {
            defer { heard = [] }
            return heard
        }

        func looks() {}
        func beginsCall() {}
        func endsCall() {}
    }

    @Test("The bolt goes where the strike lets it, in its time, and the sensors see it; it holds the leaf until then")
    func opens() throws {
        let bench = try Bench()
        let lines = try bench.open()
        #expect(try lines.inputs().map(\.isActive) == [true, true, false, false, false])
        #expect(try lines.set(isActive: true))
        #expect(bench.take() == [.strike(isReleased: true), .goes])
        #expect(bench.metal.isBoltLocked && bench.metal.isHeldShut)
        #expect(bench.handle(.arrives) == [.bolt(isLocked: false)])
        #expect(try lines.inputs()[1] == LineReading(isActive: false, hasMoved: true))
        #expect(try lines.inputs()[1] == LineReading(isActive: false, hasMoved: false))
        #expect(!bench.metal.isHeldShut)
        #expect(bench.handle(.opens, .opens) == [.leaf(isClosed: false)])
        #expect(try lines.inputs()[0] == LineReading(isActive: false, hasMoved: true))
        #expect(bench.handle(.shuts, .shuts) == [.leaf(isClosed: true)])
    }

    @Test("A bolt that is called back on its way stays, and one that is called twice comes once")
    func calledBack() throws {
        let bench = try Bench()
        let there = bench.handle(.sets(isActive: true), .sets(isActive: false), .arrives)
        #expect(there == [.strike(isReleased: true), .goes, .strike(isReleased: false)])
        #expect(bench.handle(.sets(isActive: true), .arrives, .arrives).count { $0 == .bolt(isLocked: false) } == 1)
    }

    @Test("A line stays as it was set when its program dies, and rests when the next one requests it")
    func outlives() throws {
        for failure in StrikeRules.Failure.allCases {
            let bench = try Bench(failure)
            #expect(bench.metal.isReleased == (failure == .safe), "nobody has set it yet")
            let (rest, released) = (failure == .safe, failure == .secure)
            var lines: (any DoorLines)? = try bench.open()
            _ = bench.handle(.arrives)
            #expect(bench.metal.isBoltLocked && !bench.metal.isReleased)
            _ = try lines?.set(isActive: released)
            lines = nil
            _ = bench.handle(.arrives)
            #expect(bench.metal.isReleased && !bench.metal.isBoltLocked)
            #expect(try bench.open().isActive() == rest)
            _ = bench.handle(.arrives)
            #expect(bench.metal.isBoltLocked)
        }
    }

    @Test("Without current the strike rests as its door does, and lines of a chip that was away are none any more")
    func unplugged() throws {
        for failure in StrikeRules.Failure.allCases {
            let bench = try Bench(failure)
            let old = try bench.open()
            _ = bench.take()
            let edges: [Output] = failure == .safe ? [.strike(isReleased: true)] : []
            #expect(bench.handle(.begins(.unplugged)) == [.began(.unplugged)] + edges)
            #expect(throws: GPIOFailure("the simulated chip", ENODEV)) { try old.isActive() }
            #expect(throws: GPIOFailure("the simulated chip", ENODEV)) { try bench.open() }
            #expect(bench.handle(.sets(isActive: failure == .secure)) == [], "nobody sets it")
            #expect(bench.handle(.ends(.unplugged)) == [.ended(.unplugged)])
            #expect(throws: GPIOFailure("the simulated chip", ENODEV)) { try old.set(isActive: false) }
            let new = try bench.open()
            #expect(try new.isActive() == (failure == .safe))
            _ = bench.handle(.losesPower)
            #expect(throws: GPIOFailure("the simulated chip", ENODEV)) { try new.inputs() }
            #expect(bench.metal.isReleased == (failure == .safe))
        }
    }

    @Test("A jammed bolt stays until it is free, whatever coil and hand do; a key from inside moves it")
    func jammed() throws {
        let bench = try Bench()
        #expect(bench.handle(.begins(.jammed), .sets(isActive: true)) == [.began(.jammed), .strike(isReleased: true)])
        #expect(bench.handle(.arrives, .begins(.held)) == [.began(.held)])
        #expect(bench.handle(.ends(.jammed), .arrives) == [.ended(.jammed), .goes, .bolt(isLocked: false)])
        #expect(bench.handle(.turns(isLocked: true), .turns(isLocked: true)) == [.bolt(isLocked: true)])
    }

    @Test("A hand holds the bolt back from a coil at rest, and lets it go")
    func held() throws {
        let bench = try Bench()
        #expect(bench.handle(.begins(.held), .arrives) == [.began(.held), .goes, .bolt(isLocked: false)])
        #expect(bench.handle(.sets(isActive: true), .sets(isActive: false)).allSatisfy { $0 != .goes })
        #expect(bench.handle(.ends(.held), .arrives) == [.ended(.held), .goes, .bolt(isLocked: true)])
    }

    @Test("A deaf line does nothing, a lying one reads otherwise, and neither is requested at its rest")
    func badLines() throws {
        let bench = try Bench()
        let lines = try bench.open()
        _ = bench.handle(.begins(.line(.deaf)))
        #expect(try lines.set(isActive: true) == false, "it reads as it is")
        #expect(!bench.metal.isReleased)
        // The later fault takes the place of the one before.
        _ = bench.handle(.begins(.line(.lying)))
        #expect(try lines.set(isActive: true) == false)
        #expect(bench.metal.isReleased)
        #expect(throws: GPIOFailure("the simulated chip's line does not go to its rest", EIO)) { try bench.open() }
        #expect(bench.take() == [.strike(isReleased: true), .goes, .strike(isReleased: false)])
        #expect(bench.handle(.ends(.line(.deaf))) == [.ended(.line(.deaf))], "both end as one")
        #expect(try lines.set(isActive: true))
    }

    @Test("A stuck sensor says one thing, and each change of it is an edge; a failing chip answers EIO to its end")
    func badChip() throws {
        let bench = try Bench()
        let lines = try bench.open()
        for isLocked in [true, false] {
            _ = bench.handle(.begins(.stuckSensor(isLocked: isLocked)))
            #expect(try lines.inputs()[1] == LineReading(isActive: isLocked, hasMoved: true))
        }
        _ = bench.handle(.ends(.stuckSensor(isLocked: true)))
        #expect(try lines.inputs()[1] == LineReading(isActive: true, hasMoved: true))
        _ = bench.handle(.begins(.failing))
        #expect(throws: GPIOFailure("the simulated chip", EIO)) { try lines.inputs() }
        #expect(throws: GPIOFailure("the simulated chip", EIO)) { try lines.set(isActive: true) }
        #expect(!bench.metal.isReleased)
        _ = bench.handle(.ends(.failing))
        #expect(try lines.set(isActive: true))
        bench.isOver = true
        #expect(throws: GPIOFailure("the simulated chip", ENODEV), "of a program that has ended") {
            try lines.set(isActive: false)
        }
        #expect(bench.metal.isReleased)
    }

    @Test("Everything that can be wrong with a door is mended: the list has each kind of condition")
    func kinds() {
        #expect(Set(StrikeMetal.Condition.kinds.map(\.number)) == Set(0...8))
    }

    @Test("Each condition is told as it begins and as it ends, and not again", arguments: StrikeMetal.Condition.kinds)
    func lasts(condition: StrikeMetal.Condition) throws {
        let bench = try Bench()
        for _ in 0..<2 {
            #expect(bench.handle(.ends(condition)) == [])
            #expect(bench.handle(.begins(condition)).filter { $0 != .goes } == [.began(condition)])
            #expect(bench.metal.has(condition))
            #expect(bench.handle(.begins(condition)).filter { $0 != .goes } == [])
            #expect(bench.handle(.ends(condition)).filter { $0 != .goes } == [.ended(condition)])
            #expect(!bench.metal.has(condition))
        }
    }

    @Test(
        "The lines beside the door say what is, with an edge for each change",
        arguments: [
            (StrikeMetal.Condition.pressed, InputUse.exit), (.tampered, .tamper), (.fire, .fire),
        ])
    func inputs(condition: StrikeMetal.Condition, use: InputUse) throws {
        let bench = try Bench()
        let lines = try bench.open()
        let place = try #require(bench.plan.inputs.firstIndex { $0.use == use })
        _ = bench.handle(.begins(condition))
        #expect(try lines.inputs()[place] == LineReading(isActive: true, hasMoved: true))
        _ = bench.handle(.begins(condition))
        #expect(try lines.inputs()[place] == LineReading(isActive: true, hasMoved: false))
        _ = bench.handle(.ends(condition))
        #expect(try lines.inputs()[place] == LineReading(isActive: false, hasMoved: true))
    }
}

extension StrikeMetal.Condition {
    /// One number for each case: a new one does not compile until it is here.
    fileprivate var number: Int {
        switch self {
        case .pressed: 0
        case .fire: 1
        case .tampered: 2
        case .line: 3
        case .stuckSensor: 4
        case .unplugged: 5
        case .failing: 6
        case .held: 7
        case .jammed: 8
        }
    }
}
