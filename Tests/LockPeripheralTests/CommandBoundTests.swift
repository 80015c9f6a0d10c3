import BluetoothCore
import LockPeripheral
import LockProtocol
import MemoryStores
import Testing

@Suite("A command's bound at the lock: it decides and opens no later than the sender meant")
struct CommandBoundTests {
    private static let bounds = (2...15 as ClosedRange<UInt8>).compactMap { CommandBound(rawValue: $0) }

    /// A lock whose challenges outlive every bound, and the challenge of link 1.
    private func bench(lifeMilliseconds: UInt64 = LockSettings.challengeLifeMaximumMilliseconds) throws -> (
        LockBench, Challenge
    ) {
        var snapshot = LockSnapshot.furnished
        snapshot.settings.challengeLifeMilliseconds = lifeMilliseconds
        var bench = LockBench(snapshot)
        bench.connect(1)
        return (bench, try bench.challenge(1))
    }

    @Test("Decided until the bound ends; a millisecond later the challenge is dead", arguments: bounds)
    func boundary(_ bound: CommandBound) throws {
        let milliseconds = try #require(bound.milliseconds)
        var (bench, challenge) = try bench()
        let end = bench.now.advanced(byMilliseconds: milliseconds)
        bench.pass(milliseconds: milliseconds)
        bench.signed(1, unlock(challenge, within: bound))
        #expect(try bench.receipt(1, answering: challenge.id).result == .accepted)
        #expect(bench.orders.map(\.notAfter) == [end])
        #expect(bench.store.committed.intent?.deadline == end)

        (bench, challenge) = try self.bench()
        bench.pass(milliseconds: milliseconds + 1)
        bench.signed(1, unlock(challenge, within: bound))
        #expect(bench.orders.isEmpty)
        guard case .refused(let audited, .challengeDead) = bench.events.first else {
            Issue.record("a refusal expected, got \(bench.events)")
            return
        }
        #expect(audited.command.bound == bound)
        #expect(try bench.receipt(1, answering: challenge.id).result == .challengeDead)
    }

    @Test("The bolt begins to open within 2 s of the decision, or until the bound ends: whichever comes first")
    func openingLife() throws {
        for (nibble, milliseconds) in [(2, 500), (4, 1_500), (5, 2_000), (6, 2_000), (15, 2_000)] as [(UInt8, UInt64)] {
            var (bench, challenge) = try bench()
            bench.signed(1, unlock(challenge, within: try #require(CommandBound(rawValue: nibble))))
            #expect(bench.orders.map(\.notAfter) == [bench.now.advanced(byMilliseconds: milliseconds)])
        }
    }

    @Test("The challenge's life ends a bound that is longer, and is all there is without one")
    func challengeLife() throws {
        for bound in [CommandBound.longest, .challengeLife] {
            var (bench, challenge) = try bench(lifeMilliseconds: 1_000)
            bench.pass(milliseconds: 999)
            bench.signed(1, unlock(challenge, within: bound))
            #expect(bench.orders.map(\.notAfter) == [bench.now.advanced(byMilliseconds: 2_000)])
            (bench, challenge) = try self.bench(lifeMilliseconds: 1_000)
            bench.pass(milliseconds: 1_000)
            bench.signed(1, unlock(challenge, within: bound))
            #expect(bench.orders.isEmpty)
        }
    }

    @Test("Encrypted, and for every operation, it is the same: locking is not late, and is dead all the same")
    func everyOperation() throws {
        for operation in LockOperation.known {
            var bench = LockBench()
            bench.connectEncrypted(1)
            let challenge = try bench.challenge(1)
            bench.pass(milliseconds: 501)
            let bound = try #require(CommandBound(within: 500))
            bench.encrypted(1, LockCommand(operation: operation, bound: bound, challenge: challenge.id))
            guard case .refused(_, .challengeDead) = bench.events.first else {
                Issue.record("\(operation.name): a refusal expected, got \(bench.events)")
                continue
            }
        }
    }

    @Test("What comes too late uses the challenge up: a second command with a longer bound opens nothing")
    func usedUp() throws {
        var (bench, challenge) = try bench()
        bench.pass(milliseconds: 600)
        bench.signed(1, unlock(challenge, within: try #require(CommandBound(within: 500))))
        bench.signed(1, unlock(challenge), counter: 2)
        #expect(bench.orders.isEmpty)
    }
}
