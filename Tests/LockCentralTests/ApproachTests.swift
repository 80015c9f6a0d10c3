import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockCentral

/// Between coming near and the opening that a key asks for by itself there may be a person.
@Suite("Coming near, and who decides")
struct ApproachTests {
    private static let asking = ApproachPolicy(asksFirst: true, needsUser: false)
    private static let looking = ApproachPolicy(asksFirst: false, needsUser: true)

    private static let program = ApproachPolicy(asksFirst: false, needsUser: false, asksProgram: true)

    private func approach(_ outputs: [KeyOutput]) -> Approach? {
        for case .approached(let approach) in outputs { return approach }
        return nil
    }

    /// Away and back, up to what is to be decided.
    private func come(_ walk: Walk) throws -> Approach {
        walk.goAway()
        return try #require(approach(walk.comeNear()))
    }

    @Test("Nothing is asked of the lock, and nothing is kept, until it is decided; then it opens once")
    func opens() throws {
        for policy in [Self.asking, Self.looking, Self.program] {
            let walk = Walk(policy: policy)
            let approach = try come(walk)
            #expect(approach.peer == door && approach.policy == policy)
            #expect(walk.operation == nil && walk.proximity == .away)
            walk.bench.put(.decided(approach, opens: true))
            #expect(walk.operation == .unlock && walk.proximity == .near)
            walk.bench.put(.cancel(door))
            walk.bench.put(.decided(approach, opens: true))
            #expect(walk.operation == nil)
        }
    }

    @Test("A no is a no: it opens at the next return, and not before")
    func refused() throws {
        let walk = Walk(policy: Self.asking)
        let first = try come(walk)
        walk.bench.put(.decided(first, opens: false))
        #expect(walk.operation == nil && walk.proximity == .near)
        walk.bench.put(.decided(first, opens: true))
        #expect(walk.operation == nil)
        walk.bench.put(.disconnected(door))
        walk.bench.run(milliseconds: ProximityMachine.openingsWindowMilliseconds)
        let second = try come(walk)
        #expect(second != first)
        // What was meant for the first is nothing for the second.
        walk.bench.put(.decided(first, opens: true))
        #expect(walk.operation == nil)
        walk.bench.put(.decided(second, opens: true))
        #expect(walk.operation == .unlock)
    }

    @Test("A program that has to agree has its time, and whoever is asked behind it has theirs")
    func times() throws {
        for (policy, milliseconds) in [
            (Self.looking, 3_000), (Self.program, 8_000), (Self.asking, 30_000),
            (ApproachPolicy(asksFirst: true, needsUser: true, asksProgram: true), 35_000),
        ] as [(ApproachPolicy, UInt64)] {
            let walk = Walk(policy: policy)
            let approach = try come(walk)
            #expect(approach.until.milliseconds(since: walk.bench.now) == milliseconds)
        }
    }

    @Test("Who does not answer in time has not said yes")
    func late() throws {
        let walk = Walk(policy: Self.asking)
        let approach = try come(walk)
        let rest = ApproachPolicy.questionMilliseconds
        #expect(!walk.bench.run(milliseconds: rest - 1_000).contains(.approachEnded(approach)))
        #expect(walk.bench.run(milliseconds: 2_000).contains(.approachEnded(approach)))
        walk.bench.put(.decided(approach, opens: true))
        #expect(walk.operation == nil && walk.proximity == .near)
    }

    @Test("An answer at its very end is too late, whether the time's end has been told or not")
    func atTheEnd() throws {
        let walk = Walk(policy: Self.asking)
        let approach = try come(walk)
        walk.bench.now = approach.until
        walk.bench.put(.decided(approach, opens: true))
        #expect(walk.operation == nil)
    }

    @Test("Killed in between, it comes near once more")
    func killed() throws {
        let walk = Walk(policy: Self.asking)
        _ = try come(walk)
        let next = Walk(walk.bench.store.committed, policy: Self.asking, now: walk.bench.now)
        #expect(next.proximity == .away && next.operation == nil)
        let again = try #require(approach(next.comeNear()))
        next.bench.put(.decided(again, opens: true))
        #expect(next.operation == .unlock)
    }

    @Test("Who has asked for something by himself is asked nothing, and what was asked is over")
    func overtaken() throws {
        let walk = Walk(policy: Self.asking)
        let approach = try come(walk)
        walk.bench.ask(.lock)
        #expect(walk.bench.outputs.contains(.approachEnded(approach)))
        #expect(walk.operation == .lock && walk.proximity == .near)
        walk.bench.put(.decided(approach, opens: true))
        #expect(walk.operation == .lock)
    }

    @Test("A lock that is forgotten, or not to be opened by coming near any more, is nobody's question")
    func ended() throws {
        for input in [
            KeyInput.forget(door), .lock(LockRecord(peer: door, name: "Front door")), .bonded(door),
        ] {
            let walk = Walk(policy: Self.asking)
            let approach = try come(walk)
            #expect(walk.bench.put(input).contains(.approachEnded(approach)), "\(input)")
            walk.bench.put(.decided(approach, opens: true))
            #expect(walk.operation == nil)
        }
    }

    @Test("The link waits for a look at the user, and for no answer of theirs")
    func link() throws {
        let asking = Walk(policy: Self.asking)
        _ = try come(asking)
        #expect(asking.bench.machine.locks[door]?.link.open?.isLeaving == true)
        let looking = Walk(policy: Self.looking)
        let approach = try come(looking)
        #expect(looking.bench.machine.locks[door]?.link.open?.isLeaving == false)
        #expect(looking.bench.put(.decided(approach, opens: false)).contains(.disconnect(door)))
    }

    @Test("Questions have the bound of openings: so many in ten minutes")
    func bound() throws {
        let walk = Walk(policy: Self.asking)
        var asked = 0
        for _ in 0..<10 {
            walk.goAway()
            if let approach = approach(walk.comeNear()) {
                asked += 1
                walk.bench.put(.decided(approach, opens: false))
            }
            walk.bench.put(.disconnected(door))
            walk.bench.run(milliseconds: 1_000)
            if walk.bench.now.milliseconds(since: Instant(nanoseconds: 1_000_000_000)) > 500_000 { break }
        }
        #expect((1...ProximityMachine.openingsMaximum).contains(asked), "\(asked)")
    }

    @Test("What the key has done by itself is told as such, and what its user has asked for is not")
    func byItself() throws {
        let walk = Walk()
        walk.goAway()
        _ = walk.comeNear()
        let own = try #require(walk.bench.known?.request?.id)
        #expect(walk.bench.put(.cancel(door)).contains(.byItself(door, own, .unlock, .cancelled)))
        walk.bench.ask(.lock)
        let outputs = walk.bench.put(.cancel(door))
        #expect(!outputs.contains { if case .byItself = $0 { true } else { false } })
    }

    @Test("Of what its user's command takes the place of, the key tells as of all that it does by itself")
    func replaced() throws {
        let walk = Walk()
        walk.goAway()
        _ = walk.comeNear()
        let own = try #require(walk.bench.known?.request?.id)
        walk.bench.ask(.lock)
        let told = walk.bench.acts.filter {
            switch $0 {
            case .byItself, .ended: true
            default: false
            }
        }
        #expect(told == [.byItself(door, own, .unlock, .cancelled), .ended(door, own, .cancelled)])
    }
}
