import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockCentral

/// To leave takes a presence that a signal has shown. Near that is presumed, so that nothing opens, is none.
@Suite("Leaving: who was away all the time has not left")
struct ProximityLeavingTests {
    /// Weak advertisements, and a link that shows the key away.
    private func lookFromFar(_ walk: Walk) {
        _ = walk.advertise(-95, milliseconds: ProximityMachine.dwellMilliseconds + 1_000)
        walk.link()
        _ = walk.measure(-95)
    }

    /// The key's user commands the lock from far away, and the lock answers.
    private func command(_ walk: Walk) {
        walk.bench.ask(.unlock)
        walk.bench.connect()
        walk.bench.challenge(5)
        walk.bench.receipt(.done, 5, counter: 1)
        walk.bench.put(.disconnected(door))
    }

    @Test("Unlocked from far away, for a guest: the key that stays there does not lock the door behind its user's back")
    func ownCommand() {
        let walk = Walk()
        walk.goAway()
        command(walk)
        #expect(walk.proximity == .near)
        lookFromFar(walk)
        #expect(walk.proximity == .away && walk.operation == nil)
    }

    @Test("Asleep, without a radio, or started anew, and then away as before: nothing is locked")
    func unwatched() {
        let slept = Walk()
        slept.goAway()
        slept.bench.now = slept.bench.now.advanced(byMilliseconds: 3_600_000)
        slept.bench.put(.timerFired)
        let deaf = Walk()
        deaf.goAway()
        deaf.bench.put(.radio(isOn: false))
        deaf.bench.run(milliseconds: AbsenceWatch.gapMaximumMilliseconds + 1)
        deaf.bench.put(.radio(isOn: true))
        let killed = Walk()
        killed.goAway()
        let later = killed.bench.now.advanced(byMilliseconds: 8 * 3_600_000)
        let again = Walk(killed.bench.store.committed, now: later)
        for walk in [slept, deaf, again] {
            #expect(walk.proximity == .near)
            lookFromFar(walk)
            #expect(walk.proximity == .away && walk.operation == nil)
        }
    }

    @Test("Watched from now on, or by other thresholds, in a far room: nobody has been seen at the door")
    func switchedOn() {
        let record = LockRecord(peer: door, name: "Front door", unlocksWhenNear: true, locksWhenLeaving: true)
        let inputs: [[KeyInput]] = [
            [.lock(LockRecord(peer: door, name: "Front door")), .lock(record)],
            [.thresholds(door, ProximityThresholds(nearDBm: -50, awayDBm: -60))],
        ]
        for input in inputs {
            let walk = Walk()
            for one in input { walk.bench.put(one) }
            lookFromFar(walk)
            #expect(walk.proximity == .away && walk.operation == nil)
        }
    }

    @Test("Seen near in between, by an advertisement or on a link, a key that is away has left")
    func seenNear() {
        for showsByLink in [false, true] {
            let walk = Walk()
            walk.goAway()
            command(walk)
            if showsByLink {
                walk.bench.run(milliseconds: ProximityMachine.silenceMilliseconds)
                walk.link()
                _ = walk.measure(-50)
                walk.leaveLink()
            } else {
                _ = walk.advertise(-50, milliseconds: 1_000)
            }
            lookFromFar(walk)
            #expect(walk.proximity == .away && walk.operation == .lock)
        }
    }

    @Test("One decibel less than near is not seen near")
    func threshold() {
        for (rssi, operation) in [
            (ProximityRules.usualNearDBm - 1, nil), (ProximityRules.usualNearDBm, .lock),
        ] as [(Int8, LockOperation?)] {
            let walk = Walk()
            walk.goAway()
            command(walk)
            // What was heard before counts no more.
            walk.bench.run(milliseconds: ProximityMachine.silenceMilliseconds)
            _ = walk.advertise(rssi, milliseconds: 1_000)
            lookFromFar(walk)
            #expect(walk.operation == operation, "\(rssi) dBm")
        }
    }
}
