import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import FaultDisk
import Foundation
import LockPeripheral
import LockProtocol
import SecurityManager
import StoreTrials
import TestSupport
import Testing

@testable import LockPersistence
@testable import StatePersistence

@Suite("Another machine key")
struct KeyRotationTests {
    /// What a launch finds.
    private struct Kept: Equatable, Sendable {
        var opening: [UInt64]
        var relockSeconds: UInt16?
        var doubt: StateDoubt?
        var toldTime: ToldTime?
        var owedAlarms: [OwedAlarm] = []
        var auditDoubt: AuditDoubt?
    }

    private static func open(_ directory: String) throws -> LockFiles {
        try LockFiles(directory, auditRecordsMaximum: 16)
    }

    private static func kept(_ lock: LockFiles) throws -> Kept {
        let snapshot = try lock.store.launch()
        let opening = lock.opening()
        while lock.seal.checkSlice() {}
        return Kept(
            opening: opening, relockSeconds: snapshot.settings.relockSeconds, doubt: lock.seal.doubt,
            toldTime: snapshot.toldTime, owedAlarms: snapshot.owedAlarms, auditDoubt: snapshot.auditDoubt)
    }

    private static let owed = OwedAlarm(.forced(.door), on: 3)
    private static let told = ToldTime(boot: BootID(bits: 7), bootSeconds: 1_800_000_000)

    /// Three credentials in three parts, one of them disabled; settings; a told time; an audit that has been cut.
    private static func prepare(_ directory: String) throws {
        let lock = try open(directory)
        _ = try lock.store.launch()
        try lock.commit([
            .guest(1), .guest(2, isEnabled: false), .guest(3), .settings(LockSettings(relockSeconds: 7)),
            .toldTime(told), .owedAlarms([owed]),
        ])
        var head = AuditHead.empty
        for number in 0..<40 {
            try lock.commit([
                .audit(
                    head.append(
                        .bondDeleted(bond: UInt64(number)), boot: BootID(bits: 7), at: Instant(nanoseconds: 1),
                        wallClockSeconds: nil, holder: .lock))
            ])
        }
    }

    @discardableResult
    private static func rotate(_ directory: String) throws -> MachineKeyRotation.Outcome {
        try MachineKeyRotation.perform(
            directory + "/latch.sqlite", keyFile: directory + "/machine.key", anchor: directory + "/lock.anchor",
            identities: ["peripheral"], components: LockFiles.components)
    }

    private static let expected = Kept(
        opening: [1, 3], relockSeconds: 7, doubt: nil, toldTime: told, owedAlarms: [owed],
        auditDoubt: nil)

