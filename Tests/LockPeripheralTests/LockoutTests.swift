import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

/// Alice owns the lock; Bob may only lock it, and asks for more.
@Suite("Lockouts")
struct LockoutTests {
    private func events(_ bench: LockBench) -> [AuditEvent] {
        ((try? bench.store.auditRecords(after: 0, limit: 10_000)) ?? []).map(\.event)
    }

    private func bench() -> LockBench {
        var bench = LockBench()
        bench.connectEncrypted(1, alice)
        bench.connectEncrypted(2, bob)
        return bench
    }

    /// On a link of its own: too many refusals in a minute end a link.
    private func ask(_ bench: inout LockBench, _ bond: UInt64, _ operation: LockOperation = .unlock) throws
        -> LockResult?
    {
        let link = 1_000 + bench.nextRandom
        bench.connectEncrypted(link, bond)
        bench.encrypted(
            link, LockCommand(operation: operation, argument: .setting, challenge: try bench.challenge(link).id))
        defer { bench.put(.disconnected(LockLink(rawValue: link))) }
        return bench.lockState(link)?.result
    }

    /// As many as may be, a minute apart.
    private func fail(_ bench: inout LockBench, times: Int) throws {
        for _ in 0..<times {
            #expect(try ask(&bench, bob) == .notPermitted)
            bench.pass(milliseconds: 60_000)
        }
    }

    @Test(
        "Ten failures in a row: what it may do is refused too, for a minute; then twice as long, sixteen minutes at most"
    )
    func lockedOut() throws {
        var bench = bench()
        for seconds in [60, 120, 240, 480, 960, 960] as [UInt64] {
            try fail(&bench, times: Int(Lockout.failuresMaximum) - 1)
            #expect(try ask(&bench, bob) == .notPermitted)
            #expect(events(bench).last == .lockedOut(bond: bob, .of(2), seconds: seconds))
            #expect(bench.machine.alarms.value.contains(.lockout) && bench.machine.alarms.value.credential == 2)
            bench.pass(milliseconds: seconds * 1_000 - 1)
            #expect(try ask(&bench, bob, .lock) == .lockedOut)
            #expect(try ask(&bench, bob) == .lockedOut)
            bench.pass(milliseconds: 1)
        }
        #expect(try ask(&bench, bob, .lock) == .done)
    }

    @Test("Attack: neither a kill nor a reboot forgives a failure or shortens a lockout; its minutes are the same")
    func relaunched() throws {
        func relaunched(_ bench: LockBench, in boot: BootID = boot) -> LockBench {
            var next = LockBench(bench.store.committed, boot: boot)
            if boot == LockPeripheralTests.boot { next.now = bench.now }
            // No challenge twice.
            next.nextRandom = bench.nextRandom + 1_000
            return next
        }
        var bench = bench()
        for _ in 1..<Lockout.failuresMaximum {
            try fail(&bench, times: 1)
            bench = relaunched(bench)
        }
        #expect(try ask(&bench, bob) == .notPermitted)
        bench = relaunched(bench)
        bench.pass(milliseconds: 59_999)
        #expect(try ask(&bench, bob, .lock) == .lockedOut)
        // Since the other boot began a second has passed.
        bench = relaunched(bench, in: BootID(bits: 77))
        bench.pass(milliseconds: 58_999)
        #expect(try ask(&bench, bob, .lock) == .lockedOut)
        bench.pass(milliseconds: 1)
        #expect(try ask(&bench, bob, .lock) == .done)
        #expect(bench.store.committed.lockouts.isEmpty)
        try fail(&bench, times: Int(Lockout.failuresMaximum) - 1)
        #expect(try ask(&bench, bob, .lock) == .done)
    }

    @Test("What a damaged file says keeps nobody out for longer than sixteen minutes, and never for good")
    func damaged() throws {
        var snapshot = LockSnapshot.furnished
        var writer = ByteWriter(capacity: 42)
        writer.write(UInt8(3))
        writer.write(boot.bits)
        writer.write(UInt8(0))
        writer.write(UInt64(0))
        // In 500 years.
        writer.write(UInt64.max)
        writer.write(UInt64(960_000))
        let octets = writer.bytes
        snapshot.lockouts[bob] = try Lockout(exactly: octets)
        var bench = LockBench(snapshot)
        #expect(try ask(&bench, bob, .lock) == .done)
        for (place, octet) in [(0, 4), (17, 10), (41, 1)] as [(Int, UInt8)] {
            var wrong = octets
            wrong[place] = octet
            #expect(throws: DecodingError.self) { try Lockout(exactly: wrong) }
        }
    }

