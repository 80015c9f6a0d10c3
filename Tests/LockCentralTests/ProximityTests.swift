import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockCentral

@Suite("Proximity")
struct ProximityTests {
    @Test("Away, as a link has shown, and then near on a link: asked once to unlock, on that link")
    func comingAndGoing() {
        let walk = Walk()
        walk.goAway()
        #expect(walk.proximity == .away)
        let outputs = walk.comeNear()
        #expect(walk.proximity == .near && walk.operation == .unlock)
        #expect(!outputs.contains(.disconnect(door)))
        walk.bench.challenge(5, [])
        #expect(walk.bench.writes.map(\.operation) == [.unlock])
    }

    @Test("Leaving asks to lock, on the link that has shown it")
    func leaving() {
        let walk = Walk()
        _ = walk.advertise(-95, milliseconds: 3_000)
        walk.link()
        _ = walk.measure(-95)
        #expect(walk.proximity == .away && walk.operation == .lock)
    }

    @Test("A controller that knows no strength: away, the key looks whether it has come, and a link shows it")
    func unknownStrength() {
        let walk = Walk()
        walk.goAway()
        #expect(walk.wake(127))
        walk.link()
        #expect(walk.measure(-50).contains { if case .took = $0 { true } else { false } })
        #expect(walk.operation == .unlock)
    }

    @Test("First contact after an enrolment, and a relaunch at the door, are no coming")
    func standing() {
        let walk = Walk()
        #expect(walk.proximity == .near)
        #expect(walk.advertise(-40, milliseconds: 10_000).isEmpty)
        walk.goAway()
        _ = walk.comeNear()
        walk.bench.put(.cancel(door))
        let again = Walk(walk.bench.store.committed)
        #expect(again.advertise(-40, milliseconds: 10_000).isEmpty)
        again.bench.put(.bonded(door))
        #expect(again.proximity == .near)
    }

    @Test("A new pairing, and being watched anew, count as standing at the door")
    func reset() {
        let walk = Walk()
        walk.goAway()
        walk.bench.put(.bonded(door))
        #expect(walk.proximity == .near)
        walk.goAway()
        walk.bench.put(.lock(LockRecord(peer: door, name: "Front door")))
        #expect(walk.proximity == .away)
        walk.bench.put(.lock(LockRecord(peer: door, name: "Front door", unlocksWhenNear: true)))
        #expect(walk.proximity == .near)
    }

    @Test("Away survives a kill")
    func killed() {
        let walk = Walk()
        walk.goAway()
        let again = Walk(walk.bench.store.committed)
        #expect(again.proximity == .away)
        _ = again.comeNear()
        #expect(again.operation == .unlock)
    }

    @Test("Nothing is asked of a lock that nobody wants to be near of")
    func off() {
        var snapshot = KeySnapshot()
        snapshot.apply(.lock(LockRecord(peer: door, name: "Front door")))
        let walk = Walk(snapshot)
        #expect(walk.advertise(-95, milliseconds: 10_000).isEmpty && walk.bench.run(milliseconds: 100_000).isEmpty)
        #expect(walk.bench.machine.deadline == nil)
    }

    @Test("Between the thresholds, for a moment, or unknown: no advertisement wakes the key")
    func hysteresis() {
        let walk = Walk()
        #expect(walk.advertise(-70, milliseconds: 10_000).isEmpty)
        #expect(walk.advertise(127, milliseconds: 10_000).isEmpty)
        #expect(walk.advertise(-90, milliseconds: ProximityMachine.dwellMilliseconds).isEmpty)
        #expect(walk.advertise(-60, milliseconds: 1_000).isEmpty)
        #expect(walk.advertise(-90, milliseconds: ProximityMachine.dwellMilliseconds).isEmpty)
    }
}

@Suite("Attacks on proximity: an advertisement proves that somebody has a recorder")
struct ProximityAttackTests {
    @Test("Replayed advertisement beside a key that is away: the link says far, and nothing is asked")
    func replay() {
        let walk = Walk()
        walk.goAway()
        #expect(walk.wake())
        walk.link()
        #expect(walk.measure(-79).last == .disconnect(door))
        #expect(walk.proximity == .away && walk.operation == nil)
    }