    @Test("Everything is there under the new key, signed and in no doubt, and nothing opens with the old one")
    func rotated() throws {
        let scratch = ScratchDirectory()
        try Self.prepare(scratch.path)
        let before = try Self.open(scratch.path).seal.generations
        let outcome = try Self.rotate(scratch.path)
        let keys = try #require(outcome.auditKeys)
        #expect(keys.old != keys.new && outcome.oldKey == scratch.path + "/machine.key.old-1")
        let old = try MachineKey.load(credentialsDirectory: nil, file: outcome.oldKey, mayCreate: false)
        let wrong = #expect(throws: StoreError.self) {
            try StateStore(path: scratch.path + "/latch.sqlite", key: old, components: LockFiles.components)
        }
        #expect(wrong == .wrongMachineKey(path: outcome.oldKey))
        let lock = try Self.open(scratch.path)
        // The set is another one, by one generation: the old key's anchor admits none of it.
        let next = try #require(before.file) + 1
        #expect(lock.seal.generations.file == next && lock.seal.generations.anchor == next)
        #expect(try Self.kept(lock) == Self.expected)
        let reader = LockReader(database: lock.state.database)
        let end = try reader.auditCheckpoint()
        #expect(end?.checkpoint?.isSigned(by: keys.new) == true && end?.checkpoint?.isSigned(by: keys.old) == false)
        let cuts = try reader.auditCuts(after: 0, limit: 100)
        #expect(!cuts.isEmpty && AuditCut.areSigned(cuts, by: keys.new).allSatisfy { $0 })
        #expect(!AuditCut.areSigned(cuts, by: keys.old).contains(true))
        #expect(lock.seal.isTrusted)
    }

    @Test("More credentials and cuts than a slice has: each is the new key's")
    func manyRows() throws {
        let scratch = ScratchDirectory()
        let count = UInt64(KeyRotation.sliceRows) + 44
        do {
            let lock = try Self.open(scratch.path)
            _ = try lock.store.launch()
            try lock.commit(
                (1...count).map { number in
                    .credential(
                        Credential(
                            id: CredentialID(rawValue: number), name: "n\(number)", role: .guest, bond: number))
                } + [.settings(LockSettings())])
            let signer = AuditSigner(lock.state.keys)
            try lock.state.database.transaction {
                for number in 1...count {
                    let cut = signer.signed(
                        AuditCut(
                            first: 2 * number, last: 2 * number, hash: [UInt8](repeating: 7, count: 32), signature: nil)
                    )
                    try lock.state.database.statement("INSERT INTO lock_audit_cut VALUES (?, ?, ?, ?)").run([
                        SQLValue(cut.last), SQLValue(cut.first), .blob(cut.hash), SQLValue(cut.signature),
                    ])
                }
            }
        }
        let keys = try #require(try Self.rotate(scratch.path).auditKeys)
        let lock = try Self.open(scratch.path)
        #expect(lock.opening(among: 1...count) == Array(1...count))
        #expect(lock.seal.isTrusted)
        let cuts = try LockReader(database: lock.state.database).auditCuts(after: 0, limit: Int(count) + 1)
        #expect(cuts.count == Int(count) && AuditCut.areSigned(cuts, by: keys.new).allSatisfy { $0 })
    }

    @Test("Altered row and forged cut: what the old key has not authenticated the new one does not either")
    func altered() throws {
        let scratch = ScratchDirectory()
        try Self.prepare(scratch.path)
        do {
            let lock = try Self.open(scratch.path)
            try lock.execute("UPDATE lock_credential SET role = 1 WHERE name = 'n1'")
            try lock.execute("UPDATE lock_settings SET relock_seconds = NULL")
            try lock.execute("UPDATE lock_audit_cut SET signature = zeroblob(64)")
            try lock.execute("UPDATE lock_state SET audit_signature = zeroblob(64)")
        }
        try Self.rotate(scratch.path)
        let lock = try Self.open(scratch.path)
        let kept = try Self.kept(lock)
        #expect(
            kept
                == Kept(
                    opening: [3], relockSeconds: LockSettings().relockSeconds, doubt: nil, toldTime: Self.told,
                    owedAlarms: [Self.owed],
                    auditDoubt: .signatureDamaged))
        let key = AuditSigner(lock.state.keys).publicKey
        let cuts = try LockReader(database: lock.state.database).auditCuts(after: 0, limit: 100)
        #expect(!cuts.isEmpty && !AuditCut.areSigned(cuts, by: key).contains(true))
    }

    /// Tables of which a rotation changes rows. The seal is not among them: a database whose seal is damaged is in doubt.
    private static let rewritten: Set<String> = [
        "host_bond", "host_identity", "lock_audit", "lock_audit_cut", "lock_credential", "lock_settings", "lock_state",
        "store_fact",
    ]

    @Test("Whatever is in which column of a row: the database gets its new key, and the other rows are as they were")
    func damagedColumns() throws {
        let base = ScratchDirectory()
        try Self.prepare(base.path)
        try Self.addBondsAndCut(base.path)
        try Self.settleLog(base.path)
        let path = base.path + "/latch.sqlite"
        var count = 0
        for column in try DamagedFile.columns(of: path) where Self.rewritten.contains(column.table) {
            for value in column.damages {
                let scratch = ScratchDirectory()
                for name in ["latch.sqlite", "machine.key", "lock.anchor"] {
                    try FileManager.default.copyItem(atPath: base.path + "/" + name, toPath: scratch.path + "/" + name)
                }
                guard try DamagedFile.inflict(value, on: column, in: scratch.path + "/latch.sqlite") else { continue }
                count += 1
                do { try Self.rotate(scratch.path) } catch MachineKeyRotation.Refusal.inDoubt {
                    // A row of the set that is another one: its owner confirms it first.
                    #expect(["lock_credential.id", "lock_settings.only"].contains("\(column)"), "\(column) = \(value)")
                    continue
                } catch {
                    Issue.record("\(column) = \(value): \(error)")
                    continue
                }
                let lock = try Self.open(scratch.path)
                _ = try lock.store.launch()
                #expect(lock.opening().contains(3), "\(column) = \(value)")
                let host = SQLiteHostStore(lock.state, name: "peripheral")
                let isHost = (try? host.launch()) != nil
                #expect(isHost || column.table == "host_identity", "\(column) = \(value)")
                #expect(!isHost || host.bond(BondID(2)) != nil, "\(column) = \(value)")
                let cuts = try LockReader(database: lock.state.database).auditCuts(after: Self.cutThrough - 1, limit: 9)
                #expect(
                    AuditCut.areSigned(cuts, by: AuditSigner(lock.state.keys).publicKey).first == true,
                    "\(column) = \(value)")
            }
        }
        #expect(count > 100, "\(count)")
    }

    private static let cutThrough: UInt64 = 1_000_000

    private static func addBondsAndCut(_ directory: String) throws {
        let state = try open(directory).state
        let host = SQLiteHostStore(state, name: "peripheral")
        for fact in try Household.hostFacts(.peripheral, 100) { host.append(fact) }
        try state.database.commit([host])
        let cut = AuditSigner(state.keys).signed(
            AuditCut(first: cutThrough, last: cutThrough, hash: [UInt8](repeating: 7, count: 32), signature: nil))
        try state.database.transaction {
            try state.database.statement("INSERT INTO lock_audit_cut VALUES (?, ?, ?, ?)").run([
                SQLValue(cut.last), SQLValue(cut.first), .blob(cut.hash), SQLValue(cut.signature),
            ])
        }
    }

    /// The database alone is the file.
    private static func settleLog(_ directory: String) throws {
        let path = directory + "/latch.sqlite"
        let connection = try Connection(path: path, access: .readWrite)
        _ = try MigrationHistory(of: connection)
        guard try connection.checkpoint(truncating: true) else { throw StoreError.busy(path: path) }
        for suffix in ["-wal", "-shm"] { try StateFile.removeIfPresent(path + suffix) }
    }

    @Test("Database in doubt: it is refused, as it is, until somebody has confirmed it")
    func doubt() throws {
        let scratch = ScratchDirectory()
        try Self.prepare(scratch.path)
        do { try Self.open(scratch.path).execute("DELETE FROM lock_credential WHERE name = 'n1'") }
        let refusal = #expect(throws: MachineKeyRotation.Refusal.self) { try Self.rotate(scratch.path) }
        #expect(refusal == .inDoubt(.rowsDiffer))
        #expect(try Self.kept(Self.open(scratch.path)).doubt == .rowsDiffer)
    }

    @Test(
        "Whichever call of SQLite fails, alone or with all behind it: a launch knows whom it has to, and the rotation can be done again",
        arguments: FaultDisk.Kind.allCases, [false, true])
    func call(_ kind: FaultDisk.Kind, isLasting: Bool) throws {
        let generator = SeededGenerator(announcedBy: "KeyRotationTests.call")
        let trial = StoreTrial<Kept>(namesFiles: true) { directory in
            try Self.prepare(directory)
        } run: { directory, acknowledge in
            try Self.rotate(directory)
            acknowledge(Self.expected)
        } read: { directory in
            let first = try Self.kept(Self.open(directory))
            try Self.rotate(directory)
            let second = try Self.kept(Self.open(directory))
            return first == second ? first : Kept(opening: [], doubt: .other)
        }
        let result = try trial.failing(kind, isLasting: isLasting, at: TrialPlaces(seed: generator.seed))
        print("KeyRotationTests.call(\(kind), \(isLasting)): \(result.caseCount) cases")
        #expect(result.caseCount > 0)
        #expect(result.complaints.count == 0, "\(result.complaints.prefix(9).joined(separator: "\n"))")
    }
}
