import BluetoothCore
import BluetoothCrypto
import SecurityManager
import Testing

@Suite("Whole pairings, Vol 3 Part H 2.3.5.6 and Appendix C")
struct PairingTranscriptTests {
    struct Expected: Sendable {
        var model: AssociationModel, transcript: String, ltk: String
    }

    static let expected = [
        Expected(
            model: .outOfBand, transcript: Transcripts.outOfBand, ltk: "CB18FAC7558D08DCB3B256A56C4FE5CC"),
        Expected(
            model: .passkeyEntry, transcript: Transcripts.passkeyEntry, ltk: "798E42231BE5DFA3673CD4B621B5B565"),
        Expected(
            model: .numericComparison, transcript: Transcripts.numericComparison,
            ltk: "CB18FAC7558D08DCB3B256A56C4FE5CC"),
    ]

    @Test("Every octet of both sides, and the bonds that come of it", arguments: expected)
    func wholePairing(_ expected: Expected) throws {
        var rig = try Rig(expected.model)
        rig.run()
        #expect(rig.transcript == expected.transcript.split(separator: "\n").map(String.init))
        let (key, lock) = (try #require(rig.initiator.completed), try #require(rig.responder.completed))
        #expect(key.ltk == secret(expected.ltk) && lock.ltk == key.ltk)
        #expect(key.localCSRK == lock.remoteCSRK && lock.localCSRK == key.remoteCSRK && key.localCSRK != key.remoteCSRK)
        #expect(key.identity?.address == Fixture.responderAddress && lock.identity?.address == Fixture.initiatorAddress)
        #expect(try key.peerIRK == Fixture.local(.responder).irk && lock.peerIRK == Fixture.local(.initiator).irk)
        for bond in [key, lock] {
            #expect(bond.state == .unconfirmed && bond.model == expected.model && bond.securityLevel == 4)
            #expect(bond.lastRemoteSignCounter == nil && bond.localSignCounterReserved == 0 && bond.ediv == 0)
        }
        for side in [rig.initiator, rig.responder] {
            #expect(!side.machine.isPairing && side.machine.deadline == nil)
            #expect(side.book.bond(try #require(side.completed).id) == side.completed)
        }
    }

    @Test("Numeric comparison shows both users the same six digits")
    func numbers() throws {
        var rig = try Rig(.numericComparison)
        rig.run()
        for side in [rig.initiator, rig.responder] { #expect(side.log.contains(.confirmNumeric(549_461))) }
    }

    @Test("Just Works only where both policies pin it, and its bond is of level 2")
    func justWorks() throws {
        var rig = try Rig(.justWorks)
        rig.run()
        #expect(rig.initiator.completed?.securityLevel == 2 && rig.responder.completed?.securityLevel == 2)
    }

    @Test("2.3.5.6.3: the initiator shows the passkey and does not wait for the responder's user")
    func initiatorDisplays() throws {
        var rig = try Rig()
        var (mine, theirs) = (
            try Fixture.parameters(.initiator, .passkeyEntry), try Fixture.parameters(.responder, .passkeyEntry)
        )
        mine.policy.choice = .pinned(.passkeyDisplay)
        theirs.policy.choice = .pinned(.passkeyInput)
        rig.responder.handle(.arm(theirs))
        rig.post(.initiator, .begin(mine))
        rig.run(until: { role, output in role == .responder && output == .requestPasskey })
        #expect(rig.responder.machine.allowedOpcodes == [.pairingConfirm, .pairingKeypressNotification])
        rig.run()
        #expect(rig.initiator.completed != nil && rig.responder.completed?.model == .passkeyEntry)
    }

    @Test("2.3.5.6.3: a confirm value that comes before the passkey is typed is kept for it")
    func confirmBeforePasskey() throws {
        var rig = try Rig()
        var (mine, theirs) = (
            try Fixture.parameters(.initiator, .passkeyEntry), try Fixture.parameters(.responder, .passkeyEntry)
        )
        mine.policy.choice = .pinned(.passkeyDisplay)
        theirs.policy.choice = .pinned(.passkeyInput)
        let passkey = UInt32(Fixture.random(seed: 1)[344..<352].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 1_000_000)
        rig.responder.handle(.arm(theirs))
        rig.typed = { _ in .max }
        rig.post(.initiator, .begin(mine))
        rig.run(until: { role, output in role == .responder && output == .requestPasskey })
        let confirm = rig.initiator.sent.filter { $0.opcode == .pairingConfirm }
        let first = try #require(confirm.first)
        #expect(rig.responder.receive(first).isEmpty)
        #expect(rig.responder.machine.allowedOpcodes == [.pairingKeypressNotification])
        #expect(rig.responder.handle(.passkeyEntered(passkey)).sent.map(\.opcode) == [.pairingConfirm])
    }

    @Test("2.3.5.6.4: out-of-band data both ways")
    func bothWays() throws {
        var rig = try Rig()
        let mine = OutOfBandOffer(random: secret("00112233445566778899AABBCCDDEEFF"))
        var (initiator, responder) = (
            try Fixture.parameters(.initiator, .outOfBand), try Fixture.parameters(.responder, .outOfBand)
        )
        guard case .pinned(.outOfBand(_, let theirs)) = initiator.policy.choice else {
            Issue.record("the fixture has a setup code's data")
            return
        }
        initiator.policy.choice = .pinned(.outOfBand(offered: mine, received: theirs))
        let data = mine.data(address: Fixture.initiatorAddress, publicKey: initiator.material.keyPair.publicKey)
        responder.policy.choice = .pinned(
            .outOfBand(offered: OutOfBandOffer(random: Fixture.outOfBandRandom), received: data))
        rig.responder.handle(.arm(responder))
        rig.post(.initiator, .begin(initiator))
        rig.run()
        #expect(rig.initiator.completed?.ltk == secret("CB18FAC7558D08DCB3B256A56C4FE5CC"))
        #expect(rig.responder.completed?.model == .outOfBand)
    }

    @Test("2.3.5.6.4: data that was offered and not received counts as 0 in the other's check")
    func offeredInVain() throws {
        var rig = try Rig()
        var initiator = try Fixture.parameters(.initiator, .outOfBand)
        guard case .pinned(.outOfBand(_, let theirs)) = initiator.policy.choice else {
            Issue.record("the fixture has a setup code's data")
            return
        }
        initiator.policy.choice = .pinned(
            .outOfBand(offered: OutOfBandOffer(random: Fixture.strangerIRK), received: theirs))
        rig.responder.handle(.arm(try Fixture.parameters(.responder, .outOfBand)))
        rig.post(.initiator, .begin(initiator))
        rig.run()
        #expect(rig.initiator.error == nil && rig.initiator.completed != nil && rig.responder.completed != nil)
        #expect(rig.transcript == Transcripts.outOfBand.split(separator: "\n").map(String.init))
    }

    @Test("2.3.5.6.2: the initiator's check may come before the responder's user has compared")
    func checkBeforeComparison() throws {
        var rig = try Rig(.numericComparison)
        rig.run(until: { role, output in
            if case .confirmNumeric = output { role == .responder } else { false }
        })
        #expect(rig.responder.machine.allowedOpcodes == [.pairingDHKeyCheck])
        var initiator = rig.initiator
        let check = try #require(initiator.handle(.numericCompared(equal: true)).sent.first)
        #expect(rig.responder.receive(check).isEmpty)
        #expect(rig.responder.handle(.numericCompared(equal: true)).sent.map(\.opcode) == [.pairingDHKeyCheck])
        #expect(rig.responder.machine.longTermKey == secret("CB18FAC7558D08DCB3B256A56C4FE5CC"))
    }

    @Test("Commit, then act: the responder's provisional bond before its keys, its bond before it says so")
    func responderCommitsFirst() throws {
        var rig = try Rig(.outOfBand)
        rig.run()
        let kinds = rig.responder.log.compactMap { output -> String? in
            switch output {
            case .persist(.upsert(let bond)): "upsert \(bond.state)"
            case .send(let octets) where octets.first ?? 0 >= 0x06 && octets.first != 0x0C && octets.first != 0x0D:
                "key"
            case .completed: "completed"
            default: nil
            }
        }
        #expect(kinds == ["upsert provisional", "key", "key", "key", "upsert unconfirmed", "completed"])
    }

    @Test("Commit, then act: the initiator's bond before its keys")
    func initiatorCommitsFirst() throws {
        var rig = try Rig(.outOfBand)
        rig.run()
        let tail = rig.initiator.log.suffix(5)
        guard case .persist(.upsert(let bond)) = tail.first, case .completed(let last) = tail.last else {
            Issue.record("\(tail)")
            return
        }
        #expect(bond == last && bond.state == .unconfirmed)
        #expect(
            Array(tail).sent.map(\.opcode) == [.identityInformation, .identityAddressInformation, .signingInformation])
    }

    @Test("Without signing and without a peer's identity key, the connection's static address is the identity")
    func noKeys() throws {
        var rig = try Rig()
        var (initiator, responder) = (
            try Fixture.parameters(.initiator, .outOfBand), try Fixture.parameters(.responder, .outOfBand)
        )
        initiator.policy.localKeys = []
        responder.policy.localKeys = []
        rig.responder.handle(.arm(responder))
        rig.post(.initiator, .begin(initiator))
        rig.run()
        let bond = try #require(rig.responder.completed)
        #expect(bond.identity?.address == Fixture.initiatorAddress)
        #expect(bond.peerIRK == nil && bond.localCSRK == nil && bond.remoteCSRK == nil)
        #expect(rig.initiator.completed?.ltk == bond.ltk)
    }

    @Test("2.4.6: a Security Request is handed up, and ignored once this side has begun")
    func securityRequest() throws {
        var initiator = try Side(.initiator)
        var responder = try Side(.responder)
        let wanted: AuthReq = [.bonding, .mitm, .secureConnections]
        let request = responder.handle(.requestSecurity(wanted))
        #expect(request.sent == [.securityRequest(wanted)])
        #expect(initiator.receive(.securityRequest(wanted)) == [.securityRequested(wanted)])
        initiator.handle(.begin(try Fixture.parameters(.initiator, .outOfBand)))
        #expect(initiator.receive(.securityRequest(wanted)).isEmpty)
        #expect(initiator.machine.isPairing)
    }
}
