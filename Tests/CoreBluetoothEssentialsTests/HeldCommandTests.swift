import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockCentral
import LockProtocol
import Simulation
import Testing
import WorldSupport

@testable import LockPeripheral

/// Movements that happened, as metal keeps them.
private final class Metal: MovementJournal {
    private(set) var movements: [Movement] = []
    private(set) var last: BoltJournal.Line?
    var lastIntended: BoltJournal.Line? { last }
    var isLastKnown: Bool { true }
    var isLastIntendedKnown: Bool { true }

    func append(_ order: ActuatorOrder, now: Instant) {
        movements.append(order.movement)
        last = BoltJournal.Line(
            sequence: UInt64(movements.count), at: now, process: 1, intent: order.intent, command: order.command,
            movement: order.movement)
    }

    func settle() {}
}

/// Somebody stands between the key and the lock, on clear links with both: takes a challenge from the lock under the key's
/// address, has the key sign for it at the lock's address, and keeps what the key signed.
@Suite("Attack: a signed command that is held back", .capturesFailures)
struct HeldCommandTests {
    /// A lock with a metal of its own, its key, and somebody between them.
    private struct Between {
        let metal = Metal()
        let household: Household
        let intruder: Intruder
        /// When he was at the lock.
        let began: Instant
        /// A notification of the lock's challenge for him.
        let challenge: [UInt8]

        var world: World { household.world }

        init() throws {
            household = try Household(
                bolt: SimulatedBolt(journal: metal, travelMilliseconds: 100), settings: LockSettings(relockSeconds: 1))
            try household.enrollToTheEnd("alice")
            let world = household.world
            let lockAddress = try #require(household.door.host?.addressOnAir)
            let keyAddress = try #require(household.pocket.host?.addressOnAir)
            let tree = try #require(household.lock?.tree)
            let handle = try #require(tree.challenge.valueHandle)
            let intruder = Intruder(world)
            self.intruder = intruder
            intruder.connect(to: lockAddress, as: keyAddress, in: world)
            began = world.now
            var heard: [UInt8]?
            world.run(forMilliseconds: 1_000) {
                heard = intruder.heard(.central).last { $0.first == 0x1B && $0.count == 11 }
                return heard != nil
            }
            challenge = try #require(heard)
            #expect(Array(challenge[1...2]) == [UInt8(handle.rawValue), 0])
            world.cut(household.door, household.pocket)
            intruder.advertise(as: lockAddress)
        }

        /// What the key signs for `challenge` on its next link, which he ends.
        func sign(_ challenge: [UInt8]) throws -> [UInt8] {
            try #require(world.run(forMilliseconds: 2_000) { intruder.isConnected(.peripheral) })
            intruder.send(challenge, .peripheral)
            var signed: [UInt8]?
            world.run(forMilliseconds: 1_000) {
                signed = intruder.heard(.peripheral).first { $0.first == 0xD2 }
                return signed != nil
            }
            let held = try #require(signed)
            intruder.disconnect(.peripheral, in: world)
            return held
        }
    }

    enum Key: CaseIterable { case present, gone }

    @Test(
        "It opens nothing once the lock has told the key, over encryption, that it was not taken",
        arguments: Key.allCases)
    func afterKeyStatus(_ key: Key) throws {
        let between = try Between()
        let (household, world, intruder) = (between.household, between.world, between.intruder)
        var isOver = false
        household.call(household.pocket) {
            household.key?.command(.unlock, lock: nil, waitMilliseconds: 10_000) {
                if case .outcome(.done) = $0 { isOver = true }
            }
        }
        let held = try between.sign(between.challenge)
        world.join(household.door, household.pocket)
        try #require(world.run(forMilliseconds: 3_000) { isOver })
        // The bolt goes back by itself: the key signs nothing more, whose counter would make the held one's stale.
        try #require(world.run(forMilliseconds: 2_000) { household.lock?.status.bolt == .locked })
        #expect(between.metal.movements == [.unlock, .lock])
        if key == .gone { household.killKey() }

        #expect(intruder.isConnected(.central))
        #expect(world.now.milliseconds(since: between.began) < LockSettings().challengeLifeMilliseconds - 500)
        intruder.send(held, .central)
        world.run(forMilliseconds: 3_000)
        #expect(between.metal.movements == [.unlock, .lock])
        #expect(household.lock?.status.bolt == .locked)
    }

    @Test("It opens nothing behind its user's time, whatever he says of how long the challenge lives")
    func shortLife() throws {
        let between = try Between()
        let (household, world) = (between.household, between.world)
        let asked = world.now
        household.ask(waitMilliseconds: 3_000)
        // The octet behind the opcode, the handle and the six of the challenge.
        var challenge = between.challenge
        challenge[9] = 1
        let held = try between.sign(challenge)
        // The challenge lives on.
        world.run(forMilliseconds: 4_500 - world.now.milliseconds(since: between.began))
        try #require(world.now.milliseconds(since: asked) > 3_500 && between.intruder.isConnected(.central))
        between.intruder.send(held, .central)
        world.run(forMilliseconds: 3_000)
        #expect(between.metal.movements == [])
    }
}
