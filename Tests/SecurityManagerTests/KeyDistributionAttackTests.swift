import BluetoothCore
import BluetoothCrypto
import SecurityManager
import Testing

@Suite("Attacks on keys and identities, Vol 3 Part H 3.6.1 and docs/PROTOCOL.md, Enrolment")
struct KeyDistributionAttackTests {
    static let roles = PairingRole.allCases

    private func attack(
        _ victim: PairingRole, bonds: [Bond] = [], credential: String? = nil,
        _ onTheAir: @escaping (SMPPDU) -> SMPPDU = { $0 }
    ) throws -> Side {
        var rig = try Rig(
            initiatorBonds: victim == .initiator ? bonds : [], responderBonds: victim == .responder ? bonds : [])
        try rig.begin(.outOfBand, credential: credential)
        rig.onTheAir = { role, pdu in role == victim ? pdu : onTheAir(pdu) }
        rig.run()
        return victim == .initiator ? rig.initiator : rig.responder
    }

    private func expectRefused(_ side: Side, _ error: PairingError, telling reason: PairingFailedReason) {
        #expect(side.error == error)
        #expect(side.sent.last == .pairingFailed(reason))
        #expect(side.completed == nil && side.book.discardUnfinished().isEmpty)
    }

    @Test("Keys before encryption", arguments: roles)
    func keysBeforeEncryption(_ victim: PairingRole) throws {
        for pdu in [
            SMPPDU.identityInformation(identityResolvingKey: Fixture.strangerIRK),
            .signingInformation(signatureKey: Fixture.strangerIRK),
            .encryptionInformation(longTermKey: Fixture.strangerIRK),
        ] {
            var rig = try Rig(.outOfBand)
            rig.run(until: { if case .startEncryption = $1 { $0 == .initiator } else { false } })
            var side = victim == .initiator ? rig.initiator : rig.responder
            side.receive(pdu)
            #expect(side.error == .peerViolation(.unspecifiedReason) && side.completed == nil)
            #expect(side.machine.longTermKey == nil, "the link will not be encrypted with this key any more")
        }
    }

    @Test("Keys out of order, twice, or never agreed to", arguments: roles)
    func outOfOrder(_ victim: PairingRole) throws {
        let irk = SMPPDU.identityInformation(identityResolvingKey: Fixture.strangerIRK)
        let address = SMPPDU.identityAddressInformation(Fixture.address(victim == .initiator ? .responder : .initiator))
        let csrk = SMPPDU.signingInformation(signatureKey: Fixture.strangerIRK)
        let ltk = SMPPDU.encryptionInformation(longTermKey: Fixture.strangerIRK)
        let ediv = SMPPDU.centralIdentification(ediv: 1, rand: 1)
        let row = try #require(StateInputTests.rows.first { $0.role == victim && $0.name == "receivingIRK" })
        for order in [[address], [csrk], [ltk], [ediv], [irk, csrk], [irk, irk], [irk, address, address]] {
            var side = try StateInputTests.side(row)
            for pdu in order { side.receive(pdu) }
            expectRefused(side, .peerViolation(.unspecifiedReason), telling: .unspecifiedReason)
            #expect(side.book.bonds.isEmpty)
        }
        var side = try StateInputTests.side(row)
        for pdu in [irk, address, csrk] { side.receive(pdu) }
        #expect(side.completed != nil, "the right order does")
    }

    @Test("All-zero and reflected keys", arguments: roles)
    func zeroAndReflectedKeys(_ victim: PairingRole) throws {
        let zero = Secret(UInt128(0).octets)
        let ownIRK = try Fixture.local(victim).irk
        let ownCSRK = Secret(Array(Fixture.random(seed: victim == .initiator ? 1 : 2)[320..<336]))
        for key in [zero, ownCSRK] {
            let side = try attack(victim) {
                $0.opcode == .signingInformation ? .signingInformation(signatureKey: key) : $0
            }
            expectRefused(side, .peerViolation(.keyRejected), telling: .keyRejected)
        }
        let reflected = try attack(victim) {
            $0.opcode == .identityInformation ? .identityInformation(identityResolvingKey: ownIRK) : $0
        }
        expectRefused(reflected, .peerViolation(.keyRejected), telling: .keyRejected)
        let unused = try attack(victim) {
            $0.opcode == .identityInformation ? .identityInformation(identityResolvingKey: zero) : $0
        }
        #expect(try #require(unused.completed).peerIRK == nil, "zero is how a peer says that it has none")
    }

    @Test("An identity that is none, and our own identity", arguments: roles)
    func impossibleIdentity(_ victim: PairingRole) throws {
        for bits: UInt64 in [0x4000_0000_0001, 0x0000_0000_0001, 0x8000_0000_0001] {
            let side = try attack(victim) {
                $0.opcode == .identityAddressInformation
                    ? .identityAddressInformation(DeviceAddress(kind: .random, bits: bits)) : $0
            }
            expectRefused(side, .peerViolation(.invalidParameters), telling: .invalidParameters)
        }
        let own = try attack(victim) {
            $0.opcode == .identityAddressInformation
                ? .identityAddressInformation(Fixture.address(victim)) : $0
        }
        expectRefused(own, .identityTaken, telling: .keyRejected)
    }

