import LockPeripheral
import LockProtocol
import Testing

@testable import Simulation

/// A read that fails finds nobody. An operator who heard "no such credential" then would believe that it is gone.
@Suite("An operator's word while the lock's disk cannot be read")
struct UnreadableStateTests {
    enum Word: CaseIterable {
        case disable, remove, show, disableUser, reset, enrol, deleteBond
    }

    private static func say(_ word: Word, to lock: LockDaemon, of bond: BondList.Row) throws {
        switch word {
        case .disable: _ = try lock.administer("pocket 1", .disabled)
        case .remove: _ = try lock.administer("pocket 1", .removed)
        case .show: _ = try lock.rules(of: .named("pocket 1"))
        case .disableUser: _ = try lock.administer(.ofUser("pocket 1"), .disabled)
        case .reset: _ = try lock.reset()
        case .deleteBond: try lock.deleteBond(bond.bond)
        case .enrol:
            let request = EnrolmentRequest(credential: "pocket 1", role: .guest, method: .outOfBand, seconds: 30)
            try lock.openEnrolment(request) { _ in }
        }
    }

    @Test(
        "says that the state cannot be read, never that nobody is there, and the program ends", arguments: Word.allCases
    )
    func unreadable(_ word: Word) throws {
        let house = try House(seed: 1, keys: 2, scratch: try ScratchSpace())
        let bond = try #require(house.door.lock?.bondPage(after: nil, limit: 1).rows.first)
        // The next process has read nothing of them yet.
        house.door.node.kill()
        house.agenda.run(milliseconds: 2_000)
        house.door.disk.die(atCall: 1)
        var told: String?
        house.door.node.call { _ in
            guard let lock = house.door.lock else { return }
            do { try Self.say(word, to: lock, of: bond) } catch { told = "\(error)" }
        }
        #expect(told == "\(RevocationRefusal.stateUnreadable)")
        #expect(house.door.node.host == nil)
        // What was asked for has not happened.
        house.door.disk.mend()
        house.agenda.run(milliseconds: 2_000)
        var isKept = false
        house.door.node.call { _ in isKept = (try? house.door.lock?.administer("pocket 1", .enabled)) == false }
        #expect(isKept)
    }
}
