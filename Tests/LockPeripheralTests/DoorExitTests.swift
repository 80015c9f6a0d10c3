import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

/// Alice owns the lock. Who is inside has the button.
@Suite("Exits")
struct DoorExitTests {
    @Test("Whoever is inside gets out, in every mode, and the door is locked behind him", arguments: LockMode.allCases)
    func exit(mode: LockMode) throws {
        var bench = LockBench.atDoor(mode: mode)
        bench.feel(.exit)
        #expect(bench.movements == [.unlock] && bench.orders.first?.command == nil)
        #expect(bench.orders.first?.notAfter != nil)
        let record = try #require(bench.outputs.records.first)
        #expect(record.event == .opening(.exit) && bench.store.committed.intent?.id.rawValue == record.sequence)
        bench.finishMovement()
        #expect(bench.events == [.outcome(of: record.sequence, .done)])
        bench.feel(.exit)
        #expect(bench.orders.isEmpty && bench.events.isEmpty)
        let locked = bench.run(milliseconds: 10_000)
        #expect(locked.contains { if case .actuate = $0 { true } else { false } } == (mode != .passage))
    }

    @Test("An exit while the bolt goes out waits for its end; one that comes late does not close a door sooner")
    func exitWaits() throws {
        var bench = LockBench.atDoor(bolt: .unlocked)
        #expect(try bench.ask(.lock) == .accepted)
        let order = try #require(bench.orders.first)
        bench.feel(.exit)
        #expect(bench.orders.isEmpty)
        bench.pass(milliseconds: 3_000)
        bench.put(.actuator(.ended(order.intent, .locked)))
        #expect(bench.movements == [.unlock])
        bench.finishMovement()
        // His time begins when it opens.
        bench.pass(milliseconds: 4_900)
        #expect(bench.verdict(on: .lock) == .busy)

        #expect(try bench.ask(.unlock, .after(seconds: 60)) == .done)
        let due = bench.store.committed.relock
        bench.feel(.exit)
        #expect(bench.store.committed.relock == due)
        #expect(try bench.ask(.unlock, .holdOpen) == .done)
        bench.feel(.exit)
        #expect(bench.store.committed.relock == nil)
    }

    @Test(
        "An exit that waits for a locking that fails comes before the one that is tried again, which waits for its time"
    )
    func exitBehindJam() throws {
        var bench = LockBench.atDoor(bolt: .unlocked)
        #expect(try bench.ask(.lock) == .accepted)
        let order = try #require(bench.orders.first)
        bench.feel(.exit)
        bench.put(.actuator(.ended(order.intent, .jammed)))
        #expect(bench.movements == [.unlock])
        bench.finishMovement()
        let due = try #require(bench.store.committed.relock)
        #expect(due.at >= bench.now.advanced(byMilliseconds: DoorRules.leavingMilliseconds))
    }

    @Test(
        "Whoever goes out has five seconds, or the time of the relock where that is shorter: a mode, an end of a fire and a word to lock wait for it",
        arguments: [(10, 5_000), (2, 2_000)] as [(UInt16, UInt64)])
    func leaving(relockSeconds: UInt16, milliseconds: UInt64) throws {
        func left() -> LockBench {
            var bench = LockBench.atDoor()
            bench.put(.administration(.settings(LockSettings(relockSeconds: relockSeconds))))
            bench.feel(.exit)
            bench.finishMovement()
            bench.pass(milliseconds: 100)
            return bench
        }
        func isLocked(_ bench: inout LockBench, within milliseconds: UInt64) -> Bool {
            bench.run(milliseconds: milliseconds).contains { if case .actuate = $0 { true } else { false } }
        }
        for mode in [LockMode.lockdown, .privacy] {
            var bench = left()
            bench.put(.administration(.mode(mode)))
            #expect(bench.movements == [])
            // It is on disk: no kill puts it off.
            #expect(bench.store.committed.relock?.at == bench.now.advanced(byMilliseconds: milliseconds - 100))
            #expect(!isLocked(&bench, within: milliseconds - 101) && isLocked(&bench, within: 1))
        }
        // The bolt is on its way.
        var early = LockBench.atDoor()
        early.put(.administration(.settings(LockSettings(relockSeconds: relockSeconds))))
        early.feel(.exit)
        let opening = try #require(early.orders.first)
        early.put(.administration(.mode(.lockdown)))
        early.put(.actuator(.ended(opening.intent, .unlocked)))
        #expect(early.movements == [])
        #expect(!isLocked(&early, within: milliseconds - 1) && isLocked(&early, within: 1))

        var burning = left()
        burning.feel(.fire(true))
        burning.feel(.fire(false))
        #expect(burning.movements == [] && isLocked(&burning, within: milliseconds - 100))

        var asked = left()
        #expect(try asked.ask(.lock) == .busy)
        asked.put(.administration(.operate(.lock)))
        #expect(asked.movements == [] && asked.events == [])
        #expect(asked.verdict(on: .lock) == .busy)
        // Who opens for a shorter time does not shorten that.
        #expect(try asked.ask(.unlock, .after(seconds: 1)) == .done)
        #expect(!isLocked(&asked, within: milliseconds - 200) && isLocked(&asked, within: 100))

        var over = left()
        over.pass(milliseconds: milliseconds - 100)
        #expect(try over.ask(.lock) == .accepted)
    }

