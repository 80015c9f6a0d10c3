import BluetoothCore
import BluetoothHost
import LockCentral
import LockProtocol
import Simulation
import Testing
import WorldSupport

/// The key's daemon opens on coming near. The lock is where the test puts it, and an attacker with a recorder where he likes.
@Suite("Coming near, and who pretends it", .capturesFailures)
struct ProximityReplayTests {
    private static let nearMetres = 1.0
    /// -77 dBm: a laptop that lies inside.
    private static let insideMetres = 12.0
    /// -83 dBm: the edge of the range, more or less.
    private static let edgeMetres = 20.0
    private static let outOfRangeMetres = 200.0

    private func household() throws -> Household {
        let household = try Household(unlocksWhenNear: true)
        try household.enrollToTheEnd("alice")
        return household
    }

    /// Somebody plays the lock's advertisement beside the key, to whose link with the lock itself it leads.
    private func addPlayer(to household: Household) throws -> RadioStranger {
        let host = try #require(household.door.host)
        let uuid = LockUUID.lockService.bits
        let octets = (0..<16).map { UInt8(truncatingIfNeeded: uuid >> (8 * UInt128($0))) }
        let player = RadioStranger(
            household.world, .replays, at: try #require(host.addressOnAir), data: [2, 1, 6, 17, 7] + octets)
        household.world.add(player)
        household.world.setDistance(household.pocket, player, metres: 0.3)
        return player
    }

    private func move(_ household: Household, to metres: Double, forMilliseconds milliseconds: UInt64) {
        household.world.setDistance(household.door, household.pocket, metres: metres)
        household.world.run(forMilliseconds: milliseconds)
    }

    @Test("Replayed advertisement: a laptop that lies inside opens nothing, whether it was far away before or not")
    func replay() throws {
        for wasAway in [false, true] {
            let household = try household()
            if wasAway {
                move(household, to: Self.edgeMetres, forMilliseconds: 60_000)
                #expect(household.key?.status.locks.first?.proximity == .away)
            }
            move(household, to: Self.insideMetres, forMilliseconds: 30_000)
            _ = try addPlayer(to: household)
            household.world.run(forMilliseconds: 600_000)
            #expect(household.openings.isEmpty, "was away: \(wasAway)")
        }
    }

    @Test("An advertisement that is played for ten minutes costs no more than a link in a minute, but for the first")
    func cost() throws {
        let household = try household()
        move(household, to: Self.edgeMetres, forMilliseconds: 60_000)
        move(household, to: Self.insideMetres, forMilliseconds: 30_000)
        _ = try addPlayer(to: household)
        let links = household.links.count
        household.world.run(forMilliseconds: 600_000)
        let made = household.links.count - links
        #expect((5...16).contains(made), "\(made) links")
    }

    @Test("The owner goes and comes back: the door opens, once, within five seconds", arguments: [false, true])
    func owner(isOutOfRange: Bool) throws {
        let household = try household()
        household.world.run(forMilliseconds: ProximityWindow.milliseconds)
        if isOutOfRange { move(household, to: Self.outOfRangeMetres, forMilliseconds: 120_000) }
        move(household, to: Self.edgeMetres, forMilliseconds: 10_000)
        #expect(household.openings.isEmpty)
        move(household, to: Self.nearMetres, forMilliseconds: 5_000)
        #expect(household.openings.count == 1)
        household.world.run(forMilliseconds: 300_000)
        #expect(household.openings.count == 1)
    }

    @Test("Jammed beside a laptop that lies at the door: nothing opens when the jammer stops", arguments: [25, 300])
    func jammed(seconds: UInt64) throws {
        let household = try household()
        household.world.run(forMilliseconds: 10_000)
        household.world.cut(household.door, household.pocket)
        household.world.run(forMilliseconds: seconds * 1_000)
        household.world.join(household.door, household.pocket)
        household.world.run(forMilliseconds: 300_000)
        #expect(household.openings.isEmpty && household.key?.status.locks.first?.proximity == .near)
    }

    @Test("A key that is started anew at the door has not come to it")
    func restarted() throws {
        let household = try household()
        household.world.run(forMilliseconds: 10_000)
        household.killKey()
        household.launchKey()
        household.world.run(forMilliseconds: 300_000)
        #expect(household.openings.isEmpty)
    }

    @Test("Off on the way home, and started anew at the door: the key has not seen itself come", arguments: [5, 300])
    func carriedHome(secondsOff: UInt64) throws {
        let household = try household()
        move(household, to: Self.edgeMetres, forMilliseconds: 60_000)
        #expect(household.key?.status.locks.first?.proximity == .away)
        household.killKey()
        household.world.run(forMilliseconds: secondsOff * 1_000)
        let isKept = secondsOff < 60
        // A controller that is plugged in anew is where it is put.
        let metres = isKept ? Self.edgeMetres : Self.nearMetres
        household.world.setDistance(household.door, household.pocket, metres: metres)
        household.launchKey()
        household.world.run(forMilliseconds: 10_000)
        #expect(household.key?.status.locks.first?.proximity == (isKept ? .away : .near))
        move(household, to: Self.nearMetres, forMilliseconds: 300_000)
        #expect(household.openings.count == (isKept ? 1 : 0), "begun anew at once, far from the door, it is served")
    }

    @Test("Locked by its owner at the door, with an absence that nobody has closed: the door stays as he wants it")
    func lockedByOwner() throws {
        let household = try household()
        move(household, to: Self.edgeMetres, forMilliseconds: 60_000)
        #expect(household.key?.status.locks.first?.proximity == .away)
        // Too quick for the key to look.
        household.world.setDistance(household.door, household.pocket, metres: Self.nearMetres)
        #expect(household.isObeyed())
        household.world.run(forMilliseconds: 300_000)
        #expect(household.openings.isEmpty)
    }

    @Test("At the door there is no link that nobody needs")
    func quiet() throws {
        let household = try household()
        let links = household.links.count
        household.world.run(forMilliseconds: 600_000)
        #expect(household.links.count == links)
    }
}

/// Behind a launch this long, proximity may ask as often as it may.
private enum ProximityWindow {
    static let milliseconds: UInt64 = 600_000
}
