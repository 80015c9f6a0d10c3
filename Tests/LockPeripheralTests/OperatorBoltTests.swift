import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

/// The bolt by an operator's word.
@Suite("An operator at the bolt")
struct OperatorBoltTests {
    private static let anna: UInt32 = 1_000

    private func bench(
        _ mode: LockMode = .normal, _ position: BoltPosition = .locked, _ door: DoorCode = .closed
    ) -> LockBench {
        var snapshot = LockSnapshot.furnished
        snapshot.settings.mode = mode
        snapshot.bolt = BoltRecord(position: position, door: door)
        return LockBench(snapshot, reading: BoltReading(position: position, door: door))
    }

    /// Where the bolt is, as a link that listens was told by the last input.
    private func told(_ bench: LockBench, _ link: UInt64) -> [BoltCode] {
        bench.outputs.compactMap { output in
            guard case .notifyLockState(LockLink(rawValue: link), let octets) = output else { return nil }
            return (try? LockState(exactly: octets))?.bolt
        }
    }

    private func operate(_ bench: inout LockBench, _ operation: LockOperation) {
        bench.put(.administration(.asked(by: Self.anna)))
        bench.put(.administration(.operate(operation)))
    }

    @Test(
        "An opening is on the audit's record with who asked, before the bolt hears of it, and goes back as the lock is set"
    )
    func opens() throws {
        var bench = bench()
        operate(&bench, .unlock)
        #expect(bench.events == [.operatorIs(user: Self.anna), .operated(.unlock)])
        let order = try #require(bench.orders.first)
        #expect(bench.orders.count == 1 && order.movement == .unlock && order.command == nil && order.notAfter != nil)
        let intent = try #require(bench.store.committed.intent)
        #expect(intent.id == order.intent && intent.id.rawValue == bench.store.committed.auditHead.sequence)
        let lastFact = bench.outputs.lastIndex { if case .persist = $0 { true } else { false } }
        let firstAct = bench.outputs.firstIndex { if case .actuate = $0 { true } else { false } }
        #expect(try #require(lastFact) < #require(firstAct))
        bench.finishMovement()
        #expect(bench.events == [.outcome(of: intent.id.rawValue, .done)])
        #expect(bench.machine.state.bolt == .unlocked)
        let due = bench.store.committed.relock?.due(in: boot)
        #expect(due == bench.now.advanced(byMilliseconds: 10_000))
        bench.run(milliseconds: 10_000)
        #expect(bench.machine.state.bolt == .locking)
    }

    @Test("Keys that listen are told of the movement at its begin and at its end")
    func listeners() {
        var bench = bench()
        bench.connectEncrypted(2, bob)
        operate(&bench, .unlock)
        #expect(told(bench, 2) == [.unlocking])
        bench.finishMovement()
        #expect(told(bench, 2) == [.unlocked])
        operate(&bench, .lock)
        #expect(told(bench, 2) == [.locking])
    }

    @Test("The records are administration's: what keys write displaces none of them")
    func holder() {
        var bench = bench()
        operate(&bench, .unlock)
        #expect(bench.store.audit.suffix(2).map(\.event) == [.operatorIs(user: Self.anna), .operated(.unlock)])
        #expect(bench.store.audit.suffix(2).map(\.holder) == [.administration, .administration])
    }

    @Test("Closing ends a relock that was due; where the bolt is already it is told, and nothing moves")
    func closes() throws {
        var bench = bench()
        operate(&bench, .unlock)
        bench.finishMovement()
        bench.pass(milliseconds: 4_000)
        // The same again: later, and no second movement.
        bench.put(.administration(.operate(.unlock)))
        let record = bench.store.committed.auditHead.sequence - 1
        #expect(bench.events == [.operated(.unlock), .outcome(of: record, .done)] && bench.orders.isEmpty)
        #expect(bench.store.committed.relock?.due(in: boot) == bench.now.advanced(byMilliseconds: 10_000))
        bench.put(.administration(.operate(.lock)))
        #expect(bench.events == [.operated(.lock)] && bench.orders.map(\.movement) == [.lock])
        #expect(bench.store.committed.relock == nil)
        bench.finishMovement()
        #expect(bench.machine.state.bolt == .locked)
    }

    @Test("What each mode lets an operator do, and what it changes nothing by", arguments: LockMode.allCases)
    func modes(mode: LockMode) {
        for operation in [LockOperation.lock, .unlock] {
            var bench = bench(mode, operation == .lock ? .unlocked : .locked)
            let expected: LockResult =
                switch (mode, operation) {
                case (.lockdown, .unlock), (.passage, .lock): .modeForbids
                default: .accepted
                }
            #expect(bench.verdict(on: operation) == expected, "\(operation)")
            operate(&bench, operation)
            #expect(bench.orders.isEmpty == (expected != .accepted), "\(operation)")
            if expected != .accepted { #expect(bench.persists.isEmpty) }
        }
    }

    @Test("A moving bolt, an open door, a jammed bolt and a fire refuse what they refuse an owner")
    func refusals() {
        var busy = bench()
        operate(&busy, .unlock)
        #expect(busy.verdict(on: .lock) == .busy)
        operate(&busy, .lock)
        #expect(busy.persists.isEmpty && busy.orders.isEmpty)
        #expect(bench(.normal, .unlocked, .open).verdict(on: .lock) == .doorOpen)
        #expect(bench(.normal, .locked, .open).verdict(on: .unlock) == .accepted)
        #expect(bench(.normal, .jammed).verdict(on: .lock) == .jammed)
        #expect(bench(.normal, .jammed).verdict(on: .unlock) == .accepted)
        var fire = bench(.lockdown)
        fire.put(.actuator(.input(.fire(true))))
        fire.finishMovement()
        #expect(fire.verdict(on: .lock) == .modeForbids && fire.verdict(on: .unlock) == .accepted)
    }

    @Test("A bolt that jams is told, with its one outcome, and brought to its secure state once")
    func jams() throws {
        var bench = bench()
        operate(&bench, .unlock)
        let order = try #require(bench.orders.first)
        bench.put(.actuator(.ended(order.intent, .jammed)))
        #expect(bench.events.first == .outcome(of: order.intent.rawValue, .aborted))
        #expect(
            bench.outputs.contains { if case .alarm(let report) = $0 { report.alarm == .jam(.jammed) } else { false } })
        #expect(bench.orders.map(\.movement) == [.lock])
    }

    @Test("Killed behind the commit: made in its time and boot, or not at all, and the record has its outcome")
    func killed() throws {
        var bench = bench()
        operate(&bench, .unlock)
        let order = try #require(bench.orders.first)
        let kept = bench.store.committed
        let untouched = BoltReading(position: .locked, door: .closed, performed: false)
        var next = LockBench(kept, reading: untouched, now: bench.now)
        #expect(next.orders == [order])
        next.finishMovement()
        #expect(next.machine.state.bolt == .unlocked && next.store.committed.relock != nil)
        next = LockBench(kept, reading: untouched, boot: BootID(bits: 2), now: bench.now)
        #expect(next.orders.isEmpty && next.events.contains(.outcome(of: order.intent.rawValue, .aborted)))
        #expect(next.machine.state.bolt == .locked)
    }
}