    // MARK: Taking over another bond

    /// Somebody else's, by identity address.
    static let stranger = DeviceAddress(kind: .random, bits: 0xC0AA_BBCC_DDEE)

    @Test("Identity theft: claiming another bond's identity address or key in a pairing")
    func identityTheft() throws {
        let owned = try Fixture.bond(7, identity: Self.stranger, irk: Fixture.strangerIRK, credential: "alice")
        for change in [
            { (pdu: SMPPDU) -> SMPPDU in
                pdu.opcode == .identityAddressInformation ? .identityAddressInformation(Self.stranger) : pdu
            },
            { (pdu: SMPPDU) -> SMPPDU in
                pdu.opcode == .identityInformation
                    ? .identityInformation(identityResolvingKey: Fixture.strangerIRK) : pdu
            },
        ] {
            for credential in [nil, "bob"] {
                let side = try attack(.responder, bonds: [owned], credential: credential, change)
                expectRefused(side, .identityTaken, telling: .keyRejected)
                #expect(side.book.bonds == [owned])
                #expect(side.persisted.count == 2, "the provisional bond came and went, the owner's was not touched")
            }
            let renewed = try attack(.responder, bonds: [owned], credential: "alice", change)
            let bond = try #require(renewed.completed)
            #expect(Array(renewed.persisted.suffix(2)) == [.delete(owned.id), .upsert(bond)])
            #expect(renewed.book.bonds == [bond])
        }
    }

    private static func claimsKey(_ pdu: SMPPDU) -> SMPPDU {
        pdu.opcode == .identityInformation ? .identityInformation(identityResolvingKey: Fixture.strangerIRK) : pdu
    }

