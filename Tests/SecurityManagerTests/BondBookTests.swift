import BluetoothCore
import BluetoothCrypto
import SecurityManager
import Testing

@Suite("Signed commands, Vol 3 Part C 10.4 and docs/PROTOCOL.md")
struct SignedCommandTests {
    /// docs/PROTOCOL.md: handle 0x0012, value 1337, counter 1.
    static let known = hex("D2120013370100 0000F1871E933C900FF2".filter { $0 != " " })

    private func book(_ bond: Bond) throws -> BondBook {
        BondBook(localIdentity: try Fixture.local(.responder), bonds: [bond])
    }

    private func signed(_ counter: UInt32, message: String = "D212001337") -> [UInt8] {
        let signing = DataSigning(csrk: secret("611B64EBFBCD1FD372EC9196DF425E50"))
        let octets = hex(message)
        return octets + withUnsafeBytes(of: counter.littleEndian) { Array($0) }
            + signing.signature(message: octets, signCounter: counter)
    }

    @Test("The known answer is signed and accepted")
    func knownAnswer() throws {
        let book = try book(try Fixture.bond(1, reserved: 1))
        #expect(
            book.sign(hex("D212001337"), with: BondID(1))
                == .signed(Self.known, reserving: .localSignCounterReserved(BondID(1), bound: 65)))
        #expect(
            book.verifySigned(Self.known, from: BondID(1))
                == .accepted(signCounter: 1, .remoteSignCounter(BondID(1), 1)))
        #expect(book.bond(BondID(1))?.lastRemoteSignCounter == 1)
    }

    @Test("A key's file from before: it uses counters again, and the lock takes none of them until there is a new one")
    func restoredFile() throws {
        let bond = try Fixture.bond(1)
        let (lock, key) = (try book(bond), try book(bond))
        func send(_ sender: BondBook) throws -> SignedWriteVerdict {
            guard case .signed(let octets, _) = sender.sign(hex("D212001337"), with: BondID(1)) else {
                Issue.record("nothing was signed")
                return .malformed
            }
            return lock.verifySigned(octets, from: BondID(1))
        }
        for counter in 0..<3 as Range<UInt32> {
            #expect(try send(key) == .accepted(signCounter: counter, .remoteSignCounter(BondID(1), counter)))
        }
        let restored = try book(bond)
        for counter in 0..<3 as Range<UInt32> { #expect(try send(restored) == .replayed(signCounter: counter)) }
        #expect(lock.bond(BondID(1))?.lastRemoteSignCounter == 2)
        #expect(try send(restored) == .accepted(signCounter: 3, .remoteSignCounter(BondID(1), 3)))
    }

    @Test("A key's file from before goes on behind the counter that the lock took last, or a good way on, for good")
    func advanced() throws {
        let bond = try Fixture.bond(1, reserved: 64)
        let lock = try book(try Fixture.bond(1, last: 500))
        func verdict(_ sender: BondBook) throws -> SignedWriteVerdict {
            guard case .signed(let octets, let reservation) = sender.sign(hex("D212001337"), with: BondID(1)) else {
                Issue.record("nothing was signed")
                return .malformed
            }
            #expect(reservation != nil, "what is used is on the disk before")
            return lock.verifySigned(octets, from: BondID(1))
        }
        let told = try book(bond)
        #expect(told.advanceSignCounter(BondID(1), beyond: 500) == .localSignCounterReserved(BondID(1), bound: 501))
        #expect(try verdict(told) == .accepted(signCounter: 501, .remoteSignCounter(BondID(1), 501)))
        // Not back.
        for counter in [0, 500, 501] as [UInt32] {
            #expect(told.advanceSignCounter(BondID(1), beyond: counter) == nil)
        }
        #expect(told.bond(BondID(1))?.localSignCounterReserved == 565)

        let blind = try book(bond)
        #expect(try verdict(blind) == .replayed(signCounter: 64))
        let bound = 65 + 1_024 as UInt32
        #expect(blind.advanceSignCounter(BondID(1), beyond: nil) == .localSignCounterReserved(BondID(1), bound: bound))
        #expect(try verdict(blind) == .accepted(signCounter: bound, .remoteSignCounter(BondID(1), bound)))
        // Within what is on the disk already nothing has to be written.
        let fresh = try book(try Fixture.bond(1))
        #expect(
            fresh.sign([0xD2], with: BondID(1))
                == .signed(signed(0, message: "D2"), reserving: .localSignCounterReserved(BondID(1), bound: 64)))
        #expect(fresh.advanceSignCounter(BondID(1), beyond: 9) == nil)
        #expect(fresh.sign([0xD2], with: BondID(1)) == .signed(signed(10, message: "D2"), reserving: nil))
        // A lock that says the greatest of all harms itself: nothing is signed for it any more.
        #expect(fresh.advanceSignCounter(BondID(1), beyond: .max) == .localSignCounterReserved(BondID(1), bound: .max))
        #expect(fresh.sign([0xD2], with: BondID(1)) == .exhausted)
        #expect(fresh.advanceSignCounter(BondID(1), beyond: nil) == nil)
        #expect(fresh.advanceSignCounter(BondID(2), beyond: 1) == nil)
        #expect(try book(try Fixture.bond(1, state: .unconfirmed)).advanceSignCounter(BondID(1), beyond: 1) == nil)
    }

    @Test("None yet is not 0: the first counter may be 0, and only once")
    func firstCounter() throws {
        let book = try book(try Fixture.bond(1))
        #expect(
            book.verifySigned(signed(0), from: BondID(1))
                == .accepted(signCounter: 0, .remoteSignCounter(BondID(1), 0)))
        #expect(book.verifySigned(signed(0), from: BondID(1)) == .replayed(signCounter: 0))
    }

    @Test("Replay: a counter equal to the last or below it is refused, across a restart too")
    func replayed() throws {
        let book = try book(try Fixture.bond(1, last: 10))
        for counter: UInt32 in [0, 9, 10] {
            #expect(book.verifySigned(signed(counter), from: BondID(1)) == .replayed(signCounter: counter))
        }
        #expect(book.bond(BondID(1))?.lastRemoteSignCounter == 10)
        #expect(
            book.verifySigned(signed(500), from: BondID(1))
                == .accepted(signCounter: 500, .remoteSignCounter(BondID(1), 500)))
        #expect(book.verifySigned(signed(11), from: BondID(1)) == .replayed(signCounter: 11))
    }

    @Test("Forged MAC: it does not advance the counter, whatever counter it claims")
    func forged() throws {
        let book = try book(try Fixture.bond(1, last: 10))
        for counter: UInt32 in [0, 10, 11, .max] {
            for index in 0..<17 {
                var octets = signed(counter)
                octets[index] ^= 0x01
                #expect(book.verifySigned(octets, from: BondID(1)) == .badSignature)
            }
        }
        #expect(book.bond(BondID(1))?.lastRemoteSignCounter == 10)
        #expect(
            book.verifySigned(signed(11), from: BondID(1))
                == .accepted(signCounter: 11, .remoteSignCounter(BondID(1), 11)))
    }

    @Test("Wrap: after 0xFFFFFFFF nothing is newer")
    func remoteWrap() throws {
        let book = try book(try Fixture.bond(1, last: .max - 1))
        #expect(
            book.verifySigned(signed(.max), from: BondID(1))
                == .accepted(signCounter: .max, .remoteSignCounter(BondID(1), .max)))
        for counter: UInt32 in [0, 1, .max] {
            #expect(book.verifySigned(signed(counter), from: BondID(1)) == .replayed(signCounter: counter))
        }
    }

    @Test("Wrap: the sender stops before 0xFFFFFFFF and never reuses a counter")
    func localWrap() throws {
        let book = try book(try Fixture.bond(1, reserved: .max - 2))
        let (first, second) = (book.sign([0xD2], with: BondID(1)), book.sign([0xD2], with: BondID(1)))
        #expect(
            first
                == .signed(
                    signed(.max - 2, message: "D2"), reserving: .localSignCounterReserved(BondID(1), bound: .max)))
        #expect(second == .signed(signed(.max - 1, message: "D2"), reserving: nil))
        for _ in 0..<3 { #expect(book.sign([0xD2], with: BondID(1)) == .exhausted) }
        #expect(try self.book(try Fixture.bond(1, reserved: .max)).sign([0xD2], with: BondID(1)) == .exhausted)
    }

    @Test("A block of 64 is reserved before its first use; a restart begins at the next")
    func blocks() throws {
        var bond = try Fixture.bond(1)
        var used: Set<UInt32> = []
        for restart in 0..<3 {
            let book = try book(bond)
            for use in 0..<70 {
                guard case .signed(let octets, let mutation) = book.sign([0xD2], with: BondID(1)) else {
                    Issue.record("refused")
                    return
                }
                let counter = octets[1...4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                #expect(used.insert(counter).inserted)
                if let mutation {
                    guard case .localSignCounterReserved(_, let bound) = mutation else { return }
                    bond.localSignCounterReserved = bound
                }
                #expect(counter < bond.localSignCounterReserved, "never beyond what the disk knows")
                #expect((mutation != nil) == (use % 64 == 0), "\(restart) \(use)")
            }
        }
        #expect(bond.localSignCounterReserved == 3 * 128)
    }

    @Test("Too short, unknown, unconfirmed or without a key: nothing is verified and nothing signed")
    func notPossible() throws {
        let good = signed(1)
        let confirmed = try book(try Fixture.bond(1))
        for count in 0...12 {
            #expect(confirmed.verifySigned(Array(good.prefix(count)), from: BondID(1)) == .malformed)
        }
        #expect(confirmed.verifySigned(Array(good.prefix(13)), from: BondID(1)) == .badSignature)
        #expect(confirmed.verifySigned(good, from: BondID(2)) == .notVerifiable)
        #expect(confirmed.sign([0xD2], with: BondID(2)) == .notPossible)
        for state in [BondState.provisional, .unconfirmed] {
            let book = try book(try Fixture.bond(1, state: state))
            #expect(book.verifySigned(good, from: BondID(1)) == .notVerifiable)
            #expect(book.sign([0xD2], with: BondID(1)) == .notPossible)
        }
        var keyless = try Fixture.bond(1)
        keyless.localCSRK = nil
        keyless.remoteCSRK = nil
        #expect(try book(keyless).verifySigned(good, from: BondID(1)) == .notVerifiable)
        #expect(try book(keyless).sign([0xD2], with: BondID(1)) == .notPossible)
    }
}

