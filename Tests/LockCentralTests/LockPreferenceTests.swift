import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockCentral

@Suite("Preferred locks: the verdict")
struct PreferenceVerdictTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let (front, back, shed) = (
        PeerIdentifier(bits: 1), PeerIdentifier(bits: 2), PeerIdentifier(bits: 3)
    )

    /// At the end of the look.
    private static func verdict(_ candidates: [NearestMachine.Candidate]) -> NearestMachine.Verdict? {
        var machine = NearestMachine(
            Set(candidates.map(\.peer)), for: .unlock, .setting, lifeMilliseconds: 10_000, now: start)
        _ = machine.verdict(of: candidates, now: start)
        return machine.verdict(
            of: candidates, now: start.advanced(byMilliseconds: NearestMachine.lookMaximumMilliseconds))
    }

    @Test(
        "Within the margin the preferred lock is opened, strongest or not; at the margin the signal decides",
        arguments: [
            (Int8(-60), Int8(-55), NearestMachine.Verdict.preferred(front)), (-60, -60, .preferred(front)),
            (-55, -60, .preferred(front)), (-60, -54, .found(back)), (-54, -60, .found(front)),
        ])
    func margin(front: Int8, back: Int8, verdict: NearestMachine.Verdict) {
        #expect(
            Self.verdict([candidate(Self.front, front, preference: 1), candidate(Self.back, back)]) == verdict)
    }

    @Test("Of several preferred ones the first is opened, and one that is clearly farther counts for nothing")
    func order() {
        let (front, back) = (candidate(Self.front, -60, preference: 3), candidate(Self.back, -61, preference: 2))
        #expect(Self.verdict([front, back, candidate(Self.shed, -62)]) == .preferred(Self.back))
        #expect(Self.verdict([front, back, candidate(Self.shed, -66, preference: 1)]) == .preferred(Self.back))
        let plain = [candidate(Self.front, -60), candidate(Self.back, -61)]
        #expect(
            Self.verdict(plain + [candidate(Self.shed, -66, preference: 1)]) == .several([Self.front, Self.back]),
            "nearer ones that nobody prefers are no clearer by a preferred one that is far")
    }

    @Test("The margin is counted from the strongest, and not from one preferred lock to the next")
    func noChain() {
        let chain = [
            candidate(Self.front, -50), candidate(Self.back, -55, preference: 2),
            candidate(Self.shed, -58, preference: 1),
        ]
        #expect(Self.verdict(chain) == .preferred(Self.back))
    }

    @Test("Where nobody knows how near any lock is, a preference says nothing")
    func unmeasured() {
        let mute = ProximityMachine.unavailable
        #expect(
            Self.verdict([candidate(Self.front, mute, preference: 1), candidate(Self.back, mute)])
                == .unmeasured([Self.front, Self.back]))
        #expect(
            Self.verdict([candidate(Self.front, mute, preference: 1), candidate(Self.back, -90)])
                == .found(Self.back))
    }

    @Test("Attack: a preferred lock that has not proven itself is not opened, however strong whoever answers there is")
    func unproven() {
        var stranger = candidate(Self.front, -20, preference: 1)
        stranger.isProven = false
        let others = [candidate(Self.back, -60), candidate(Self.shed, -61)]
        #expect(Self.verdict([stranger] + others) == .several([Self.back, Self.shed]))
        #expect(Self.verdict([stranger, others[0]]) == .found(Self.back))
    }
}

@Suite("Preferred locks and notes: a key")
struct LockPreferenceTests {
    private static let (garage, shed, stranger) = (
        PeerIdentifier(bits: 43), PeerIdentifier(bits: 44), PeerIdentifier(bits: 99)
    )

    private static var snapshot: KeySnapshot {
        var snapshot = KeySnapshot()
        for (peer, name) in [(door, "Front door"), (garage, "Garage"), (shed, "Shed")] {
            snapshot.apply(.lock(LockRecord(peer: peer, name: name)))
        }
        return snapshot
    }

    private static func names(_ bench: KeyBench) -> [String] { bench.machine.watchedLocks.map(\.record.name) }

    @Test(
        "The lock that is preferred last comes first, on disk in the same turn; one that is first already changes nothing"
    )
    func order() {
        var bench = KeyBench(Self.snapshot)
        #expect(bench.put(.prefer(Self.shed, true)) == [.persist(.preferred([Self.shed]))])
        #expect(bench.put(.prefer(Self.garage, true)) == [.persist(.preferred([Self.garage, Self.shed]))])
        #expect(Self.names(bench) == ["Garage", "Shed", "Front door"])
        #expect(bench.machine.watchedLocks.map(\.preference) == [1, 2, nil])
        #expect(bench.put(.prefer(Self.shed, true)) == [.persist(.preferred([Self.shed, Self.garage]))])
        #expect(bench.put(.prefer(Self.shed, true)).isEmpty)
        #expect(bench.put(.prefer(Self.garage, false)) == [.persist(.preferred([Self.shed]))])
        #expect(bench.put(.prefer(Self.garage, false)).isEmpty && bench.put(.prefer(Self.stranger, true)).isEmpty)
        #expect(Self.names(bench) == ["Shed", "Front door", "Garage"])
    }

