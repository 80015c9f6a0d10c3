import BluetoothCore
import BluetoothCrypto
import SecurityManager
import Testing

/// Each test is an attack; each ends with no bond on the side that is attacked.
@Suite("Attacks on a pairing, Vol 3 Part H 2.3 and docs/PROTOCOL.md, Enrolment")
struct PairingAttackTests {
    static let authenticated: [AssociationModel] = [.outOfBand, .passkeyEntry, .numericComparison]
    static let roles = PairingRole.allCases

    /// Runs a pairing with somebody on the air and returns the attacked side.
    private func attack(
        _ model: AssociationModel, victim: PairingRole, _ onTheAir: @escaping (PairingRole, SMPPDU) -> SMPPDU?
    ) throws -> Side {
        var rig = try Rig(model)
        rig.onTheAir = onTheAir
        rig.run()
        return victim == .initiator ? rig.initiator : rig.responder
    }

    private func expectRefused(_ side: Side, _ reason: PairingFailedReason) {
        #expect(side.error == .peerViolation(reason))
        #expect(side.sent.last == .pairingFailed(reason))
        #expect(side.completed == nil && side.book.bonds.isEmpty && !side.machine.isPairing)
    }

    private func peer(of role: PairingRole) -> PairingRole { role == .initiator ? .responder : .initiator }

    // MARK: Public keys

    private func substitutes(_ victim: PairingRole, _ wire: [UInt8]) -> (PairingRole, SMPPDU) -> SMPPDU? {
        let attacker = peer(of: victim)
        return { role, pdu in role == attacker && pdu.opcode == .pairingPublicKey ? .pairingPublicKey(wire) : pdu }
    }

    @Test("Reflected public key, and our own X with the other Y (CVE-2020-26558)", arguments: roles, authenticated)
    func reflectedKey(_ victim: PairingRole, _ model: AssociationModel) throws {
        let own = try Fixture.keyPair(victim).publicKey
        expectRefused(try attack(model, victim: victim, substitutes(victim, own.wire)), .invalidParameters)
        let prime = hex("FFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF")
        var borrow = 0
        var negated = [UInt8](repeating: 0, count: 32)
        for index in (0..<32).reversed() {
            let difference = Int(prime[index]) - Int(own.y[index]) - borrow
            negated[index] = UInt8(truncatingIfNeeded: difference)
            borrow = difference < 0 ? 1 : 0
        }
        let mirrored = try #require(P256PublicKey(x: own.x, y: negated))
        expectRefused(try attack(model, victim: victim, substitutes(victim, mirrored.wire)), .invalidParameters)
    }

    @Test("Invalid curve point, zero key, fixed coordinate (CVE-2018-5383)", arguments: roles, authenticated)
    func invalidPoint(_ victim: PairingRole, _ model: AssociationModel) throws {
        var offCurve = try Fixture.keyPair(peer(of: victim)).publicKey.wire
        offCurve[0] ^= 1
        let fixed = try Fixture.keyPair(peer(of: victim)).publicKey.wire.prefix(32) + [UInt8](repeating: 0, count: 32)
        for wire in [offCurve, [UInt8](repeating: 0, count: 64), Array(fixed), [UInt8](repeating: 0xFF, count: 64)] {
            expectRefused(try attack(model, victim: victim, substitutes(victim, wire)), .invalidParameters)
        }
    }