@Suite("Who is who, Vol 3 Part C 10.8.2.3 and Vol 6 Part B 1.3.2.3")
struct AddressResolutionTests {
    static func irk(_ number: Int) -> Secret { Secret(UInt128(number + 1).octets) }
    static func identity(_ number: Int) -> DeviceAddress {
        DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | UInt64(number))
    }
    static func rpa(_ irk: Secret, _ random: UInt32) -> DeviceAddress {
        Toolbox.resolvablePrivateAddress(irk: AES128(key: irk), random: random)
    }

    private func book(_ count: Int) throws -> BondBook {
        BondBook(
            localIdentity: try Fixture.local(.responder),
            bonds: try (0..<count).map {
                try Fixture.bond(Int64($0), identity: Self.identity($0), irk: Self.irk($0))
            })
    }

    @Test("Each of 50 identities by its own address, by its own key, the second time from memory")
    func resolves() throws {
        let book = try book(50)
        for _ in 0..<2 {
            for number in 0..<50 {
                let expected = AddressResolution.bonded(try Fixture.identity(Self.identity(number)))
                #expect(book.resolve(Self.rpa(Self.irk(number), UInt32(number) * 7)) == expected)
                #expect(book.resolve(Self.identity(number)) == expected)
            }
        }
        #expect(book.resolve(Self.rpa(Fixture.strangerIRK, 1)) == .unknown)
        #expect(book.resolve(Self.identity(99)) == .unknown)
        #expect(book.resolve(DeviceAddress(kind: .random, bits: 0x0000_0000_0001)) == .unknown)
        #expect(book.resolve(DeviceAddress(kind: .public, bits: Self.identity(0).bits)) == .unknown)
    }

    @Test("An address that two identities' keys make is nobody's")
    func ambiguous() throws {
        let bonds = [
            try Fixture.bond(1, identity: Self.identity(1), irk: Self.irk(1)),
            try Fixture.bond(2, identity: Self.identity(2), irk: Self.irk(1)),
        ]
        let book = BondBook(localIdentity: try Fixture.local(.responder), bonds: bonds)
        let address = Self.rpa(Self.irk(1), 5)
        #expect(book.resolve(address) == .ambiguous)
        #expect(book.delete(BondID(2)) == [.delete(BondID(2))])
        #expect(book.resolve(address) == .bonded(try Fixture.identity(Self.identity(1))), "memory of it is gone too")
    }

    @Test("A deleted bond's address is forgotten, cached or not; the others stay")
    func deleted() throws {
        let book = try book(3)
        let addresses = (0..<3).map { Self.rpa(Self.irk($0), 9) }
        for address in addresses { _ = book.resolve(address) }
        #expect(book.delete(BondID(0)) == [.delete(BondID(0))])
        #expect(book.delete(BondID(0)).isEmpty)
        #expect(book.resolve(addresses[0]) == .unknown)
        #expect(book.resolve(Self.identity(0)) == .unknown)
        for number in 1..<3 {
            #expect(book.resolve(addresses[number]) == .bonded(try Fixture.identity(Self.identity(number))))
        }
        #expect(book.bonds.map(\.id) == [BondID(1), BondID(2)])
    }

    @Test("More addresses than the cache holds: one past the bound the oldest gives way, and all still resolve")
    func cacheBound() throws {
        let book = try book(2)
        let expected = AddressResolution.bonded(try Fixture.identity(Self.identity(1)))
        for _ in 0..<2 {
            for random in 0..<UInt32(300) { #expect(book.resolve(Self.rpa(Self.irk(1), random)) == expected) }
        }
    }
}

