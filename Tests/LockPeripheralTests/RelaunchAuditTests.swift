import BluetoothCore
import LockPeripheral
import LockProtocol
import MemoryStores
import Testing

/// What launches and the wall clock do to the audit.
@Suite struct RelaunchAuditTests {
    @Test(
        "Crash loop: more launches than the audit may keep leave one record and a number"
    )
    func crashLoop() {
        var snapshot = LockSnapshot.furnished
        var records: [AuditRecord] = []
        func launch() -> LockBench {
            let bench = LockBench(snapshot)
            for fact in bench.persists {
                snapshot.apply(fact)
                if case .audit(let record) = fact { records.append(record) }
            }
            return bench
        }
        for _ in 0..<10 { _ = launch() }
        #expect(snapshot.auditTail.relaunches == 9)
        // All the launches between are like those.
        snapshot.auditTail.relaunches = AuditRetention.recordsMaximum - 10
        for _ in 0..<10 { _ = launch() }
        #expect(records.map(\.event) == [.launched])
        var last = launch()
        last.put(.actuator(.bolt(.jammed)))
        let told: [AuditEvent] = [.relaunched(times: AuditRetention.recordsMaximum + 1), .bolt(.jammed)]
        #expect(last.events == told)
        for fact in last.persists {
            snapshot.apply(fact)
            if case .audit(let record) = fact { records.append(record) }
        }
        #expect(AuditHead.empty.firstBreak(in: records) == nil)
        #expect(launch().events.first == .launched, "something has happened since")
    }

    @Test("The clock was reset: records are stamped no earlier than the one before, and no validity is believed")
    func resetClock() throws {
        var snapshot = LockSnapshot.furnished
        let end: Int64 = 1_800_000_100
        snapshot.credentials[CredentialID(rawValue: 1)]?.validity.notAfterSeconds = end
        var bench = LockBench(snapshot)
        bench.wallClockSeconds = end + 500
        bench.put(.actuator(.bolt(.jammed)))
        let kept = bench.store.committed
        func asks(at clock: Int64?) throws -> (isGranted: Bool, stamps: [Int64?]) {
            var bench = LockBench(kept)
            bench.wallClockSeconds = clock
            bench.connectEncrypted(1)
            bench.encrypted(1, unlock(try bench.challenge(1)))
            let isGranted = bench.events.contains { if case .granted = $0 { true } else { false } }
            return (
                isGranted,
                bench.persists.compactMap { if case .audit(let record) = $0 { record.wallClockSeconds } else { nil } }
            )
        }
        for clock in [nil, 0, end - 1, end + 499] {
            let answer = try asks(at: clock)
            #expect(!answer.isGranted, "\(String(describing: clock))")
            #expect(answer.stamps.allSatisfy { $0 == end + 500 }, "\(answer.stamps)")
            #expect(!answer.stamps.isEmpty)
        }
    }

    @Test(
        "A clock a minute behind stands where it was, one second more and it is untrusted; a clock ahead is believed"
    )
    func mark() {
        var mark = WallClockMark(seconds: nil)
        #expect(mark.trusted(nil) == nil && mark.trusted(5) == 5)
        #expect(mark.stamp(nil) == nil)
        #expect(mark.stamp(1_000) == 1_000)
        #expect(mark.trusted(1_000 - WallClockMark.backwardsMaximumSeconds) == 1_000)
        #expect(mark.trusted(1_000 - WallClockMark.backwardsMaximumSeconds - 1) == nil)
        #expect(mark.stamp(7) == 1_000 && mark.stamp(nil) == 1_000)
        #expect(mark.trusted(2_000) == 2_000)
        #expect(mark.stamp(2_000) == 2_000)
    }
}
