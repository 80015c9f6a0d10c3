import LockCentral
import Testing

@testable import ProximityWalks

/// Two stands and the way between them.
@Suite("A guided walk, and what it proposes")
struct CalibrationWalkTests {
    private static let standMilliseconds: UInt64 = 2_000

    /// A walk whose readings come ten a second; Enter comes where the walk asks for it.
    private struct Guided {
        var walk = CalibrationWalk(standMilliseconds: standMilliseconds)
        var now: UInt64 = 0

        mutating func read(_ rssi: Int8, milliseconds: UInt64) {
            for _ in 0..<milliseconds / 100 {
                now += 100
                walk.read(rssi, milliseconds: now)
            }
        }

        mutating func enter() { walk.enter(milliseconds: now) }
    }

    private static func walk(near: Int8, away: Int8) -> CalibrationWalk {
        var guided = Guided()
        guided.walk.linked()
        guided.read(near, milliseconds: 3_000)
        guided.enter()
        guided.read(near, milliseconds: standMilliseconds)
        guided.read(away, milliseconds: 5_000)
        guided.enter()
        guided.read(away, milliseconds: standMilliseconds)
        return guided.walk
    }

    @Test("A link, a stand near, a way, a stand away: each phase ends by what it waits for, and by nothing else")
    func phases() {
        var guided = Guided()
        #expect(guided.walk.phase == .connecting)
        guided.enter()
        guided.read(-50, milliseconds: 500)
        #expect(guided.walk.phase == .connecting)
        guided.walk.linked()
        #expect(guided.walk.phase == .comingNear)
        guided.read(-50, milliseconds: 10_000)
        guided.walk.pass(to: guided.now)
        #expect(guided.walk.phase == .comingNear)
        guided.enter()
        guided.read(-50, milliseconds: Self.standMilliseconds - 100)
        guided.enter()
        #expect(guided.walk.phase == .standingNear)
        guided.read(-50, milliseconds: 100)
        #expect(guided.walk.phase == .goingAway)
        guided.walk.linkLost(milliseconds: guided.now)
        #expect(!guided.walk.isLinked && guided.walk.phase == .goingAway)
        guided.walk.linked()
        #expect(guided.walk.phase == .goingAway)
        guided.enter()
        guided.read(-80, milliseconds: Self.standMilliseconds)
        #expect(guided.walk.phase == .over)
        let count = guided.walk.trace.readings.count
        guided.read(-20, milliseconds: 1_000)
        #expect(guided.walk.trace.readings.count == count)
    }

    @Test("A stand without readings ends, and says nothing")
    func silentStand() {
        var guided = Guided()
        guided.walk.linked()
        guided.read(-50, milliseconds: 1_000)
        guided.enter()
        guided.walk.pass(to: guided.now + CalibrationWalk.patience * Self.standMilliseconds - 1)
        #expect(guided.walk.phase == .standingNear)
        guided.walk.pass(to: guided.now + CalibrationWalk.patience * Self.standMilliseconds)
        #expect(guided.walk.phase == .goingAway)
        guided.now += CalibrationWalk.patience * Self.standMilliseconds
        guided.enter()
        guided.read(-80, milliseconds: Self.standMilliseconds)
        #expect(throws: CalibrationFault.tooFewReadings(.near, 1)) { try guided.walk.proposal() }
    }

    @Test("Near is what the first stand has shown, and away what the second has, but no more than ten dB below")
    func proposal() throws {
        let steady = try Self.walk(near: -60, away: -68).proposal()
        #expect(steady.thresholds == ProximityThresholds(nearDBm: -60, awayDBm: -67), "the filter comes down from near")
        let far = try Self.walk(near: -60, away: -90).proposal()
        #expect(far.thresholds == ProximityThresholds(nearDBm: -60, awayDBm: -70))
        #expect(far.awayDBm < -89 && far.nearDBm == -60)
    }

    @Test("Half of the readings near may be weaker, and a quarter of those away stronger", arguments: [5, 6, 9, 10])
    func quantiles(outliers: Int) throws {
        let (near, away) = (Array(repeating: -60.0, count: 20), Array(repeating: -80.0, count: 20))
        func propose(_ near: [Double], _ away: [Double]) -> CalibrationProposal? {
            try? CalibrationProposal(near: near, away: away)
        }
        let weaker = propose(near.dropLast(outliers) + Array(repeating: -70.0, count: outliers), away)
        #expect(weaker?.nearDBm == (outliers <= 9 ? -60 : -70))
        let stronger = propose(near, away.dropLast(outliers) + Array(repeating: -70.0, count: outliers))
        #expect(stronger?.awayDBm == (outliers <= 5 ? -80 : -70))
    }

