import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

/// Alice owns the lock, Adam administers it, Rita lives there, the cleaner may only lock. A link has the number of who is on it.
@Suite("Modes")
struct LockModeTests {
    private static let household = [
        Credential(1, "Alice", .owner), Credential(2, "Adam", .administrator), Credential(3, "Rita", .resident),
        Credential(5, "Cleaner", .lockOnly),
    ]

    private func bench(_ mode: LockMode, _ position: BoltPosition = .locked) -> LockBench {
        var snapshot = LockBench(Self.household).store.committed
        snapshot.settings.mode = mode
        snapshot.bolt = BoltRecord(position: position, door: .closed)
        return LockBench(snapshot, reading: BoltReading(position: position, door: .closed))
    }

    private func ask(
        _ bench: inout LockBench, _ bond: UInt64, _ operation: LockOperation, _ argument: RelockArgument = .setting
    ) throws -> LockResult? {
        let link = 100 + bench.nextRandom
        bench.connectEncrypted(link, bond)
        bench.encrypted(
            link, LockCommand(operation: operation, argument: argument, challenge: try bench.challenge(link).id))
        return bench.outputs.compactMap { output -> LockResult? in
            guard case .notifyLockState(LockLink(rawValue: link), let octets) = output else { return nil }
            return (try? LockState(exactly: octets))?.result
        }.first
    }

    @Test("Who may have what done in which mode", arguments: LockMode.allCases)
    func table(mode: LockMode) throws {
        for (bond, mayOpen) in [(1, true), (2, true), (3, true), (5, false)] as [(UInt64, Bool)] {
            for operation in [LockOperation.lock, .unlock, .unlatch, .lockAndGo] {
                let position: BoltPosition = operation == .lock ? .unlocked : .locked
                var bench = bench(mode, position)
                let may =
                    switch (mode, operation) {
                    case (.passage, .lock), (.passage, .lockAndGo): false
                    case (_, .lock), (.normal, _), (.passage, _): true
                    case (.privacy, _): bond <= 2
                    case (.lockdown, _): false
                    }
                let mayAtAll = mayOpen || operation == .lock
                let expected: LockResult = !mayAtAll ? .notPermitted : may ? .accepted : .modeForbids
                #expect(try ask(&bench, bond, operation) == expected, "\(bond) \(operation)")
                #expect(bench.orders.isEmpty == (expected != .accepted))
            }
        }
    }

    @Test("A refusal by a mode is nobody's failure: nobody is locked out by it")
    func noLockout() throws {
        var bench = bench(.lockdown)
        for _ in 0..<2 * Lockout.failuresMaximum {
            #expect(try ask(&bench, 3, .unlock) == .modeForbids)
            bench.pass(milliseconds: 60_000)
        }
        bench.put(.administration(.mode(.normal)))
        #expect(try ask(&bench, 3, .unlock) == .accepted)
    }

