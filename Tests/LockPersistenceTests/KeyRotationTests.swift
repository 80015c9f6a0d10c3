import BluetoothCore
import BluetoothCrypto
import FaultDisk
import LockPeripheral
import LockProtocol
import StatePersistence
import StoreTrials
import TestSupport
import Testing

@testable import LockPersistence

@Suite("Another machine key")
struct KeyRotationTests {
    private static let components: [SchemaComponent] = [.host, .lock]

    /// What a launch finds.
    private struct Kept: Equatable, Sendable {
        var opening: [UInt64]
        var doubt: StateDoubt?
        var toldTime: ToldTime?
        var auditDoubt: AuditDoubt?
    }

    private struct Lock {
        let state: StateStore
        let seal: LockSeal
        let store: SQLiteLockStore

        init(_ directory: String) throws {
            state = try StateStore(
                path: directory + "/latch.sqlite", machineKeyFile: directory + "/machine.key",
                credentialsDirectory: nil, components: components)
            seal = try LockSeal(state, anchor: FileAnchor(path: directory + "/lock.anchor", keys: state.keys))
            store = SQLiteLockStore(state, seal: seal, auditRecordsMaximum: 16)
        }

        func commit(_ facts: [LockMutation]) throws {
            for fact in facts { store.append(fact) }
            try state.database.commit([store])
        }

        func kept() throws -> Kept {
            let snapshot = try store.launch()
            let opening = (1...5).filter { store.holder(of: $0).credentials.contains { $0.isEnabled } }
            while seal.checkSlice() {}
            return Kept(
                opening: opening, doubt: seal.doubt, toldTime: snapshot.toldTime, auditDoubt: snapshot.auditDoubt)
        }

        func execute(_ sql: StaticString) throws {
            try state.database.transaction { try state.database.statement(sql).run() }
        }
    }

    private static let told = ToldTime(boot: BootID(bits: 7), bootSeconds: 1_800_000_000)

    /// Three credentials in three parts, one of them disabled; settings; a told time; an audit that has been cut.
    private static func prepare(_ directory: String) throws {
        let lock = try Lock(directory)
        _ = try lock.store.launch()
        try lock.commit(
            (1...3).map { number in
                .credential(
                    Credential(
                        id: CredentialID(rawValue: number << 57), name: "n\(number)", role: .guest,
                        isEnabled: number != 2,
                        bond: number))
            } + [.settings(LockSettings(relockSeconds: 7)), .toldTime(told)])
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
            identities: ["peripheral"], components: components)
    }

    private static let expected = Kept(opening: [1, 3], doubt: nil, toldTime: told, auditDoubt: nil)

    @Test("Everything is there under the new key, signed and in no doubt, and nothing opens with the old one")
    func rotated() throws {
        let scratch = ScratchDirectory()
        try Self.prepare(scratch.path)
        let outcome = try Self.rotate(scratch.path)
        let keys = try #require(outcome.auditKeys)
        #expect(keys.old != keys.new && outcome.oldKey == scratch.path + "/machine.key.old-1")
        let old = try MachineKey.load(credentialsDirectory: nil, file: outcome.oldKey, mayCreate: false)
        let wrong = #expect(throws: StoreError.self) {
            try StateStore(path: scratch.path + "/latch.sqlite", key: old, components: Self.components)
        }
        #expect(wrong == .wrongMachineKey(path: outcome.oldKey))
        let lock = try Lock(scratch.path)
        #expect(try lock.kept() == Self.expected)
        let reader = LockReader(database: lock.state.database)
        let end = try reader.auditCheckpoint()
        #expect(end?.checkpoint?.isSigned(by: keys.new) == true && end?.checkpoint?.isSigned(by: keys.old) == false)
        let cuts = try reader.auditCuts(after: 0, limit: 100)
        #expect(!cuts.isEmpty && AuditCut.areSigned(cuts, by: keys.new).allSatisfy { $0 })
        #expect(!AuditCut.areSigned(cuts, by: keys.old).contains(true))
        #expect(lock.seal.isTrusted)
    }

    @Test("Altered row and forged cut: what the old key has not authenticated the new one does not either")
    func altered() throws {
        let scratch = ScratchDirectory()
        try Self.prepare(scratch.path)
        do {
            let lock = try Lock(scratch.path)
            try lock.execute("UPDATE lock_credential SET role = 1 WHERE name = 'n1'")
            try lock.execute("UPDATE lock_audit_cut SET signature = zeroblob(64)")
            try lock.execute("UPDATE lock_state SET audit_signature = zeroblob(64)")
        }
        try Self.rotate(scratch.path)
        let lock = try Lock(scratch.path)
        let kept = try lock.kept()
        #expect(kept == Kept(opening: [3], doubt: nil, toldTime: Self.told, auditDoubt: .signatureDamaged))
        let key = AuditSigner(lock.state.keys).publicKey
        let cuts = try LockReader(database: lock.state.database).auditCuts(after: 0, limit: 100)
        #expect(!cuts.isEmpty && !AuditCut.areSigned(cuts, by: key).contains(true))
    }

    @Test("Database in doubt: it is refused, as it is, until somebody has confirmed it")
    func doubt() throws {
        let scratch = ScratchDirectory()
        try Self.prepare(scratch.path)
        do { try Lock(scratch.path).execute("DELETE FROM lock_credential WHERE name = 'n1'") }
        let refusal = #expect(throws: MachineKeyRotation.Refusal.self) { try Self.rotate(scratch.path) }
        #expect(refusal == .inDoubt(.rowsDiffer))
        #expect(try Lock(scratch.path).kept().doubt == .rowsDiffer)
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
            let first = try Lock(directory).kept()
            try Self.rotate(directory)
            let second = try Lock(directory).kept()
            return first == second ? first : Kept(opening: [], doubt: .other)
        }
        let result = try trial.failing(kind, isLasting: isLasting, at: TrialPlaces(seed: generator.seed))
        print("KeyRotationTests.call(\(kind), \(isLasting)): \(result.caseCount) cases")
        #expect(result.caseCount > 0)
        #expect(result.complaints.count == 0, "\(result.complaints.prefix(9).joined(separator: "\n"))")
    }
}