    @Test("Stands that are less than 6 dB apart propose nothing, and neither do too few readings")
    func refused() throws {
        let enough = CalibrationProposal.readingsMinimum
        func propose(_ near: Double, _ away: Double, _ nearCount: Int? = nil, _ awayCount: Int? = nil) throws {
            _ = try CalibrationProposal(
                near: Array(repeating: near, count: nearCount ?? enough),
                away: Array(repeating: away, count: awayCount ?? enough))
        }
        try propose(-60, -66)
        #expect(throws: CalibrationFault.notApart(nearDBm: -60, awayDBm: -65)) { try propose(-60, -65) }
        #expect(throws: CalibrationFault.notApart(nearDBm: -80, awayDBm: -60)) { try propose(-80, -60) }
        #expect(throws: CalibrationFault.tooFewReadings(.near, enough - 1)) { try propose(-60, -80, enough - 1) }
        #expect(throws: CalibrationFault.tooFewReadings(.away, 0)) { try propose(-60, -80, nil, 0) }
    }

    @Test(
        "Signals that nobody means propose nothing out of range, and nothing traps",
        arguments: [-128, -127, -110, 0, 20, 127])
    func extremes(rssi: Int) {
        for other in [-128, -111, -104, 0, 127] {
            let walk = Self.walk(near: Int8(rssi), away: Int8(other))
            guard let own = try? walk.proposal().thresholds else { continue }
            #expect(
                ProximityRules.dBmRange.contains(Int(own.nearDBm)) && ProximityRules.dBmRange.contains(Int(own.awayDBm))
            )
        }
    }

    @Test("The key's own machine decides on the trace: away behind the dwell, and near again at the return")
    func decisions() {
        var trace = WalkTrace()
        for index in 0..<UInt64(300) {
            trace.add(index < 50 || index >= 200 ? -50 : -90, milliseconds: index * 100)
        }
        let found = trace.decisions(by: ProximityRules())
        #expect(found.map(\.proximity) == [.away, .near])
        let (away, near) = (found.first?.milliseconds ?? 0, found.last?.milliseconds ?? 0)
        #expect((5_000 + 1_500...9_000).contains(away) && (20_000 + 1_500...26_000).contains(near), "\(found)")
        #expect(trace.decisions(by: ProximityRules(nearDBm: -40, awayDBm: -92)).isEmpty)
    }

    @Test(
        "Without advertisements the decisions are those of a key that asks for links at its own pace: later, and not at once"
    )
    func deafDecisions() {
        var trace = WalkTrace()
        for index in 0..<UInt64(900) {
            trace.add(index < 100 || index >= 600 ? -50 : -90, milliseconds: index * 100)
        }
        let found = trace.decisions(by: ProximityRules(hearsAdvertisements: false))
        #expect(found.map(\.proximity) == [.away, .near])
        // Near, it looks behind 20 s without a word; away, behind a rest.
        let (away, near) = (found.first?.milliseconds ?? 0, found.last?.milliseconds ?? 0)
        #expect(away >= 20_000 + 1_500 && near > 60_000 + 1_500, "\(found)")
        let heard = trace.decisions(by: ProximityRules())
        #expect(heard.map(\.proximity) == [.away, .near])
        #expect(heard.first?.milliseconds ?? 0 < 15_000 && heard.last?.milliseconds ?? 0 < near, "\(heard)")
    }

    @Test("Behind a link that was lost the key measures anew: its filter, its stay, and the rest before the next look")
    func lostLink() {
        func trace(losing: Bool) -> WalkTrace {
            var trace = WalkTrace()
            for index in 0..<UInt64(100) {
                if losing, index == 50 { trace.linkLost(milliseconds: 5_000) }
                trace.add(index < 20 ? -50 : -90, milliseconds: index * 100)
            }
            return trace
        }
        let (whole, broken) = (trace(losing: false), trace(losing: true))
        let found = whole.decisions(by: ProximityRules())
        #expect(found.map(\.proximity) == [.away])
        #expect(
            (4_500...5_500).contains(found.first?.milliseconds ?? 0), "\(found): it measures while the link is lost")
        let late = broken.decisions(by: ProximityRules())
        #expect(late.map(\.proximity) == [.away])
        #expect(late.first?.milliseconds ?? 0 >= 5_000 + 2_000 + 1_500, "\(late)")
        #expect(broken.readings[50].lostBefore == 5_000 && broken.readings[51].lostBefore == nil)
        var filtered = WalkTrace()
        filtered.add(-50, milliseconds: 0)
        filtered.linkLost(milliseconds: 50)
        filtered.add(-90, milliseconds: 100)
        #expect(filtered.readings.map(\.level) == [-50, -90])
    }

    @Test("A link is away for as long as a walk may wait for it: an absence from before it lasts, as the key is awake")
    func longLoss() {
        var trace = WalkTrace()
        for index in 0..<UInt64(100) { trace.add(index < 20 ? -50 : -90, milliseconds: index * 100) }
        let back = 10_000 + CalibrationSession.linkWaitMaximumMilliseconds
        trace.linkLost(milliseconds: 10_000)
        for index in 0..<UInt64(50) { trace.add(-50, milliseconds: back + index * 100) }
        #expect(trace.decisions(by: ProximityRules()).map(\.proximity) == [.away, .near])
    }
}