    @Test(
        "A manager changes it, on the audit's record, before the answer; an operator too",
        arguments: [1, 2] as [UInt64])
    func change(manager: UInt64) throws {
        var bench = LockBench(Self.household)
        #expect(bench.ask(.setMode(.lockdown), on: manager)?.result == .success)
        let name = manager == 1 ? "Alice" : "Adam"
        #expect(
            bench.events == [.modeChanged(.lockdown, by: AuditedManager(credential: .of(manager), name: name))])
        #expect(bench.store.committed.settings.mode == .lockdown)
        #expect(bench.ask(.setMode(.lockdown), on: manager)?.result == .success)
        #expect(bench.persists.isEmpty)
        bench.put(.administration(.mode(.normal)))
        #expect(bench.events == [.modeChanged(.normal, by: nil)])
        for stranger in [3, 5] as [UInt64] {
            #expect(bench.ask(.setMode(.passage), on: stranger)?.result == .notPermitted)
        }
        #expect(bench.ask([ControlPointOpcode.setMode.rawValue, 4], on: 1)?.result == .invalidOperand)
        #expect(bench.store.committed.settings.mode == .normal)
    }

    @Test("Passage opens at once and stays open: no relock that was due before is made, and none is set")
    func passage() throws {
        var bench = LockBench(Self.household)
        #expect(try ask(&bench, 3, .unlock) == .accepted)
        bench.finishMovement()
        #expect(bench.store.committed.relock != nil)
        #expect(bench.ask(.setMode(.passage), on: 1)?.result == .success)
        #expect(bench.orders.isEmpty && bench.store.committed.relock == nil)
        bench.put(.administration(.mode(.normal)))
        #expect(bench.orders.map(\.movement) == [.lock])
        bench.finishMovement()
        #expect(bench.ask(.setMode(.passage), on: 1)?.result == .success)
        #expect(bench.orders.map(\.movement) == [.unlock] && bench.orders.first?.notAfter != nil)
        let intent = try #require(bench.store.committed.intent)
        bench.finishMovement()
        #expect(bench.events == [.outcome(of: intent.id.rawValue, .done)])
        #expect(try ask(&bench, 3, .unlock, .after(seconds: 5)) == .done)
        #expect(bench.store.committed.relock == nil)
        bench.run(milliseconds: 86_400_000)
        #expect(bench.machine.state.bolt == .unlocked)
    }

    @Test("Passage waits for no movement: it is refused while the bolt moves, and then nothing has changed")
    func busy() throws {
        var bench = LockBench(Self.household)
        #expect(try ask(&bench, 3, .unlock) == .accepted)
        #expect(bench.ask(.setMode(.passage), on: 1)?.result == .busy)
        #expect(bench.store.committed.settings.mode == .normal && bench.persists.isEmpty)
        bench.put(.administration(.mode(.passage)))
        #expect(bench.store.committed.settings.mode == .normal && bench.persists.isEmpty)
    }

    @Test(
        "Privacy, lockdown and the end of passage lock at once, behind a movement, or when the door closes",
        arguments: [
            (LockMode.normal, LockMode.privacy), (.normal, .lockdown), (.passage, .normal), (.passage, .privacy),
            (.passage, .lockdown), (.privacy, .lockdown), (.lockdown, .privacy),
        ])
    func closes(from former: LockMode, to mode: LockMode) throws {
        var bench = bench(former, .unlocked)
        bench.put(.administration(.mode(mode)))
        #expect(bench.orders.map(\.movement) == [.lock])

        bench = self.bench(former, .unlocked)
        bench.put(.actuator(.door(.open)))
        bench.put(.administration(.mode(mode)))
        #expect(bench.orders.isEmpty)
        // A kill in between takes nothing of it.
        bench = LockBench(bench.store.committed, reading: BoltReading(position: .unlocked, door: .open))
        #expect(bench.orders.isEmpty)
        bench.put(.actuator(.door(.closed)))
        #expect(bench.orders.map(\.movement) == [.lock])

        guard former == .normal else { return }
        bench = LockBench(Self.household)
        #expect(try ask(&bench, 3, .unlock, .holdOpen) == .accepted)
        let opening = bench.orders
        bench.put(.administration(.mode(mode)))
        #expect(bench.orders.isEmpty)
        bench.put(.actuator(.ended(opening[0].intent, .unlocked)))
        #expect(bench.orders.map(\.movement) == [.lock])
    }

    @Test(
        "A mode ends with no launch, and an opening that its begin was cut off from is made in its time or not at all")
    func relaunch() throws {
        var bench = LockBench(Self.household)
        bench.put(.administration(.mode(.passage)))
        let order = try #require(bench.orders.first)
        let kept = bench.store.committed
        // Killed before the bolt heard of it.
        var next = LockBench(kept, reading: BoltReading(position: .locked, door: .closed, performed: false))
        #expect(next.orders == [order] && next.store.committed.settings.mode == .passage)
        // After its time: what was not opened is not opened later.
        var late = kept
        late.intent?.deadline = Instant(nanoseconds: 1)
        next = LockBench(late, reading: BoltReading(position: .locked, door: .closed, performed: false))
        #expect(next.orders.isEmpty && next.events.contains(.outcome(of: order.intent.rawValue, .aborted)))
        #expect(next.store.committed.settings.mode == .passage)
        // Another boot.
        next = LockBench(
            kept, reading: BoltReading(position: .locked, door: .closed, performed: false), boot: BootID(bits: 2))
        #expect(next.orders.isEmpty)
    }

    @Test(
        "In passage a restart locks no door that somebody's interrupted latch has left open; elsewhere it does",
        arguments: [LockMode.passage, .normal])
    func interrupted(mode: LockMode) throws {
        var bench = bench(mode, .unlocked)
        #expect(try ask(&bench, 3, .unlatch) == .accepted)
        let order = try #require(bench.orders.first)
        let reading = BoltReading(position: .unlocked, door: .closed, performed: false)
        // Killed before the latch was pulled.
        let next = LockBench(bench.store.committed, reading: reading)
        #expect(next.events.contains(.outcome(of: order.intent.rawValue, .aborted)))
        #expect(next.orders.map(\.movement) == (mode == .passage ? [] : [.lock]))
        // And where nothing can be written.
        #expect(
            UnrecordedSecuring.isOwed(
                bench.store.committed, reading: reading, boot: next.machine.boot, now: Instant(nanoseconds: 0))
                == (mode != .passage))
    }
}
