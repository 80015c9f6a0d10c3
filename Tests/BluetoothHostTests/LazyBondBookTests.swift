import BluetoothCore
import BluetoothCrypto
import SecurityManager
import TestSupport
import Testing

@testable import BluetoothHost

/// A book that has read everything, and one that reads from a store what it is asked for: whatever is asked, and in
/// whichever order, nobody can tell them apart.
@Suite("Bonds that are read when they are asked for")
struct LazyBondBookTests {
    private static let local = LocalIdentity(address: identity(0xFFFF), irk: key(0xFFFF))

    private static func identity(_ number: UInt64) -> IdentityAddress {
        guard let identity = IdentityAddress(DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | number)) else {
            fatalError("a static random address")
        }
        return identity
    }

    private static func key(_ number: UInt64) -> Secret {
        Secret((0..<16).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 8))) ^ UInt8($0) })
    }

    private static func bond(_ id: Int64, peer: UInt64, key number: UInt64, _ state: BondState, named: Bool) -> Bond {
        Bond(
            id: BondID(id), identity: identity(peer), peerIRK: key(number), ltk: key(UInt64(id) + 1_000),
            remoteCSRK: key(number + 500), model: .outOfBand, state: state, credential: named ? "c\(peer % 3)" : nil)
    }

    /// The same bonds in both books.
    private struct Pair {
        let whole: BondBook
        let lazy: BondBook
        let store: MemoryHostStore

        init(_ kept: KeptHostFacts) {
            store = MemoryHostStore(kept)
            whole = BondBook(localIdentity: LazyBondBookTests.local, bonds: store.load().bonds)
            lazy = BondBook(localIdentity: LazyBondBookTests.local, bonds: store.launch().bonds, rest: store)
        }

        func both<R>(_ body: (BondBook) -> R) -> (R, R) { (body(whole), body(lazy)) }

        func change(_ comment: Comment, _ body: (BondBook) -> [BondMutation]) {
            let (a, b) = both(body)
            #expect(a == b, comment)
            for mutation in b { store.append(.bond(mutation)) }
        }
    }

    @Test("Random questions and changes: both books answer the same")
    func random() {
        var generator = SeededGenerator(announcedBy: "LazyBondBookTests.random")
        let seed = generator.seed
        func number(_ range: ClosedRange<UInt64>) -> UInt64 { .random(in: range, using: &generator) }
        var kept = KeptHostFacts()
        var nextID: Int64 = 100
        for round in 0..<200 {
            let pair = Pair(kept)
            pair.change("round \(round), seed \(seed)") { $0.discardUnfinished() }
            for step in 0..<12 {
                let comment: Comment = "round \(round), step \(step), seed \(seed)"
                let peer = number(1...6)
                let id = BondID(Int64(number(90...UInt64(nextID))))
                switch number(0...13) {
                case 0:
                    let (a, b) = pair.both { $0.resolve(Self.identity(peer).address) }
                    #expect(a == b, comment)
                case 1:
                    let random = UInt32(number(0...9))
                    let address = Toolbox.resolvablePrivateAddress(irk: AES128(key: Self.key(peer)), random: random)
                    let (a, b) = pair.both { $0.resolve(address) }
                    #expect(a == b, comment)
                case 2:
                    let (a, b) = pair.both { $0.bondForEncryption(with: Self.identity(peer))?.id }
                    #expect(a == b, comment)
                case 3: _ = pair.both { $0.encryptionLost(id) }
                case 4:
                    let (a, b) = pair.both { $0.confirmedBond(with: Self.identity(peer)) }
                    #expect(a == b, comment)
                case 5: pair.change(comment) { $0.promote(id) }
                case 6: pair.change(comment) { $0.delete(id) }
                case 7, 8:
                    nextID += 1
                    let new = Self.bond(
                        nextID, peer: peer, key: number(1...6), .unconfirmed, named: number(0...1) == 0)
                    let address = Self.identity(number(1...6)).address
                    let (a, b) = pair.both { book in
                        book.replaceable(
                            by: address, identity: new.identity, irk: new.peerIRK, credential: new.credential,
                            renewable: [BondID(101), BondID(103)], strength: new.strength)
                    }
                    #expect(a == b, comment)
                    guard let replaced = b else { continue }
                    let taken = pair.both { $0.isKeyTaken(of: new, besides: replaced) }
                    #expect(taken.0 == taken.1, comment)
                    let surplus = pair.both { $0.surplus(with: Self.identity(peer), among: replaced) }
                    #expect(surplus.0 == surplus.1, comment)
                    let gone = number(0...1) == 0 ? replaced : []
                    pair.change(comment) { $0.admit(new, replacing: gone) }
                case 9:
                    nextID += 1
                    let new = Self.bond(nextID, peer: peer, key: peer, .provisional, named: true)
                    pair.change(comment) { $0.begin(new) }
                case 10:
                    let (a, b) = pair.both { Set($0.unconfirmed) }
                    #expect(a == b, comment)
                    let (c, d) = pair.both { [$0.state(of: id), $0.bond(id)?.state] }
                    #expect(c == d, comment)
                case 11: _ = pair.lazy.readOn(limit: 3)
                case 12:
                    let (a, b) = pair.both { $0.bonds(enrolledFor: "c\(peer % 3)") }
                    #expect(a == b, comment)
                default: try? MemoryTransactionCoordinator().commit([pair.store])
                }
                #expect(pair.whole.hasBonds == pair.lazy.hasBonds, comment)
            }
            #expect(pair.whole.bonds == pair.lazy.bonds, "round \(round), seed \(seed)")
            try? MemoryTransactionCoordinator().commit([pair.store])
            kept = pair.store.kept
        }
    }

    @Test(
        "Who has no bond is asked after once, and is somebody with the first bond; one stranger too many, and all are asked after anew"
    )
    func strangers() {
        let store = MemoryHostStore(KeptHostFacts())
        let rows = CountedRows(store)
        let book = BondBook(localIdentity: Self.local, bonds: [], rest: rows)
        for _ in 0..<3 {
            for number in 1...UInt64(BondBook.strangersMaximum) {
                #expect(book.identityResolvingKeys(of: Self.identity(number)).isEmpty)
            }
            #expect(rows.questions == BondBook.strangersMaximum)
        }
        for mutation in book.admit(Self.bond(1, peer: 5, key: 5, .confirmed, named: true), replacing: []) {
            store.append(.bond(mutation))
        }
        #expect(book.identityResolvingKeys(of: Self.identity(5)) == [Self.key(5)])
        #expect(rows.questions == BondBook.strangersMaximum)
        _ = book.identityResolvingKeys(of: Self.identity(UInt64(BondBook.strangersMaximum) + 1))
        _ = book.identityResolvingKeys(of: Self.identity(1))
        _ = book.identityResolvingKeys(of: Self.identity(1))
        #expect(rows.questions == BondBook.strangersMaximum + 2)
    }

    @Test("A private address that comes before its key was read has all keys read at once")
    func atOnce() {
        var kept = KeptHostFacts()
        for number in 1...1_100 as ClosedRange<UInt64> {
            kept.apply(.bond(.upsert(Self.bond(Int64(number), peer: number, key: number, .confirmed, named: true))))
        }
        let store = MemoryHostStore(kept)
        for number in [1, 512, 513, 1_100] as [UInt64] {
            let book = BondBook(localIdentity: Self.local, bonds: store.launch().bonds, rest: store)
            let address = Toolbox.resolvablePrivateAddress(irk: AES128(key: Self.key(number)), random: 1)
            #expect(book.resolve(address) == .bonded(Self.identity(number)))
            #expect(!book.readOn(limit: 1))
        }
    }

    @Test("Two bonds of one peer that have yet to prove themselves are two, and not four")
    func twoUnproven() {
        var kept = KeptHostFacts()
        for id in [1, 2] as [Int64] {
            kept.apply(.bond(.upsert(Self.bond(id, peer: 7, key: 7, .unconfirmed, named: true))))
        }
        let store = MemoryHostStore(kept)
        let book = BondBook(localIdentity: Self.local, bonds: store.launch().bonds, rest: store)
        for id in [1, 2] as [Int64] {
            for mutation in book.delete(BondID(id)) { store.append(.bond(mutation)) }
        }
        #expect(!book.hasBonds)
        let address = Toolbox.resolvablePrivateAddress(irk: AES128(key: Self.key(7)), random: 1)
        #expect(book.resolve(address) == .unknown)
    }

    @Test("Slices end, keep what only a link needs out of memory, and are as long as they may be")
    func slices() {
        var kept = KeptHostFacts()
        for number in 1...10 as ClosedRange<UInt64> {
            kept.apply(.bond(.upsert(Self.bond(Int64(number), peer: number, key: number, .confirmed, named: true))))
        }
        let store = MemoryHostStore(kept)
        let book = BondBook(localIdentity: Self.local, bonds: store.launch().bonds, rest: store)
        var slices = 1
        while book.readOn(limit: 3) { slices += 1 }
        #expect(slices == 4)
        #expect(!book.readOn(limit: 3))
        // What is in memory now says who an address is, and no store is asked for it.
        store.append(.bond(.delete(BondID(5))))
        let address = Toolbox.resolvablePrivateAddress(irk: AES128(key: Self.key(5)), random: 1)
        #expect(book.resolve(address) == .bonded(Self.identity(5)))
        #expect(book.bond(BondID(5)) == nil)
    }
}

/// A store's rows, and how often they were asked whose bonds an identity has.
private final class CountedRows: BondRows {
    private let rows: any BondRows
    private(set) var questions = 0

    init(_ rows: any BondRows) { self.rows = rows }

    func bonds(with identity: IdentityAddress) -> [Bond] {
        questions += 1
        return rows.bonds(with: identity)
    }

    func bond(_ id: BondID) -> Bond? { rows.bond(id) }
    func bondState(_ id: BondID) -> BondState? { rows.bondState(id) }
    func bonds(after cursor: BondCursor?, limit: Int) -> BondPage<Bond> { rows.bonds(after: cursor, limit: limit) }
    func marks(after cursor: BondCursor?, limit: Int) -> BondPage<BondMark> { rows.marks(after: cursor, limit: limit) }
    func bonds(enrolledFor credential: String) -> [BondID] { rows.bonds(enrolledFor: credential) }
    func confirmedBonds(after cursor: BondCursor?, limit: Int) -> BondPage<BondID> {
        rows.confirmedBonds(after: cursor, limit: limit)
    }
    func isKept(_ id: BondID) -> Bool { rows.isKept(id) }
    var hasBonds: Bool { rows.hasBonds }
}