@Suite("Bonds through their lives")
struct BondLifeTests {
    private func book(_ bonds: [Bond]) throws -> BondBook {
        BondBook(localIdentity: try Fixture.local(.responder), bonds: bonds)
    }

    @Test("What an application keeps with a bond goes with it, and is not kept where it is too long")
    func applicationSecret() throws {
        let book = BondBook(localIdentity: try Fixture.local(.responder), bonds: [try Fixture.bond(1)])
        let secret = Secret([UInt8](repeating: 7, count: 255))
        var kept = try Fixture.bond(1)
        kept.applicationSecret = secret
        #expect(book.keep(secret, with: BondID(1)) == .upsert(kept))
        #expect(book.keep(Secret([UInt8](repeating: 8, count: 256)), with: BondID(1)) == nil)
        #expect(book.bond(BondID(1))?.applicationSecret == secret)
        #expect(book.keep(nil, with: BondID(1)) == .upsert(try Fixture.bond(1)))
        #expect(book.keep(secret, with: BondID(2)) == nil)
    }

    @Test("A counter that an application takes is used by nothing else, and the disk knows it before")
    func applicationCounters() throws {
        let book = BondBook(localIdentity: try Fixture.local(.responder), bonds: [try Fixture.bond(1)])
        let first = try #require(book.takeSignCounter(BondID(1)))
        #expect(first.counter == 0 && first.reserving == .localSignCounterReserved(BondID(1), bound: 64))
        guard case .signed(let octets, nil) = book.sign([0xD2], with: BondID(1)) else {
            Issue.record("not signed, or reserved twice")
            return
        }
        #expect(octets[1...4] == [1, 0, 0, 0] && book.takeSignCounter(BondID(1))?.counter == 2)
        let spent = BondBook(
            localIdentity: try Fixture.local(.responder), bonds: [try Fixture.bond(1, reserved: .max)])
        #expect(spent.takeSignCounter(BondID(1)) == nil && spent.takeSignCounter(BondID(2)) == nil)
        let unconfirmed = BondBook(
            localIdentity: try Fixture.local(.responder), bonds: [try Fixture.bond(1, state: .unconfirmed)])
        #expect(unconfirmed.takeSignCounter(BondID(1)) == nil)
    }

