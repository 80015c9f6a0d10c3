import BluetoothCore
import LockProtocol
import Testing

@testable import LockCentral

@Suite("Watching a key: what is seen of a lock")
struct WatchedLockTests {
    private static func bench() -> KeyBench {
        var snapshot = KeySnapshot()
        snapshot.apply(.lock(LockRecord(peer: door, name: "Front door")))
        return KeyBench(snapshot)
    }

    private static func seen(_ bench: KeyBench) -> WatchedLock { bench.machine.watchedLocks[0] }

    @Test("A link is wanted, unproven, proven, and asked to end; a receipt proves one that is in clear")
    func link() {
        var bench = Self.bench()
        #expect(Self.seen(bench).link == .none && Self.seen(bench).state == nil && Self.seen(bench).answer == nil)
        bench.ask()
        #expect(Self.seen(bench).link == .wanted && Self.seen(bench).asked == .unlock)
        bench.connect()
        #expect(Self.seen(bench).link == .unproven)
        bench.challenge(5)
        bench.receipt(.accepted, 5, counter: 1)
        #expect(Self.seen(bench).link == .proven && Self.seen(bench).asked == nil)
        #expect(Self.seen(bench).state == .init(bolt: .unlocking, door: .closed, at: bench.now))
        #expect(Self.seen(bench).answer == .init(operation: .unlock, result: .accepted, at: bench.now))
        bench.receipt(.done, 5, counter: 2)
        #expect(Self.seen(bench).answer?.result == .done && Self.seen(bench).link == .ending)
        bench.put(.disconnected(door))
        #expect(Self.seen(bench).link == .none && Self.seen(bench).answer?.result == .done)
    }

    @Test("Attack: what nobody has sealed changes neither bolt nor receipt")
    func forged() {
        var bench = Self.bench()
        bench.ask()
        bench.connect()
        bench.challenge(5)
        let state = LockState(
            bolt: .locked, door: .closed, result: .done, answered: ChallengeID(bits: 5).prefix)
        bench.put(.lockState(door, state.encoded))
        bench.put(.receipt(door, [UInt8](repeating: 0, count: 15)))
        #expect(Self.seen(bench).state == nil && Self.seen(bench).answer == nil)
    }

    @Test("While somebody watches the links that are there are read once a second, and otherwise never")
    func readings() {
        var bench = Self.bench()
        bench.put(.watched(true))
        #expect(bench.acts.isEmpty && bench.machine.deadline == nil, "there is no link to read")
        bench.ask()
        bench.connect()
        #expect(bench.acts.contains(.readRSSI(door)))
        bench.put(.linkRSSI(door, -60))
        #expect(Self.seen(bench).dBm == -60)
        let second = bench.run(milliseconds: SignalWatch.readingMilliseconds)
        #expect(second.filter { $0 == .readRSSI(door) }.count == 1)
        bench.put(.watched(false))
        #expect(!bench.run(milliseconds: 5_000).contains(.readRSSI(door)))
        bench.put(.disconnected(door))
        #expect(Self.seen(bench).dBm == nil)
    }
}