    @Test("Neither near nor far: a link that shows nothing is let go in time", arguments: [-77, -63] as [Int8])
    func unclear(rssi: Int8) {
        let walk = Walk()
        walk.goAway()
        _ = walk.wake()
        walk.link()
        let began = walk.bench.now
        #expect(walk.measure(rssi, milliseconds: 60_000).last == .disconnect(door))
        #expect(
            walk.bench.now.milliseconds(since: began) == ProximityMachine.measurementMaximumMilliseconds)
        #expect(walk.proximity == .away && walk.operation == nil)
    }

    @Test("A moment near on the link is not near, and samples that are far apart are not of one stay")
    func moments() {
        let walk = Walk()
        walk.goAway()
        _ = walk.wake()
        walk.link()
        let began = walk.bench.now
        walk.bench.put(.linkRSSI(door, -40))
        walk.bench.run(milliseconds: ProximityMachine.dwellMilliseconds)
        walk.bench.put(.linkRSSI(door, -40))
        #expect(walk.operation == nil, "nobody knows what was in between")
        #expect(walk.bench.now.milliseconds(since: began) == ProximityMachine.dwellMilliseconds)
        for rssi in [-95, -95, -40, -40, -40, -40] as [Int8] {
            walk.bench.run(milliseconds: 100)
            walk.bench.put(.linkRSSI(door, rssi))
        }
        #expect(walk.operation == nil)
    }

    @Test("Jammed for as long as one likes beside a key at the door: silence is no absence")
    func jammed() {
        let walk = Walk()
        _ = walk.advertise(-50, milliseconds: 1_000)
        #expect(walk.bench.run(milliseconds: ProximityMachine.silenceMilliseconds - 101).isEmpty)
        #expect(walk.bench.run(milliseconds: 1_000).contains(.connect(door)), "met again, it is looked at")
        walk.bench.run(milliseconds: 600_000)
        #expect(walk.proximity == .near)
        walk.link()
        #expect(walk.measure(-50).last == .disconnect(door))
        #expect(walk.proximity == .near && walk.operation == nil)
    }

    @Test("Lost links, links of strangers and weak advertisements show no absence")
    func lost() {
        let walk = Walk()
        for _ in 0..<5 {
            _ = walk.advertise(-95, milliseconds: 3_000)
            walk.bench.connect(signed: false)
            walk.bench.put(.linkRSSI(door, -95))
            walk.bench.put(.encryptionFailed(door))
            walk.leaveLink()
            _ = walk.advertise(-95, milliseconds: 3_000)
            walk.link()
            walk.bench.put(.linkRSSI(door, -95))
            walk.leaveLink()
        }
        #expect(walk.proximity == .near && walk.operation == nil)
    }

    @Test("In clear, a link's RSSI counts for nothing")
    func clear() {
        let walk = Walk()
        walk.goAway()
        _ = walk.wake()
        walk.bench.connect()
        #expect(walk.bench.acts == [.encrypt(door)])
        #expect(walk.bench.put(.watched(true)) == [.readRSSI(door)])
        for _ in 0..<30 {
            #expect(walk.bench.put(.linkRSSI(door, -30)).isEmpty)
            walk.bench.run(milliseconds: 30)
        }
        #expect(walk.operation == nil)
    }

    @Test(
        "A player who never stops gets a link, and after a rest another: each rest is twice as long, and a minute at most"
    )
    func rest() {
        let walk = Walk()
        // The first rest is the one behind this.
        walk.goAway()
        var pause = 2 * ProximityMachine.restMinimumMilliseconds
        #expect(walk.wake())
        for number in 0..<8 {
            walk.link()
            _ = walk.measure(-95)
            walk.bench.put(.disconnected(door))
            let tooEarly = walk.advertise(-30, milliseconds: pause)
            #expect(!tooEarly.contains(.connect(door)), "link \(number)")
            #expect(walk.advertise(-30, milliseconds: 100).contains(.connect(door)), "link \(number)")
            pause = min(2 * pause, ProximityMachine.restMaximumMilliseconds)
        }
        #expect(pause == ProximityMachine.restMaximumMilliseconds)
    }

    @Test("After silence an advertisement is looked at soon again")
    func restEnds() {
        let walk = Walk()
        walk.goAway()
        for _ in 0..<8 {
            _ = walk.wake()
            walk.link()
            _ = walk.measure(-95)
            walk.leaveLink()
        }
        walk.bench.run(milliseconds: ProximityMachine.silenceMilliseconds)
        _ = walk.wake()
        walk.link()
        _ = walk.measure(-95)
        walk.bench.put(.disconnected(door))
        walk.bench.run(milliseconds: ProximityMachine.restMinimumMilliseconds)
        #expect(walk.wake())
    }

    @Test("As many openings as may be are asked for in ten minutes, and none more; a relaunch makes room for one")
    func openings() {
        let walk = Walk()
        func comings(_ count: Int) -> Int {
            var asked = 0
            for _ in 0..<count {
                walk.goAway()
                _ = walk.comeNear()
                if walk.operation == .unlock { asked += 1 }
                walk.bench.put(.cancel(door))
                // No rest: the next absence is seen at once.
                walk.bench.put(.disconnected(door))
                walk.bench.run(milliseconds: ProximityMachine.restMinimumMilliseconds)
            }
            return asked
        }
        #expect(comings(3) == 1, "a launch is no way to more")
        #expect(walk.proximity == .near)
        walk.bench.run(milliseconds: ProximityMachine.openingsWindowMilliseconds)
        #expect(comings(ProximityMachine.openingsMaximum + 1) == ProximityMachine.openingsMaximum)
    }

    @Test("A link's RSSI is read ten times a second, one question at a time, and only while it is measured on")
    func sampling() {
        let walk = Walk()
        walk.goAway()
        _ = walk.wake()
        walk.link()
        var readings = 0
        func run(milliseconds: UInt64) -> Int {
            walk.bench.run(milliseconds: milliseconds).filter { $0 == .readRSSI(door) }.count
        }
        for _ in 0..<10 {
            walk.bench.put(.linkRSSI(door, -70))
            readings += run(milliseconds: 100)
        }
        #expect(readings == 10)
        #expect(run(milliseconds: LinkSignal.answerWaitMilliseconds - 100) == 0, "the last one waits for its answer")
        #expect(run(milliseconds: 100) == 1, "it is lost")
        walk.bench.put(.disconnected(door))
        #expect(!walk.bench.run(milliseconds: 10_000).contains(.readRSSI(door)))
    }
}