    @Test("One unnamed bond past the bound is refused; names, renewals and whoever comes after a deletion are not")
    func unnamedBound() throws {
        func identity(_ number: Int) -> DeviceAddress {
            DeviceAddress(kind: .random, bits: 0xC0DE_0000_0000 | UInt64(number))
        }
        let most = BondBook.unnamedBondsMaximum
        let book = try book(
            (1..<most).map { try Fixture.bond(Int64($0), identity: identity($0), model: .justWorks) }
                + [try Fixture.bond(9_999, identity: identity(9_999), credential: "alice")])
        let strength = try Fixture.bond(1, model: .justWorks).strength
        func replaceable(_ number: Int, credential: String? = nil) -> [BondID]? {
            book.replaceable(
                by: identity(number), identity: IdentityAddress(identity(number)), credential: credential,
                renewable: [BondID(1)], strength: strength)
        }
        #expect(replaceable(most) == [])
        _ = book.admit(try Fixture.bond(Int64(most), identity: identity(most), model: .justWorks), replacing: [])
        #expect(replaceable(most + 1) == nil)
        #expect(replaceable(most + 1, credential: "bob") == [])
        #expect(replaceable(1) == [BondID(1)])
        _ = book.delete(BondID(1))
        #expect(replaceable(most + 1) == [])
    }

