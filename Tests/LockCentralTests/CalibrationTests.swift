import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockCentral

/// A user walks with the key, so that a lock gets thresholds of its own.
@Suite("A walk that calibrates a lock")
struct CalibrationTests {
    private func reports(_ outputs: [KeyOutput]) -> [CalibrationReport] {
        outputs.compactMap { if case .calibration(door, let report) = $0 { report } else { nil } }
    }

    /// A walk that has begun, with the lock's own link where `linked`.
    private func begin(_ walk: Walk, linked: Bool = true) {
        walk.bench.put(.calibrate(door))
        if linked { walk.link() }
    }

    /// The link's RSSI for so long, as often as it is asked for. What the key wanted.
    @discardableResult
    private func read(_ walk: Walk, _ rssi: Int8, milliseconds: UInt64) -> [KeyOutput] {
        var all: [KeyOutput] = []
        for _ in 0..<milliseconds / 100 {
            all += walk.bench.put(.linkRSSI(door, rssi)) + walk.bench.run(milliseconds: 100)
        }
        return all
    }

    @Test("It asks for a link, and tells each reading of it, ten a second, once the lock has encrypted it")
    func readings() {
        let walk = Walk()
        #expect(walk.bench.put(.calibrate(door)).contains(.connect(door)))
        walk.bench.connect()
        #expect(reports(walk.bench.put(.linkRSSI(door, -40))).isEmpty, "whoever answers in clear is nobody")
        #expect(reports(walk.bench.put(.proven(door))) == [.linked] && walk.bench.acts.contains(.readRSSI(door)))
        #expect(reports(walk.bench.put(.encrypted(door))).isEmpty, "it is told once")
        let all = read(walk, -61, milliseconds: 1_000)
        let told = reports(all)
        #expect(told.count == 10 && told.first == .reading(-61, milliseconds: 0))
        #expect(told.last == .reading(-61, milliseconds: 900))
        #expect(all.filter { $0 == .readRSSI(door) }.count == 10)
    }

    @Test("A walk to and fro opens nothing and closes nothing, and neither does what it leaves")
    func opensNothing() {
        let walk = Walk()
        walk.goAway()
        #expect(walk.proximity == .away)
        begin(walk)
        #expect(walk.proximity == .near, "a kill in the middle of a walk leaves no absence that a return could end")
        var all = read(walk, -40, milliseconds: 10_000) + read(walk, -90, milliseconds: 10_000)
        all += read(walk, -40, milliseconds: 10_000)
        all += walk.advertise(-90, milliseconds: 3_000)
        #expect(walk.bench.machine.locks[door]?.nearness.wantsLink == false, "advertisements wake nothing")
        all += walk.advertise(-40, milliseconds: 1_000)
        #expect(walk.operation == nil && !all.contains { if case .took = $0 { true } else { false } })
        all = walk.bench.put(.endCalibration(door))
        #expect(all.contains(.disconnect(door)))
        walk.bench.put(.disconnected(door))
        walk.bench.run(milliseconds: ProximityMachine.restMaximumMilliseconds)
        _ = walk.comeNear()
        #expect(walk.operation == nil, "the absence from before the walk")
        walk.leaveLink()
        walk.goAway()
        _ = walk.comeNear()
        #expect(walk.operation == .unlock)
    }

    @Test("What is to be decided when a walk begins is not decided any more")
    func approach() throws {
        let walk = Walk(policy: ApproachPolicy(asksFirst: true, needsUser: false))
        walk.goAway()
        var approached: Approach?
        for case .approached(let approach) in walk.comeNear() { approached = approach }
        let approach = try #require(approached)
        #expect(walk.bench.put(.calibrate(door)).contains(.approachEnded(approach)))
        walk.bench.put(.decided(approach, opens: true))
        #expect(walk.operation == nil)
    }

    @Test("A command that is under way comes first, and one that its user gives on a walk is carried out")
    func commands() {
        let walk = Walk()
        walk.bench.ask()
        #expect(reports(walk.bench.put(.calibrate(door))) == [.ended(.busy)])
        walk.bench.put(.cancel(door))
        walk.bench.run(milliseconds: 10)
        begin(walk)
        #expect(reports(walk.bench.put(.calibrate(door))) == [.ended(.busy)], "one walk at a time")
        walk.bench.ask()
        walk.bench.challenge(7, [])
        #expect(walk.bench.writes.map(\.operation) == [.unlock])
    }

    @Test("A link that is there already is measured on at once")
    func linkedAlready() {
        let walk = Walk()
        walk.goAway()
        #expect(walk.wake())
        walk.link()
        walk.bench.put(.linkRSSI(door, -50))
        #expect(reports(walk.bench.put(.calibrate(door))) == [.linked])
        #expect(walk.bench.acts.contains(.readRSSI(door)) && !walk.bench.acts.contains(.disconnect(door)))
    }

    @Test("A link that is lost is told, and asked for anew")
    func linkLost() {
        let walk = Walk()
        begin(walk)
        let lost = walk.bench.put(.disconnected(door))
        #expect(reports(lost) == [.linkLost] && lost.contains(.connect(door)))
        #expect(reports(walk.bench.put(.linkRSSI(door, -50))).isEmpty)
        walk.bench.connect()
        #expect(reports(walk.bench.put(.proven(door))) == [.linked])
    }

