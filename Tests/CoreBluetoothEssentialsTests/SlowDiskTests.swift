import BluetoothCore
import BluetoothHost
import LockCentral
import LockPeripheral
import LockProtocol
import Simulation
import Testing
import WorldSupport

@Suite("A key on a slow disk: no command leaves later than it was meant to", .capturesFailures)
struct SlowDiskTests {
    enum Path: CaseIterable { case signed, encrypted }

    private static let waitMilliseconds: UInt64 = 4_000

    private func household(_ path: Path, keyBuffers: UInt8 = 20) throws -> Household {
        var settings = LockSettings()
        settings.acceptsSigned = path == .signed
        let household = try Household(settings: settings, keyBuffers: keyBuffers)
        try household.enrollToTheEnd("alice")
        try #require(household.isObeyed())
        household.world.run(forMilliseconds: 30_000)
        return household
    }

    @Test(
        "A commit that ends behind the deadline: the packet is dropped, and the request ends as one that was never sent",
        arguments: Path.allCases)
    func late(_ path: Path) throws {
        let household = try household(path)
        let openings = household.openings.count
        let asked = household.world.now
        household.ask(waitMilliseconds: Self.waitMilliseconds)
        // Everything but the commit that says what is sent.
        let isReady = household.world.run(forMilliseconds: 2_000) {
            guard let link = household.key?.status.locks.first?.link else { return false }
            return path == .signed || link.isProven
        }
        try #require(isReady && household.keptRequest?.sent == nil)
        household.pocket.commitMilliseconds = 3_990
        household.world.run(forMilliseconds: 60_000) { household.commandEnd != nil }
        let isExpired = if case .ended(.expired) = household.commandEnd { true } else { false }
        #expect(isExpired, "\(String(describing: household.commandEnd))")
        #expect(household.keptRequest == nil)
        household.pocket.commitMilliseconds = 0
        household.world.run(forMilliseconds: 60_000)
        let late = household.openings.dropFirst(openings).map { $0.milliseconds(since: asked) }
        #expect(late.isEmpty, "the bolt was to open after \(late) ms")
        #expect(household.isObeyed(), "no credit of the controller is lost")
    }

    @Test("A packet that waits for a buffer of the controller until its time is over is dropped when its turn comes")
    func waiting() throws {
        let household = try household(.encrypted, keyBuffers: 1)
        let openings = household.openings.count
        household.ask(waitMilliseconds: Self.waitMilliseconds)
        try #require(
            household.world.run(forMilliseconds: 2_000) { household.key?.status.locks.first?.link?.isProven == true })
        // Number Of Completed Packets: what the key has just asked the lock keeps the one buffer.
        household.pocket.wire.delays = { $0.starts(with: [4, 0x13]) }
        household.world.run(forMilliseconds: Self.waitMilliseconds)
        try #require(household.keptRequest?.sent != nil && household.commandEnd == nil)
        household.pocket.wire.delays = { _ in false }
        household.world.run(forMilliseconds: 60_000) { household.commandEnd != nil }
        let isExpired = if case .ended(.expired) = household.commandEnd { true } else { false }
        #expect(isExpired, "\(String(describing: household.commandEnd))")
        household.world.run(forMilliseconds: 60_000)
        #expect(household.openings.count == openings)
        #expect(household.isObeyed())
    }

    @Test("A commit that ends before the deadline lets the packet go", arguments: Path.allCases)
    func inTime(_ path: Path) throws {
        let household = try household(path)
        let openings = household.openings.count
        household.pocket.commitMilliseconds = 300
        _ = household.command(waitMilliseconds: 30_000)
        #expect(household.openings.count == openings + 1)
    }
}
