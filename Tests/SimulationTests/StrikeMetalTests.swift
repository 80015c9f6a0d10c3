import BluetoothCore
import GPIO
import Glibc
import Simulation
import StrikeControl
import StrikeKeeping
import Testing

@Suite("A simulated strike: the metal")
struct StrikeMetalTests {
    private final class Bench {
        var now = Instant(nanoseconds: 0)
        var happened: [StrikeMetal.Happening] = []
        var due: Instant?
        let metal: StrikeMetal

        init(_ rules: StrikeRules = StrikeRules(), travel: UInt64 = 100) {
            var clock: () -> Instant = { Instant(nanoseconds: 0) }
            metal = StrikeMetal(rules, uses: InputUse.allCases, travelMilliseconds: travel) { clock() }
            clock = { [unowned self] in now }
            metal.watch = { [unowned self] in happened.append($0) }
            metal.schedule = { [unowned self] in due = $0 }
        }

        func pass(_ milliseconds: UInt64) {
            now = now.advanced(byMilliseconds: milliseconds)
            metal.pass()
        }
    }

    @Test(
        "The bolt goes where the strike lets it, in its time, and the sensors see it; the leaf opens behind that alone")
    func opens() throws {
        let bench = Bench()
        let lines = try bench.metal.open()
        #expect(try lines.inputs().map(\.isActive) == [true, true, false, false, false])
        #expect(!bench.metal.pull())
        #expect(try lines.set(isActive: true))
        #expect(bench.due == Instant(nanoseconds: 100_000_000))
        bench.pass(99)
        #expect(bench.metal.isBoltLocked && !bench.metal.pull())
        bench.pass(1)
        #expect(try lines.inputs()[1] == LineReading(isActive: false, hasMoved: true))
        #expect(try lines.inputs()[1] == LineReading(isActive: false, hasMoved: false))
        #expect(bench.metal.pull())
        #expect(bench.due == nil)
        #expect(
            bench.happened == [.strike(isReleased: true), .bolt(isLocked: false), .leaf(isClosed: false)])
    }

    @Test("A line stays as it was set when its program dies, and rests when the next one requests it")
    func outlives() throws {
        for failure in StrikeRules.Failure.allCases {
            let rules = StrikeRules(failure: failure)
            let bench = Bench(rules, travel: 0)
            var lines: (any DoorLines)? = try bench.metal.open()
            #expect(bench.metal.isBoltLocked && !bench.metal.isReleased)
            _ = try lines?.set(isActive: rules.isActive(released: true))
            lines = nil
            #expect(bench.metal.isReleased && !bench.metal.isBoltLocked)
            lines = try bench.metal.open()
            #expect(bench.metal.isBoltLocked)
            bench.metal.unplug()
            #expect(bench.metal.isReleased == (failure == .safe), "without current")
            #expect(throws: GPIOFailure.self) { try lines?.isActive() }
            #expect(throws: GPIOFailure.self) { try bench.metal.open() }
            bench.metal.plug()
            #expect(try bench.metal.open().isActive() == rules.isActive(released: false))
        }
    }

    @Test("A jammed bolt stays, a dead line does nothing, a failing chip answers EIO, and a crowbar opens")
    func faults() throws {
        let bench = Bench(travel: 0)
        let lines = try bench.metal.open()
        bench.metal.jam()
        _ = try lines.set(isActive: true)
        #expect(bench.metal.isReleased && bench.metal.isBoltLocked)
        bench.metal.free()
        #expect(!bench.metal.isBoltLocked)
        bench.metal.isLineDead = true
        #expect(try lines.set(isActive: false), "it reads as it is")
        bench.metal.isLineDead = false
        bench.metal.code = EIO
        #expect(throws: GPIOFailure("the simulated chip", EIO)) { try lines.inputs() }
        bench.metal.code = 0
        _ = try lines.set(isActive: false)
        #expect(!bench.metal.pull())
        bench.metal.force()
        #expect(!bench.metal.isClosed && bench.metal.isBoltLocked)
    }
}