    @Test("Whoever answers at the lock's address and cannot encrypt is let go, and the next link is asked for")
    func stranger() {
        let walk = Walk()
        begin(walk, linked: false)
        walk.bench.connect()
        #expect(walk.bench.put(.encryptionFailed(door)).contains(.disconnect(door)))
        #expect(walk.bench.put(.disconnected(door)).contains(.connect(door)))
    }

    @Test("Without a link for so long it is over, and not a millisecond before")
    func notConnected() {
        let walk = Walk()
        begin(walk, linked: false)
        #expect(reports(walk.bench.run(milliseconds: CalibrationSession.linkWaitMaximumMilliseconds - 1)).isEmpty)
        #expect(reports(walk.bench.run(milliseconds: 1)) == [.ended(.notConnected)])
        #expect(!walk.bench.machine.wantsLink(door))
    }

    @Test("A link of which nobody says how strong it is: so long, and not a millisecond more")
    func noRSSI() {
        let walk = Walk()
        begin(walk)
        for _ in 1..<CalibrationSession.readingWaitMaximumMilliseconds / 100 {
            walk.bench.put(.linkRSSI(door, ProximityMachine.unavailable))
            #expect(reports(walk.bench.run(milliseconds: 100)).isEmpty)
        }
        #expect(reports(walk.bench.run(milliseconds: 99)).isEmpty)
        #expect(reports(walk.bench.run(milliseconds: 1)) == [.ended(.noRSSI)])
        #expect(walk.bench.acts.contains(.disconnect(door)))
    }

    @Test("Who forgets a walk has a key again that opens on coming near")
    func tooLong() {
        let walk = Walk()
        begin(walk)
        let told = reports(read(walk, -50, milliseconds: CalibrationSession.maximumMilliseconds - 100))
        #expect(told.count == CalibrationSession.maximumMilliseconds / 100 - 1)
        walk.bench.put(.linkRSSI(door, -50))
        #expect(reports(walk.bench.run(milliseconds: 99)).isEmpty)
        #expect(reports(walk.bench.run(milliseconds: 1)) == [.ended(.tooLong)])
        walk.leaveLink()
        walk.goAway()
        _ = walk.comeNear()
        #expect(walk.operation == .unlock)
    }

    @Test("A lock that is forgotten ends its walk")
    func forgotten() {
        let walk = Walk()
        begin(walk)
        #expect(reports(walk.bench.put(.forget(door))) == [.ended(.forgotten)])
        #expect(reports(walk.bench.put(.calibrate(door))) == [.ended(.forgotten)])
    }

    @Test("A lock that is watched no more, and again, in the middle of a walk stays still")
    func watchedAgain() {
        let walk = Walk()
        begin(walk)
        walk.bench.put(.lock(LockRecord(peer: door, name: "Front door")))
        walk.bench.put(.lock(LockRecord(peer: door, name: "Front door", unlocksWhenNear: true)))
        read(walk, -90, milliseconds: 5_000)
        read(walk, -40, milliseconds: 5_000)
        #expect(walk.operation == nil && walk.proximity == .near)
        _ = walk.advertise(-90, milliseconds: 3_000) + walk.advertise(-40, milliseconds: 1_000)
        #expect(walk.bench.machine.locks[door]?.nearness.wantsLink == false, "advertisements wake nothing")
    }

    // MARK: Thresholds

    private static let weak = ProximityThresholds(nearDBm: -80, awayDBm: -90)

    @Test("A running key takes a lock's thresholds at once, and the configuration's when they are taken away")
    func thresholds() {
        let walk = Walk()
        walk.bench.put(.thresholds(door, Self.weak))
        #expect(walk.bench.known?.thresholds == Self.weak)
        walk.goAway()
        _ = walk.wake(-79)
        walk.link()
        _ = walk.measure(-79)
        #expect(walk.operation == .unlock)
        walk.bench.put(.cancel(door))
        walk.bench.put(.disconnected(door))
        walk.bench.put(.thresholds(door, nil))
        #expect(walk.bench.known?.thresholds == nil)
        walk.goAway()
        #expect(!walk.wake(-70), "that is not near by the configuration")
    }

    @Test("What was away by other thresholds has not come near by new ones")
    func standsStill() {
        let walk = Walk()
        walk.goAway()
        walk.bench.put(.thresholds(door, Self.weak))
        #expect(walk.proximity == .near)
        _ = walk.wake(-79)
        walk.link()
        _ = walk.measure(-79)
        #expect(walk.operation == nil)
    }

    @Test("A launch goes on with them")
    func relaunched() {
        var snapshot = KeySnapshot.furnished
        snapshot.apply(.thresholds(door, Self.weak))
        let walk = Walk(snapshot)
        walk.goAway()
        _ = walk.wake(-79)
        walk.link()
        _ = walk.measure(-79)
        #expect(walk.operation == .unlock)
    }

    @Test(
        "Thresholds are 6 dB apart at least, and within what a link can show",
        arguments: [
            (-62, -68, true), (-62, -67, false), (0, -6, true), (1, -6, false), (-104, -110, true), (-104, -111, false),
        ])
    func bounds(near: Int, away: Int, areThresholds: Bool) {
        #expect((ProximityThresholds(nearDBm: near, awayDBm: away) != nil) == areThresholds)
    }
}
