import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

/// The bench's clock says Friday, 15 January 2027, 08:00 UTC: 09:00 at a door in Berlin.
@Suite("Credentials with schedules")
struct ScheduledCredentialTests {
    private let link = LockLink(rawValue: 1)

    private func bench(
        _ weekdays: String? = nil, during: String? = nil, holidays: [String] = []
    ) throws -> LockBench {
        var bench = LockBench()
        let calendar = LockCalendar(
            timeZone: try TimeZoneRule(text: "CET-1CEST,M3.5.0,M10.5.0/3"),
            holidays: try holidays.map { (text) throws(ScheduleTextError) in try HolidaySchedule(text: text) })
        bench.put(.administration(.settings(LockSettings(calendar: try #require(calendar)))))
        bench.put(.administration(.named("Alice", try change(weekdays, during: during))))
        return bench
    }

    private func change(_ weekdays: String? = nil, during: String? = nil) throws -> CredentialChange {
        let schedules = CredentialSchedules(
            weekdays: try weekdays.map { [try WeekdaySchedule(text: $0)] } ?? [],
            yearDays: try during.map { [try YearDaySchedule(text: $0)] } ?? [])
        return .scheduled(.always, try #require(schedules))
    }

    /// What an unlock is answered, on both paths, which are always of one mind.
    private func answer(_ bench: LockBench) throws -> LockResult {
        var signed = bench
        signed.connect(1)
        let challenge = try signed.challenge(1)
        signed.signed(1, unlock(challenge))
        let result = try signed.receipt(1, answering: challenge.id).result
        #expect(signed.orders.isEmpty == (result != .accepted))
        var encrypted = bench
        encrypted.connectEncrypted(1)
        encrypted.encrypted(1, unlock(try encrypted.challenge(1)))
        let told = encrypted.outputs.compactMap { output -> LockResult? in
            guard case .notifyLockState(link, let octets) = output else { return nil }
            return (try? LockState(exactly: octets))?.result
        }
        #expect(told.first == result)
        #expect(encrypted.orders.isEmpty == (result != .accepted))
        return result
    }

    @Test(
        "By the door's time, in a schedule and not: the bolt moves for the one, and the other is told why it does not")
    func inAndOut() throws {
        #expect(try answer(try bench("fri 09:00-10:00")) == .accepted)
        #expect(try answer(try bench("fri 08:00-09:00")) == .outsideSchedule)
        #expect(try answer(try bench("mon-thu 09:00-10:00")) == .outsideSchedule)
        #expect(try answer(try bench(during: "2027-01-15T09:00/2027-01-15T09:01")) == .accepted)
        #expect(try answer(try bench(during: "2027-01-15T09:01/2027-01-15T10:00")) == .outsideSchedule)
        #expect(try answer(try bench(during: "2027-01-15T08:00/2027-01-15T09:00")) == .credentialExpired)
    }

    @Test("The schedule ends, and with it the next command's grant; the one before has been carried out")
    func ending() throws {
        var bench = try bench("fri 09:00-10:00")
        bench.wallClockSeconds = 1_800_003_599
        #expect(try answer(bench) == .accepted)
        bench.wallClockSeconds = 1_800_003_600
        #expect(try answer(bench) == .outsideSchedule)
    }

    @Test("Key Status is refused outside of the schedule, as a command is")
    func keyStatus() throws {
        for (weekdays, result) in [
            ("fri 09:00-10:00", ControlPointResult.success), ("fri 10:00-11:00", .notPermitted),
        ] {
            var bench = try bench(weekdays)
            bench.connectEncrypted(1)
            bench.put(.controlPoint(link, ControlPointRequest(opcode: .keyStatus).encoded))
            let answers = bench.outputs.compactMap { output -> ControlPointResult? in
                guard case .indicateControlPoint(link, let octets) = output else { return nil }
                return (try? ControlPointResponse(exactly: octets))?.result
            }
            #expect(answers == [result])
        }
    }

    @Test("A clock that is not set, or was set back: who has a schedule is refused, and who has none is not concerned")
    func untrustedClock() throws {
        for clock in [nil, 1_799_999_000] as [Int64?] {
            var bench = try bench("mon-sun 00:00-24:00", holidays: ["2020-01-01T00:00/2030-01-01T00:00 vacation"])
            bench.wallClockSeconds = clock
            #expect(try answer(bench) == .clockUntrusted)
            bench.put(.administration(.named("Alice", .scheduled(.always, .none))))
            #expect(try answer(bench) == .accepted)
        }
    }

    @Test("A holiday takes the week day schedule away, and vacation the other one too")
    func holidays() throws {
        let span = "2027-01-15T00:00/2027-01-16T00:00"
        #expect(try answer(try bench("fri 09:00-10:00", holidays: [span])) == .outsideSchedule)
        #expect(try answer(try bench(during: span, holidays: [span])) == .accepted)
        #expect(try answer(try bench(during: span, holidays: [span + " vacation"])) == .outsideSchedule)
        #expect(try answer(try bench(holidays: [span + " vacation"])) == .accepted)
    }

    @Test("A change is kept and told in the audit, once; the same again is no change, and Bob's rules are his own")
    func change() throws {
        var bench = LockBench()
        let change = try change("fri 09:00-10:00")
        bench.put(.administration(.named("Alice", change)))
        #expect(bench.events == [.administered(CredentialID(rawValue: 1), name: "Alice", .scheduled)])
        let kept = bench.store.committed.credentials
        #expect(kept[CredentialID(rawValue: 1)]?.schedules.weekdays.map(\.description) == ["fri 09:00-10:00"])
        #expect(kept[CredentialID(rawValue: 2)]?.schedules.isEmpty == true)
        bench.put(.administration(.named("Alice", change)))
        #expect(bench.outputs.isEmpty)
        bench.put(.administration(.named("Alice", .scheduled(.always, .none))))
        #expect(bench.events == [.administered(CredentialID(rawValue: 1), name: "Alice", .scheduled)])
    }

    @Test("A launch finds the schedule as it was left")
    func relaunch() throws {
        var before = try bench("fri 10:00-11:00")
        var after = LockBench(before.store.committed)
        #expect(try answer(before) == .outsideSchedule)
        #expect(try answer(after) == .outsideSchedule)
        (before.wallClockSeconds, after.wallClockSeconds) = (1_800_003_600, 1_800_003_600)
        #expect(try answer(before) == .accepted)
        #expect(try answer(after) == .accepted)
    }
}
