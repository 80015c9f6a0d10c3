import BluetoothCore
import BluetoothHost
import LockCentral
import LockPeripheral
import LockProtocol
import Simulation
import Testing
import WorldSupport

/// The radio repeats a packet until it comes through or the link is lost. A command may so arrive long after it left its key,
/// and its challenge may be alive still.
@Suite("A command that the air holds back: no door opens later than its user meant", .capturesFailures)
struct DelayedCommandTests {
    enum Path: CaseIterable { case signed, encrypted }

    private func household(_ path: Path) throws -> Household {
        var settings = LockSettings()
        settings.acceptsSigned = path == .signed
        let household = try Household(settings: settings)
        try household.enrollToTheEnd("alice")
        try #require(household.isObeyed())
        household.world.run(forMilliseconds: 30_000)
        return household
    }

    /// Asks for an unlock, and has lock and key hear nothing of each other once the command has left the key's host. Returns
    /// when that was.
    private func holdCommand(of household: Household, waitMilliseconds: UInt64) throws -> Instant {
        var left: Instant?
        household.pocket.onSent = { packet in
            guard left == nil, let opcode = RawController.attributePDU(packet)?.first, [0x52, 0xD2].contains(opcode)
            else { return }
            left = household.world.now
            household.world.cut(household.door, household.pocket)
        }
        household.ask(waitMilliseconds: waitMilliseconds)
        household.world.run(forMilliseconds: waitMilliseconds) { left != nil }
        household.pocket.onSent = { _ in }
        return try #require(left)
    }

    @Test(
        "It comes through behind its user's time and within its challenge's life: nothing moves, and that is what is told",
        arguments: Path.allCases)
    func late(_ path: Path) throws {
        let household = try household(path)
        let world = household.world
        let openings = household.openings.count
        let asked = world.now
        let left = try holdCommand(of: household, waitMilliseconds: 1_000)
        world.run(forMilliseconds: 1_050 - left.milliseconds(since: asked))
        world.join(household.door, household.pocket)
        world.run(forMilliseconds: 60_000) { household.commandEnd != nil }
        // The lock's own word: it has not taken effect.
        let isDead = if case .ended(.refused(.challengeDead)) = household.commandEnd { true } else { false }
        #expect(isDead, "\(String(describing: household.commandEnd))")
        world.run(forMilliseconds: 60_000)
        let late = household.openings.dropFirst(openings).map { $0.milliseconds(since: asked) }
        #expect(late.isEmpty, "the bolt was to open after \(late) ms")
        #expect(household.isObeyed())
    }

    @Test("It comes through in its user's time: the bolt moves in that time", arguments: Path.allCases)
    func inTime(_ path: Path) throws {
        let household = try household(path)
        let world = household.world
        let openings = household.openings.count
        let asked = world.now
        _ = try holdCommand(of: household, waitMilliseconds: 4_000)
        world.run(forMilliseconds: 500)
        world.join(household.door, household.pocket)
        world.run(forMilliseconds: 60_000) { household.commandEnd != nil }
        let opened = household.openings.dropFirst(openings).map { $0.milliseconds(since: asked) }
        #expect(opened.count == 1 && opened.allSatisfy { $0 <= 4_000 }, "\(opened)")
    }
}
