import BluetoothCore
import Foundation
import LockJudge
import LockPeripheral
import LockProtocol
import MemoryStores
import Simulation
import Testing

/// docs/RESTORATION.md, run: random schedules of commands, replays, time, kills before any output and power cuts.
@Suite("Simulation of the lock")
struct SimulationTests {
    static let schedules = 12_000

    private static let operations: [LockOperation] = [.lock, .unlock, .unlatch, .lockAndGo]

    @Test("No kill, at no output, breaks a promise: random schedules")
    func randomSchedules() throws {
        let given = ProcessInfo.processInfo.environment["LATCH_TEST_SEED"].flatMap { UInt64($0) }
        let first = given ?? UInt64.random(in: 0...UInt64.max / 2)
        var kills = 0
        for seed in first..<first + (given == nil ? UInt64(Self.schedules) : 1) {
            let world = Self.run(seed: seed)
            kills += world.kills
            let broken = Self.brokenPromises(of: world)
            guard broken.isEmpty else {
                Issue.record("LATCH_TEST_SEED=\(seed): \(broken.joined(separator: "; "))")
                return
            }
        }
        #expect(given != nil || kills > Self.schedules)
    }

    @Test("No kill breaks a promise: one scenario, killed before its 1st, 2nd, 3rd … output", arguments: operations)
    func everyOutput(operation: LockOperation) {
        for downtime: UInt64 in [0, 200, 700, 2_500] {
            for reboots in [false, true] {
                var index = 0
                while true {
                    let world = LockWorld()
                    world.outputsToLive = index
                    Self.scenario(world, operation, downtimeMilliseconds: downtime, reboots: reboots)
                    let broken = Self.brokenPromises(of: world)
                    #expect(broken.isEmpty, "output \(index), down for \(downtime) ms, reboots: \(reboots)")
                    if world.kills == 0 { break }
                    index += 1
                }
                #expect(index > 10)
            }
        }
    }

    private static func scenario(
        _ world: LockWorld, _ operation: LockOperation, downtimeMilliseconds: UInt64, reboots: Bool
    ) {
        let link = world.connect(encrypted: false)
        if let challenge = world.challenges[link] { command(world, link, operation, challenge) }
        recover(world, downtimeMilliseconds, reboots)
        world.run(milliseconds: 15_000)
        recover(world, downtimeMilliseconds, reboots)
        settle(world)
    }

    private static func recover(_ world: LockWorld, _ milliseconds: UInt64, _ reboots: Bool) {
        guard world.kills > 0 else { return }
        if reboots { world.losePower() } else { world.sleep(milliseconds: milliseconds) }
        // `sleep` and `losePower` are kills of their own; the schedule's is spent by now.
        world.launch()
    }

    private static func command(
        _ world: LockWorld, _ link: UInt64, _ operation: LockOperation, _ challenge: ChallengeID,
        isEncrypted: Bool = false
    ) {
        let command = LockCommand(operation: operation, challenge: challenge)
        world.put(.command(LockLink(rawValue: link), isEncrypted ? .encrypted : .signed(counter: 1), command.encoded))
    }

    private static func run(seed: UInt64) -> LockWorld {
        var dice = Dice(seed: seed)
        let world = LockWorld()
        var links: [(link: UInt64, isEncrypted: Bool)] = []
        var recorded: [ChallengeID] = []
        for _ in 0..<12 {
            if dice.below(2) == 0 { world.outputsToLive = dice.below(24) }
            switch dice.below(12) {
            case 0, 1:
                let isEncrypted = dice.below(3) == 0
                links.append((world.connect(encrypted: isEncrypted), isEncrypted))
            case 2, 3, 4, 5, 6:
                if links.isEmpty { links.append((world.connect(encrypted: false), false)) }
                let (link, isEncrypted) = links[dice.below(links.count)]
                guard let challenge = world.challenges[link] else { continue }
                recorded.append(challenge)
                let operation = operations[dice.below(operations.count)]
                command(world, link, operation, challenge, isEncrypted: isEncrypted)
            case 7:
                guard !recorded.isEmpty, let (link, isEncrypted) = links.last else { continue }
                command(world, link, .unlock, recorded[dice.below(recorded.count)], isEncrypted: isEncrypted)
            case 8: world.sleep(milliseconds: UInt64(dice.below(3_000)))
            case 9: world.run(milliseconds: UInt64(dice.below(700)))
            case 10: world.run(milliseconds: UInt64(dice.below(15_000)))
            default: if dice.below(2) == 0 { world.losePower() } else { world.kill() }
            }
        }
        settle(world)
        return world
    }

    private static func settle(_ world: LockWorld) {
        world.outputsToLive = nil
        world.run(milliseconds: 120_000)
    }

    private static func brokenPromises(of world: LockWorld) -> [String] {
        LockPromises.broken(
            audit: world.store.audit, metal: world.metal.lines, receipts: [world.receipts], kept: world.store.committed)
    }
}
