import BluetoothCore
import BluetoothCrypto
import SecurityManager
import Testing

/// What was before LE Secure Connections, where a policy allows it.
@Suite("Legacy pairing, Vol 3 Part H 2.3.5.5")
struct LegacyPairingTests {
    typealias Way = StateInputTests.Way

    static let ways: [Way] = [
        Way(model: .justWorks, isLegacy: true), Way(model: .outOfBand, isLegacy: true),
        Way(model: .passkeyEntry, isLegacy: true), Way(model: .passkeyEntry, isLegacy: true, typist: .initiator),
        Way(model: .passkeyEntry, isLegacy: true, typist: .responder),
    ]

    private func run(
        _ way: Way, _ change: (inout PairingParameters, PairingRole) -> Void = { _, _ in },
        onTheAir: @escaping (PairingRole, SMPPDU) -> SMPPDU? = { $1 }
    ) throws -> Rig {
        var rig = try Rig()
        rig.onTheAir = onTheAir
        if way.model == .passkeyEntry, way.typist == nil { rig.shownPasskey = Fixture.passkey }
        var (initiator, responder) = (
            try Fixture.parameters(.initiator, way), try Fixture.parameters(.responder, way)
        )
        change(&initiator, .initiator)
        change(&responder, .responder)
        rig.responder.handle(.arm(responder))
        rig.post(.initiator, .begin(initiator))
        rig.run()
        return rig
    }

    @Test(
        "Every method: both sides have the responder's key, its EDIV and Rand, and each other's others", arguments: ways
    )
    func whole(_ way: Way) throws {
        let rig = try run(way)
        let (a, b) = (try #require(rig.initiator.completed), try #require(rig.responder.completed))
        let random = Fixture.random(seed: 2)
        #expect(a.ltk == Secret(Array(random[352..<368])) && b.ltk == a.ltk)
        #expect(a.rand == random[368..<376].reduce(0) { $0 << 8 | UInt64($1) } && b.rand == a.rand)
        #expect(a.ediv == UInt16(random[376]) << 8 | UInt16(random[377]) && b.ediv == a.ediv)
        #expect(a.localCSRK == b.remoteCSRK && b.localCSRK == a.remoteCSRK && a.localCSRK != nil)
        #expect(try a.peerIRK == Fixture.local(.responder).irk && b.peerIRK == Fixture.local(.initiator).irk)
        for bond in [a, b] {
            #expect(!bond.secureConnections && bond.model == way.model && bond.state == .unconfirmed)
            #expect(bond.securityLevel == (way.model == .justWorks ? 2 : 3), "never level 4")
        }
    }

    @Test("C.2.1: the order of the commands, the keys of the responder first")
    func order() throws {
        let rig = try run(Self.ways[0])
        #expect(
            rig.transcript.map { String($0.prefix(4)) } == [
                "I 01", "R 02", "I 03", "R 03", "I 04", "R 04", "R 06", "R 07", "R 08", "R 09", "R 0A", "I 08", "I 09",
                "I 0A",
            ])
    }

