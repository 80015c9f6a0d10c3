import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockCentral
import LockPeripheral
import LockProtocol
import MemoryStores
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// Somebody pairs in a window and does not come back to prove the bond. What is kept of that is a key to the next proof, and the
/// operator has long forgotten it.
@Suite("A bond that never proves itself ends by itself", .capturesFailures)
struct UnprovenBondTests {
    private static let day: UInt64 = 86_400_000

    /// A lock that somebody paired with and never met again. Nothing is on the air.
    private func household() throws -> Household {
        let household = try Household()
        household.clockRuns = true
        try household.openWindow("alice")
        try household.enroll()
        try #require(
            household.world.run(forMilliseconds: 30_000) {
                household.isPairedOnBothSides
            })
        household.killKey()
        household.world.run(forMilliseconds: 130_000)
        try #require(household.lock?.status.enrolling == nil)
        try #require(household.lock?.status.unconfirmed.map(\.credential) == ["alice"])
        return household
    }

    /// Another device pairs in a window for `credential`, and is never met again.
    private func pairAndLeave(_ household: Household, _ credential: String, seed: UInt64) throws {
        try household.openWindow(credential)
        let visitor = household.world.add("visitor \(seed)", seed: seed)
        var key: KeyDaemon?
        visitor.launchApp { bluetooth in
            guard let host = visitor.host else { return }
            key = try? KeyDaemon(
                .init(restoreIdentifier: "key", boot: BootID(bits: 1), unlocksWhenNear: false), host: host,
                bluetooth: bluetooth, store: MemoryKeyStore(), observe: { _ in })
        }
        household.world.run(forMilliseconds: 1_000)
        let code = try #require(household.code)
        let before = household.door.host?.unconfirmedBonds.count ?? 0
        household.call(visitor) { key?.enroll(code, waitMilliseconds: 60_000) { _ in } }
        try #require(
            household.world.run(forMilliseconds: 30_000) {
                household.door.host?.unconfirmedBonds.count == before + 1
            })
        key = nil
        visitor.kill()
        household.world.run(forMilliseconds: 130_000)
    }

    private func audit(_ household: Household) throws -> [AuditEvent] {
        try household.lockStore.auditRecords(after: 0, limit: .max).map(\.event)
    }

    /// Without a process the lock is silent, and a day of the air is soon over.
    private func passDay(_ household: Household) {
        household.killLock()
        household.world.run(forMilliseconds: Self.day - 200_000)
        household.launchLock()
        household.world.run(forMilliseconds: 2_000)
    }

    @Test(
        "A day behind the pairing it is gone, on the audit's record; a restart of the lock in between changes nothing")
    func day() throws {
        let household = try household()
        let bond = try #require(household.door.host?.unconfirmedBonds.first)
        passDay(household)
        #expect(household.door.host?.unconfirmedBonds == [bond])
        household.world.run(forMilliseconds: 200_000)
        #expect(household.door.host?.bonds.isEmpty == true && household.lock?.status.unconfirmed.isEmpty == true)
        #expect(try audit(household).last == .bondExpired(bond: UInt64(bitPattern: bond.rawValue)))
        #expect(household.lockStore.committed.unproven.isEmpty)
        // The key comes with what the lock has forgotten.
        household.launchKey()
        household.world.run(forMilliseconds: 60_000)
        #expect(household.door.host?.bonds.isEmpty == true && !household.isObeyed())
    }

    @Test("What the window had offered goes with the bond, where the credential is another key's; that one opens still")
    func offer() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        try pairAndLeave(household, "alice", seed: 53)
        #expect(household.lock?.status.credentials.count == 2, "the offer and alice's own")
        passDay(household)
        household.world.run(forMilliseconds: 200_000)
        #expect(household.door.host?.bonds.map(\.state) == [.confirmed])
        #expect(household.lock?.status.credentials.map(\.bondState) == [.confirmed])
        #expect(household.isObeyed())
    }

    @Test("A bond that comes back in its time is confirmed, and its life is nobody's business any more")
    func inTime() throws {
        let household = try household()
        #expect(household.lockStore.committed.unproven.count == 1)
        household.launchKey()
        try #require(
            household.world.run(forMilliseconds: 90_000) { household.door.host?.bonds.map(\.state) == [.confirmed] })
        household.world.run(forMilliseconds: 1_000)
        #expect(household.lockStore.committed.unproven.isEmpty)
        passDay(household)
        household.world.run(forMilliseconds: 200_000)
        #expect(household.door.host?.bonds.map(\.state) == [.confirmed] && household.isObeyed())
    }

    // MARK: What an operator sees and does

    @Test("Listed with what is left to it, and deleted with its links, on the audit's record")
    func deleted() throws {
        let household = try household()
        let bond = try #require(household.door.host?.unconfirmedBonds.first)
        let list = try #require(household.lock?.bondPage(after: nil, limit: 10))
        #expect(list.next == nil && list.rows.map(\.bond) == [bond])
        #expect(list.rows.map(\.state) == [.unconfirmed] && list.rows.map(\.credential) == ["alice"])
        let left = try #require(list.rows.first?.millisecondsLeft)
        #expect(left < Self.day && left > Self.day - 300_000)
        try household.call(household.door) { try household.lock?.deleteBond(bond) }
        #expect(household.door.host?.bonds.isEmpty == true && household.lockStore.committed.unproven.isEmpty)
        #expect(try audit(household).last == .bondDeleted(bond: UInt64(bitPattern: bond.rawValue)))
        #expect(household.lock?.bondPage(after: nil, limit: 10).rows == [])
        #expect(throws: BondRefusal.unknown(bond)) {
            try household.call(household.door) { try household.lock?.deleteBond(bond) }
        }
        household.launchKey()
        household.world.run(forMilliseconds: 60_000)
        #expect(household.door.host?.bonds.isEmpty == true)
    }

    @Test("The bond of a credential is not deleted so: the refusal names the credential, and the key opens still")
    func named() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        let bond = try #require(household.door.host?.bonds.first?.id)
        let refusal = BondRefusal.named(bond, credential: "alice")
        #expect(throws: refusal) { try household.call(household.door) { try household.lock?.deleteBond(bond) } }
        #expect("\(refusal)".contains("latch peripheral remove --credential alice"))
        #expect(household.isObeyed())
    }

    @Test("While its window is open: the window closes with the bond, and nobody is enrolled")
    func inTheWindow() throws {
        let household = try Household()
        try household.openWindow("alice")
        try household.enroll()
        try #require(household.world.run(forMilliseconds: 30_000) { household.isPairedOnBothSides })
        let bond = try #require(household.door.host?.unconfirmedBonds.first)
        try household.call(household.door) { try household.lock?.deleteBond(bond) }
        #expect(household.lock?.status.enrolling == nil)
        household.world.run(forMilliseconds: 120_000)
        #expect(!household.isEnrolled && household.door.host?.bonds.isEmpty == true)
    }

    @Test("In pages: confirmed bonds first, each bond once, whatever the page's length", arguments: 1...4)
    func pages(limit: Int) throws {
        let household = try household()
        household.launchKey()
        try #require(
            household.world.run(forMilliseconds: 90_000) { household.door.host?.bonds.map(\.state) == [.confirmed] })
        for name in ["bob", "carol"] {
            try pairAndLeave(household, name, seed: name == "bob" ? 61 : 62)
        }
        var rows: [BondList.Row] = []
        var cursor: BondList.Cursor?
        repeat {
            let page = try #require(household.lock?.bondPage(after: cursor, limit: limit))
            #expect(page.rows.count <= limit)
            rows += page.rows
            cursor = page.next
            if let cursor { #expect(BondList.Cursor("\(cursor)") == cursor) }
        } while cursor != nil
        #expect(rows.map(\.state) == [.confirmed, .unconfirmed, .unconfirmed])
        #expect(rows.first?.credential == "alice" && Set(rows.dropFirst().map(\.credential)) == ["bob", "carol"])
        #expect(Set(rows.map(\.bond)) == Set(household.door.host?.bonds.map(\.id) ?? []))
        for text in ["", "x1", "p", "pz", "b0g", "p01"] { #expect(BondList.Cursor(text) == nil) }
    }
}