    @Test("A restart deletes what was provisional, and nothing else")
    func discard() throws {
        let book = try book([
            try Fixture.bond(1, state: .provisional), try Fixture.bond(2, state: .unconfirmed),
            try Fixture.bond(3, identity: Fixture.responderAddress),
        ])
        #expect(book.bonds.map(\.id) == [BondID(2), BondID(3)])
        #expect(book.discardUnfinished() == [.delete(BondID(1))])
        #expect(book.discardUnfinished().isEmpty)
        #expect(book.bond(BondID(1)) == nil)
    }

    @Test("A provisional bond is nobody: no address resolves to it, no link is encrypted with it")
    func provisional() throws {
        let irk = secret("99999999999999999999999999999999")
        let book = try book([])
        let bond = try Fixture.bond(1, irk: irk, state: .provisional)
        #expect(book.begin(bond) == [.upsert(bond)])
        #expect(book.resolve(Fixture.initiatorAddress) == .unknown)
        #expect(book.resolve(AddressResolutionTests.rpa(irk, 3)) == .unknown)
        #expect(book.bondForEncryption(with: try Fixture.identity(Fixture.initiatorAddress)) == nil)
        #expect(book.promote(BondID(1)).isEmpty)
    }

    @Test("A renewed bond encrypts, the old one stays until the renewed one is confirmed, then goes with it at once")
    func promotion() throws {
        let (old, new) = (try Fixture.bond(1), try Fixture.bond(2, state: .unconfirmed))
        let book = try book([old])
        let identity = try Fixture.identity(Fixture.initiatorAddress)
        #expect(book.admit(new, replacing: []) == [.upsert(new)])
        #expect(book.bondForEncryption(with: identity)?.id == new.id)
        #expect(book.confirmedBond(with: identity)?.id == old.id)
        #expect(book.promote(new.id) == [.delete(old.id), .promoted(new.id)])
        #expect(book.confirmedBond(with: identity)?.id == new.id)
        #expect(book.bondForEncryption(with: identity)?.id == new.id)
        #expect(book.bond(old.id) == nil)
        #expect(book.promote(new.id).isEmpty)
    }

    @Test(
        "A bond that another host keeps encrypts no link of this one, signs nothing, and one of this host's vouches for none of that one's"
    )
    func keptElsewhere() throws {
        let identity = try Fixture.identity(Fixture.initiatorAddress)
        func elsewhere(_ id: Int64, _ state: BondState) throws -> Bond {
            Bond(id: BondID(id), identity: identity, ltk: Secret([]), model: .outOfBand, state: state)
        }
        for (own, other) in [(BondState.confirmed, BondState.unconfirmed), (.unconfirmed, .confirmed)] {
            let book = try book([try Fixture.bond(1, state: own), try elsewhere(2, other)])
            #expect(book.bondForEncryption(with: identity)?.id == BondID(1))
            book.encryptionLost(BondID(1))
            #expect(book.bondForEncryption(with: identity)?.id == BondID(1), "there is no other one")
            #expect(book.bondKeptElsewhere(with: identity)?.id == BondID(2))
            #expect(book.confirmedBond(with: identity)?.id == (own == .confirmed ? BondID(1) : nil))
        }
        let alone = try book([try elsewhere(2, .confirmed), try elsewhere(3, .unconfirmed)])
        #expect(alone.bondForEncryption(with: identity) == nil && alone.confirmedBond(with: identity) == nil)
        #expect(alone.bondKeptElsewhere(with: identity)?.id == BondID(3), "the last that it made")
        #expect(try book([try Fixture.bond(1)]).bondKeptElsewhere(with: identity) == nil)
    }

