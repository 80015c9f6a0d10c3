import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

/// What the audit says of who asked at the machine, of its program's ends, and of its clock.
@Suite("The audit's circumstances")
struct AuditedCircumstancesTests {
    private func events(_ bench: LockBench) -> [AuditEvent] { bench.store.audit.map(\.event) }

    // MARK: Operators

    @Test("Who asks at the machine stands before what is asked, once for many, and never before what a manager did")
    func operators() throws {
        var bench = LockBench()
        func ask(_ user: UInt32, _ change: LockAdministration) -> [AuditEvent] {
            bench.put(.administration(.asked(by: user)))
            bench.put(.administration(change))
            let told = bench.events
            bench.put(.administration(.asked(by: nil)))
            return told
        }
        let disabled = AuditEvent.administered(.of(2), name: "Bob", .disabled)
        let enabled = AuditEvent.administered(.of(2), name: "Bob", .enabled)
        #expect(ask(1000, .named("Bob", .disabled)) == [.operatorIs(user: 1000), disabled])
        #expect(ask(1000, .named("Bob", .enabled)) == [enabled])
        // Who asks for what is so already is not told.
        #expect(ask(0, .named("Bob", .enabled)) == [])
        #expect(ask(0, .mode(.lockdown)) == [.operatorIs(user: 0), .modeChanged(.lockdown, by: nil)])
        #expect(ask(1000, .reset) == [.operatorIs(user: 1000), .reset])
        #expect(ask(1001, .named("Bob", .enabled)) == [])
        bench.connectEncrypted(1, alice)
        bench.put(.controlPoint(LockLink(rawValue: 1), ControlPointProcedure.setMode(.normal).encoded))
        #expect(bench.events == [.modeChanged(.normal, by: AuditedManager(credential: .of(1), name: "Alice"))])
        // What nobody asks for has nobody's name: the configuration at a launch.
        bench.put(.administration(.settings(LockSettings(relockSeconds: nil))))
        #expect(bench.events == [.settingsChanged(LockSettings(relockSeconds: nil))])
        let last = try #require(bench.store.audit.last { $0.event == .operatorIs(user: 1000) })
        #expect(last.holder == .administration)
    }

    // MARK: Ends

    @Test("An end in order is the last word; behind a launch that nothing followed it is none")
    func stopped() {
        var bench = LockBench()
        bench.put(.administration(.stopped))
        #expect(events(bench) == [.launched])
        bench.put(.administration(.mode(.lockdown)))
        bench.put(.administration(.stopped))
        #expect(events(bench) == [.launched, .modeChanged(.lockdown, by: nil), .stopped])
        // Many launches and ends with nothing between them take no room.
        var snapshot = bench.store.committed
        for _ in 0..<3 {
            var next = LockBench(snapshot)
            next.put(.administration(.stopped))
            snapshot = next.store.committed
        }
        let next = LockBench(snapshot)
        #expect(events(next) == [])
        #expect(next.store.committed.auditHead.sequence == 4)
    }

    // MARK: The clock

    private func steps(_ bench: LockBench) -> [AuditEvent] {
        events(bench).filter { if case .clockStepped = $0 { true } else { false } }
    }

    @Test("A clock that is set is on record with what it should have said, forward and back, once each")
    func stepped() {
        var bench = LockBench()
        func look(after seconds: UInt64, at clock: Int64?) {
            bench.pass(milliseconds: seconds * 1_000)
            bench.wallClockSeconds = clock
            bench.put(.timerFired)
        }
        look(after: 100, at: 1_800_000_100)
        look(after: 10, at: 1_800_003_700)
        look(after: 1, at: 1_800_003_701)
        #expect(steps(bench) == [.clockStepped(expected: 1_800_000_110, found: 1_800_003_700)])
        look(after: 10, at: 1_800_000_000)
        look(after: 10, at: 1_800_000_010)
        #expect(steps(bench).last == .clockStepped(expected: 1_800_003_711, found: 1_800_000_000))
        #expect(steps(bench).count == 2)
        // A clock that is unset for a while and right again is none that was set.
        look(after: 10, at: nil)
        look(after: 10, at: 1_800_000_030)
        #expect(steps(bench).count == 2)
        for clock in [Int64.min, .max, 0, -1] { look(after: 1, at: clock) }
        #expect(steps(bench).count > 2)
    }

    @Test("What a time server corrects is no step, and adds up to one")
    func corrected() {
        var bench = LockBench()
        for correction in 1...61 as ClosedRange<Int64> {
            #expect(steps(bench) == [])
            bench.pass(milliseconds: 10_000)
            bench.wallClockSeconds = 1_800_000_000 + 10 * correction + correction
            bench.put(.timerFired)
        }
        #expect(steps(bench) == [.clockStepped(expected: 1_800_000_610, found: 1_800_000_671)])
    }
}
