import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

/// Alice owns the lock, Adam administers it, Rita lives there. A link has the number of who is on it.
@Suite("Settings and time over the air")
struct ManagedSettingsTests {
    private static let household = [
        Credential(1, "Alice", .owner), Credential(2, "Adam", .administrator), Credential(3, "Rita", .resident),
    ]
    private static let adam = AuditedManager(credential: .of(2), name: "Adam")
    private static let alice = AuditedManager(credential: .of(1), name: "Alice")

    private static func version(_ settings: LockSettings, _ fixed: LockSettings.Fields = []) -> ValueVersion {
        ValueVersion(of: SettingsRecord(settings, fixed: fixed).encoded)
    }

    private func read(_ bench: inout LockBench) throws -> SettingsRecord {
        let answer = bench.ask(.getSettings(.start), on: 1, responseOctets: 512)
        let part = try ValuePart(exactly: try #require(answer?.parameters))
        #expect(part.isLast)
        return try SettingsRecord(exactly: Array(part.octets.dropFirst(4)))
    }

    @Test("What is set is on disk, with who set it, before it is answered; it is read so, and outlives a launch")
    func set() throws {
        var bench = LockBench(Self.household)
        var settings = LockSettings(relockSeconds: 30, lockAndGoSeconds: 5, challengeLifeMilliseconds: 9_000)
        settings.acceptsSigned = false
        settings.calendar = try LockCalendar(timeZone: "CET-1CEST,M3.5.0,M10.5.0/3", holidays: nil)
        let answer = bench.ask(.setSettings(Self.version(LockSettings()), settings), on: 2)
        #expect(answer?.result == .success)
        #expect(answer?.parameters == Self.version(settings).octets)
        #expect(bench.persists.first == .settings(settings))
        #expect(bench.events == [.settingsManaged(by: Self.adam, settings)])
        #expect(bench.store.audit.last?.holder == AuditHolder(credential: .of(2), isProtected: true))
        #expect(bench.outputs.last.map { if case .indicateControlPoint = $0 { true } else { false } } == true)
        #expect(try read(&bench) == SettingsRecord(settings, fixed: []))
        // The same request again, as one whose answer was lost.
        #expect(bench.ask(.setSettings(Self.version(LockSettings()), settings), on: 2)?.result == .changed)
        #expect(bench.ask(.setSettings(Self.version(settings), settings), on: 2)?.result == .success)
        #expect(bench.persists.isEmpty)
        var next = LockBench(bench.store.committed)
        next.connectEncrypted(1, 1)
        #expect(try read(&next) == SettingsRecord(settings, fixed: []))
    }

    @Test("The lock goes by them at once: the next relock, and signed commands")
    func effect() throws {
        var bench = LockBench(Self.household)
        bench.connect(4, 3)
        let challenge = try bench.challenge(4)
        let settings = LockSettings(relockSeconds: 60, acceptsSigned: false)
        #expect(bench.ask(.setSettings(Self.version(LockSettings()), settings), on: 1)?.result == .success)
        bench.signed(4, unlock(challenge))
        #expect(bench.orders.isEmpty)
        bench.connectEncrypted(5, 3)
        bench.encrypted(5, unlock(try bench.challenge(5)))
        #expect(bench.orders.count == 1)
        let relock = bench.store.committed.relock
        #expect(relock == BootDeadline(boot: boot, at: bench.now.advanced(byMilliseconds: 60_000)))
    }

    @Test(
        "What the configuration says is refused to everybody, and said with what is read",
        arguments: [
            (LockSettings.Fields.relock, LockSettings(relockSeconds: nil)),
            (.lockAndGo, LockSettings(lockAndGoSeconds: 7)),
            (.challengeLife, LockSettings(challengeLifeMilliseconds: 1_000)),
            (.acceptsSigned, LockSettings(acceptsSigned: false)),
            (.timeZone, LockSettings(calendar: try LockCalendar(timeZone: "IST-5:30", holidays: nil))),
            (
                .holidays,
                LockSettings(
                    calendar: try LockCalendar(timeZone: "UTC0", holidays: "2026-12-24T00:00/2026-12-27T00:00"))
            ),
        ])
    func fixed(field: LockSettings.Fields, settings: LockSettings) throws {
        #expect(LockSettings().taking(field, from: settings) == settings && settings != LockSettings())
        var bench = LockBench(Self.household)
        bench.fixed = field
        let version = Self.version(LockSettings(), field)
        #expect(try read(&bench) == SettingsRecord(LockSettings(), fixed: field))
        #expect(bench.ask(.setSettings(version, settings), on: 1)?.result == .fixed)
        #expect(bench.persists.isEmpty && bench.store.committed.settings == LockSettings())
        bench.fixed = LockSettings.Fields.all.subtracting(field)
        #expect(bench.ask(.setSettings(Self.version(LockSettings(), bench.fixed), settings), on: 1)?.result == .success)
        #expect(bench.store.committed.settings == settings)
        // A launch with a configuration that says it, and with one that does not.
        #expect(settings.taking(field, from: LockSettings()) == LockSettings())
        #expect(settings.taking(bench.fixed, from: LockSettings()) == settings)
    }

    @Test("What no lock can go by, and a mode among the settings, change nothing")
    func impossible() throws {
        var bench = LockBench(Self.household)
        let possible = [
            LockSettings(relockSeconds: 1, lockAndGoSeconds: 1, challengeLifeMilliseconds: 1_000),
            LockSettings(relockSeconds: 3_600, lockAndGoSeconds: 3_600, challengeLifeMilliseconds: 25_500),
        ]
        for settings in possible { #expect(settings.isPossible) }
        let impossible = [
            LockSettings(relockSeconds: 0), LockSettings(relockSeconds: 3_601), LockSettings(lockAndGoSeconds: 0),
            LockSettings(lockAndGoSeconds: 3_601), LockSettings(challengeLifeMilliseconds: 999),
            LockSettings(challengeLifeMilliseconds: 25_501), LockSettings(challengeLifeMilliseconds: .max),
            LockSettings(mode: .lockdown),
        ]
        for settings in impossible {
            let answer = bench.ask(.setSettings(Self.version(LockSettings()), settings), on: 1)
            #expect(answer?.result == .invalidOperand, "\(settings)")
            #expect(bench.persists.isEmpty)
        }
    }

    @Test("Whoever has no right to it sets neither settings nor the time, and an administrator no time")
    func rights() throws {
        var bench = LockBench(Self.household)
        bench.wallClockSeconds = nil
        let settings = ControlPointProcedure.setSettings(Self.version(LockSettings()), LockSettings(relockSeconds: nil))
        #expect(bench.ask(settings, on: 3)?.result == .notPermitted)
        #expect(bench.ask(.setTime(1_800_000_100), on: 3)?.result == .notPermitted)
        #expect(bench.ask(.getTime, on: 3)?.result == .notPermitted)
        #expect(bench.ask(.setTime(1_800_000_100), on: 2)?.result == .notPermitted)
        #expect(bench.store.committed.settings == LockSettings() && bench.store.committed.toldTime == nil)
        #expect(bench.ask(settings, on: 2)?.result == .success)
    }

    @Test(
        "Attack: a manager whose time is limited changes no zone and no holidays, by which it would come longer; all else it may"
    )
    func limitedCalendar() throws {
        let rules = try CredentialSchedules(weekdays: "fri 07:30-08:30")
        let limited = [
            Credential(
                id: .of(2), name: "Adam", role: .administrator, bond: 2,
                validity: Validity(notAfterSeconds: 1_900_000_000)),
            Credential(id: .of(2), name: "Adam", role: .owner, bond: 2, schedules: rules),
            Credential(id: .of(2), name: "Adam", role: .owner, bond: 2, kind: .disposable),
            Credential(id: .of(2), name: "Adam", role: .administrator, bond: 2, kind: .expiring(minutes: 5)),
        ]
        for adam in limited {
            var bench = LockBench([Self.household[0], adam])
            for calendar in [
                try LockCalendar(timeZone: "IST-5:30", holidays: nil),
                try LockCalendar(timeZone: "UTC0", holidays: "2027-12-24T00:00/2027-12-27T00:00"),
            ] {
                let settings = LockSettings(relockSeconds: 30, calendar: calendar)
                #expect(bench.ask(.setSettings(Self.version(LockSettings()), settings), on: 2)?.result == .notPermitted)
                #expect(bench.store.committed.settings == LockSettings())
            }
            let relock = LockSettings(relockSeconds: 30)
            #expect(bench.ask(.setSettings(Self.version(LockSettings()), relock), on: 2)?.result == .success)
        }
    }

    // MARK: Time

    private func time(_ bench: inout LockBench) throws -> LockTime {
        let answer = bench.ask(.getTime, on: 1)
        return try LockTime(exactly: try #require(answer?.result == .success ? answer?.parameters : nil))
    }

    /// Rita may come from 1,800,000,000 to 1,800,003,600.
    private func scheduled() -> LockBench {
        var household = Self.household
        household[2].validity = Validity(notBeforeSeconds: 1_800_000_000, notAfterSeconds: 1_800_003_600)
        return LockBench(household)
    }

    private func opens(_ bench: inout LockBench) throws -> Bool {
        let link = 100 + bench.nextRandom
        bench.connectEncrypted(link, 3)
        bench.encrypted(link, unlock(try bench.challenge(link)))
        let isOrdered = !bench.orders.isEmpty
        bench.finishMovement()
        bench.run(milliseconds: 11_000)
        bench.finishMovement()
        bench.put(.disconnected(LockLink(rawValue: link)))
        return isOrdered
    }

    @Test("A lock without a clock goes by what an owner has told it, for as long as its machine runs")
    func told() throws {
        var bench = scheduled()
        bench.wallClockSeconds = nil
        #expect(try !opens(&bench))
        #expect(try time(&bench) == LockTime(source: .none, seconds: nil, markSeconds: 1_800_000_000))
        #expect(bench.ask(.setTime(1_800_003_500), on: 1)?.result == .success)
        #expect(bench.events == [.timeSet(by: Self.alice, seconds: 1_800_003_500)])
        #expect(bench.store.audit.last?.wallClockSeconds == 1_800_003_500)
        #expect(try opens(&bench))
        // A kill takes nothing of it.
        let told = bench.now
        bench = LockBench(bench.store.committed, wallClockSeconds: nil)
        bench.now = told
        bench.connectEncrypted(1, 1)
        #expect(try time(&bench).source == .manager)
        #expect(try opens(&bench))
        bench.pass(milliseconds: 100_000)
        #expect(try !opens(&bench))
        // Another boot does: nobody knows how long the machine was off.
        bench = LockBench(bench.store.committed, boot: BootID(bits: 2), wallClockSeconds: nil)
        bench.connectEncrypted(1, 1)
        #expect(try time(&bench).source == .none)
        #expect(try !opens(&bench))
    }

    @Test(
        "Attack: an owner whose time is limited stops no clock by telling the same time each minute; another owner corrects it"
    )
    func limitedTime() throws {
        var household = Self.household
        household[0].validity = Validity(notAfterSeconds: 1_800_000_600)
        household.append(Credential(4, "Olga", .owner))
        var bench = LockBench(household)
        bench.wallClockSeconds = nil
        #expect(bench.ask(.setTime(1_800_000_100), on: 4)?.result == .success)
        bench.pass(milliseconds: 50_000)
        for seconds in [1_800_000_100, 1_800_000_149] as [Int64] {
            #expect(bench.ask(.setTime(seconds), on: 1)?.result == .behind)
        }
        #expect(bench.ask(.setTime(1_800_000_150), on: 1)?.result == .success)
        #expect(bench.ask(.setTime(1_800_000_140), on: 4)?.result == .success)
    }

    @Test("A machine that knows the time is told none, and its time counts from when it has one")
    func machine() throws {
        var bench = scheduled()
        #expect(bench.ask(.setTime(1_800_000_500), on: 1)?.result == .fixed)
        bench.wallClockSeconds = nil
        #expect(bench.ask(.setTime(1_800_000_500), on: 1)?.result == .success)
        #expect(try time(&bench) == LockTime(source: .manager, seconds: 1_800_000_500, markSeconds: 1_800_000_500))
        bench.wallClockSeconds = 1_800_003_601
        #expect(try time(&bench) == LockTime(source: .machine, seconds: 1_800_003_601, markSeconds: 1_800_000_500))
        #expect(try !opens(&bench))
        #expect(bench.ask(.setTime(1_800_003_700), on: 1)?.result == .fixed)
    }

    @Test("No time before the mark is believed, nor one that no owner means: nothing revives what has expired")
    func behind() throws {
        var bench = scheduled()
        bench.wallClockSeconds = 1_800_003_600
        #expect(try !opens(&bench))
        // A machine whose clock was put back is helped by a time that is right, and by no other.
        for clock in [nil, 1_800_000_100] as [Int64?] {
            bench.wallClockSeconds = clock
            for seconds in [1_800_000_100, 1_800_003_539, LockTime.settableSeconds.lowerBound] {
                #expect(bench.ask(.setTime(seconds), on: 1)?.result == .behind)
            }
            for seconds in [.min, 0, LockTime.settableSeconds.lowerBound - 1, 4_102_444_800, .max] as [Int64] {
                #expect(bench.ask(.setTime(seconds), on: 1)?.result == .invalidOperand)
            }
            #expect(bench.persists.isEmpty)
            #expect(try !opens(&bench))
        }
        #expect(bench.ask(.setTime(1_800_003_540), on: 1)?.result == .success)
        #expect(try !opens(&bench))
    }
}