    @Test("A command that is granted, or ten minutes without a failure, begin the row anew")
    func forgiven() throws {
        var bench = bench()
        try fail(&bench, times: Int(Lockout.failuresMaximum) - 1)
        #expect(try ask(&bench, bob, .lock) == .done)
        try fail(&bench, times: Int(Lockout.failuresMaximum) - 1)
        bench.pass(milliseconds: Lockout.rowMilliseconds)
        try fail(&bench, times: Int(Lockout.failuresMaximum) - 1)
        #expect(try ask(&bench, bob, .lock) == .done)
    }

    @Test(
        "Attack: whatever others do, the owner is not locked out: dead challenges, replays, a busy bolt, an open door")
    func owner() throws {
        var bench = bench()
        bench.put(.challengeRead(LockLink(rawValue: 1)))
        let command = unlock(try bench.challenge(1))
        bench.encrypted(1, command)
        bench.finishMovement()
        for round in 0..<40 as Range<UInt64> {
            // Recorded and sent again, on a clear link under her address.
            bench.connect(10_000 + round, alice)
            bench.signed(10_000 + round, command, counter: UInt32(round))
            #expect(try ask(&bench, bob) != .accepted)
            bench.pass(milliseconds: 13_000)
        }
        bench.put(.actuator(.door(.open)))
        for _ in 0..<20 {
            bench.pass(milliseconds: 13_000)
            #expect(try ask(&bench, alice, .lock) == .doorOpen)
        }
        bench.put(.actuator(.door(.closed)))
        // The relock that has fallen due.
        for case .actuate(let order) in bench.run(milliseconds: 60_000) {
            bench.put(.actuator(.ended(order.intent, order.movement.target)))
        }
        let result = try ask(&bench, alice)
        #expect(result == .accepted, "\(String(describing: result))")
        #expect(
            !events(bench).contains {
                if case .lockedOut(bond: alice, _, _) = $0 { true } else { false }
            })
    }

    @Test(
        "Attack: a challenge that says falsely that signed commands are taken: what its key signs is no failure, and ends nothing"
    )
    func forgedFlags() throws {
        var snapshot = LockSnapshot.furnished
        snapshot.settings.acceptsSigned = false
        var bench = LockBench(snapshot)
        for round in 1...UInt32(Lockout.failuresMaximum) {
            let link = 20_000 + UInt64(round)
            bench.connect(link, alice)
            let challenge = try bench.challenge(link)
            bench.signed(link, unlock(challenge), counter: round)
            #expect(bench.orders.isEmpty)
            #expect(try bench.receipt(link, answering: challenge.id).result == .challengeDead)
            bench.put(.disconnected(LockLink(rawValue: link)))
            bench.pass(milliseconds: 13_000)
        }
        #expect(bench.store.committed.lockouts.isEmpty && bench.store.committed.lastCommands.isEmpty)
        #expect(try ask(&bench, alice) == .accepted)
    }

    @Test("A lockout that was over before a reboot is over behind it, and the row that it was in goes on")
    func rebootedLater() throws {
        for isRelaunched in [false, true] {
            var bench = bench()
            try fail(&bench, times: Int(Lockout.failuresMaximum) - 1)
            #expect(try ask(&bench, bob) == .notPermitted)
            if isRelaunched {
                let (now, random) = (bench.now, bench.nextRandom)
                bench = LockBench(bench.store.committed, now: now)
                bench.nextRandom = random + 1_000
            }
            bench.run(milliseconds: 59_999)
            #expect(try ask(&bench, bob, .lock) == .lockedOut)
            bench.run(milliseconds: 1)
            let random = bench.nextRandom
            bench = LockBench(bench.store.committed, boot: BootID(bits: 77))
            bench.nextRandom = random + 1_000
            try fail(&bench, times: Int(Lockout.failuresMaximum) - 1)
            #expect(try ask(&bench, bob) == .notPermitted)
            #expect(events(bench).last == .lockedOut(bond: bob, .of(2), seconds: 120))
        }
    }

    @Test("Attack: a disabled key's commands lock nobody out, and enabled it may at once what its role may")
    func disabled() throws {
        var bench = bench()
        bench.put(.administration(.named("Bob", .disabled)))
        try fail(&bench, times: 30)
        bench.put(.administration(.named("Bob", .enabled)))
        #expect(try ask(&bench, bob, .lock) == .done)
    }
}
