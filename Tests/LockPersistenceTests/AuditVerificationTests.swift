import BluetoothCore
import BluetoothCrypto
import Foundation
import LockJudge
import LockPeripheral
import LockProtocol
import StatePersistence
import TestSupport
import Testing

@testable import LockPersistence

/// Who may write the lock's file, and has not the machine key, against who reads the audit.
@Suite("The audit's signatures")
struct AuditVerificationTests {
    let scratch = Scratch()

    private func open(_ other: Scratch? = nil) throws -> (state: StateStore, store: SQLiteLockStore) {
        let state = try (other ?? scratch).openState()
        return (state, SQLiteLockStore(state, seal: nil, auditRecordsMaximum: 8))
    }

    /// Records 1 to 12, of which every third one is administration's: 3 and from 6 on are left, with cuts of 1 to 2 and 4 to 5.
    private func fill(_ other: Scratch? = nil) throws -> StateStore {
        let (state, store) = try open(other)
        var head = AuditHead.empty
        for number in 1...12 as ClosedRange<UInt64> {
            let holder = AuditHolder(credential: nil, isProtected: number.isMultiple(of: 3))
            store.append(
                .audit(
                    head.append(
                        .bolt(.locked), boot: BootID(bits: 7), at: Instant(nanoseconds: number),
                        wallClockSeconds: number == 9 ? nil : Int64(number), holder: holder)))
            try state.database.commit([store])
        }
        return state
    }

    private func verify(
        _ state: StateStore, under known: Ed25519PublicKey? = nil, inSlicesOf records: Int = AuditFile.sliceRecords
    ) throws -> AuditVerification {
        try AuditVerification(publicKey: known, sliceRecords: records) { () throws(StoreError) in state.database }
    }

    /// As somebody who writes the file and takes the triggers away first.
    private func tamper(_ state: StateStore, _ statements: [StaticString]) throws {
        try state.database.transaction {
            try state.database.statement("DROP TRIGGER IF EXISTS lock_audit_is_never_changed").run()
            try state.database.statement("DROP TRIGGER IF EXISTS lock_audit_is_never_shortened").run()
            for sql in statements { try state.database.statement(sql).run() }
        }
    }

    /// Counts the statements of a file that are asked for.
    private final class CountingSource: StatementSource {
        let database: Database
        private(set) var count = 0

        init(_ database: Database) { self.database = database }

        var path: String { database.path }

        func statement(_ sql: StaticString) throws(StoreError) -> Statement {
            count += 1
            return try database.statement(sql)
        }
    }

    @Test("What a slice costs does not grow with its records: they and its cuts are read once")
    func statements() throws {
        let state = try fill()
        let source = CountingSource(state.database)
        #expect(try AuditVerification(of: source, publicKey: nil).isWhole)
        let before = source.count
        let store = SQLiteLockStore(state, seal: nil, auditRecordsMaximum: 8 + 500)
        var head = try AuditVerification(of: state.database, publicKey: nil).head
        for number in 13...512 as ClosedRange<UInt64> {
            store.append(
                .audit(
                    head.append(
                        .bolt(.locked), boot: BootID(bits: 7), at: Instant(nanoseconds: number),
                        wallClockSeconds: Int64(number), holder: AuditHolder(credential: nil, isProtected: true))))
        }
        try state.database.commit([store])
        let again = CountingSource(state.database)
        let found = try AuditVerification(of: again, publicKey: nil)
        #expect(found.isWhole && found.records == 508, "\(found.faults)")
        #expect(again.count == before)
    }

    @Test("The signature of a cut is looked at once, however many slices there are")
    func signatures() throws {
        let state = try fill()
        for records in 1...4 {
            let found = try verify(state, under: AuditSigner(state.keys).publicKey, inSlicesOf: records)
            #expect(found.isWhole && found.cuts == 2 && found.signatures == 2, "in slices of \(records)")
        }
    }

