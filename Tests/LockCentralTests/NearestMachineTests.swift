import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockCentral

@Suite("The nearest lock: the verdict")
struct NearestMachineTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let (front, back, shed) = (
        PeerIdentifier(bits: 1), PeerIdentifier(bits: 2), PeerIdentifier(bits: 3)
    )

    private static func machine(lifeMilliseconds: UInt64 = 10_000) -> NearestMachine {
        NearestMachine([front, back, shed], for: .unlock, .setting, lifeMilliseconds: lifeMilliseconds, now: start)
    }

    private static func verdict(
        of candidates: [NearestMachine.Candidate], atMilliseconds milliseconds: UInt64 = 0
    ) -> NearestMachine.Verdict? {
        var machine = machine()
        return machine.verdict(of: candidates, now: start.advanced(byMilliseconds: milliseconds))
    }

    @Test(
        "The strongest is found where each other one is weaker by the margin, and one dB less is too close to tell",
        arguments: [
            (Int8(-54), Int8(-60), NearestMachine.Verdict.found(front)), (-60, -54, .found(back)),
            (-55, -60, .several([front, back])), (-60, -55, .several([back, front])),
            (-60, -60, .several([front, back])),
        ])
    func margin(front: Int8, back: Int8, verdict: NearestMachine.Verdict) {
        let candidates = [candidate(Self.front, front), candidate(Self.back, back)]
        #expect(Self.verdict(of: candidates) == verdict)
    }

    @Test("Of several that are close to the strongest each is named, and one that is far is not")
    func named() {
        let candidates = [
            candidate(Self.shed, -80), candidate(Self.back, -62), candidate(Self.front, -60),
        ]
        #expect(Self.verdict(of: candidates) == .several([Self.front, Self.back]))
    }

    @Test("While a lock is not known, the verdict waits for the end of the look, and not a millisecond longer")
    func waits() {
        let late = [candidate(Self.front, -60), candidate(Self.back, nil)]
        let young = [
            candidate(Self.front, -60), candidate(Self.back, -80, times: NearestMachine.readingsMinimum - 1),
        ]
        let end = Self.start.advanced(byMilliseconds: NearestMachine.lookMilliseconds)
        for candidates in [late, young] {
            var machine = Self.machine()
            #expect(machine.verdict(of: candidates, now: Self.start) == nil)
            #expect(machine.verdict(of: candidates, now: Instant(nanoseconds: end.nanoseconds - 1)) == nil)
            #expect(machine.verdict(of: candidates, now: end) == .found(Self.front))
        }
    }

    @Test("Where the first lock comes late, others have a second from then on, as far as there is time")
    func comesLate() {
        let none = [candidate(Self.front, nil), candidate(Self.back, nil)]
        let one = [candidate(Self.front, -60), candidate(Self.back, nil)]
        for (came, milliseconds) in [(UInt64(3_500), UInt64(4_500)), (4_500, 5_000)] {
            var machine = Self.machine()
            #expect(machine.verdict(of: none, now: Self.start.advanced(byMilliseconds: came - 1)) == nil)
            #expect(machine.verdict(of: one, now: Self.start.advanced(byMilliseconds: came)) == nil)
            let end = Self.start.advanced(byMilliseconds: milliseconds)
            #expect(machine.wakes(isConnected: false) == end)
            #expect(machine.verdict(of: one, now: Instant(nanoseconds: end.nanoseconds - 1)) == nil)
            #expect(machine.verdict(of: one, now: end) == .found(Self.front))
        }
    }

    @Test("A lock that was linked a moment ago is waited for to the last, and one that left earlier is not")
    func linkedBefore() {
        let began = NearestMachine.recentMilliseconds
        func ends(leftMilliseconds: UInt64) -> [NearestMachine.Verdict?] {
            let now = Self.start.advanced(byMilliseconds: began)
            var machine = NearestMachine(
                [Self.front, Self.back], for: .unlock, .setting, lifeMilliseconds: 60_000, now: now)
            var missing = candidate(Self.back, nil)
            missing.leftAt = Self.start.advanced(byMilliseconds: leftMilliseconds)
            return [
                0, NearestMachine.lookMilliseconds, NearestMachine.lookMaximumMilliseconds - 1,
                NearestMachine.lookMaximumMilliseconds,
            ]
            .map {
                machine.verdict(of: [candidate(Self.front, -60), missing], now: now.advanced(byMilliseconds: $0))
            }
        }
        #expect(ends(leftMilliseconds: began) == [nil, nil, nil, .found(Self.front)])
        #expect(
            ends(leftMilliseconds: NearestMachine.lookMilliseconds - 1) == [
                nil, .found(Self.front), .found(Self.front), .found(Self.front),
            ])
    }

    @Test("A look has half of its command's time, and no more than its bound")
    func bound() {
        let ends = [UInt64(1_000), 3_600_000].map { Self.machine(lifeMilliseconds: $0).wakes(isConnected: false) }
        #expect(ends == [500, NearestMachine.lookMaximumMilliseconds].map { Self.start.advanced(byMilliseconds: $0) })
        #expect(
            Self.machine(lifeMilliseconds: 1_000).deadline == Self.start.advanced(byMilliseconds: 1_000))
    }

    @Test("Without a reading a lock counts where it is the only one that is connected, and nowhere else")
    func unmeasured() {
        let (mute, far) = (candidate(Self.front, ProximityMachine.unavailable), candidate(Self.back, -90))
        let other = candidate(Self.back, ProximityMachine.unavailable)
        #expect(Self.verdict(of: [mute, far]) == .found(Self.back))
        #expect(
            Self.verdict(of: [mute, candidate(Self.back, nil)], atMilliseconds: 6_000) == .found(Self.front))
        #expect(Self.verdict(of: [mute, other]) == .unmeasured([Self.front, Self.back]))
    }

    @Test("The only lock is found as soon as it has proven itself, and none is, where none has in time")
    func alone() {
        #expect(Self.verdict(of: [candidate(Self.front, -99, times: 0)]) == .found(Self.front))
        #expect(Self.verdict(of: [candidate(Self.front, nil)]) == nil)
        #expect(
            Self.verdict(of: [candidate(Self.front, nil)], atMilliseconds: 5_000) == NearestMachine.Verdict.none)
    }

    @Test("It is read again after its time, and not before")
    func readings() {
        var machine = Self.machine()
        let next = Self.start.advanced(byMilliseconds: NearestMachine.readingMilliseconds)
        let instants = [Self.start, Instant(nanoseconds: next.nanoseconds - 1), next]
        var taken: [Bool] = []
        for instant in instants { taken.append(machine.takesReading(now: instant)) }
        #expect(taken == [true, false, true])
        #expect(machine.wakes(isConnected: true) == next.advanced(byMilliseconds: NearestMachine.readingMilliseconds))
    }
}

