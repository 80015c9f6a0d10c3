import BluetoothCore
import LockCentral
import LockPeripheral
import LockProtocol
import MemoryStores
import Simulation
import Testing
import WorldSupport

/// Keys of each kind of user at a door, from enrolment to the last command.
@Suite("Users over the air", .capturesFailures)
struct UsersOverTheAirTests {
    private func launchLockAnew(_ household: Household) {
        household.killLock()
        household.launchLock()
    }

    @Test("A disposable user opens once; no launch of the lock gives it back")
    func disposable() throws {
        let bolt = PromptBolt()
        let household = try Household(bolt: bolt)
        try household.enrollToTheEnd("cleaner", .guest, kind: .disposable)
        #expect(household.verdict() == .accepted)
        for _ in 0..<2 {
            #expect(household.verdict() == .refused(.notPermitted))
            launchLockAnew(household)
        }
        #expect(bolt.openings == 1)
    }

    @Test(
        "A disposable user's device that is killed between its pairing and its proof uses the other ones up, on the link of its proof"
    )
    func disposableProvenLater() throws {
        let bolt = PromptBolt()
        let household = try Household(bolt: bolt)
        try household.openWindow("phone", .guest, of: "cleaner", kind: .disposable)
        let phone = FurtherKey("phone", seed: 53, in: household)
        try phone.enroll(try #require(household.code))
        try household.openWindow("watch", .guest, of: "cleaner")
        try household.enroll()
        try #require(household.world.run(forMilliseconds: 30_000) { household.isPairedOnBothSides })
        household.killLock()
        household.killKey()
        household.launchLock()
        let watch = try household.launchManager()
        household.call(household.pocket) { watch.ask(.keyStatus) }
        try #require(household.world.run(forMilliseconds: 20_000) { watch.answers.last?.result == .success })
        household.call(household.pocket) { watch.read(LockUUID.challenge) }
        try #require(household.world.run(forMilliseconds: 20_000) { watch.challenge != nil })
        let command = LockCommand(operation: .unlock, challenge: try #require(watch.challenge).id)
        household.call(household.pocket) { watch.write(command.encoded, to: LockUUID.lockCommand) }
        try #require(household.world.run(forMilliseconds: 4_000) { bolt.openings == 1 })
        #expect(watch.linksLost == 0)
        #expect(household.lockStore.committed.credentials.values.map(\.isEnabled) == [false, false])
        #expect(phone.command() == .refused(.notPermitted))
        #expect(bolt.openings == 1)
    }

    @Test("An expiring user opens for its minutes, from its first opening on, whoever dies meanwhile")
    func expiring() throws {
        let bolt = PromptBolt()
        let household = try Household(bolt: bolt)
        household.clockRuns = true
        try household.enrollToTheEnd("plumber", .guest, kind: .expiring(minutes: 30))
        household.wallClockSeconds = household.wallClockSeconds.map { $0 + 3_600 }
        #expect(household.verdict() == .accepted)
        launchLockAnew(household)
        // Locked again by then.
        household.world.run(forMilliseconds: 30_000)
        household.wallClockSeconds = household.wallClockSeconds.map { $0 + 29 * 60 - 30 }
        #expect(household.verdict() == .accepted)
        launchLockAnew(household)
        household.wallClockSeconds = household.wallClockSeconds.map { $0 + 60 }
        #expect(household.verdict() == .refused(.credentialExpired))
        // What is over is over, whatever somebody sets the clock to.
        household.wallClockSeconds = household.wallClockSeconds.map { $0 - 20 * 60 }
        #expect(household.verdict() == .refused(.clockUntrusted))
        #expect(bolt.openings == 2)
    }

    @Test("A user under duress opens as any other, and the owner hears of it")
    func duress() throws {
        let bolt = PromptBolt()
        let household = try Household(bolt: bolt)
        try household.enrollToTheEnd("alice")
        try household.openWindow("threatened", .resident, of: "bob", kind: .duress)
        let bob = FurtherKey("bob", seed: 53, in: household)
        try bob.enroll(try #require(household.code))
        let app = try household.launchManager(hearsAlarms: true)
        #expect(bob.command() == .accepted)
        #expect(bolt.openings == 1)
        household.world.run(forMilliseconds: 2_000)
        let alarm = try #require(app.alarms.last)
        let threatened = household.lockStore.committed.credentials.values.first { $0.name == "threatened" }
        #expect(alarm.kind == .duress && alarm.credential == threatened?.id.rawValue, "\(alarm)")
    }

    @Test("All devices of a user are disabled, enabled and removed by one word, and another user's are not")
    func devices() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        try household.openWindow("bob-phone", .resident, of: "bob")
        let phone = FurtherKey("phone", seed: 53, in: household)
        try phone.enroll(try #require(household.code))
        try household.openWindow("bob-watch", .resident, of: "bob")
        let watch = FurtherKey("watch", seed: 54, in: household)
        try watch.enroll(try #require(household.code))

        func say(_ change: CredentialChange) throws {
            try household.call(household.door) { _ = try household.lock?.administer(.ofUser("bob"), change) }
        }
        #expect([phone, watch].map { $0.command(.lock) } == [.done, .done])
        try say(.disabled)
        #expect([phone, watch].map { $0.command(.lock) } == [.refused(.notPermitted), .refused(.notPermitted)])
        #expect(household.verdict(.lock) == .done)
        try say(.enabled)
        launchLockAnew(household)
        #expect([phone, watch].map { $0.command(.lock) } == [.done, .done])
        try say(.removed)
        #expect([phone, watch].map { $0.command(.lock) }.allSatisfy { $0 == .expired || $0 == .unproven })
        #expect(household.verdict(.lock) == .done)
    }

    @Test("A key that fails ten times in a row is locked out, another one is not, and its time ends")
    func lockout() throws {
        let household = try Household()
        try household.enrollToTheEnd("cat-sitter", .lockOnly)
        try household.openWindow("alice")
        let owner = FurtherKey("owner", seed: 53, in: household)
        try owner.enroll(try #require(household.code))
        for _ in 0..<10 {
            #expect(household.verdict() == .refused(.notPermitted))
            household.world.run(forMilliseconds: 30_000)
        }
        #expect(household.verdict(.lock) == .refused(.lockedOut))
        #expect(owner.command(.lock) == .done)
        household.world.run(forMilliseconds: 60_000)
        #expect(household.verdict(.lock) == .done)
    }
}
