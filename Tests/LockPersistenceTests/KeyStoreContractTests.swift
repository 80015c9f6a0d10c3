import BluetoothCore
import LockCentral
import LockPeripheral
import LockProtocol
import MemoryStores
import StatePersistence
import TestSupport
import Testing

@testable import LockPersistence

@Suite("The key's store")
struct KeyStoreContractTests {
    let scratch = Scratch()

    @Test("keeps every kind of fact as memory does, by random facts with edge values")
    func random() throws {
        var generator = SeededGenerator(announcedBy: "KeyStoreContractTests.random")
        let memory = MemoryKeyStore()
        var roundsWithLocks = 0
        for round in 0..<40 {
            let database = try scratch.open()
            let store = SQLiteKeyStore(database)
            #expect(try store.load() == memory.load(), "round \(round), seed \(generator.seed)")
            for _ in 0..<Int(generator.next() % 20 + 1) {
                let mutation = KeyMutation.random(using: &generator)
                memory.append(mutation)
                store.append(mutation)
            }
            try database.commit([memory, store])
            if !memory.committed.locks.isEmpty { roundsWithLocks += 1 }
        }
        #expect(try SQLiteKeyStore(scratch.open()).load() == memory.load(), "seed \(generator.seed)")
        // Each is forgotten now and then, the last of them too: but not always.
        #expect(roundsWithLocks > 0, "seed \(generator.seed)")
    }

    @Test("forgets with a lock its request and its counter")
    func forgetting() throws {
        let database = try scratch.open()
        let store = SQLiteKeyStore(database)
        let peer = PeerIdentifier(bits: 7)
        let request = KeyRequest(
            id: KeyRequestID(rawValue: 1), operation: .unlock, argument: .setting, origin: .user,
            boot: BootID(bits: 1), deadline: Instant(nanoseconds: 5))
        store.append(.lock(LockRecord(peer: peer, name: "front")))
        store.append(.request(peer, request))
        store.append(.receiptCounter(peer, 0))
        try database.commit([store])
        #expect(try store.load().locks[peer]?.request == request)
        #expect(try store.load().locks[peer]?.receiptCounter == 0)
        store.append(.lockForgotten(peer))
        store.append(.request(peer, request))
        store.append(.lock(LockRecord(peer: peer, name: "front again")))
        try database.commit([store])
        #expect(try store.load().locks == [peer: KnownLock(record: LockRecord(peer: peer, name: "front again"))])
    }

    @Test("forgets with a lock its note and its place, and takes neither of one that is not known")
    func choices() throws {
        let database = try scratch.open()
        let store = SQLiteKeyStore(database)
        let peers = [1, 2, 3].map { PeerIdentifier(bits: $0) }
        let note = try LockNote("turn twice")
        for peer in peers { store.append(.lock(LockRecord(peer: peer, name: "lock"))) }
        for peer in peers { store.append(.note(peer, note)) }
        store.append(.preferred([peers[2], peers[0], peers[1]]))
        try database.commit([store])
        #expect(try store.load().preferred == [peers[2], peers[0], peers[1]])
        store.append(.lockForgotten(peers[0]))
        store.append(.note(peers[0], note))
        try database.commit([store])
        #expect(try store.load().preferred == [peers[2], peers[1]])
        store.append(.preferred([peers[0], peers[1]]))
        store.append(.note(peers[1], nil))
        store.append(.lock(LockRecord(peer: peers[0], name: "anew")))
        try database.commit([store])
        let kept = try store.load()
        #expect(kept.preferred == [peers[1]])
        #expect(kept.locks.mapValues(\.note) == [peers[0]: nil, peers[1]: nil, peers[2]: note])
    }

    @Test("shares its transaction with the lock's: both or neither")
    func oneTransaction() throws {
        let database = try scratch.open()
        let key = SQLiteKeyStore(database)
        let lock = SQLiteLockStore(database)
        key.append(.lock(LockRecord(peer: PeerIdentifier(bits: 1), name: "front")))
        lock.append(.receiptCounters(bond: 1, reservedBelow: 64))
        var head = AuditHead.empty
        let record = head.append(
            .launched, boot: BootID(bits: 1), at: Instant(nanoseconds: 1), wallClockSeconds: nil)
        lock.append(.audit(record))
        lock.append(.audit(record))
        #expect(throws: StoreError.self) { try database.commit([key, lock]) }
        #expect(try key.load() == KeySnapshot())
        #expect(try lock.load() == LockSnapshot())
        #expect(key.hasPending)
        #expect(lock.hasPending)
    }
}

extension KeyMutation {
    static func random(using generator: inout SeededGenerator) -> Self {
        let peer = PeerIdentifier(bits: generator.oneOf([1, 2, .max]))
        switch generator.next() % 14 {
        case 0, 1:
            return .lock(
                LockRecord(
                    peer: peer, name: generator.oneOf(["", "Haustür", "'; --"]),
                    unlocksWhenNear: generator.oneOf([true, false]), locksWhenLeaving: generator.oneOf([true, false])))
        case 2: return .lockForgotten(peer)
        case 3, 4, 5:
            let request = KeyRequest(
                id: KeyRequestID(rawValue: generator.edge()), operation: generator.oneOf(LockOperation.known),
                argument: generator.oneOf([.setting, .holdOpen, .after(seconds: 254)]),
                origin: generator.oneOf([.user, .proximity]), boot: BootID(bits: generator.edge()),
                deadline: Instant(nanoseconds: generator.edge()),
                sent: generator.maybe(ChallengeID(bits: generator.edge())))
            return .request(peer, generator.maybe(request))
        case 6: return .receiptCounter(peer, generator.edge())
        case 7: return .receiptCounterReset(peer)
        case 10:
            let thresholds = ProximityThresholds(nearDBm: generator.oneOf([0, -104]), awayDBm: -110)
            return .thresholds(peer, thresholds.flatMap { generator.maybe($0) })
        case 11:
            let note = try? LockNote(generator.oneOf(["Tür", "'; --"]))
            return .note(peer, note.flatMap { generator.maybe($0) })
        case 12:
            let (second, last) = (PeerIdentifier(bits: 2), PeerIdentifier(bits: .max))
            return .preferred(generator.oneOf([[], [peer], [second, last], [last, PeerIdentifier(bits: 1), second]]))
        case 8: return .proximity(peer, generator.oneOf([.near, .away]))
        case 9:
            return .watched(
                peer,
                WatchMark(boot: BootID(bits: generator.edge()), until: Instant(nanoseconds: generator.edge())))
        default: return .requestsReserved(below: generator.edge())
        }
    }
}