    @Test("A link lost over a renewed bond gives the old one its turn, and the other way round; a deleted one has none")
    func lostEncryption() throws {
        let (old, new) = (try Fixture.bond(1), try Fixture.bond(2, state: .unconfirmed))
        let book = try book([old, new])
        let identity = try Fixture.identity(Fixture.initiatorAddress)
        for _ in 0..<2 {
            #expect(book.bondForEncryption(with: identity)?.id == new.id)
            book.encryptionLost(new.id)
            #expect(book.bondForEncryption(with: identity)?.id == old.id)
            book.encryptionLost(old.id)
        }
        book.encryptionLost(new.id)
        _ = book.delete(old.id)
        #expect(book.bondForEncryption(with: identity)?.id == new.id, "better than nothing")
        book.encryptionLost(BondID(99))
    }

    @Test("Of two bonds that both wait for their confirmation the newer is tried first, and then they take turns")
    func twoUnconfirmed() throws {
        let (old, new) = (try Fixture.bond(9, state: .unconfirmed), try Fixture.bond(2, state: .unconfirmed))
        let book = try book([old])
        _ = book.admit(new, replacing: [])
        let identity = try Fixture.identity(Fixture.initiatorAddress)
        for _ in 0..<2 {
            #expect(book.bondForEncryption(with: identity)?.id == new.id)
            book.encryptionLost(new.id)
            #expect(book.bondForEncryption(with: identity)?.id == old.id)
            book.encryptionLost(old.id)
        }
        #expect(book.promote(new.id) == [.delete(old.id), .promoted(new.id)])
    }

    @Test("Replacing is one list of mutations: the old out, the new in")
    func replacing() throws {
        let (old, new) = (try Fixture.bond(1), try Fixture.bond(2, state: .unconfirmed))
        let book = try book([old])
        #expect(book.admit(new, replacing: [old.id]) == [.delete(old.id), .upsert(new)])
        #expect(book.bonds == [new])
    }

    @Test("What is applied in order is what the book has: a store that obeys never differs from it")
    func storeFollows() throws {
        var rows: [BondID: Bond] = [:]
        func apply(_ mutations: [BondMutation]) {
            for mutation in mutations {
                switch mutation {
                case .upsert(let bond): rows[bond.id] = bond
                case .remoteSignCounter(let id, let value): rows[id]?.lastRemoteSignCounter = value
                case .localSignCounterReserved(let id, let bound): rows[id]?.localSignCounterReserved = bound
                case .promoted(let id): rows[id]?.state = .confirmed
                case .delete(let id): rows[id] = nil
                }
            }
        }
        let book = try book([])
        apply(book.begin(try Fixture.bond(1, state: .provisional)))
        apply(book.admit(try Fixture.bond(1, state: .unconfirmed), replacing: []))
        apply(book.promote(BondID(1)))
        if case .signed(_, let mutation?) = book.sign([0xD2], with: BondID(1)) { apply([mutation]) }
        if case .accepted(_, let mutation) = book.verifySigned(SignedCommandTests.known, from: BondID(1)) {
            apply([mutation])
        }
        apply(book.admit(try Fixture.bond(2, state: .unconfirmed), replacing: []))
        #expect(rows.values.sorted { $0.id.rawValue < $1.id.rawValue } == book.bonds)
        #expect(rows[BondID(1)]?.localSignCounterReserved == 64 && rows[BondID(1)]?.lastRemoteSignCounter == 1)
        apply(book.promote(BondID(2)))
        #expect(Array(rows.values) == book.bonds && book.bonds.map(\.id) == [BondID(2)])
    }
}
