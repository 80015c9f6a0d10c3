import BluetoothCore
import LockPeripheral
import LockProtocol
import StatePersistence
import TestSupport
import Testing

@testable import LockPersistence

/// What `latch audit` reads: slice by slice, beside whoever writes.
@Suite("The audit's file")
struct AuditFileTests {
    let scratch = Scratch()

    /// A record of each event, in the order of their numbers.
    private func fill(_ events: [AuditEvent]) throws -> (path: String, records: [AuditRecord], store: SQLiteLockStore) {
        let state = try scratch.openState()
        let store = SQLiteLockStore(state, seal: nil)
        var head = AuditHead.empty
        let records = events.map { event in
            head.append(event, boot: BootID(bits: 7), at: Instant(nanoseconds: 1), wallClockSeconds: nil)
        }
        for record in records { store.append(.audit(record)) }
        try state.database.commit([store])
        return (state.database.path, records, store)
    }

    @Test("Every event that names a credential is found among all others, in order")
    func naming() throws {
        let (anna, bert) = (CredentialID(rawValue: 1), CredentialID(rawValue: .max))
        let manager = AuditedManager(credential: bert, name: "bert")
        let naming: [AuditEvent] = [
            .administered(anna, name: "a", .removed), .enrolled(bert, name: "b", .guest, bond: 7),
            .managed(by: manager, anna, name: "c", .enabled), .spent(anna, name: "d", .disabled),
            .duress(anna, name: "e"), .userSet(anna, name: "f", user: "anna", .ordinary),
        ]
        let others: [AuditEvent] = [
            .launched, .bolt(.locked), .windowOpened(name: "x", .guest),
            .windowManaged(by: manager, name: "y", .opened),
            .lockedOut(bond: 1, anna, seconds: 9), .bondDeleted(bond: 1),
        ]
        let (path, _, _) = try fill(zip(naming, others).flatMap { [$0, $1] })
        var found: [String] = []
        var progress: [AuditProgress] = []
        try AuditFile(path: path).forEachNaming(progress: { progress.append($0) }) {
            found.append("\($0.rawValue) \($1)")
        }
        #expect(found == ["1 a", "\(bert.rawValue) b", "1 c", "1 d", "1 e", "1 f"])
        #expect(!progress.isEmpty)
    }

    @Test("More than a slice of it: all slices together are all records, once, and the newest come page by page")
    func slices() throws {
        let count = AuditFile.sliceRecords * 2 + 3
        let (path, records, _) = try fill(Array(repeating: .launched, count: count))
        let file = try AuditFile(path: path)
        var found: [AuditRecord] = []
        var last: AuditFile.Slice?
        while last?.isLast != true {
            last = try file.slice(behind: last)
            found += last?.rows.compactMap(\.record) ?? []
        }
        #expect(found == records && last?.end?.checkpoint.head == records.last.map(AuditHead.init))
        #expect(last?.progress == AuditProgress(at: UInt64(count), of: UInt64(count)))
        #expect(try file.rows(before: nil, limit: 3).map(\.record) == records.suffix(3).reversed())
        #expect(try file.rows(before: 3, limit: 3).map(\.record) == records.prefix(2).reversed())
        #expect(try file.verification(under: nil).records == UInt64(count))
    }

    @Test("What is forgotten between two slices is told once as a cut, of which the first slice had a part")
    func forgotten() throws {
        let state = try scratch.openState()
        let most = UInt64(AuditFile.sliceRecords) + 8
        let store = SQLiteLockStore(state, seal: nil, auditRecordsMaximum: most)
        var head = AuditHead.empty
        func write(_ count: UInt64) throws {
            for _ in 0..<count {
                store.append(
                    .audit(
                        head.append(
                            .launched, boot: BootID(bits: 7), at: Instant(nanoseconds: 1), wallClockSeconds: nil)))
            }
            try state.database.commit([store])
        }
        try write(most)
        let file = try AuditFile(path: state.database.path)
        let first = try file.slice(behind: nil)
        #expect(first.cuts.isEmpty && !first.isLast)
        // Counted in slices of a commit first.
        while store.countAudit() {}
        try write(UInt64(AuditFile.sliceRecords) + 4)
        let second = try file.slice(behind: first)
        let cut = try #require(second.cuts.first?.cut)
        #expect(cut.first == 1 && cut.last > UInt64(AuditFile.sliceRecords) && second.cuts.count == 1)
        #expect(second.rows.first?.sequence == cut.last + 1)
    }
}