@Suite("The nearest lock: a key between several")
struct NearestLockTests {
    private static let garage = PeerIdentifier(bits: 43)

    /// A key with two locks, which are not watched for nearness.
    private static func bench() -> KeyBench {
        var snapshot = KeySnapshot()
        for (peer, name) in [(door, "Front door"), (garage, "Garage")] {
            snapshot.apply(.lock(LockRecord(peer: peer, name: name)))
        }
        return KeyBench(snapshot)
    }

    private static func ask(_ bench: inout KeyBench, lifeMilliseconds: UInt64 = 10_000) {
        bench.put(.askNearest(.unlock, .setting, lifeMilliseconds: lifeMilliseconds))
    }

    private static func comesUp(_ peer: PeerIdentifier, _ bench: inout KeyBench) -> [KeyOutput] {
        bench.put(.connected(peer, SignedPath(receiptKey: lockKey, receiptHandle: receiptHandle)))
            + bench.put(.proven(peer)) + bench.put(.encrypted(peer))
    }

    /// Answers what is read until there is a verdict.
    private static func measure(_ levels: [PeerIdentifier: Int8], _ bench: inout KeyBench) -> [KeyOutput] {
        var all: [KeyOutput] = []
        for _ in 0..<100 {
            for (peer, level) in levels.sorted(by: { $0.key.bits < $1.key.bits }) {
                all += bench.put(.linkRSSI(peer, level))
            }
            if !verdicts(all).isEmpty { return all }
            all += bench.run(milliseconds: NearestMachine.readingMilliseconds)
        }
        return all
    }

    private static func verdicts(_ outputs: [KeyOutput]) -> [NearestMachine.Verdict] {
        outputs.compactMap { if case .sought(let verdict) = $0 { verdict } else { nil } }
    }

    @Test("Links with all are asked for and encrypted; the stronger one is commanded on its link, and the other goes")
    func found() {
        var bench = Self.bench()
        Self.ask(&bench)
        #expect(bench.acts == [.connect(door), .connect(Self.garage)])
        #expect(bench.machine.wantsLink(door) && bench.machine.wantsLink(Self.garage))
        let first = Self.comesUp(door, &bench)
        #expect(first.contains(.encrypt(door)) && first.contains(.readRSSI(door)))
        _ = Self.comesUp(Self.garage, &bench)
        let outputs = Self.measure([door: -70, Self.garage: -50], &bench)
        #expect(Self.verdicts(outputs) == [.found(Self.garage)])
        let acts = outputs.filter { if case .persist = $0 { false } else { true } }
        let place = acts.firstIndex(of: .sought(.found(Self.garage))) ?? 0
        guard case .took(Self.garage, let id)? = acts.dropFirst(place + 1).first else {
            Issue.record("\(acts)")
            return
        }
        #expect(acts.contains(.disconnect(door)) && !acts.contains(.disconnect(Self.garage)))
        #expect(bench.store.committed.locks[Self.garage]?.request?.id == id)
        bench.put(
            .challenge(
                Self.garage, Challenge(id: ChallengeID(bits: 7), remainingLife: 50, flags: []).encoded))
        #expect(bench.writes.map(\.operation) == [.unlock])
        #expect(!bench.machine.wantsLink(door))
    }

