import BluetoothCore
import BluetoothCrypto
import SecurityManager
import Testing

/// A peer that gives a pairing up, whatever the method, at each of its steps.
@Suite("Failures that the peer tells of, Vol 3 Part H 3.5.5, case by case")
struct PairingFailureCaseTests {
    typealias Way = StateInputTests.Way

    static let ways: [Way] =
        [Way(model: .numericComparison)]
        + [false, true].flatMap { isLegacy in
            [
                Way(model: .justWorks, isLegacy: isLegacy), Way(model: .outOfBand, isLegacy: isLegacy),
                Way(model: .passkeyEntry, isLegacy: isLegacy, typist: .responder),
            ]
        }

    private static let reasons: [PairingFailedReason] = [
        .passkeyEntryFailed, .oobNotAvailable, .authenticationRequirements, .confirmValueFailed, .pairingNotSupported,
        .unspecifiedReason, .repeatedAttempts, .numericComparisonFailed, .busy,
    ]

    private func run(_ way: Way, onTheAir: @escaping (PairingRole, SMPPDU) -> SMPPDU?) throws -> Rig {
        var rig = try Rig()
        rig.onTheAir = onTheAir
        try rig.begin(way)
        rig.run()
        return rig
    }

    /// The commands of one side in this way, each once.
    private func commands(of role: PairingRole, _ way: Way) throws -> [SMPOpcode] {
        var seen: [SMPOpcode] = []
        _ = try run(way) { sender, pdu in
            if sender == role, !seen.contains(pdu.opcode) { seen.append(pdu.opcode) }
            return pdu
        }
        return seen
    }

    @Test(
        "Pairing Failed in place of any command but the first, for any reason: the pairing ends, is told, and leaves nothing",
        arguments: PairingRole.allCases, ways)
    func peerGivesUp(_ victim: PairingRole, _ way: Way) throws {
        let peer: PairingRole = victim == .initiator ? .responder : .initiator
        let opcodes = try commands(of: peer, way).filter { $0 != .pairingRequest }
        #expect(opcodes.count > 4)
        for opcode in opcodes {
            for reason in Self.reasons {
                var isGivenUp = false
                let rig = try run(way) { sender, pdu in
                    guard sender == peer, !isGivenUp, pdu.opcode == opcode else { return pdu }
                    isGivenUp = true
                    return .pairingFailed(reason)
                }
                let side = victim == .initiator ? rig.initiator : rig.responder
                #expect(side.error == .refusedByPeer(reason), "\(opcode) \(reason)")
                #expect(side.completed == nil && side.book.bonds.isEmpty && !side.machine.isPairing)
            }
        }
    }

    @Test(
        "A key that the initiator rejects: the responder has given what it promised, and keeps no bond", arguments: ways
    )
    func keyRejected(_ way: Way) throws {
        let rig = try run(way) { sender, pdu in
            sender == .initiator && pdu.opcode == .identityInformation ? .pairingFailed(.keyRejected) : pdu
        }
        let promised: [SMPOpcode] =
            (way.isLegacy ? [.encryptionInformation, .centralIdentification] : [])
            + [.identityInformation, .identityAddressInformation, .signingInformation]
        #expect(rig.responder.sent.map(\.opcode).filter { promised.contains($0) } == promised)
        #expect(rig.responder.error == .refusedByPeer(.keyRejected))
        #expect(rig.responder.completed == nil && rig.responder.book.bonds.isEmpty)
    }

    @Test("Security Request after the Pairing Request is ignored, and the pairing goes on to its bond")
    func lateSecurityRequest() throws {
        var rig = try Rig()
        try rig.begin(Way(model: .justWorks))
        rig.run(until: { role, output in role == .initiator && [output].sent.first?.opcode == .pairingRequest })
        #expect(rig.initiator.receive(.securityRequest([.bonding, .secureConnections])).isEmpty)
        rig.run()
        #expect(rig.initiator.completed != nil && rig.responder.completed != nil)
    }

    private static let legacyWays = ways.filter(\.isLegacy)

    @Test(
        "2.3.5.5: a wrong confirm value of legacy pairing is found when the random comes",
        arguments: PairingRole.allCases, legacyWays)
    func wrongLegacyConfirm(_ victim: PairingRole, _ way: Way) throws {
        let rig = try run(way) { sender, pdu in
            guard sender != victim, case .pairingConfirm(let value) = pdu else { return pdu }
            return .pairingConfirm(value ^ 1)
        }
        let side = victim == .initiator ? rig.initiator : rig.responder
        #expect(side.error == .peerViolation(.confirmValueFailed))
        #expect(side.completed == nil && side.book.bonds.isEmpty)
    }