    @Test("Debug key: refused, unless a sniffer's rig allows it", arguments: roles)
    func debugKey(_ victim: PairingRole) throws {
        let debug = try #require(P256KeyPair(scalar: Fixture.debugScalar))
        for allows in [false, true] {
            var rig = try Rig()
            var (initiator, responder) = (
                try Fixture.parameters(.initiator, .numericComparison),
                try Fixture.parameters(.responder, .numericComparison)
            )
            if victim == .initiator {
                responder.material = try Fixture.material(.responder, keyPair: debug)
            } else {
                initiator.material = try Fixture.material(.initiator, keyPair: debug)
            }
            initiator.policy.allowsDebugKey = allows
            responder.policy.allowsDebugKey = allows
            rig.responder.handle(.arm(responder))
            rig.post(.initiator, .begin(initiator))
            rig.run()
            let side = victim == .initiator ? rig.initiator : rig.responder
            if allows { #expect(side.completed != nil) } else { expectRefused(side, .invalidParameters) }
        }
    }

    @Test("Machine in the middle with its own key: the printed commitment does not fit")
    func keySubstitutionOutOfBand() throws {
        let mallory = P256KeyPair.generate().publicKey.wire
        expectRefused(
            try attack(.outOfBand, victim: .initiator, substitutes(.initiator, mallory)), .confirmValueFailed)
    }

    // MARK: Features

    private func rewrites(
        _ opcode: SMPOpcode, _ change: @escaping (inout PairingFeatures) -> Void
    ) -> (PairingRole, SMPPDU) -> SMPPDU? {
        { _, pdu in
            switch pdu {
            case .pairingRequest(var features) where opcode == .pairingRequest:
                change(&features)
                return .pairingRequest(features)
            case .pairingResponse(var features) where opcode == .pairingResponse:
                change(&features)
                return .pairingResponse(features)
            default: return pdu
            }
        }
    }

    private func expectFeatureRefused(
        _ reason: PairingFailedReason, _ models: [AssociationModel] = authenticated,
        _ change: @escaping (inout PairingFeatures) -> Void
    ) throws {
        for model in models {
            expectRefused(
                try attack(model, victim: .responder, rewrites(.pairingRequest, change)), reason)
            expectRefused(
                try attack(model, victim: .initiator, rewrites(.pairingResponse, change)), reason)
        }
    }

    @Test("Just Works downgrade: a peer without input and output does not talk a pinned method down")
    func justWorksDowngrade() throws {
        try expectFeatureRefused(.authenticationRequirements, [.passkeyEntry, .numericComparison]) {
            $0.ioCapability = .noInputNoOutput
            $0.authReq.remove(.mitm)
        }
        var rig = try Rig(.outOfBand)
        rig.onTheAir = rewrites(.pairingRequest) { $0.oobDataFlag = 0 }
        rig.run()
        expectRefused(rig.responder, .oobNotAvailable)
    }

    @Test("Method confusion: another authenticated model than the pinned one is refused too")
    func methodConfusion() throws {
        try expectFeatureRefused(.authenticationRequirements, [.passkeyEntry]) { $0.oobDataFlag = 1 }
        try expectFeatureRefused(.authenticationRequirements, [.numericComparison]) {
            $0.ioCapability = .keyboardOnly
        }
        expectRefused(
            try attack(
                .passkeyEntry, victim: .responder, rewrites(.pairingRequest) { $0.ioCapability = .displayOnly }),
            .authenticationRequirements)
    }

    @Test("Legacy downgrade: without the Secure Connections bit there is no pairing")
    func legacyDowngrade() throws {
        try expectFeatureRefused(.authenticationRequirements) { $0.authReq.remove(.secureConnections) }
    }

    @Test("Pairing without bonding, or with the reserved bonding flags")
    func noBonding() throws {
        try expectFeatureRefused(.authenticationRequirements) { $0.authReq.remove(.bonding) }
        try expectFeatureRefused(.authenticationRequirements) { $0.authReq.insert(AuthReq(rawValue: 0x02)) }
    }

    @Test("Short key (KNOB, CVE-2019-9506): every size below 16 is refused, sizes that are none are invalid")
    func shortKey() throws {
        for size: UInt8 in 7...15 {
            try expectFeatureRefused(.encryptionKeySize, [.outOfBand]) { $0.maximumEncryptionKeySize = size }
        }
        for size: UInt8 in [0, 1, 6, 17, 255] {
            try expectFeatureRefused(.invalidParameters, [.outOfBand]) { $0.maximumEncryptionKeySize = size }
        }
    }

    @Test("Values that are none: capability, out-of-band flag")
    func invalidFeatures() throws {
        try expectFeatureRefused(.invalidParameters) { $0.ioCapability = IOCapability(rawValue: 5) }
        try expectFeatureRefused(.invalidParameters) { $0.oobDataFlag = 2 }
    }

    @Test("Cross-transport key derivation (BLURtooth): never agreed to, and not to be slipped in")
    func crossTransport() throws {
        var rig = try Rig(.outOfBand)
        rig.onTheAir = rewrites(.pairingRequest) {
            $0.initiatorKeyDistribution.insert(.linkKey)
            $0.responderKeyDistribution.insert([.linkKey, .encKey])
        }
        rig.run(until: { role, output in role == .responder && [output].sent.first?.opcode == .pairingResponse })
        guard case .pairingResponse(let response)? = rig.responder.sent.first else {
            Issue.record("the responder answers without a key of the other transport")
            return
        }
        #expect(response.initiatorKeyDistribution == [.idKey, .signKey])
        #expect(response.responderKeyDistribution == [.idKey, .signKey])
        for slip in [KeyDistribution.linkKey, .encKey] {
            expectRefused(
                try attack(
                    .outOfBand, victim: .initiator,
                    rewrites(.pairingResponse) { $0.responderKeyDistribution.insert(slip) }), .invalidParameters)
            expectRefused(
                try attack(
                    .outOfBand, victim: .initiator,
                    rewrites(.pairingResponse) { $0.initiatorKeyDistribution.insert(slip) }), .invalidParameters)
        }
    }

    @Test("Features changed on the air without being refused are found by the check", arguments: authenticated)
    func rewrittenFeatures(_ model: AssociationModel) throws {
        let side = try attack(
            model, victim: .responder, rewrites(.pairingRequest) { $0.authReq.insert(.keypress) })
        expectRefused(side, .dhKeyCheckFailed)
    }

    @Test("A peer that keeps back a key that policy requires")
    func requiredKeys() throws {
        var rig = try Rig()
        var responder = try Fixture.parameters(.responder, .outOfBand)
        responder.policy.requiredPeerKeys = [.signKey]
        rig.responder.handle(.arm(responder))
        rig.onTheAir = rewrites(.pairingRequest) { $0.initiatorKeyDistribution = [.idKey] }
        rig.post(.initiator, .begin(try Fixture.parameters(.initiator, .outOfBand)))
        rig.run()
        expectRefused(rig.responder, .authenticationRequirements)
    }

    @Test("A stranger behind a private address who will not say who it is")
    func anonymous() throws {
        let address = AddressResolutionTests.rpa(Fixture.strangerIRK, 1)
        var side = try Side(.responder, peerAddress: address)
        side.handle(.arm(try Fixture.parameters(.responder, .outOfBand)))
        side.receive(
            .pairingRequest(
                PairingFeatures(
                    ioCapability: .noInputNoOutput, oobDataFlag: 1, authReq: [.bonding, .mitm, .secureConnections],
                    initiatorKeyDistribution: [.signKey], responderKeyDistribution: [.idKey])))
        expectRefused(side, .authenticationRequirements)
    }

    // MARK: Confirm values, nonces, checks

    @Test("Wrong confirm value or nonce in any round of a passkey entry", arguments: roles, [1, 2, 20])
    func wrongConfirm(_ victim: PairingRole, _ round: Int) throws {
        let attacker = peer(of: victim)
        for opcode in [SMPOpcode.pairingConfirm, .pairingRandom] {
            var seen = 0
            let side = try attack(.passkeyEntry, victim: victim) { role, pdu in
                guard role == attacker, pdu.opcode == opcode else { return pdu }
                seen += 1
                guard seen == round else { return pdu }
                switch pdu {
                case .pairingConfirm(let value): return .pairingConfirm(value ^ 1)
                case .pairingRandom(let value): return .pairingRandom(value ^ 1 << 127)
                default: return pdu
                }
            }
            expectRefused(side, .confirmValueFailed)
        }
    }

    @Test("Guessed passkey: one wrong bit, at either end, is found in its round", arguments: [0, 1, 19])
    func wrongPasskey(_ bit: UInt32) throws {
        var rig = try Rig(.passkeyEntry)
        // 867748 with this bit changed stays below a million.
        rig.typed = { $0 ^ 1 << bit }
        rig.run()
        expectRefused(rig.responder, .confirmValueFailed)
        #expect(rig.responder.sent.filter { $0.opcode == .pairingConfirm }.count == Int(bit) + 1)
        #expect(rig.initiator.error == .refusedByPeer(.confirmValueFailed))
    }

    @Test("Numeric comparison: a nonce that was not committed to")
    func wrongNonceNumeric() throws {
        let side = try attack(.numericComparison, victim: .initiator) { role, pdu in
            guard role == .responder, case .pairingRandom(let value) = pdu else { return pdu }
            return .pairingRandom(value ^ 1)
        }
        expectRefused(side, .confirmValueFailed)
    }

    @Test("Machine in the middle of a numeric comparison: the users see different numbers")
    func keySubstitutionNumeric() throws {
        let mallory = P256KeyPair.generate().publicKey.wire
        var rig = try Rig(.numericComparison)
        rig.onTheAir = { role, pdu in
            role == .initiator && pdu.opcode == .pairingPublicKey ? .pairingPublicKey(mallory) : pdu
        }
        rig.run()
        #expect(rig.initiator.completed == nil && rig.responder.completed == nil)
        rig = try Rig(.numericComparison)
        rig.numbersAreEqual = false
        rig.run()
        #expect(rig.initiator.completed == nil && rig.responder.completed == nil)
    }

    @Test("Wrong DHKey check", arguments: roles, authenticated)
    func wrongCheck(_ victim: PairingRole, _ model: AssociationModel) throws {
        let attacker = peer(of: victim)
        for bit in [0, 64, 127] {
            let side = try attack(model, victim: victim) { role, pdu in
                guard role == attacker, case .pairingDHKeyCheck(let value) = pdu else { return pdu }
                return .pairingDHKeyCheck(value ^ 1 << UInt128(bit))
            }
            expectRefused(side, .dhKeyCheckFailed)
            #expect(!side.log.contains { if case .startEncryption = $0 { true } else { false } })
        }
    }

    @Test("Just Works: a wrong DHKey check, or a nonce that was not committed to", arguments: roles)
    func wrongCheckJustWorks(_ victim: PairingRole) throws {
        let attacker = peer(of: victim)
        expectRefused(
            try attack(.justWorks, victim: victim) { role, pdu in
                guard role == attacker, case .pairingDHKeyCheck(let check) = pdu else { return pdu }
                return .pairingDHKeyCheck(check ^ 1)
            }, .dhKeyCheckFailed)
        // Only the responder commits to its nonce; the initiator's is found by the check.
        expectRefused(
            try attack(.justWorks, victim: victim) { role, pdu in
                guard role == attacker, case .pairingRandom(let nonce) = pdu else { return pdu }
                return .pairingRandom(nonce ^ 1)
            }, victim == .initiator ? .confirmValueFailed : .dhKeyCheckFailed)
    }

    @Test("Reflected DHKey check and nonce: the responder's own values prove nothing to it")
    func reflectedCheck() throws {
        var side = try Side(.initiator)
        var rig = try Rig(.outOfBand)
        rig.run(until: { role, output in role == .initiator && [output].sent.first?.opcode == .pairingDHKeyCheck })
        side = rig.initiator
        let own = try #require(side.sent.last)
        side.receive(own)
        expectRefused(side, .dhKeyCheckFailed)
    }

    @Test("A key that never saw the setup code: its check fails at the lock")
    func withoutSetupCode() throws {
        var rig = try Rig()
        var initiator = try Fixture.parameters(.initiator, .outOfBand)
        let guess = OutOfBandOffer(random: secret("00000000000000000000000000000000"))
        let publicKey = try Fixture.keyPair(.responder).publicKey
        initiator.policy.choice = .pinned(
            .outOfBand(offered: nil, received: guess.data(address: Fixture.responderAddress, publicKey: publicKey)))
        rig.responder.handle(.arm(try Fixture.parameters(.responder, .outOfBand)))
        rig.post(.initiator, .begin(initiator))
        rig.run()
        expectRefused(rig.responder, .dhKeyCheckFailed)
    }

    @Test("A setup code of another lock: the identity that it names is not the one that answers")
    func otherLock() throws {
        var rig = try Rig()
        var initiator = try Fixture.parameters(.initiator, .outOfBand)
        guard case .pinned(.outOfBand(_, var data?)) = initiator.policy.choice else {
            Issue.record("the fixture has a setup code's data")
            return
        }
        data.address.bits ^= 1
        initiator.policy.choice = .pinned(.outOfBand(offered: nil, received: data))
        rig.responder.handle(.arm(try Fixture.parameters(.responder, .outOfBand)))
        rig.post(.initiator, .begin(initiator))
        rig.run()
        #expect(rig.initiator.error == .identityTaken && rig.initiator.completed == nil)
        #expect(rig.responder.error == .refusedByPeer(.keyRejected) && rig.responder.completed == nil)
        #expect(rig.responder.persisted.last == .delete(try #require(rig.responder.persisted.bondID)))
    }

    @Test("Reuse of passkey or setup code: what one attempt was given, no second one gets", arguments: authenticated)
    func reuse(_ model: AssociationModel) throws {
        var rig = try Rig(model)
        rig.onTheAir = { role, pdu in
            guard role == .initiator, case .pairingDHKeyCheck(let value) = pdu else { return pdu }
            return .pairingDHKeyCheck(value ^ 1)
        }
        rig.run()
        #expect(rig.responder.error == .peerViolation(.dhKeyCheckFailed))
        rig.onTheAir = { $1 }
        rig.post(.initiator, .begin(try Fixture.parameters(.initiator, model)))
        rig.run()
        #expect(rig.responder.log.last == .refused(.pairingNotSupported))
        #expect(rig.initiator.completed == nil && rig.responder.completed == nil)
    }

    @Test("A pairing nobody asked for: refused while no window is open")
    func closedWindow() throws {
        var rig = try Rig()
        rig.post(.initiator, .begin(try Fixture.parameters(.initiator, .outOfBand)))
        rig.run()
        #expect(rig.responder.log == [.send([0x05, 0x05]), .refused(.pairingNotSupported)])
        #expect(rig.initiator.error == .refusedByPeer(.pairingNotSupported))
    }

    @Test("Pairings refused one after the other cost no timer and no memory")
    func flood() throws {
        var side = try Side(.responder)
        for _ in 0..<100 { side.receive(SMPPDUTests.vectors[0].pdu) }
        #expect(side.machine.deadline == nil && !side.machine.isPairing)
    }
}

extension [BondMutation] {
    var bondID: BondID? {
        for case .upsert(let bond) in self { return bond.id }
        return nil
    }
}