    @Test("Nobody waits any more: links are let go, and no lock is asked, however near; the next search is its own")
    func cancelled() {
        var bench = Self.bench()
        Self.ask(&bench)
        _ = Self.comesUp(door, &bench)
        #expect(bench.put(.cancelNearest) == [.disconnect(door)])
        #expect(!bench.machine.wantsLink(door) && !bench.machine.wantsLink(Self.garage))
        #expect(Self.measure([door: -40], &bench).isEmpty && bench.machine.deadline == nil)
        #expect(bench.put(.cancelNearest).isEmpty)
        bench.put(.disconnected(door))
        Self.ask(&bench)
        #expect(bench.acts == [.connect(door), .connect(Self.garage)])
    }

    @Test("Two that are about equally near are both let go, and nothing is asked of either")
    func several() {
        var bench = Self.bench()
        Self.ask(&bench)
        for peer in [door, Self.garage] { _ = Self.comesUp(peer, &bench) }
        let outputs = Self.measure([door: -52, Self.garage: -50], &bench)
        #expect(Self.verdicts(outputs) == [.several([Self.garage, door])])
        #expect(outputs.contains(.disconnect(door)) && outputs.contains(.disconnect(Self.garage)))
        #expect(!outputs.contains { if case .took = $0 { true } else { false } })
        #expect(bench.machine.deadline == nil)
    }

    @Test("Attack: a stranger who answers in a lock's name and is strong is not the nearest lock")
    func stranger() {
        var bench = Self.bench()
        Self.ask(&bench)
        _ = Self.comesUp(door, &bench)
        bench.put(.connected(Self.garage, SignedPath(receiptKey: lockKey, receiptHandle: receiptHandle)))
        let outputs = Self.measure([door: -80, Self.garage: -20], &bench)
        #expect(Self.verdicts(outputs) == [.found(door)])
    }

    @Test("Where no lock comes, nothing is asked when the look is over, and no link is wanted any more")
    func nobody() {
        var bench = Self.bench()
        Self.ask(&bench)
        #expect(Self.verdicts(bench.run(milliseconds: 4_999)).isEmpty, "half of the command's ten seconds")
        #expect(Self.verdicts(bench.run(milliseconds: 1)) == [NearestMachine.Verdict.none])
        #expect(!bench.machine.wantsLink(door) && bench.machine.deadline == nil)
        #expect(bench.store.committed.locks.values.allSatisfy { $0.request == nil })
    }

    @Test("A link that is lost meanwhile is made again, and a lock that is forgotten is not waited for")
    func lost() {
        var bench = Self.bench()
        Self.ask(&bench)
        _ = Self.comesUp(door, &bench)
        #expect(bench.put(.disconnected(door)).contains(.connect(door)))
        _ = Self.comesUp(Self.garage, &bench)
        #expect(Self.verdicts(bench.put(.forget(door))) == [.found(Self.garage)])
    }

    @Test("Of two that the key has just let go the nearer one is found, though its next link takes its time")
    func comesBackLate() {
        var bench = Self.bench()
        Self.ask(&bench)
        for peer in [door, Self.garage] { _ = Self.comesUp(peer, &bench) }
        _ = Self.measure([door: -52, Self.garage: -50], &bench)
        for peer in [door, Self.garage] { bench.put(.disconnected(peer)) }
        Self.ask(&bench, lifeMilliseconds: 60_000)
        bench.run(milliseconds: 2_000)
        var outputs = Self.comesUp(door, &bench)
        for _ in 0..<30 {
            outputs += bench.put(.linkRSSI(door, -80)) + bench.run(milliseconds: NearestMachine.readingMilliseconds)
        }
        outputs += Self.comesUp(Self.garage, &bench) + Self.measure([door: -80, Self.garage: -50], &bench)
        #expect(Self.verdicts(outputs) == [.found(Self.garage)])
    }

    @Test("Five copies of one answer are one reading: a link is known by five questions, asked one behind the other")
    func copies() {
        var bench = Self.bench()
        Self.ask(&bench)
        _ = Self.comesUp(door, &bench)
        func isKnown() -> Bool {
            bench.machine.locks[door]?.signal.answers ?? 0 >= NearestMachine.readingsMinimum
        }
        #expect(!bench.run(milliseconds: 1_000).contains(.readRSSI(door)), "the first waits for its answer")
        for _ in 0..<NearestMachine.readingsMinimum { bench.put(.linkRSSI(door, -60)) }
        #expect(!isKnown())
        for _ in 1..<NearestMachine.readingsMinimum {
            #expect(!isKnown() && bench.run(milliseconds: 100).contains(.readRSSI(door)))
            bench.put(.linkRSSI(door, -60))
        }
        #expect(isKnown())
    }

    @Test("A second asking changes nothing of the first")
    func twice() {
        var bench = Self.bench()
        Self.ask(&bench)
        bench.run(milliseconds: 3_000)
        Self.ask(&bench)
        #expect(bench.acts.isEmpty)
        #expect(Self.verdicts(bench.run(milliseconds: 2_000)) == [NearestMachine.Verdict.none])
    }
}
