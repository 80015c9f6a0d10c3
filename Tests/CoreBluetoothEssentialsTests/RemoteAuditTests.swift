import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CoreBluetoothEssentials
import LockCentral
import LockJudge
import LockPeripheral
import LockProtocol
import MemoryStores
import SecurityManager
import Simulation
import Testing
import WorldSupport

@Suite("A lock's audit over the air", .capturesFailures)
struct RemoteAuditTests {
    private static let subscriptions: Set<BluetoothUUID> = [LockUUID.recordAccessControlPoint, LockUUID.auditRecord]

    /// Alice's key has enrolled, and an app in its place asks. The lock has so many records more.
    private static func scene(
        mtu: Int, records: Int = 0, keeping most: UInt64 = AuditRetention.recordsMaximum,
        subscribes: Set<BluetoothUUID> = subscriptions, prepare: (Household) throws -> Void = { _ in }
    ) throws -> (Household, RemoteManager) {
        let signer = Ed25519SigningKey(seed: Secret([UInt8](repeating: 3, count: 32)))
        let household = try Household(auditRecordsMaximum: most, auditSigner: signer)
        try household.enrollToTheEnd("alice")
        try prepare(household)
        fill(household, records)
        household.pocket.configuration.mtu = mtu
        return (household, try household.launchManager(subscribes: subscribes))
    }

    /// The lock is relaunched with a longer audit: its machine reads the end of the chain at a launch.
    private static func fill(_ household: Household, _ records: Int) {
        guard records > 0 else { return }
        household.killLock()
        var head = household.lockStore.committed.auditHead
        for number in 0..<records {
            let record = head.append(
                .administered(
                    CredentialID(rawValue: UInt64(number)), name: String(repeating: "n", count: number % 65),
                    .disabled), boot: BootID(bits: 7), at: Instant(nanoseconds: UInt64(number)),
                wallClockSeconds: 1_800_000_000, holder: .administration)
            household.lockStore.append(.audit(record))
        }
        household.lockStore.didCommit()
        household.launchLock()
        household.world.run(forMilliseconds: 1_000)
    }

    private static func ask(
        _ procedure: RecordAccessProcedure, _ household: Household, _ manager: RemoteManager
    ) throws -> RecordAccessResponse {
        let count = manager.recordAnswers.count
        household.call(household.pocket) { manager.ask(procedure) }
        try #require(household.world.run(forMilliseconds: 600_000) { manager.recordAnswers.count > count })
        // The confirmation is on its way.
        household.world.run(forMilliseconds: 500)
        return try #require(manager.recordAnswers.last)
    }

    /// Asks, and waits until so many values have come of it.
    private static func begin(
        _ procedure: RecordAccessProcedure, _ household: Household, _ manager: RemoteManager, parts: Int
    ) throws {
        let before = manager.parts.count
        household.call(household.pocket) { manager.ask(procedure) }
        try #require(household.world.run(forMilliseconds: 60_000) { manager.parts.count >= before + parts })
        try #require(manager.recordAnswers.isEmpty)
    }

    private static func reading(_ parts: some Sequence<[UInt8]>) -> AuditReading {
        var reading = AuditReading()
        for part in parts { reading.take(part) }
        return reading
    }

    @Test(
        "An owner reads all of it at the smallest MTU and at usual ones, link by link to its end",
        arguments: [23, 185, 247])
    func all(mtu: Int) throws {
        let (household, manager) = try Self.scene(mtu: mtu, records: 150)
        #expect(RecordAccessOpcode.known.allSatisfy { manager.capabilities?.contains(ControlPointOpcode($0)) == true })
        let records = household.lockStore.audit.map(\.sequence)
        #expect(try Self.ask(.count(.all), household, manager) == .numberOfRecords(UInt32(records.count)))
        #expect(try Self.ask(.report(.all), household, manager) == .result(of: .reportStoredRecords, .success))
        let reading = Self.reading(manager.parts)
        #expect(reading.faults.isEmpty && reading.sequences == records && reading.cuts.isEmpty, "\(reading.faults)")
        #expect(reading.signedEnd == records.last)
        #expect(manager.parts.allSatisfy { $0.count <= mtu - 3 })
        // A record is longer than 20 octets, and shorter than 182.
        #expect(manager.parts.contains { $0.count == 20 } == (mtu == 23))
        #expect(manager.writes.allSatisfy { $0 == nil })
    }

