import BluetoothCore
import LockPeripheral
import LockProtocol
import StatePersistence
import TestSupport
import Testing

@testable import LockPersistence

/// What a quiet lock does for the records to come.
@Suite("Room in the audit")
struct AuditRoomTests {
    let scratch = Scratch()
    /// There is to be room for a sixteenth of it.
    private static let most: UInt64 = 512
    private static let ahead: UInt64 = 32
    private static let atOnce = AuditRetention.forgottenAheadRecords

    private final class Lock {
        let state: StateStore
        let store: SQLiteLockStore
        private var head: AuditHead

        init(_ state: StateStore) throws {
            self.state = state
            store = SQLiteLockStore(state, seal: nil, auditRecordsMaximum: most)
            head = try store.launch().auditHead
        }

        /// One commit each, of two people in turn.
        func write(_ count: UInt64) throws {
            for number in 0..<count {
                let holder = AuditHolder(credential: CredentialID(rawValue: 1 + number % 2), isProtected: false)
                store.append(
                    .audit(
                        head.append(
                            .bolt(.locked), boot: BootID(bits: 1), at: Instant(nanoseconds: head.sequence),
                            wallClockSeconds: nil, holder: holder)))
                try state.database.commit([store])
            }
        }

        var kept: UInt64 { get throws { UInt64(try store.auditRecords(after: 0, limit: .max).count) } }
        var isWhole: Bool { get throws { try AuditVerification(of: state.database, publicKey: nil).isWhole } }
    }

    @Test("An audit that is far from full is not counted, and has nothing to forget")
    func small() throws {
        let lock = try Lock(scratch.openState())
        try lock.write(Self.most - Self.ahead)
        #expect(!lock.store.countAudit() && !lock.store.isAuditRoomDue)
        try lock.write(1)
        #expect(!lock.store.countAudit(), "in one slice")
        #expect(!lock.store.isAuditRoomDue, "fewer than it forgets at once")
    }

    @Test("Made in quiet moments, some records at a time, it is there for the next ones, and the chain is whole")
    func ahead() throws {
        let lock = try Lock(scratch.openState())
        try lock.write(Self.most)
        #expect(!lock.store.isAuditRoomDue, "not counted")
        while lock.store.countAudit() {}
        var turns = 0
        while lock.store.isAuditRoomDue {
            try lock.store.makeAuditRoom()
            turns += 1
        }
        #expect(turns == Int(Self.ahead / Self.atOnce))
        #expect(try lock.kept == Self.most - Self.ahead && lock.isWhole)
        let cuts = try lock.store.auditCuts(after: 0, limit: .max)
        try lock.write(Self.ahead)
        #expect(try lock.store.auditCuts(after: 0, limit: .max) == cuts, "no commit had to forget")
        #expect(try lock.kept == Self.most)
        try lock.write(5)
        #expect(try lock.kept == Self.most && lock.isWhole, "a lock that is never quiet forgets with its commits")
    }

    @Test("The next life counts anew, and goes on as if it had made no room")
    func relaunched() throws {
        let first = try Lock(scratch.openState())
        try first.write(Self.most + 100)
        while first.store.isAuditRoomDue { try first.store.makeAuditRoom() }
        let second = try Lock(scratch.openState())
        while second.store.countAudit() {}
        #expect(!second.store.isAuditRoomDue)
        try second.write(Self.ahead + 1)
        #expect(try second.kept == Self.most && second.isWhole)
    }

    @Test("While somebody else holds the file it waits for the next record")
    func held() throws {
        let lock = try Lock(scratch.openState())
        try lock.write(Self.most)
        while lock.store.countAudit() {}
        let other = try scratch.openState()
        try other.database.transaction {
            try lock.store.makeAuditRoom()
            #expect(!lock.store.isAuditRoomDue, "it would find the same at once")
        }
        #expect(try lock.kept == Self.most)
        try lock.write(1)
        #expect(lock.store.isAuditRoomDue)
        try lock.store.makeAuditRoom()
        #expect(try lock.kept == Self.most - Self.atOnce && lock.isWhole)
    }
}
