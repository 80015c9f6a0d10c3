import BluetoothCore
import LockProtocol
import Testing

@testable import LockCentral

@Suite("A key with a hundred locks, none of which is there")
struct IdleKeyTests {
    private static let peers = (1...100).map { PeerIdentifier(bits: UInt128($0)) }
    private static let dayMilliseconds: UInt64 = 86_400_000

    private static func bench(unlocksWhenNear: Bool, hearsAdvertisements: Bool = true) -> KeyBench {
        var snapshot = KeySnapshot()
        for peer in peers {
            snapshot.apply(.lock(LockRecord(peer: peer, name: "\(peer)", unlocksWhenNear: unlocksWhenNear)))
        }
        return KeyBench(snapshot, rules: ProximityRules(hearsAdvertisements: hearsAdvertisements))
    }

    @Test("With nothing asked of them it has nothing to do, ever")
    func resting() {
        var bench = Self.bench(unlocksWhenNear: false)
        #expect(bench.machine.deadline == nil && bench.run(milliseconds: Self.dayMilliseconds).isEmpty)
    }

    @Test(
        "Watched for nearness, it asks once for a link with each, and then waits without a timer and without a fact",
        arguments: [true, false])
    func waiting(hearsAdvertisements: Bool) {
        var bench = Self.bench(unlocksWhenNear: true, hearsAdvertisements: hearsAdvertisements)
        let asked = bench.run(milliseconds: ProximityMachine.silenceMilliseconds)
        #expect(asked == Self.peers.map { .connect($0) })
        #expect(bench.machine.deadline == nil && bench.run(milliseconds: Self.dayMilliseconds).isEmpty)
    }

    @Test("Somebody who watches changes nothing of that")
    func watched() {
        var bench = Self.bench(unlocksWhenNear: false)
        bench.put(.watched(true))
        #expect(bench.machine.deadline == nil && bench.run(milliseconds: Self.dayMilliseconds).isEmpty)
    }
}