    @Test("First, last and a range; a count of each; what nobody has is not found")
    func selections() throws {
        let (household, manager) = try Self.scene(mtu: 247, records: 60, keeping: 50)
        let records = household.lockStore.audit.map(\.sequence)
        let (first, last) = (try #require(records.first), try #require(records.last))
        let cut = try #require(try household.lockStore.auditCuts(after: 0, limit: 1).first)
        for (selection, wanted) in [
            (.first, [first]), (.last, [last]),
            (.within(cut.last + 3...cut.last + 5), [3, 4, 5].map { cut.last + $0 }),
            (.from(last - 1), [last - 1, last]), (.within(cut.first...cut.last), []), (.from(last + 1), []),
        ] as [(RecordSelection, [UInt64])] {
            let before = manager.parts.count
            let count = try Self.ask(.count(selection), household, manager)
            let result = try Self.ask(.report(selection), household, manager)
            #expect(result == .result(of: .reportStoredRecords, wanted.isEmpty ? .noRecordsFound : .success))
            #expect(count == .numberOfRecords(UInt32(wanted.count)))
            var reading = AuditReading(from: selection == .first ? 1 : wanted.first ?? 1)
            for part in manager.parts.dropFirst(before) { reading.take(part) }
            #expect(reading.sequences == wanted && reading.faults.isEmpty, "\(reading.faults)")
            #expect(reading.signedEnd == (wanted.last == last ? last : nil))
            #expect(reading.cuts == (selection == .first && cut.first == 1 ? [cut.first...cut.last] : []))
        }
    }

    @Test("A link that is lost in the middle costs nothing: its reader goes on on the next one", arguments: [23, 247])
    func resumption(mtu: Int) throws {
        let (household, manager) = try Self.scene(mtu: mtu, records: 150)
        let records = household.lockStore.audit.map(\.sequence)
        try Self.begin(.report(.all), household, manager, parts: 30)
        household.world.cut(household.door, household.pocket)
        try #require(household.world.run(forMilliseconds: 60_000) { manager.linksLost == 1 })
        var reading = Self.reading(manager.parts)
        reading.linkEnded()
        let read = reading.sequences.count
        #expect(read > 0 && read < records.count)
        household.world.join(household.door, household.pocket)
        try #require(household.world.run(forMilliseconds: 60_000) { manager.isReady })
        let before = manager.parts.count
        let answer = try Self.ask(.report(.from(reading.next)), household, manager)
        #expect(answer == .result(of: .reportStoredRecords, .success) && manager.recordAnswers.count == 1)
        for part in manager.parts.dropFirst(before) { reading.take(part) }
        #expect(reading.faults.isEmpty && reading.sequences == records, "\(reading.faults)")
        #expect(reading.signedEnd == records.last)
    }

    @Test("A reader that breaks off is sent no more, and may ask again; with nothing under way it is told so")
    func abort() throws {
        let (household, manager) = try Self.scene(mtu: 23, records: 400)
        #expect(try Self.ask(.abort, household, manager) == .result(of: .abortOperation, .abortUnsuccessful))
        let before = manager.recordAnswers.count
        household.call(household.pocket) { manager.ask(.report(.all)) }
        try #require(household.world.run(forMilliseconds: 60_000) { manager.parts.count >= 30 })
        #expect(try Self.ask(.abort, household, manager) == .result(of: .abortOperation, .success))
        let parts = manager.parts.count
        household.world.run(forMilliseconds: 60_000)
        #expect(manager.parts.count == parts && manager.recordAnswers.count == before + 1)
        #expect(Self.reading(manager.parts).sequences.count < 300)
        #expect(try Self.ask(.count(.last), household, manager) == .numberOfRecords(1))
    }

    @Test("Second request: while one is under way others are told so, and it goes on undisturbed")
    func secondRequest() throws {
        let (household, manager) = try Self.scene(mtu: 23, records: 100)
        try Self.begin(.report(.all), household, manager, parts: 10)
        let requests: [RecordAccessProcedure] = [.report(.all), .report(.last), .count(.all)]
        household.call(household.pocket) { for request in requests { manager.ask(request) } }
        #expect(household.world.run(forMilliseconds: 600_000) { !manager.recordAnswers.isEmpty })
        #expect(manager.writes == [nil, 0xFE, 0xFE, 0xFE])
        #expect(manager.recordAnswers == [.result(of: .reportStoredRecords, .success)])
        let reading = Self.reading(manager.parts)
        #expect(reading.faults.isEmpty && reading.sequences == household.lockStore.audit.map(\.sequence))
    }

    @Test("Who has not asked for what a procedure brings is told so, and nothing is read", arguments: [0, 1])
    func notConfigured(mask: Int) throws {
        let only = mask == 0 ? LockUUID.auditRecord : LockUUID.recordAccessControlPoint
        let (household, manager) = try Self.scene(mtu: 247, subscribes: [only])
        let read = household.lockStore.auditRecordsRead
        household.call(household.pocket) { manager.ask(.report(.all)) }
        #expect(household.world.run(forMilliseconds: 20_000) { !manager.writes.isEmpty })
        household.world.run(forMilliseconds: 2_000)
        #expect(manager.writes == [0xFD] && manager.recordAnswers.isEmpty && manager.parts.isEmpty)
        #expect(household.lockStore.auditRecordsRead == read)
    }

    @Test("A reader that stops to listen in the middle: nothing is read for nobody")
    func deaf() throws {
        let (household, manager) = try Self.scene(mtu: 23, records: 400)
        try Self.begin(.report(.all), household, manager, parts: 10)
        household.call(household.pocket) { manager.listen(false, to: LockUUID.auditRecord) }
        #expect(household.world.run(forMilliseconds: 60_000) { !manager.recordAnswers.isEmpty })
        #expect(manager.recordAnswers == [.result(of: .reportStoredRecords, .procedureNotCompleted)])
        #expect(household.lockStore.auditRecordsRead < 300)
    }

    @Test(
        "A guest, a resident and who only locks are refused, on record, and hear nothing",
        arguments: [Role.guest, .resident, .lockOnly])
    func withoutRight(role: Role) throws {
        let (household, manager) = try Self.scene(mtu: 247) { household in
            var alice = try #require(household.lockStore.committed.credentials.values.first)
            alice.role = role
            household.lockStore.append(.credential(alice))
            household.lockStore.didCommit()
            household.killLock()
            household.launchLock()
            household.world.run(forMilliseconds: 1_000)
        }
        for request in [.report(.all), .count(.all), .abort] as [RecordAccessProcedure] {
            household.call(household.pocket) { manager.ask(request) }
            household.world.run(forMilliseconds: 2_000)
        }
        #expect(manager.writes == [0x08, 0x08, 0x08] && manager.recordAnswers.isEmpty && manager.parts.isEmpty)
        let refused = household.lockStore.audit.compactMap { record -> UInt8? in
            if case .procedureRefused(_, _, let procedure) = record.event { procedure.rawValue } else { nil }
        }
        #expect(refused == [0x21, 0x24, 0x23])
    }

    @Test("An owner who is removed or disabled in the middle, or whose time ends, gets no more", arguments: 0...2)
    func lostMeanwhile(how: Int) throws {
        let (household, manager) = try Self.scene(mtu: 23, records: 400)
        try Self.begin(.report(.all), household, manager, parts: 30)
        let change: CredentialChange = [
            .removed, .disabled, .scheduled(Validity(notAfterSeconds: 1_700_000_000), .none),
        ][how]
        #expect(try household.call(household.door) { try household.lock?.administer("alice", change) } == true)
        let read = household.lockStore.auditRecordsRead
        household.world.run(forMilliseconds: 40_000)
        #expect(household.lockStore.auditRecordsRead == read)
        let reading = Self.reading(manager.parts)
        #expect(reading.sequences.count < 200 && reading.signedEnd == nil)
        if change == .removed {
            #expect(manager.linksLost > 0 && manager.recordAnswers.isEmpty)
        } else {
            #expect(manager.recordAnswers == [.result(of: .reportStoredRecords, .procedureNotCompleted)])
        }
    }

    @Test("Silent reader: nothing more is read for it, and the lock obeys another key meanwhile")
    func silentReader() throws {
        var guest: FurtherKey?
        let (household, manager) = try Self.scene(mtu: 23, records: 2_000) { household in
            try household.openWindow("carl")
            let key = FurtherKey("guest", seed: 53, in: household)
            try key.enroll(try #require(household.code))
            guest = key
        }
        try Self.begin(.report(.all), household, manager, parts: 30)
        household.world.cut(household.door, household.pocket)
        household.world.run(forMilliseconds: 500)
        let read = household.lockStore.auditRecordsRead
        #expect(read < 400)
        #expect(guest?.command(.lock) == .done)
        // The link is not known to be lost yet.
        #expect(household.lock?.status.links.count == 2)
        #expect(household.lockStore.auditRecordsRead == read)
    }

    @Test("A store that cannot be read ends a report, and the lock goes on")
    func unreadable() throws {
        let (household, manager) = try Self.scene(mtu: 23, records: 100)
        household.lockStore.refusesAuditBehind = 50
        #expect(
            try Self.ask(.report(.all), household, manager) == .result(of: .reportStoredRecords, .procedureNotCompleted)
        )
        let reading = Self.reading(manager.parts)
        #expect(reading.faults.isEmpty && reading.sequences == Array(1...UInt64(reading.sequences.count)))
        #expect(reading.signedEnd == nil)
        household.lockStore.refusesAuditBehind = nil
        let answer = try Self.ask(.report(.from(reading.next)), household, manager)
        #expect(answer == .result(of: .reportStoredRecords, .success))
        #expect(Self.reading(manager.parts).signedEnd == household.lockStore.audit.last?.sequence)
    }
}
