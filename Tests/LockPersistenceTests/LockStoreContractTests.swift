import BluetoothCore
import LockPeripheral
import LockProtocol
import MemoryStores
import StatePersistence
import TestSupport
import Testing

@testable import LockPersistence

@Suite("The lock's store")
struct LockStoreContractTests {
    let scratch = Scratch()

    @Test("keeps every kind of fact as memory does, by random facts with edge values")
    func random() throws {
        var generator = SeededGenerator(announcedBy: "LockStoreContractTests.random")
        let memory = MemoryLockStore()
        var head = AuditHead.empty
        var kinds: Set<Int> = []
        for round in 0..<40 {
            let database = try scratch.open()
            let store = SQLiteLockStore(database)
            #expect(try store.load() == memory.load(), "round \(round), seed \(generator.seed)")
            for _ in 0..<Int(generator.next() % 20 + 1) {
                let kind = Int(generator.next() % 15)
                kinds.insert(kind)
                let mutation = LockMutation.random(kind, using: &generator, head: &head)
                memory.append(mutation)
                store.append(mutation)
            }
            try database.commit([memory, store])
        }
        #expect(kinds.count == 15)
        let store = SQLiteLockStore(try scratch.open())
        #expect(try store.load() == memory.load(), "seed \(generator.seed)")
        let all = try store.auditRecords(after: 0, limit: .max)
        #expect(all == memory.audit)
        #expect(AuditHead.empty.firstBreak(in: all) == nil)
        #expect(try store.auditRecords(after: 3, limit: 2) == memory.auditRecords(after: 3, limit: 2))
        #expect(try store.auditRecords(after: .max, limit: 2) == [])
    }

    @Test("counts the audit's records in a range, so many at once, as memory does")
    func auditCount() throws {
        let database = try scratch.open()
        let store = SQLiteLockStore(database, auditRecordsMaximum: 30)
        let memory = MemoryLockStore(auditRecordsMaximum: 30)
        var head = AuditHead.empty
        for number in 1...50 as ClosedRange<UInt64> {
            let record = head.append(
                .launched, boot: BootID(bits: 1), at: Instant(nanoseconds: number), wallClockSeconds: nil,
                holder: AuditHolder(credential: nil, isProtected: number.isMultiple(of: 3)))
            for store in [store, memory] as [any LockStore] { store.append(.audit(record)) }
            try database.commit([memory, store])
        }
        for range in [0...UInt64.max, 1...50, 1...1, 20...40, 50...50, 51...UInt64.max, UInt64.max...UInt64.max] {
            for limit in [0, 1, 7, 30, 100] {
                #expect(try store.auditCount(in: range, limit: limit) == memory.auditCount(in: range, limit: limit))
            }
        }
        #expect(try store.auditCount(in: 0...UInt64.max, limit: 100) == AuditCount(records: 30, last: 50))
    }

    @Test("is a new lock's when nothing was kept")
    func empty() throws {
        let store = SQLiteLockStore(try scratch.open())
        #expect(try store.load() == LockSnapshot())
        #expect(try store.auditRecords(after: 0, limit: 10) == [])
        #expect(!store.hasPending)
    }