    @Test(
        "A launch goes on with the order and the notes, and a lock that is forgotten has neither when it is enrolled anew"
    )
    func relaunched() throws {
        var bench = KeyBench(Self.snapshot)
        for peer in [door, Self.garage, Self.shed] { bench.put(.prefer(peer, true)) }
        let note = try LockNote("left door, turn twice")
        bench.put(.note(Self.shed, note))
        bench = KeyBench(try bench.store.load())
        #expect(Self.names(bench) == ["Shed", "Garage", "Front door"])
        #expect(bench.machine.watchedLocks[0].note == note)
        bench.put(.forget(Self.shed))
        bench.put(.lock(LockRecord(peer: Self.shed, name: "Shed")))
        #expect(Self.names(bench) == ["Garage", "Front door", "Shed"])
        #expect(bench.machine.watchedLocks.map(\.preference) == [1, 2, nil])
        #expect(bench.machine.watchedLocks[2].note == nil)
        #expect(bench.store.committed.preferred == [Self.garage, door])
    }

    @Test("A note is on disk in the turn that takes it, and one that is there already, or of no lock, is no fact")
    func note() throws {
        var bench = KeyBench(Self.snapshot)
        let note = try LockNote("turn twice")
        #expect(bench.put(.note(door, note)) == [.persist(.note(door, note))])
        #expect(bench.put(.note(door, note)).isEmpty && bench.put(.note(Self.stranger, note)).isEmpty)
        #expect(bench.store.committed.locks[door]?.note == note)
        #expect(bench.put(.lock(LockRecord(peer: door, name: "Haustür"))).count == 1)
        #expect(bench.machine.watchedLocks.map(\.note) == [nil, note, nil], "a lock that is renamed keeps it")
        #expect(bench.put(.note(door, nil)) == [.persist(.note(door, nil))])
        #expect(bench.store.committed.locks[door]?.note == nil)
    }

    @Test("The nearest lock is looked for among the preferred ones first, so that a host with room for few has those")
    func first() {
        var bench = KeyBench(Self.snapshot)
        bench.put(.prefer(Self.garage, true))
        bench.put(.prefer(Self.shed, true))
        bench.put(.askNearest(.unlock, .setting, lifeMilliseconds: 10_000))
        #expect(bench.acts == [.connect(Self.shed), .connect(Self.garage), .connect(door)])
    }

    private static func comesUp(_ peer: PeerIdentifier, _ bench: inout KeyBench) {
        bench.put(.connected(peer, SignedPath(receiptKey: lockKey, receiptHandle: receiptHandle)))
        bench.put(.proven(peer))
        bench.put(.encrypted(peer))
    }

    /// Of the front door and the garage, as strong as this; the shed is not there.
    private static func look(_ bench: inout KeyBench, door level: Int8, garage other: Int8) -> [KeyOutput] {
        bench.put(.askNearest(.unlock, .setting, lifeMilliseconds: 10_000))
        for peer in [door, garage] { comesUp(peer, &bench) }
        var all: [KeyOutput] = []
        for _ in 0..<100 where !all.contains(where: { if case .sought = $0 { true } else { false } }) {
            all += bench.put(.linkRSSI(door, level)) + bench.put(.linkRSSI(garage, other))
            all += bench.run(milliseconds: NearestMachine.readingMilliseconds)
        }
        return all
    }

    private static func taken(_ outputs: [KeyOutput]) -> [PeerIdentifier] {
        outputs.compactMap { if case .took(let peer, _) = $0 { peer } else { nil } }
    }

    @Test("Between two that are about equally near the preferred one is asked, and the other is let go")
    func preferred() {
        var bench = KeyBench(Self.snapshot)
        bench.put(.prefer(door, true))
        let outputs = Self.look(&bench, door: -52, garage: -50)
        #expect(outputs.contains(.sought(.preferred(door))) && Self.taken(outputs) == [door])
        #expect(outputs.contains(.disconnect(Self.garage)) && !outputs.contains(.disconnect(door)))
    }

    @Test("A lock that is clearly nearer is asked, whichever is preferred")
    func nearer() {
        var bench = KeyBench(Self.snapshot)
        bench.put(.prefer(door, true))
        let outputs = Self.look(&bench, door: -56, garage: -50)
        #expect(outputs.contains(.sought(.found(Self.garage))) && Self.taken(outputs) == [Self.garage])
    }

    @Test("What is preferred while the nearest is looked for counts, and what is so no more does not")
    func meanwhile() {
        for isPreferred in [true, false] {
            var bench = KeyBench(Self.snapshot)
            bench.put(.prefer(door, !isPreferred))
            bench.put(.askNearest(.unlock, .setting, lifeMilliseconds: 10_000))
            bench.put(.prefer(door, isPreferred))
            let outputs = Self.look(&bench, door: -52, garage: -50)
            #expect(Self.taken(outputs) == (isPreferred ? [door] : []))
        }
    }
}

@Suite("Notes of locks: the text")
struct LockNoteTests {
    @Test("A note of the greatest length is taken, in octets and not in characters, and one octet more is not")
    func bound() throws {
        let longest = String(repeating: "ä", count: LockNote.octetsMaximum / 2)
        #expect(try LockNote(longest).text == longest)
        #expect(throws: LockNote.Fault.tooLong) { try LockNote(longest + "x") }
        #expect(throws: LockNote.Fault.empty) { try LockNote("") }
    }

    @Test(
        "What ends a line or moves a cursor is no note",
        arguments: ["a\nb", "a\r", "\u{1B}[2J", "\u{0}", "\u{7F}", "\u{9B}31m", "a\u{2028}b", "a\u{2029}b", "\t"])
    func controls(text: String) { #expect(throws: LockNote.Fault.control) { try LockNote(text) } }

    @Test("What people write is one", arguments: ["left door, turn twice", "Tür klemmt 🚪", "\"'; --\\"])
    func people(text: String) throws { #expect(try LockNote(text).text == text) }
}