    @Test(
        "A key distributed by a peer of another identity is refused, whoever asks, unless that bond goes at once: it stays whose it was",
        arguments: roles)
    func sharedKey(_ victim: PairingRole) throws {
        let owned = try Fixture.bond(7, identity: Self.stranger, irk: Fixture.strangerIRK, credential: "alice")
        let address = AddressResolutionTests.rpa(Fixture.strangerIRK, 5)
        for credential in [nil, "bob", "alice"] {
            let side = try attack(victim, bonds: [owned], credential: credential, Self.claimsKey)
            let holder = side.completed?.identity ?? owned.identity
            // The responder's new bond takes the old one's place, the initiator's would stand beside it.
            #expect((side.completed != nil) == (victim == .responder && credential == "alice"))
            #expect(side.book.bonds.count == 1)
            #expect(
                side.book.resolve(address) == .bonded(try #require(holder)), "and not two identities' and so nobody's")
            guard side.completed == nil else { continue }
            expectRefused(side, .identityTaken, telling: .keyRejected)
            #expect(side.book.bonds == [owned])
            #expect(side.book.bondForEncryption(with: try Fixture.identity(Self.stranger)) == owned)
        }
    }

    @Test("Malicious lock: what it has of a key signs and encrypts nothing for another lock of the same key")
    func maliciousLock() throws {
        let bonds = try [1, 5].map { seed in
            var rig = try Rig()
            rig.responder.handle(.arm(try Fixture.parameters(.responder, .outOfBand)))
            let policy = PairingPolicy(method: try Fixture.method(.initiator, .outOfBand))
            rig.post(
                .initiator,
                .begin(PairingParameters(policy: policy, material: try Fixture.material(.initiator, seed: seed))))
            rig.run()
            return (key: try #require(rig.initiator.completed), lock: try #require(rig.responder.completed))
        }
        let (malicious, other) = (bonds[0].lock, bonds[1].lock)
        #expect(malicious.ltk != other.ltk)
        var believed = other
        believed.state = .confirmed
        let book = BondBook(localIdentity: try Fixture.local(.responder), bonds: [believed])
        // All that it was given, and all that it gave.
        for secret in [malicious.remoteCSRK, malicious.localCSRK, malicious.peerIRK, malicious.ltk].compactMap(\.self) {
            #expect(verdict(of: secret, at: book, on: other.id) == .badSignature)
        }
        let own = try #require(bonds[1].key.localCSRK)
        guard case .accepted = verdict(of: own, at: book, on: other.id) else {
            Issue.record("the key's own signature is not taken")
            return
        }
    }

    /// What a lock says to a command that is signed with `secret`.
    private func verdict(of secret: Secret, at book: BondBook, on bond: BondID) -> SignedWriteVerdict {
        let message = hex("D212001337")
        let signature = DataSigning(csrk: secret).signature(message: message, signCounter: 7)
        return book.verifySigned(message + [7, 0, 0, 0] + signature, from: bond)
    }

    @Test(
        "Whoever claims another's key before that peer bonds keeps it out, and gains nothing: it is in once the claim is deleted"
    )
    func keyClaimedFirst() throws {
        let claim = try Fixture.bond(7, identity: Self.stranger, irk: Fixture.strangerIRK, credential: "mallory")
        let refused = try attack(.responder, bonds: [claim], credential: "bob", Self.claimsKey)
        expectRefused(refused, .identityTaken, telling: .keyRejected)
        #expect(refused.book.bonds == [claim])
        // The claim has another's addresses for its own, and the key of none of their links.
        #expect(refused.book.delete(claim.id) == [.delete(claim.id)])
        let enrolled = try attack(.responder, bonds: refused.book.bonds, credential: "bob", Self.claimsKey)
        let bond = try #require(enrolled.completed)
        #expect(
            enrolled.book.resolve(AddressResolutionTests.rpa(Fixture.strangerIRK, 5))
                == .bonded(try #require(bond.identity)))
    }

    @Test("Address theft: a connection from another bond's address, public or private, is refused before any key")
    func addressTheft() throws {
        let request = SMPPDU.pairingRequest(
            PairingFeatures(
                ioCapability: .noInputNoOutput, oobDataFlag: 1, authReq: [.bonding, .mitm, .secureConnections],
                initiatorKeyDistribution: [.idKey], responderKeyDistribution: [.idKey]))
        let owned = try Fixture.bond(7, identity: Self.stranger, irk: Fixture.strangerIRK, credential: "alice")
        for address in [Self.stranger, AddressResolutionTests.rpa(Fixture.strangerIRK, 77)] {
            for (credential, refused) in [(String?.none, true), ("bob", true), ("alice", false)] {
                var side = try Side(.responder, bonds: [owned], peerAddress: address)
                side.handle(.arm(try Fixture.parameters(.responder, .outOfBand, credential: credential)))
                side.receive(request)
                if refused {
                    expectRefused(side, .identityTaken, telling: .authenticationRequirements)
                } else {
                    #expect(side.sent.map(\.opcode) == [.pairingResponse])
                }
                #expect(side.book.bonds == [owned] && side.persisted.isEmpty)
            }
        }
    }

    @Test("Two keys that make one address: nobody pairs from it")
    func ambiguousAddress() throws {
        let bonds = [
            try Fixture.bond(1, identity: Self.stranger, irk: Fixture.strangerIRK, credential: "alice"),
            try Fixture.bond(2, identity: Fixture.initiatorAddress, irk: Fixture.strangerIRK, credential: "alice"),
        ]
        var side = try Side(
            .responder, bonds: bonds, peerAddress: AddressResolutionTests.rpa(Fixture.strangerIRK, 77))
        side.handle(.arm(try Fixture.parameters(.responder, .outOfBand, credential: "alice")))
        side.receive(SMPPDUTests.vectors[0].pdu)
        #expect(side.completed == nil && side.error != nil)
        #expect(side.sent.map(\.opcode) == [.pairingFailed])
    }

    @Test("A weaker pairing does not replace a stronger bond, even of its own credential")
    func weakerReplacement() throws {
        let owned = try Fixture.bond(7, credential: "alice")
        var rig = try Rig(responderBonds: [owned])
        try rig.begin(.justWorks, credential: "alice")
        rig.run()
        #expect(rig.responder.error == .identityTaken)
        #expect(rig.responder.book.bonds == [owned] && rig.responder.persisted.isEmpty)
    }

    @Test("A replacement that breaks off leaves the old bond as it was", arguments: [0x08, 0x09, 0x0A] as [UInt8])
    func interruptedReplacement(_ lost: UInt8) throws {
        let owned = try Fixture.bond(7, credential: "alice")
        var rig = try Rig(responderBonds: [owned])
        try rig.begin(.outOfBand, credential: "alice")
        rig.run(until: { role, output in
            role == .initiator && [output].sent.first?.opcode.rawValue == lost
        })
        let ended = rig.responder.handle(.disconnected)
        #expect(ended.failure == .disconnected)
        #expect(rig.responder.book.bonds == [owned])
        #expect(!rig.responder.persisted.contains(.delete(owned.id)))
    }

    @Test("Pairing again and again: of those that were never confirmed the last two stay, beside what was")
    func unprovenAreReplaced() throws {
        func bond(_ id: Int64, _ state: BondState) throws -> Bond {
            try Fixture.bond(id, identity: Fixture.responderAddress, state: state, credential: "front door")
        }
        let bonds = try [bond(9, .confirmed), bond(8, .unconfirmed), bond(7, .unconfirmed)]
        #expect(bonds.count == 1 + BondBook.unprovenBondsOfPeerMaximum)
        let side = try attack(.initiator, bonds: bonds, credential: "front door")
        let bond = try #require(side.completed)
        #expect(side.persisted == [.delete(BondID(8)), .upsert(bond)])
        #expect(Set(side.book.bonds.map(\.id)) == [BondID(9), BondID(7), bond.id])
    }

    @Test("The initiator keeps the old bond until the new one is confirmed")
    func initiatorKeepsOld() throws {
        let owned = try Fixture.bond(7, identity: Fixture.responderAddress, credential: "front door")
        let side = try attack(.initiator, bonds: [owned], credential: "front door")
        let bond = try #require(side.completed)
        #expect(side.persisted == [.upsert(bond)])
        #expect(side.book.promote(bond.id) == [.delete(owned.id), .promoted(bond.id)])
    }
}