    @Test("neither changes nor drops audit records, nor takes one in place of another")
    func auditIsAppendOnly() throws {
        let database = try scratch.open()
        let store = SQLiteLockStore(database)
        var head = AuditHead.empty
        let boot = BootID(bits: 1)
        let first = head.append(.launched, boot: boot, at: Instant(nanoseconds: 1), wallClockSeconds: nil)
        store.append(.audit(first))
        try database.commit([store])
        for sql in ["UPDATE lock_audit SET at = 0", "DELETE FROM lock_audit"] as [StaticString] {
            #expect(throws: StoreError.self) {
                try database.transaction { try database.statement(sql).run() }
            }
        }
        var other = first
        other.at = Instant(nanoseconds: 2)
        store.append(.bolt(BoltRecord(position: .locked)))
        store.append(.audit(other))
        #expect(throws: StoreError.self) { try database.commit([store]) }
        #expect(try store.auditRecords(after: 0, limit: 9) == [first])
        #expect(try store.load().bolt == BoltRecord())
    }

    @Test(
        "keeps as many audit records as it may, and forgets the oldest for one more; what is left is one chain",
        arguments: [1, 5])
    func auditRetention(_ most: UInt64) throws {
        let database = try scratch.open()
        let store = SQLiteLockStore(database, auditRecordsMaximum: most)
        let memory = MemoryLockStore(auditRecordsMaximum: most)
        var head = AuditHead.empty
        var records: [AuditRecord] = []
        for number in 1...most + 3 {
            let record = head.append(
                .launched, boot: BootID(bits: 1), at: Instant(nanoseconds: number), wallClockSeconds: nil)
            records.append(record)
            for store in [store, memory] as [any LockStore] { store.append(.audit(record)) }
            try database.commit([memory, store])
            let kept = Array(records.suffix(Int(most)))
            for store in [store, memory] as [any LockStore] {
                #expect(try store.auditRecords(after: 0, limit: .max) == kept)
                let cuts = try store.auditCuts(after: 0, limit: .max)
                #expect(cuts.map(\.first) == (number > most ? [1] : []))
                #expect(cuts.map(\.last) == (number > most ? [number - most] : []))
                #expect(AuditHead.empty.firstBreak(in: kept, cuts: cuts) == nil)
                #expect(try store.load().auditHead == head)
            }
        }
        #expect(throws: StoreError.self) {
            try database.transaction { try database.statement("DELETE FROM lock_audit").run() }
        }
    }

    @Test(
        "forgets the same records as in memory, whoever writes how many, and across launches; what is left is one chain"
    )
    func auditShares() throws {
        var generator = SeededGenerator(announcedBy: "LockStoreContractTests.auditShares")
        let most: UInt64 = 40
        let memory = MemoryLockStore(auditRecordsMaximum: most)
        var store = SQLiteLockStore(try scratch.open(), auditRecordsMaximum: most)
        var head = AuditHead.empty
        let people: [CredentialID?] = [
            nil, CredentialID(rawValue: 1), CredentialID(rawValue: 2), CredentialID(rawValue: .max),
        ]
        for number in 1...1_000 as ClosedRange<UInt64> {
            if number.isMultiple(of: 90) { store = SQLiteLockStore(try scratch.open(), auditRecordsMaximum: most) }
            // One of them writes most of the time.
            let isBusy = Bool.random(using: &generator)
            let holder = AuditHolder(
                credential: isBusy ? people[1] : generator.oneOf(people),
                isProtected: !isBusy && generator.oneOf([true, false, false]))
            let record = head.append(
                .launched, boot: BootID(bits: 1), at: Instant(nanoseconds: number), wallClockSeconds: nil,
                holder: holder)
            for store in [store, memory] as [any LockStore] { store.append(.audit(record)) }
            try store.database.commit([memory, store])
            let (records, cuts) = (
                try store.auditRecords(after: 0, limit: .max), try store.auditCuts(after: 0, limit: .max)
            )
            let expected = try memory.auditCuts(after: 0, limit: .max)
            try #require(records == memory.audit && cuts == expected)
            try #require(AuditHead.empty.firstBreak(in: records, cuts: cuts) == nil)
            try #require(records.count == Int(min(number, most)))
        }
        let kept = memory.audit
        #expect(kept.filter(\.holder.isProtected).count >= Int(most / 2))
        #expect(try store.auditCuts(after: 0, limit: .max).count > 1, "there are records between those that went")
    }

    @Test("an audit that lacks a record, has another one's hash in a cut, or a cut too many, is no chain")
    func tamperedCuts() throws {
        let store = SQLiteLockStore(try scratch.open(), auditRecordsMaximum: 4)
        var head = AuditHead.empty
        for number in 1...9 as ClosedRange<UInt64> {
            let holder = AuditHolder(credential: nil, isProtected: number.isMultiple(of: 3))
            store.append(
                .audit(
                    head.append(
                        .launched, boot: BootID(bits: 1), at: Instant(nanoseconds: number), wallClockSeconds: nil,
                        holder: holder)))
        }
        try store.database.commit([store])
        let (records, cuts) = (
            try store.auditRecords(after: 0, limit: .max), try store.auditCuts(after: 0, limit: .max)
        )
        #expect(records.map(\.sequence) == [3, 6, 8, 9])
        #expect(cuts.map { $0.first...$0.last } == [1...2, 4...5, 7...7])
        let whole = AuditHead.empty
        #expect(whole.firstBreak(in: records, cuts: cuts) == nil)
        #expect(whole.firstBreak(in: records, cuts: Array(cuts.dropFirst())) == 3)
        #expect(whole.firstBreak(in: records, cuts: [cuts[0], cuts[2]]) == 6)
        #expect(whole.firstBreak(in: records.filter { $0.sequence != 6 }, cuts: cuts) == 8)
        #expect(whole.firstBreak(in: records.filter { $0.sequence != 8 }, cuts: cuts) == 9)
        let other = AuditCut(first: 4, last: 5, hash: cuts[0].hash)
        #expect(whole.firstBreak(in: records, cuts: [cuts[0], other, cuts[2]]) == 6)
        let more = AuditCut(first: 10, last: 11, hash: cuts[0].hash)
        #expect(whole.firstBreak(in: records, cuts: cuts + [more]) == 10)
    }

    @Test("comes down to what it may keep in steps, when the file has more")
    func auditCatchesUp() throws {
        let database = try scratch.open()
        let before = SQLiteLockStore(database)
        let step = AuditRetention.forgottenAtOnceMaximum
        var head = AuditHead.empty
        func append(to store: SQLiteLockStore) throws -> Int {
            store.append(
                .audit(
                    head.append(.launched, boot: BootID(bits: 1), at: Instant(nanoseconds: 1), wallClockSeconds: nil)))
            try database.commit([store])
            let records = try store.auditRecords(after: 0, limit: .max)
            let cuts = try store.auditCuts(after: 0, limit: .max)
            #expect(AuditHead.empty.firstBreak(in: records, cuts: cuts) == nil)
            return records.count
        }
        func launch() -> SQLiteLockStore { SQLiteLockStore(database, auditRecordsMaximum: 10) }
        for _ in 0..<step + 9 { _ = try append(to: before) }
        #expect(try append(to: launch()) == 10)
        for _ in 0..<2 * step { _ = try append(to: before) }
        let after = launch()
        #expect(try append(to: after) == 11 + Int(step))
        #expect(try append(to: after) == 12)
        #expect(try append(to: after) == 10)
    }

    @Test("counts launches that follow each other, and the count is void with the next record")
    func relaunches() throws {
        var outputs: [LockOutput] = []
        var machine: LockMachine?
        func commit() throws -> LockSnapshot {
            let database = try scratch.open()
            let store = SQLiteLockStore(database)
            for case .persist(let fact) in outputs { store.append(fact) }
            try database.commit([store])
            outputs = []
            return try store.launch()
        }
        func launch() throws -> LockSnapshot {
            machine = LockMachine(
                restoring: try commit(), reading: BoltReading(position: .locked, door: .closed), boot: BootID(bits: 1),
                receiptHandle: AttributeHandle(1), at: LockMoment(now: Instant(nanoseconds: 1)), into: &outputs)
            return try commit()
        }
        func events() throws -> [AuditEvent] {
            let records = try SQLiteLockStore(scratch.open()).auditRecords(after: 0, limit: .max)
            #expect(AuditHead.empty.firstBreak(in: records) == nil)
            return records.map(\.event)
        }
        // The first finds the bolt somewhere.
        _ = try launch()
        let first = try events()
        for times in 0...4 as ClosedRange<UInt64> {
            let tail = try launch().auditTail
            #expect(tail.isLaunch && tail.relaunches == times)
        }
        #expect(try events() == first + [.launched])
        machine?.handle(
            .actuator(.bolt(.jammed)), at: LockMoment(now: Instant(nanoseconds: 2)), random: 1, into: &outputs)
        #expect(try commit().auditTail == AuditTail())
        #expect(try events() == first + [.launched, .relaunched(times: 4), .bolt(.jammed)])
        #expect(try launch().auditTail.relaunches == 0, "of another launch")
    }

    @Test("shows an audit that was tampered with in the file as a break in its chain")
    func tamperedAudit() throws {
        let database = try scratch.open()
        let store = SQLiteLockStore(database)
        var head = AuditHead.empty
        for second in 1...5 {
            let record = head.append(
                .launched, boot: BootID(bits: 1), at: Instant(nanoseconds: UInt64(second)),
                wallClockSeconds: Int64(second))
            store.append(.audit(record))
        }
        try database.commit([store])
        try database.transaction {
            try database.statement("DROP TRIGGER lock_audit_is_never_changed").run()
            try database.statement("UPDATE lock_audit SET wall_clock_seconds = 9 WHERE sequence = 3").run()
        }
        #expect(AuditHead.empty.firstBreak(in: try store.auditRecords(after: 0, limit: 9)) == 3)
    }
}

