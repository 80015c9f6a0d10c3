import BluetoothCore
import BluetoothHost
import LockCentral
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// Somebody answers under the lock's address while the lock is on the air. Nobody can keep him from delaying a command;
/// nothing that he says ends one.
@Suite("Attacks on a command: a stranger at the lock's address", .capturesFailures)
struct StrangerAtTheDoorTests {
    enum Place: CaseIterable { case identity, privateAddress }

    private static let waitMilliseconds: UInt64 = 10_000

    private func isTaken(_ end: KeyCommandProgress?) -> Bool {
        switch end {
        case .accepted, .outcome, .ended(.accepted), .ended(.done): true
        default: false
        }
    }

    /// How many of eight commands the lock takes while the stranger is there.
    private func commandsTaken(_ manner: RadioStranger.Manner, _ place: Place) throws -> (Int, [String]) {
        var taken = 0
        var ends: [String] = []
        for seed in 1...8 as ClosedRange<UInt64> {
            let household = try Household(seed: seed)
            try household.enrollToTheEnd("alice")
            try #require(household.isObeyed())
            let host = try #require(household.door.host)
            try #require(host.addressOnAir != nil && host.addressOnAir != host.identity.address.address)
            let stranger = try household.addStranger(
                manner, at: place == .identity ? host.identity.address.address : host.addressOnAir)
            household.world.run(forMilliseconds: 500 + seed * 37)
            let (end, milliseconds) = household.command(waitMilliseconds: Self.waitMilliseconds)
            if isTaken(end) { taken += 1 }
            ends.append("\(end.map { "\($0)" } ?? "never") after \(milliseconds) ms, \(stranger.connections) links")
        }
        return (taken, ends)
    }

    @Test("A tree that a stranger says has changed, in clear, is the lock's tree still: nothing is asked for again")
    func changedTree() throws {
        var heard = 0
        // Whom the key hears first is chance's.
        for seed in 1...8 as ClosedRange<UInt64> {
            let household = try Household(seed: seed)
            try household.enrollToTheEnd("alice")
            try #require(household.isObeyed())
            let stranger = try household.addStranger(.changedTree, at: household.door.host?.identity.address.address)
            household.world.run(forMilliseconds: 530)
            let before = household.pocket.sent.count
            #expect(isTaken(household.command(waitMilliseconds: Self.waitMilliseconds).end))
            if stranger.connections > 0 {
                heard += 1
                #expect(stranger.isConfirmed, "its indication is confirmed")
            }
            // Write Request, on the attribute channel: a subscription.
            #expect(!household.pocket.sent.dropFirst(before).contains { $0.count > 9 && $0[7...9] == [4, 0, 0x12] })
        }
        #expect(heard > 0)
    }

    @Test("The time ends a command that only the stranger answers, and says that nobody could prove to be the lock")
    func onlyStranger() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        household.world.cut(household.door, household.pocket)
        try household.addStranger(.keyMissing, at: household.door.host?.identity.address.address)
        let (end, milliseconds) = household.command(waitMilliseconds: Self.waitMilliseconds)
        guard case .ended(.unproven) = end else { Issue.record("\(String(describing: end))"); return }
        #expect(milliseconds == Self.waitMilliseconds)
    }

    @Test("Signed for the stranger's challenge, and the lock is away: soon after the time nobody knows")
    func signedForStranger() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        try #require(household.isObeyed())
        household.world.cut(household.door, household.pocket)
        try household.addStranger(.challenges, at: household.door.host?.identity.address.address)
        let (end, milliseconds) = household.command(waitMilliseconds: Self.waitMilliseconds)
        guard case .ended(.unknown) = end else { Issue.record("\(String(describing: end))"); return }
        #expect(milliseconds == Self.waitMilliseconds + KeyMachine.settleMilliseconds)
    }

    @Test(
        "At the lock's identity address, the lock being under a private one: every command reaches the lock",
        arguments: RadioStranger.Manner.allCases.filter { $0 != .replays })
    func atIdentity(_ manner: RadioStranger.Manner) throws {
        let (taken, ends) = try commandsTaken(manner, .identity)
        #expect(taken == 8, "\(ends)")
    }

    @Test(
        "At the lock's own private address, and five times as often on the air: nearly every command reaches the lock",
        arguments: RadioStranger.Manner.allCases.filter { $0 != .replays })
    func atPrivateAddress(_ manner: RadioStranger.Manner) throws {
        let (taken, ends) = try commandsTaken(manner, .privateAddress)
        #expect(taken >= 6, "\(ends)")
    }
}