    @Test(
        "2.3.5.5: the initiator's own confirm value comes back, and its own random behind it", arguments: legacyWays)
    func reflectedLegacyConfirm(_ way: Way) throws {
        var (confirm, random): (UInt128, UInt128) = (0, 0)
        let rig = try run(way) { sender, pdu in
            switch (sender, pdu) {
            case (.initiator, .pairingConfirm(let own)): confirm = own
            case (.initiator, .pairingRandom(let own)): random = own
            case (.responder, .pairingConfirm): return .pairingConfirm(confirm)
            case (.responder, .pairingRandom): return .pairingRandom(random)
            default: break
            }
            return pdu
        }
        #expect(rig.initiator.error == .peerViolation(.confirmValueFailed))
        #expect(rig.initiator.completed == nil && rig.initiator.book.bonds.isEmpty)
    }

    @Test("3.5.1: AuthReq's reserved bits do not stop legacy pairing, and go into the confirm values")
    func reservedBitsOfLegacyInitiator() throws {
        var side = try Side(.responder)
        side.handle(.arm(try Fixture.parameters(.responder, Way(model: .justWorks, isLegacy: true))))
        let request = SMPPDU.pairingRequest(
            PairingFeatures(
                ioCapability: .noInputNoOutput, oobDataFlag: 0, authReq: AuthReq(rawValue: 0xE1),
                initiatorKeyDistribution: [.encKey, .idKey], responderKeyDistribution: [.encKey, .idKey]))
        let response = try #require(side.receive(request).sent.first)
        guard case .pairingResponse(let said) = response else { throw Surprise() }
        #expect(said.authReq.rawValue & 0xE0 == 0)
        let check = LegacyCheck(request: request, response: response)
        guard case .pairingConfirm(let committed) = side.receive(.pairingConfirm(check.confirm(7))).sent.first,
            case .pairingRandom(let random) = side.receive(.pairingRandom(7)).sent.first
        else { throw Surprise() }
        #expect(committed == check.confirm(random))
        #expect(side.machine.longTermKey == check.shortTermKey(random, 7))
    }

    @Test("3.5.1: AuthReq's reserved bits of a legacy responder, too")
    func reservedBitsOfLegacyResponder() throws {
        var side = try Side(.initiator)
        let begun = side.handle(.begin(try Fixture.parameters(.initiator, Way(model: .justWorks, isLegacy: true))))
        let request = try #require(begun.sent.first)
        let response = SMPPDU.pairingResponse(
            PairingFeatures(
                ioCapability: .noInputNoOutput, oobDataFlag: 0, authReq: AuthReq(rawValue: 0xE1),
                initiatorKeyDistribution: [.idKey], responderKeyDistribution: [.encKey, .idKey]))
        let check = LegacyCheck(request: request, response: response)
        guard case .pairingConfirm(let committed) = side.receive(response).sent.first,
            case .pairingRandom(let random) = side.receive(.pairingConfirm(check.confirm(9))).sent.first
        else { throw Surprise() }
        #expect(committed == check.confirm(random))
        #expect(
            side.receive(.pairingRandom(9)).contains(.startEncryption(ltk: check.shortTermKey(9, random)))
        )
    }

    /// What both sides of legacy Just Works compute over the octets that they exchanged.
    private struct LegacyCheck {
        let request: SMPPDU
        let response: SMPPDU
        private let tk = AES128(key: Secret([UInt8](repeating: 0, count: 16)))

        init(request: SMPPDU, response: SMPPDU) {
            self.request = request
            self.response = response
        }

        func confirm(_ random: UInt128) -> UInt128 {
            LegacyToolbox.c1(
                tk: tk, random: random, request: request.encoded, response: response.encoded,
                initiator: Fixture.initiatorAddress, responder: Fixture.responderAddress)
        }

        /// `r1` is the responder's random value.
        func shortTermKey(_ r1: UInt128, _ r2: UInt128) -> Secret { LegacyToolbox.s1(tk: tk, r1: r1, r2: r2) }
    }

    private struct Surprise: Error {}
}