extension CredentialSchedules {
    /// A night of each kind.
    static let sample: Self = {
        guard let week = try? WeekdaySchedule(text: "fri-sun 22:00-06:00"),
            let span = try? YearDaySchedule(text: "2026-12-24T22:00/2026-12-25T06:00"),
            let schedules = Self(weekdays: [week, week], yearDays: [span])
        else { fatalError("the sample is none") }
        return schedules
    }()
}

extension LockCalendar {
    static let sample: Self = {
        guard let zone = try? TimeZoneRule(text: "AEST-10AEDT,M10.1.0,M4.1.0/3"),
            let holiday = try? HolidaySchedule(text: "2026-12-24T00:00/2026-12-26T24:00 vacation"),
            let calendar = Self(timeZone: zone, holidays: [holiday])
        else { fatalError("the sample is none") }
        return calendar
    }()
}

extension LockMutation {
    static func random(_ kind: Int, using generator: inout SeededGenerator, head: inout AuditHead) -> Self {
        let id = CredentialID(rawValue: generator.oneOf([1, 2, .max]))
        let bond: UInt64 = generator.oneOf([0, 7, UInt64(Int64.max), .max])
        let boot = BootID(bits: generator.edge())
        let at = Instant(nanoseconds: generator.edge())
        let command = LockCommand(
            operation: generator.oneOf(LockOperation.known), argument: .after(seconds: 5),
            challenge: ChallengeID(bits: generator.edge()))
        switch kind {
        case 0, 1:
            return .credential(
                Credential(
                    id: id, name: generator.oneOf(["", "Änne", "'; --"]), role: generator.oneOf(Role.allCases),
                    isEnabled: generator.oneOf([true, false]), bond: generator.maybe(bond),
                    validity: Validity(
                        notBeforeSeconds: generator.maybe(-5), notAfterSeconds: generator.maybe(generator.edge())),
                    schedules: generator.oneOf([.none, .sample]),
                    user: generator.maybe(generator.oneOf(["user", "Änne"])),
                    kind: generator.oneOf([.ordinary, .disposable, .expiring(minutes: 2_880), .duress])))
        case 2: return .credentialRemoved(id)
        case 3:
            return .settings(
                LockSettings(
                    relockSeconds: generator.maybe(generator.edge()), lockAndGoSeconds: generator.edge(),
                    challengeLifeMilliseconds: generator.edge(), acceptsSigned: generator.oneOf([true, false]),
                    calendar: generator.oneOf([.utc, .sample]), mode: generator.oneOf(LockMode.allCases)))
        case 4:
            let origin = CommandOrigin(
                bond: bond, credential: id, challenge: command.challenge, operation: command.operation)
            let intent = Intent(
                id: IntentID(rawValue: generator.edge()), movement: generator.oneOf(Movement.allCases),
                origin: generator.oneOf([.command(origin), .rule, .recovery]), boot: boot,
                deadline: generator.maybe(at), phase: generator.oneOf([.decided, .moving]))
            return .intent(generator.maybe(intent))
        case 5:
            return .bolt(
                BoltRecord(
                    position: generator.oneOf(BoltPosition.allCases), door: DoorCode(rawValue: generator.edge())))
        case 6: return .relock(generator.maybe(BootDeadline(boot: boot, at: at)))
        case 7:
            return .lastCommand(
                bond: bond,
                LastCommand(
                    challenge: command.challenge, signCounter: generator.maybe(generator.edge()),
                    result: LockResult(rawValue: generator.edge()), phase: CommandPhase(rawValue: generator.edge())))
        case 8: return .receiptCounters(bond: bond, reservedBelow: generator.edge())
        case 9: return .bondForgotten(bond)
        case 10:
            let life = BondLife(boot: boot, until: at, milliseconds: generator.edge())
            return .unproven(bond: bond, generator.maybe(life))
        case 12: return .hold(generator.maybe(generator.oneOf(DoorHold.allCases)))
        case 13: return .ajar(generator.maybe(BootDeadline(boot: boot, at: at)))
        case 11:
            var lockout = Lockout(in: boot)
            for _ in 0..<generator.oneOf([1, 9, 10, 25]) { _ = lockout.fail(now: at) }
            return .lockout(bond: bond, generator.maybe(lockout))
        default:
            let audited = AuditedCommand(
                bond: bond, credential: generator.maybe(id), command: command,
                signCounter: generator.maybe(generator.edge()))
            let event: AuditEvent = generator.oneOf([
                .granted(audited), .refused(audited, .notPermitted), .refusalsSuppressed(bond: bond),
                .idleGrantsSuppressed(bond: bond),
                .securing(recovering: true), .outcome(of: 3, .unknown), .bolt(.jammed), .door(.forced), .launched,
                .administered(id, name: "Änne", .removed), .securedUnrecorded,
                .stateConfirmed(.older), .bondDeleted(bond: bond), .bondExpired(bond: bond),
                .windowOpened(name: "Änne", .guest), .windowClosed(name: "", .burnt),
                .enrolled(id, name: "Änne", .owner, bond: bond),
                .auditDoubted(.shortened),
                .managed(by: AuditedManager(credential: id, name: "Björn"), id, name: "Änne", .scheduled),
                .windowManaged(by: AuditedManager(credential: id, name: ""), name: "Änne", .closed),
                .procedureRefused(bond: bond, credential: generator.maybe(id), .removeCredential),
                .settingsManaged(
                    by: AuditedManager(credential: id, name: "Änne"),
                    LockSettings(calendar: .sample, mode: generator.oneOf(LockMode.allCases))),
                .modeChanged(
                    generator.oneOf(LockMode.allCases),
                    by: generator.maybe(AuditedManager(credential: id, name: "Änne"))),
                .timeSet(by: AuditedManager(credential: id, name: ""), seconds: generator.oneOf([.min, .max])),
                .reset, .operatorIs(user: generator.edge()), .stopped,
                .clockStepped(expected: .min, found: generator.oneOf([0, .max])),
                .held(nil), .held(.fire), .opening(.exit), .opening(.hold), .operated(.unlock), .operated(.lock),
                .settingsChanged(LockSettings(relockSeconds: generator.maybe(generator.edge()))),
            ])
            let holder = AuditHolder(credential: generator.maybe(id), isProtected: generator.oneOf([true, false]))
            return .audit(
                head.append(event, boot: boot, at: at, wallClockSeconds: generator.maybe(-1), holder: holder))
        }
    }
}
