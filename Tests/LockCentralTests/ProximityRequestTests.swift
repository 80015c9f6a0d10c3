import BluetoothCore
import LockProtocol
import Testing

@testable import LockCentral

/// What a user has asked for, in each state of a measurement: the measurement gives way.
@Suite("A user's command while the key measures how near it is")
struct ProximityRequestTests {
    /// Of the measurement, when the user asks.
    enum Stage: CaseIterable {
        /// A link is asked for, and not there.
        case wanting
        case encrypting
        /// Encrypted; the tree is on its way.
        case proven
        case measuring
        /// Measured on for so long that its time is nearly over.
        case lateMeasuring
        /// Found, and asked to end: its end is on its way.
        case leaving
        /// The same, and a challenge of this link is at hand.
        case leavingWithChallenge
    }

    /// A key that looks whether it is still near, or whether it has come.
    private func walk(_ proximity: Proximity, _ stage: Stage) -> Walk {
        let walk = Walk()
        if proximity == .away {
            walk.goAway()
            _ = walk.wake()
        } else {
            walk.bench.run(milliseconds: ProximityMachine.silenceMilliseconds)
        }
        if stage == .wanting { return walk }
        walk.bench.connect()
        if stage == .encrypting { return walk }
        walk.bench.put(.proven(door))
        if stage == .proven { return walk }
        walk.bench.put(.encrypted(door))
        switch stage {
        case .wanting, .encrypting, .proven, .measuring: break
        case .lateMeasuring: _ = walk.measure(-70, milliseconds: 4_500)
        case .leaving: _ = walk.measure(-70)
        case .leavingWithChallenge:
            walk.bench.challenge(4, [], life: 200)
            walk.bench.put(.linkRSSI(door, -70))
            walk.bench.run(milliseconds: 100)
            _ = walk.measure(-70)
        }
        return walk
    }

    /// What is left until the command is on the air, with the lock there.
    private func send(_ walk: Walk, _ stage: Stage) -> [KeyOutput] {
        var all: [KeyOutput] = []
        switch stage {
        case .wanting:
            walk.bench.connect(signed: false)
            walk.bench.put(.proven(door))
            all += walk.bench.put(.encrypted(door))
        case .encrypting, .proven:
            walk.bench.put(.proven(door))
            all += walk.bench.put(.encrypted(door))
        case .measuring, .lateMeasuring: break
        case .leaving, .leavingWithChallenge:
            walk.bench.challenge(3, [])
            all += walk.bench.outputs
            all += walk.bench.put(.disconnected(door))
            #expect(all.contains(.connect(door)))
            #expect(walk.bench.known?.request?.sent == nil, "nothing is sent on a link that ends")
            walk.bench.connect(signed: false)
            walk.bench.put(.proven(door))
            all += walk.bench.put(.encrypted(door))
        }
        walk.bench.challenge(5, [])
        return all + walk.bench.outputs
    }

    private func say(_ walk: Walk, _ result: LockResult) -> [KeyOutput] {
        let state = LockState(bolt: .jammed, door: .closed, result: result, answered: ChallengeID(bits: 5).prefix)
        return walk.bench.put(.lockState(door, state.encoded))
    }

    /// The link's RSSI, for as long as somebody reads it.
    private func stay(_ walk: Walk, _ rssi: Int8, milliseconds: UInt64) -> [KeyOutput] {
        var all: [KeyOutput] = []
        for _ in 0..<milliseconds / 100 {
            all += walk.bench.put(.linkRSSI(door, rssi)) + walk.bench.run(milliseconds: 100)
        }
        return all
    }

    @Test(
        "Asked in each state, near or away, whatever the link shows: one command, and the lock's last word, a jam, is told",
        arguments: Stage.allCases, [Proximity.near, .away])
    func lastWord(stage: Stage, proximity: Proximity) throws {
        for rssi in [-50, -70, -95] as [Int8] {
            for whenMeasured in 0..<3 {
                let walk = walk(proximity, stage)
                walk.bench.ask(.lock)
                guard case .took(_, let id) = walk.bench.acts.first else {
                    Issue.record("nothing was taken")
                    return
                }
                var all: [KeyOutput] = []
                if whenMeasured == 0 { all += stay(walk, rssi, milliseconds: 200) }
                all += send(walk, stage)
                if whenMeasured == 1 { all += stay(walk, rssi, milliseconds: 1_400) }
                all += say(walk, .accepted)
                if whenMeasured == 2 { all += stay(walk, rssi, milliseconds: 3_500) }
                #expect(!all.contains(.disconnect(door)), "\(rssi) dBm, \(whenMeasured)")
                let end = say(walk, .jammed)
                #expect(end.contains(.outcome(door, id, .jammed)), "\(rssi) dBm, \(whenMeasured)")
                #expect(end.contains(.disconnect(door)))
                let ended = all.filter { if case .ended = $0 { true } else { false } }
                let written = all.filter { if case .writeEncrypted = $0 { true } else { false } }
                #expect(ended == [.ended(door, id, .accepted)] && written.count == 1)
                #expect(!(all + end).contains { if case .took = $0 { true } else { false } })
            }
        }
    }

    @Test(
        "The link is lost in each state: the command is not, and the next link is asked for at once",
        arguments: Stage.allCases, [Proximity.near, .away])
    func lost(stage: Stage, proximity: Proximity) {
        for isSent in [false, true] {
            let walk = walk(proximity, stage)
            walk.bench.ask(.lock)
            if isSent { _ = send(walk, stage) }
            #expect(walk.bench.put(.disconnected(door)).contains(.connect(door)))
            #expect(walk.operation == .lock && (walk.bench.known?.request?.sent != nil) == isSent)
        }
    }

    @Test("Coming while a command is under way asks for nothing, and costs none of the openings")
    func openings() {
        let walk = walk(.away, .measuring)
        walk.bench.ask(.lock)
        _ = stay(walk, -50, milliseconds: 2_000)
        #expect(walk.proximity == .near && walk.operation == .lock)
        walk.bench.put(.cancel(door))
        walk.leaveLink()
        walk.goAway()
        _ = walk.comeNear()
        #expect(walk.operation == .unlock, "one that is left of this launch")
    }

    @Test("A new pairing, or nobody who watches, while a link is measured on: it is let go, and not kept for nothing")
    func letGo() {
        for input in [KeyInput.bonded(door), .lock(LockRecord(peer: door, name: "Front door"))] {
            let walk = walk(.away, .measuring)
            #expect(walk.bench.put(input).contains(.disconnect(door)))
        }
    }
}
