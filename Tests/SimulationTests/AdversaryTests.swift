import BluetoothCore
import LockPeripheral
import LockProtocol
import TestSupport
import Testing

@testable import Simulation

/// The stranger of simulated schedules has to come to his end, or what withstands him proves nothing.
@Suite("Somebody near the door")
struct AdversaryTests {
    /// An attack of this kind on a house whose first key has opened the first door once, and then is asked to do so again.
    private static func attacked(_ kind: Attack.Kind, doors: Int = 1) throws -> House {
        let house = try House(seed: 11, doors: doors, keys: 1, scratch: try ScratchSpace())
        house.watchAir()
        house.pockets[0].ask(.unlock, of: house.door, waitMilliseconds: 5_000)
        house.agenda.run(milliseconds: 12_000)
        let attack = Attack(kind, key: 0, isElsewhere: doors > 1, holdMilliseconds: 700, chance: 5)
        house.adversary.begin(attack, near: house.door)
        house.agenda.run(milliseconds: 1_000)
        house.pockets[0].ask(.unlock, of: house.door, waitMilliseconds: 5_000)
        house.agenda.run(milliseconds: 6_000)
        return house
    }

    @Test("Every attack comes to its end, and opens nothing", arguments: Attack.Kind.allCases)
    func toTheEnd(_ kind: Attack.Kind) throws {
        let house = try Self.attacked(kind)
        #expect(house.adversary.isDone)
        // What he has held back, or kept from its lock, he may let go in its time: once.
        let opened = house.door.metal.lines.count { $0.line.movement != .lock }
        #expect((1...2).contains(opened))
        for request in house.ledger.requests {
            #expect(
                house.door.metal.lines.count { line in line.line.command.map { request.sent[$0] != nil } ?? false } <= 1
            )
        }
    }

    @Test("What was meant for one door opens no other one, also where the other one's challenge was signed")
    func elsewhere() throws {
        for kind in [Attack.Kind.replay, .hold] {
            let house = try Self.attacked(kind, doors: 2)
            #expect(house.adversary.isDone && !house.adversary.sent.isEmpty)
            #expect(house.doors[0].metal.lines.contains { $0.line.movement != .lock })
            #expect(house.doors[1].metal.lines.isEmpty)
        }
    }

    @Test("What he hears of a command is what left the key, and a bit that he turns over is one")
    func hearing() throws {
        let house = try Self.attacked(.flip)
        let heard = house.adversary.heard
        #expect(heard.commands[0]?.count ?? 0 >= 2)
        #expect(heard.commands[0]?.allSatisfy { $0.count == 23 && $0[0] == 0xD2 } == true)
        #expect(!heard.receipts.isEmpty && heard.challengeHandle != 0)
        let sent = house.adversary.sent
        #expect(sent.count == 1)
        let differences = zip(sent[0], heard.commands[0]?[0] ?? []).map { ($0 ^ $1).nonzeroBitCount }
        #expect(differences.reduce(0, +) == 1)
    }
}