    @Test("2.3.5.5: the confirm values are c1 of the features and addresses, the short term key is s1 of both randoms")
    func knownFunctions() throws {
        let way = Self.ways[1]
        let rig = try run(way)
        let commands = rig.transcript.map { hex(String($0.dropFirst(2))) }
        let tk = AES128(key: Fixture.temporaryKey)
        func number(_ command: [UInt8]) -> UInt128 {
            command.dropFirst().reversed().reduce(0) { $0 << 8 | UInt128($1) }
        }
        for (confirm, random) in [(2, 4), (3, 5)] {
            #expect(
                number(commands[confirm])
                    == LegacyToolbox.c1(
                        tk: tk, random: number(commands[random]), request: commands[0], response: commands[1],
                        initiator: Fixture.initiatorAddress, responder: Fixture.responderAddress))
        }
        let key = LegacyToolbox.s1(tk: tk, r1: number(commands[5]), r2: number(commands[4]))
        #expect(rig.initiator.log.contains(.startEncryption(ltk: key)))
    }

    @Test(
        "2.3.4: the key is as long as the shorter side's, its other octets are 0; one below the least is refused",
        arguments: [
            UInt8(7), 10, 16,
        ])
    func keySize(_ octets: UInt8) throws {
        for role in PairingRole.allCases {
            for minimum in [octets, octets + 1] where minimum <= 16 {
                // The other side's features say less than this one can.
                let rig = try run(Self.ways[0]) { parameters, _ in
                    parameters.policy.legacy?.minimumKeyOctets = minimum
                    parameters.policy.maximumKeyOctets = octets
                }
                guard minimum == octets else {
                    #expect(rig.responder.error == .peerViolation(.encryptionKeySize))
                    #expect(rig.initiator.error == .refusedByPeer(.encryptionKeySize))
                    continue
                }
                let bond = try #require((role == .initiator ? rig.initiator : rig.responder).completed)
                #expect(bond.keySize == octets)
                let zeros = bond.ltk.withBytes { $0.prefix { $0 == 0 }.count }
                #expect(zeros >= 16 - Int(octets))
                for case .startEncryption(let key) in rig.initiator.log {
                    #expect(key.withBytes { $0.prefix(16 - Int(octets)).allSatisfy { $0 == 0 } })
                }
            }
        }
    }

    @Test("Off by default: a policy that does not name it refuses it, in both roles")
    func offByDefault() throws {
        for role in PairingRole.allCases {
            let rig = try run(Self.ways[0]) { parameters, side in
                if side == role { parameters.policy.legacy = nil }
            }
            #expect(rig.initiator.completed == nil && rig.responder.completed == nil)
            let side = role == .initiator ? rig.initiator : rig.responder
            #expect(side.error == .peerViolation(.authenticationRequirements) || side.sent.count <= 1)
        }
    }

    @Test("Two sides that allow it use LE Secure Connections all the same")
    func prefersSecureConnections() throws {
        let rig = try run(Way(model: .numericComparison)) { parameters, _ in
            parameters.policy.legacy = LegacyPairing(minimumKeyOctets: 7)
        }
        #expect(rig.initiator.completed?.securityLevel == 4 && rig.responder.completed?.securityLevel == 4)
        #expect(rig.initiator.completed?.ediv == 0 && rig.initiator.completed?.rand == 0)
    }

    // MARK: Attacks

    @Test("A wrong random value, passkey or out-of-band key: Confirm Value Failed, and no bond")
    func wrongKey() throws {
        for way in Self.ways {
            let rig = try run(way) { parameters, role in
                guard role == .initiator else { return }
                if way.model == .outOfBand { parameters.policy.legacy?.temporaryKey = Fixture.strangerIRK }
            } onTheAir: { role, pdu in
                // Typed wrong is what a random that does not open its commitment looks like.
                if way.model != .outOfBand, role == .initiator, case .pairingRandom(let value) = pdu {
                    return .pairingRandom(value ^ 1)
                }
                return pdu
            }
            #expect(rig.responder.error == .peerViolation(.confirmValueFailed), "\(way)")
            #expect(rig.initiator.error == .refusedByPeer(.confirmValueFailed))
            #expect(rig.responder.book.bonds.isEmpty && rig.initiator.book.bonds.isEmpty)
        }
    }

    @Test("An all-zero long term key is refused")
    func zeroKey() throws {
        let rig = try run(Self.ways[0]) { _, _ in
        } onTheAir: { _, pdu in
            guard case .encryptionInformation = pdu else { return pdu }
            return .encryptionInformation(longTermKey: Secret([UInt8](repeating: 0, count: 16)))
        }
        #expect(rig.initiator.error == .peerViolation(.keyRejected) && rig.initiator.book.bonds.isEmpty)
    }

    @Test("A responder that gives no long term key leaves nothing to bond by")
    func noKey() throws {
        let rig = try run(Self.ways[0]) { _, _ in
        } onTheAir: { role, pdu in
            guard case .pairingRequest(var features) = pdu else { return pdu }
            features.responderKeyDistribution.remove(.encKey)
            return .pairingRequest(features)
        }
        #expect(rig.responder.error == .peerViolation(.authenticationRequirements))
    }

    @Test("Only one side's out-of-band flag: the capabilities decide, and nothing where more is insisted on")
    func oneFlag() throws {
        for minimumLevel: UInt8 in [2, 3] {
            let rig = try run(Self.ways[1]) { parameters, role in
                if role == .responder { parameters.policy.legacy?.temporaryKey = nil }
                parameters.policy.choice = .negotiated(
                    PairingCapabilities(ioCapability: .noInputNoOutput, minimumLevel: minimumLevel))
            }
            #expect(rig.initiator.completed?.model == (minimumLevel == 2 ? .justWorks : nil))
            #expect(rig.responder.error == (minimumLevel == 2 ? nil : .peerViolation(.authenticationRequirements)))
        }
    }

    @Test("A passkey typed wrong fails on both sides")
    func wrongPasskey() throws {
        var rig = try Rig()
        rig.typed = { ($0 + 1) % 1_000_000 }
        try rig.begin(Self.ways[3])
        rig.run()
        #expect(rig.responder.error == .peerViolation(.confirmValueFailed))
        #expect(rig.initiator.error == .refusedByPeer(.confirmValueFailed))
    }
}
