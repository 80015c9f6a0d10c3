import BluetoothCore
import LockCentral
import LockProtocol
import MemoryStores
import Testing

/// Whoever answers at the lock's address may say what he likes in clear: it costs the link that he says it on.
@Suite("Attacks on a request: links that prove nothing")
struct KeyUnprovenLinkTests {
    /// A link on which nobody proves anything, and the time until the next one is asked for.
    private func loseLink(_ bench: inout KeyBench, afterMilliseconds: UInt64 = 0) -> [KeyOutput] {
        bench.connect()
        var all = bench.outputs + bench.run(milliseconds: afterMilliseconds)
        all += bench.put(.encryptionFailed(door))
        all += bench.put(.disconnected(door))
        return all
    }

    @Test("Forged key missing: nothing ends but the link, and the next one is made at once")
    func keyMissing() {
        var bench = KeyBench()
        bench.ask()
        bench.connect(signed: false)
        #expect(bench.put(.encryptionFailed(door)) == [.disconnect(door)])
        #expect(bench.put(.disconnected(door)) == [.connect(door)])
        #expect(bench.known?.request != nil)
        bench.connect()
        #expect(bench.acts == [.encrypt(door)], "nothing is signed any more for whoever may be there")
        bench.put(.proven(door))
        bench.put(.encrypted(door))
        bench.challenge(5, [])
        #expect(bench.writes.count == 1)
    }

    @Test(
        "Signed for a stranger's challenge: the lock is asked, and when it has not taken it, asked anew on the same link"
    )
    func strangersChallenge() {
        var bench = KeyBench()
        bench.ask()
        bench.connect()
        bench.challenge(666)
        #expect(bench.writes.map(\.challenge) == [ChallengeID(bits: 666)])
        bench.run(milliseconds: KeyMachine.answerWaitMilliseconds)
        bench.put(.encryptionFailed(door))
        #expect(bench.verdicts.isEmpty)
        bench.put(.disconnected(door))
        #expect(bench.acts == [.connect(door)])
        bench.connect()
        #expect(bench.acts == [.encrypt(door)])
        bench.challenge(667)
        bench.put(.encrypted(door))
        #expect(bench.acts == [.writeControlPoint(door, [0x01])])
        bench.status(4, .done, .done)
        #expect(bench.known?.request?.sent == nil && bench.verdicts.isEmpty)
        bench.challenge(5, [])
        #expect(bench.writes.map(\.challenge) == [ChallengeID(bits: 5)])
    }

    @Test("A flood of challenges gets one signature, and none on the next link")
    func flood() {
        var bench = KeyBench()
        bench.ask()
        bench.connect()
        var writes = 0
        for number in 1...100 as ClosedRange<UInt64> {
            bench.challenge(number)
            writes += bench.writes.count
        }
        bench.put(.disconnected(door))
        bench.connect()
        for number in 101...200 as ClosedRange<UInt64> {
            bench.challenge(number)
            writes += bench.writes.count
        }
        #expect(writes == 1)
    }

    @Test(
        "The time ends it: nothing was sent, and nobody could prove to be the lock; nobody there at all is another end")
    func timeOver() {
        var bench = KeyBench()
        bench.ask(lifeMilliseconds: 1_000)
        _ = loseLink(&bench)
        bench.run(milliseconds: 999)
        #expect(bench.verdicts.isEmpty)
        bench.run(milliseconds: 1)
        #expect(bench.verdicts == [.unproven])
        bench.ask(lifeMilliseconds: 1_000)
        bench.run(milliseconds: 1_000)
        #expect(bench.verdicts == [.expired])
    }

    @Test("Signed, and the lock could not be asked: so long behind the time nobody knows, and not a millisecond before")
    func settle() {
        var bench = KeyBench()
        bench.ask(lifeMilliseconds: 10_000)
        bench.connect()
        bench.challenge(5)
        bench.put(.disconnected(door))
        bench.run(milliseconds: 10_000 + KeyMachine.settleMilliseconds - 1)
        #expect(bench.verdicts.isEmpty)
        bench.run(milliseconds: 1)
        #expect(bench.verdicts == [.unknown] && bench.known?.request == nil)
    }

    @Test("Signed, and the lock itself is there when the time is over: its word is waited for")
    func settleProven() {
        var bench = KeyBench()
        bench.ask(lifeMilliseconds: 10_000)
        bench.connect()
        bench.challenge(5)
        bench.put(.disconnected(door))
        bench.run(milliseconds: 10_000 + KeyMachine.settleMilliseconds - 1)
        bench.connect()
        bench.put(.proven(door))
        bench.put(.encrypted(door))
        bench.run(milliseconds: KeyMachine.statusWaitMilliseconds - 1)
        #expect(bench.verdicts.isEmpty)
        bench.status(5, .done, .done)
        #expect(bench.verdicts == [.done])
    }

    @Test("What an earlier process sent does not keep the lock for ever: who asks is refused, and heard soon after")
    func restored() {
        var bench = KeyBench()
        bench.ask()
        bench.connect()
        bench.challenge(5)
        var again = KeyBench(bench.store.committed, boot: BootID(bits: 2))
        again.run(milliseconds: 100_000)
        #expect(again.known?.request != nil, "the lock is asked whenever it is met")
        again.ask()
        #expect(again.verdicts == [.declined])
        again.run(milliseconds: KeyMachine.settleMilliseconds)
        #expect(again.verdicts == [.unknown])
        again.ask()
        #expect(again.verdicts.isEmpty)
    }

    @Test("Links that end as soon as they are made: the first is made anew at once, the others at a distance")
    func spacing() {
        var bench = KeyBench()
        bench.ask()
        #expect(loseLink(&bench).last == .connect(door))
        for _ in 1..<KeyMachine.quickAttemptsMaximum {
            #expect(!loseLink(&bench).contains(.connect(door)))
            #expect(bench.run(milliseconds: KeyMachine.attemptSpacingMilliseconds - 1).isEmpty)
            #expect(bench.run(milliseconds: 1) == [.connect(door)])
        }
    }

    @Test("A link that took its time is made anew at once, and so is the first after somebody asked")
    func noSpacing() {
        var bench = KeyBench()
        bench.ask()
        for _ in 0..<3 {
            let outputs = loseLink(&bench, afterMilliseconds: KeyMachine.attemptSpacingMilliseconds)
            #expect(outputs.last == .connect(door))
        }
    }

    @Test("As many links may be in vain as may be; of each more, the next waits twice as long, and a minute at most")
    func pause() {
        var bench = KeyBench()
        bench.ask(lifeMilliseconds: 3_600_000)
        for _ in 0..<KeyMachine.quickAttemptsMaximum { _ = loseLink(&bench, afterMilliseconds: 200) }
        var pause = KeyMachine.attemptPause.firstMilliseconds
        for _ in 0..<10 {
            _ = loseLink(&bench)
            #expect(bench.run(milliseconds: pause - 1).isEmpty)
            #expect(bench.run(milliseconds: 1) == [.connect(door)])
            pause = min(2 * pause, KeyMachine.attemptPauseMaximumMilliseconds)
        }
        #expect(pause == KeyMachine.attemptPauseMaximumMilliseconds)
    }

    @Test("A lock that proved itself and has no tree of a lock: the link is left, and the request goes on")
    func noTree() {
        var bench = KeyBench()
        bench.ask()
        bench.connect(signed: false)
        bench.put(.proven(door))
        #expect(bench.put(.encryptionFailed(door)) == [.disconnect(door)])
        #expect(bench.put(.disconnected(door)) == [.connect(door)])
    }
}