    @Test("Who has gone out through the door has gone: behind it everything locks as ever")
    func gone() throws {
        var bench = LockBench.atDoor(DoorRules(locksWhenClosed: true))
        bench.feel(.exit)
        bench.finishMovement()
        bench.put(.actuator(.door(.open)))
        bench.put(.administration(.mode(.lockdown)))
        bench.put(.actuator(.door(.closed)))
        #expect(bench.movements == [.lock])
        bench.finishMovement()

        // A door that was open already may be somebody else's, who closes it behind himself.
        bench.put(.administration(.mode(.passage)))
        bench.finishMovement()
        bench.put(.actuator(.door(.open)))
        bench.feel(.exit)
        bench.put(.administration(.mode(.normal)))
        bench.put(.actuator(.door(.open.with(flags: DoorCode.tamper))))
        bench.put(.actuator(.door(.closed)))
        #expect(bench.movements == [])
        bench.put(.actuator(.door(.open)))
        bench.put(.actuator(.door(.closed)))
        #expect(bench.movements == [.lock])
    }

    @Test("Where the bolt was open already, and goes out by itself while somebody goes to the door, it opens once more")
    func pulseEndsWhileLeaving() throws {
        var bench = LockBench.atDoor()
        #expect(try bench.ask(.unlock) == .accepted)
        bench.finishMovement()
        bench.feel(.exit)
        #expect(bench.movements == [])
        bench.put(.actuator(.bolt(.locked)))
        #expect(bench.movements == [.unlock] && bench.events.last == .opening(.exit))
        bench.finishMovement()
        bench.put(.actuator(.bolt(.locked)))
        #expect(bench.movements == [])

        // A pulse of an exit's own is as long as it is.
        bench.feel(.exit)
        bench.finishMovement()
        bench.put(.actuator(.bolt(.locked)))
        #expect(bench.movements == [])
        bench.pass(milliseconds: 5_000)
        bench.put(.actuator(.bolt(.unlocked)))
        bench.feel(.exit)
        bench.pass(milliseconds: 5_000)
        bench.put(.actuator(.bolt(.locked)))
        #expect(bench.movements == [])
    }

    @Test("An exit that is announced moves nothing, and for ten seconds a door that opens is not forced")
    func announced() throws {
        for (milliseconds, isForced) in [(9_999, false), (10_000, true)] as [(UInt64, Bool)] {
            var bench = LockBench.atDoor(DoorRules(exit: .announces))
            bench.feel(.exit)
            #expect(bench.outputs.isEmpty)
            bench.pass(milliseconds: milliseconds)
            bench.put(.actuator(.door(.open)))
            #expect(bench.raised == (isForced ? [.forced(.door)] : []))
            #expect(bench.store.committed.bolt.door == (isForced ? .forced : .open))
            // It was for one door.
            bench.put(.actuator(.door(.closed)))
            bench.put(.actuator(.door(.open)))
            #expect(bench.raised == [.forced(.door)])
        }
    }
}