    @Test("An audit with cuts is whole under the lock's key, and under no other one")
    func whole() throws {
        let state = try fill()
        let key = AuditSigner(state.keys).publicKey
        let found = try verify(state)
        #expect(found.isWhole && found.publicKey == key && found.untold == 0, "\(found.faults)")
        #expect(found.records == 8 && found.cuts == 2 && found.forgotten == 4)
        #expect(found.head.sequence == 12 && found.checkpoint?.head == found.head)
        #expect(try verify(state, under: key).isWhole)
        let other = try #require(Ed25519SigningKey(seed: Secret([UInt8](repeating: 1, count: 32)))).publicKey
        #expect(
            try verify(state, under: other).faults == [
                .otherKey, .unsigned(cutThrough: 2), .unsigned(cutThrough: 5),
                .damagedSignature,
            ])
    }

    @Test("A report out of the lock's file is a chain for its reader, with the cuts and the end that are signed")
    func report() throws {
        let (_, store) = try open()
        let key = AuditSigner(try fill().keys).publicKey
        let end = try #require(try store.auditEnd())
        #expect(end.publicKey == key && end.checkpoint.head.sequence == 12)
        let reading = try read(store)
        #expect(reading.faults.isEmpty && reading.signedEnd == 12, "\(reading.faults)")
        #expect(reading.sequences == [3] + Array(6...12) && reading.cuts == [1...2, 4...5])
    }

    /// All of it, by somebody over the air.
    private func read(_ store: SQLiteLockStore) throws -> AuditReading {
        var report = AuditReport(0...UInt64.max, through: 12, end: try store.auditEnd(), valueOctets: 20)
        var reading = AuditReading()
        while true {
            switch report.next {
            case .ended(let result):
                #expect(result == .success)
                return reading
            case .page(let sequences): try report.take(sequences, of: store)
            case .value(let value):
                reading.take(value)
                report.advance()
            }
        }
    }

    @Test("A damaged record costs a report itself alone, and the log has it once")
    func damagedReport() throws {
        let state = try fill()
        let store = SQLiteLockStore(state, seal: nil, auditRecordsMaximum: 8)
        var told: [String] = []
        state.database.onDamagedRow = { told.append("\($0.table) \($0.row)") }
        try tamper(
            state,
            [
                "UPDATE lock_audit SET event = x'FF' WHERE sequence = 9",
                "UPDATE lock_audit SET boot = x'00' WHERE sequence = 11",
            ])
        for _ in 1...2 {
            let reading = try read(store)
            #expect(reading.sequences == [3, 6, 7, 8, 10, 12] && reading.cuts == [1...2, 4...5])
            #expect(reading.signedEnd == 12)
            #expect(
                reading.faults == [
                    "record 10 behind 8", "record 10 does not continue the chain",
                    "record 12 behind 10", "record 12 does not continue the chain",
                ])
            #expect(told == ["lock_audit 9", "lock_audit 11"])
        }
        // Who counts them counts what cannot be read, and so does who looks for the first.
        try tamper(state, ["UPDATE lock_audit SET event = x'FF' WHERE sequence = 3"])
        #expect(try store.auditCount(in: 1...12, limit: 100) == AuditCount(records: 8, last: 12))
        #expect(try store.auditCount(in: 1...UInt64.max, limit: 1) == AuditCount(records: 1, last: 3))
    }

    @Test("A damaged cut costs a report itself alone, and the log has it once")
    func damagedCutReport() throws {
        let path = try fill().database.path
        let damaged = DamagedFile.Column(table: "lock_audit_cut", column: "first", type: "")
        #expect(try DamagedFile.inflict("'x'", on: damaged, in: path))
        let (state, store) = try open()
        var told: [String] = []
        state.database.onDamagedRow = { told.append("\($0.table) \($0.row)") }
        for _ in 1...2 {
            let reading = try read(store)
            #expect(reading.sequences == [3] + Array(6...12) && reading.cuts == [4...5] && reading.signedEnd == 12)
            #expect(reading.faults == ["record 3 behind 0", "record 3 does not continue the chain"])
            #expect(told == ["lock_audit_cut 2"])
        }
    }

    @Test("The key is the machine key's: the same at every launch, and no row of the file holds it")
    func derived() throws {
        let first = AuditSigner(try fill().keys).publicKey
        #expect(AuditSigner(try scratch.openState().keys).publicKey == first)
        let other = Scratch()
        #expect(AuditSigner(try other.openState().keys).publicKey != first)
    }

    static let unsign: StaticString =
        "UPDATE lock_state SET audit_sequence = NULL, audit_hash = NULL, audit_signature = NULL, audit_key = NULL"

    static let edits: [(String, [StaticString], [AuditVerification.Fault])] = [
        ("a time", ["UPDATE lock_audit SET wall_clock_seconds = 99 WHERE sequence = 10"], [.altered(10)]),
        ("an event", ["UPDATE lock_audit SET event = x'08' WHERE sequence = 3"], [.altered(3)]),
        ("a boot", ["UPDATE lock_audit SET boot = zeroblob(16) WHERE sequence = 12"], [.altered(12)]),
        ("a hash", ["UPDATE lock_audit SET hash = zeroblob(32) WHERE sequence = 9"], [.altered(9), .altered(10)]),
        ("a column of another kind", ["UPDATE lock_audit SET boot = x'00' WHERE sequence = 9"], [.unreadable(9)]),
        ("a record in the middle", ["DELETE FROM lock_audit WHERE sequence = 9"], [.missing(9...9)]),
        ("the first record", ["DELETE FROM lock_audit WHERE sequence = 3"], [.misplaced(cutThrough: 5)]),
        ("the end", ["DELETE FROM lock_audit WHERE sequence > 10"], [.shortened(11...12)]),
        ("all", ["DELETE FROM lock_audit", "DELETE FROM lock_audit_cut"], [.shortened(1...12)]),
        (
            "all, and the signature",
            [unsign], [.unsignedEnd(from: 1)]
        ),
        (
            "a record, and a cut for it",
            [
                "INSERT INTO lock_audit_cut SELECT 10, 9, hash, signature FROM lock_audit_cut, (SELECT 1) WHERE last = 5",
                "DELETE FROM lock_audit WHERE sequence IN (9, 10)",
            ], [.unsigned(cutThrough: 10), .altered(11)]
        ),
        (
            "a cut that is made longer",
            [
                "UPDATE lock_audit_cut SET first = 3, last = 5 WHERE last = 5",
                "DELETE FROM lock_audit WHERE sequence = 3",
            ],
            [.unsigned(cutThrough: 5)]
        ),
        ("a cut", ["DELETE FROM lock_audit_cut WHERE last = 5"], [.missing(4...5)]),
        (
            "a cut over a record that is there", ["UPDATE lock_audit_cut SET first = 3 WHERE last = 5"],
            [.misplaced(cutThrough: 5), .unsigned(cutThrough: 5)]
        ),
        (
            "a cut's signature", ["UPDATE lock_audit_cut SET signature = NULL WHERE last = 5"],
            [.unsigned(cutThrough: 5)]
        ),
        (
            "a cut behind the end",
            ["INSERT INTO lock_audit_cut SELECT 20, 13, hash, signature FROM lock_audit_cut WHERE last = 5"],
            [.misplaced(cutThrough: 20)]
        ),
        (
            "a record more",
            ["INSERT INTO lock_audit SELECT 13, boot, at, 1, event, hash, 0, 0 FROM lock_audit WHERE sequence = 12"],
            [.altered(13), .unsignedEnd(from: 13)]
        ),
        ("the signature", ["UPDATE lock_state SET audit_signature = zeroblob(64)"], [.damagedSignature]),
        ("the signed end", ["UPDATE lock_state SET audit_sequence = 11"], [.damagedSignature]),
        (
            "a negative number", ["UPDATE lock_audit SET sequence = -5 WHERE sequence = 12"],
            [.misplaced(cutThrough: 5), .missing(6...(UInt64.max - 5))]
        ),
    ]

    @Test("Every edit, gap and cut end is found where it is", arguments: edits.indices)
    func tampered(index: Int) throws {
        let (name, statements, expected) = Self.edits[index]
        let state = try fill()
        try tamper(state, statements)
        let key = AuditSigner(state.keys).publicKey
        let found = try verify(state, under: key)
        #expect(Array(found.faults.prefix(expected.count)) == expected, "\(name): \(found.faults)")
        #expect(!found.isWhole && found.faults.allSatisfy { !$0.description.isEmpty })
        for records in 1...4 {
            let sliced = try verify(state, under: key, inSlicesOf: records)
            #expect(sliced.faults == found.faults, "\(name), in slices of \(records): \(sliced.faults)")
            #expect(sliced.records == found.records && sliced.cuts == found.cuts && sliced.forgotten == found.forgotten)
        }
    }

    @Test("The lock writes and forgets between two slices: what was read, what is left and what has come are whole")
    func meanwhile() throws {
        for records in 1...3 {
            let scratch = Scratch()
            let state = try fill(scratch)
            let (writer, store) = try open(scratch)
            var head = try store.launch().auditHead
            var slices = 0
            let key = AuditSigner(state.keys).publicKey
            let found = try AuditVerification(publicKey: key, sliceRecords: records) { () throws(StoreError) in
                slices += 1
                if slices == 2 || slices == 3 {
                    // Each of these displaces the oldest of its own, of which some have been looked at.
                    for number in 13...15 as ClosedRange<UInt64> {
                        store.append(
                            .audit(
                                head.append(
                                    .bolt(.locked), boot: BootID(bits: 7), at: Instant(nanoseconds: number),
                                    wallClockSeconds: Int64(number))))
                        try? writer.database.commit([store])
                    }
                }
                return state.database
            }
            #expect(found.isWhole, "slices of \(records): \(found.faults)")
            #expect(found.head == head && head.sequence == 18 && slices > 2, "slices of \(records)")
            withExtendedLifetime(scratch) {}
        }
    }

    @Test("A file with a fault in each record names a hundred, and counts the others")
    func manyFaults() throws {
        let (state, _) = try open()
        let store = SQLiteLockStore(state, seal: nil)
        var head = AuditHead.empty
        for number in 1...150 as ClosedRange<UInt64> {
            store.append(
                .audit(
                    head.append(.launched, boot: BootID(bits: 7), at: Instant(nanoseconds: number), wallClockSeconds: 1)
                ))
        }
        try state.database.commit([store])
        try tamper(state, ["UPDATE lock_audit SET hash = zeroblob(32)"])
        let found = try verify(state)
        #expect(found.faults.count == AuditVerification.faultsMaximum && found.faults.first == .altered(1))
        #expect(found.untold == 51, "the hundredth and first one to the last, and the end")
    }

    @Test("A cut that cannot be read is a fault of its own, and what is behind it is looked at", arguments: 1...4)
    func unreadableCut(inSlicesOf records: Int) throws {
        let path = try fill().database.path
        for (column, value) in [("first", "'x'"), ("hash", "7"), ("signature", "'x'")] {
            let other = Scratch()
            try FileManager.default.copyItem(
                atPath: scratch.directory + "/machine.key", toPath: other.directory + "/machine.key")
            for ending in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + ending, toPath: other.path + ending)
            }
            let damaged = DamagedFile.Column(table: "lock_audit_cut", column: column, type: "")
            #expect(try DamagedFile.inflict(value, on: damaged, in: other.path))
            let state = try other.openState()
            try tamper(state, ["UPDATE lock_audit SET event = x'08' WHERE sequence = 9"])
            let found = try verify(state, under: AuditSigner(state.keys).publicKey, inSlicesOf: records)
            #expect(
                found.faults == [.unreadableCut(through: 2), .missing(1...2), .altered(9)], "\(column): \(found.faults)"
            )
            #expect(found.cuts == 2 && found.signatures == 1 && found.forgotten == 2)
        }
    }

    @Test("A launch that finds another end than the signed one has it on record, once")
    func doubted() throws {
        let cases: [(AuditDoubt, [StaticString])] = [
            (.shortened, ["DELETE FROM lock_audit WHERE sequence = 12"]),
            (.altered, ["UPDATE lock_audit SET hash = zeroblob(32) WHERE sequence = 12"]),
            (
                .lengthened,
                ["INSERT INTO lock_audit SELECT 13, boot, at, 1, event, hash, 0, 0 FROM lock_audit WHERE sequence = 12"]
            ),
            (.unsigned, [Self.unsign]),
            (.signatureDamaged, ["UPDATE lock_state SET audit_hash = zeroblob(32)"]),
        ]
        for (doubt, statements) in cases {
            let scratch = Scratch()
            let state = try fill(scratch)
            #expect(try SQLiteLockStore(state, seal: nil).launch().auditDoubt == nil)
            try tamper(state, statements)
            #expect(try SQLiteLockStore(state, seal: nil).launch().auditDoubt == doubt)
            #expect(try launch(state).contains(.auditDoubted(doubt)), "\(doubt)")
            #expect(try SQLiteLockStore(state, seal: nil).launch().auditDoubt == nil)
            #expect(try !launch(state).contains { if case .auditDoubted = $0 { true } else { false } }, "\(doubt)")
            withExtendedLifetime(scratch) {}
        }
    }

    /// What a lock that begins writes into the chain.
    private func launch(_ state: StateStore) throws -> [AuditEvent] {
        let store = SQLiteLockStore(state, seal: nil)
        var outputs: [LockOutput] = []
        _ = LockMachine(
            restoring: try store.launch(), reading: BoltReading(position: .locked, door: .closed),
            boot: BootID(bits: 1),
            receiptHandle: AttributeHandle(1), at: LockMoment(now: Instant(nanoseconds: 99)), into: &outputs)
        var events: [AuditEvent] = []
        for case .persist(let fact) in outputs {
            store.append(fact)
            if case .audit(let record) = fact { events.append(record.event) }
        }
        try state.database.commit([store])
        return events
    }

    @Test("A file of before the signatures: the first launch says so, and signs what it found")
    func adopted() throws {
        let state = try scratch.openState()
        let earlier = SQLiteLockStore(state.database)
        var head = AuditHead.empty
        earlier.append(
            .audit(head.append(.launched, boot: BootID(bits: 7), at: Instant(nanoseconds: 1), wallClockSeconds: 1)))
        try state.database.commit([earlier])
        #expect(try verify(state).faults == [.unsignedEnd(from: 1)])
        #expect(try launch(state).first == .auditDoubted(.unsigned))
        #expect(try verify(state).isWhole)
        #expect(try SQLiteLockStore(try Scratch().openState(), seal: nil).launch().auditDoubt == nil, "a new file")
    }
}
