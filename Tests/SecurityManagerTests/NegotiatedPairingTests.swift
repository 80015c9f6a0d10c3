import BluetoothCore
import BluetoothCrypto
import SecurityManager
import Testing

/// Pairings whose method is what the two sides' capabilities lead to.
@Suite("Negotiated pairings, Vol 3 Part H 2.3.5.1 Table 2.8")
struct NegotiatedPairingTests {
    static let capabilities = AssociationModelTests.capabilities

    /// Rows: responder; columns: initiator, in the order of ``capabilities``. J Just Works, N numeric comparison, I the
    /// initiator displays, R the responder displays, B both type.
    static let secureConnections = ["JJRJR", "JNRJN", "IIBJI", "JJJJJ", "INRJN"]
    static let legacy = ["JJRJR", "JJRJR", "IIBJI", "JJJJJ", "IIRJI"]

    private func parameters(
        _ role: PairingRole, _ capability: IOCapability, minimumLevel: UInt8 = 2, legacy: LegacyPairing? = nil
    ) throws -> PairingParameters {
        let capabilities = PairingCapabilities(ioCapability: capability, minimumLevel: minimumLevel)
        return PairingParameters(
            policy: PairingPolicy(choice: .negotiated(capabilities), legacy: legacy),
            material: try Fixture.material(role))
    }

    private func pair(
        _ initiator: PairingParameters, _ responder: PairingParameters, bonds: [Bond] = []
    ) throws -> Rig {
        var rig = try Rig(initiatorBonds: [], responderBonds: bonds)
        // Where nobody displays one, both users make the same one up.
        let capabilities = (initiator.policy.ioCapabilityForTest, responder.policy.ioCapabilityForTest)
        if capabilities == (.keyboardOnly, .keyboardOnly) { rig.shownPasskey = Fixture.passkey }
        rig.responder.handle(.arm(responder))
        rig.post(.initiator, .begin(initiator))
        rig.run()
        return rig
    }

    @Test(
        "All 25 pairs of capabilities pair, by the method of the table and with each side's part",
        arguments: [
            false, true,
        ])
    func table(_ isLegacy: Bool) throws {
        let table = isLegacy ? Self.legacy : Self.secureConnections
        let legacy = isLegacy ? LegacyPairing(isAlone: true) : nil
        for (responder, row) in zip(Self.capabilities, table) {
            for (initiator, letter) in zip(Self.capabilities, row) {
                let rig = try pair(
                    try parameters(.initiator, initiator, legacy: legacy),
                    try parameters(.responder, responder, legacy: legacy))
                let (a, b) = (try #require(rig.initiator.completed), try #require(rig.responder.completed))
                #expect(a.ltk == b.ltk && a.model == b.model && a.secureConnections == !isLegacy)
                let expected: AssociationModel =
                    letter == "J" ? .justWorks : letter == "N" ? .numericComparison : .passkeyEntry
                #expect(a.model == expected, "\(initiator) \(responder)")
                #expect(
                    rig.initiator.log.asked
                        == (letter == "I" ? "display" : letter == "J" ? "" : letter == "N" ? "compare" : "type"))
                #expect(
                    rig.responder.log.asked
                        == (letter == "R" ? "display" : letter == "J" ? "" : letter == "N" ? "compare" : "type"))
                #expect(a.securityLevel == (letter == "J" ? 2 : isLegacy ? 3 : 4))
            }
        }
    }

    @Test("A side that insists on level 3 or 4 pairs with nobody who cannot, whoever insists", arguments: [3, 4])
    func minimumLevel(_ level: UInt8) throws {
        for (mine, theirs) in [(level, UInt8(2)), (2, level), (level, level)] {
            let rig = try pair(
                try parameters(.initiator, .keyboardDisplay, minimumLevel: mine),
                try parameters(.responder, .noInputNoOutput, minimumLevel: theirs))
            #expect(rig.initiator.completed == nil && rig.responder.completed == nil)
            #expect(rig.initiator.error != nil)
            #expect(rig.initiator.book.bonds.isEmpty && rig.responder.book.bonds.isEmpty)
        }
        let legacy = LegacyPairing(isAlone: true)
        let rig = try pair(
            try parameters(.initiator, .keyboardDisplay, minimumLevel: level, legacy: legacy),
            try parameters(.responder, .keyboardDisplay, minimumLevel: level, legacy: legacy))
        #expect((rig.initiator.completed != nil) == (level == 3), "legacy pairing makes no level 4")
    }

    @Test("A user who does not consent, and one who does after the request has waited for the rest of its time")
    func consent() throws {
        for consents in [true, false] {
            var responder = try parameters(.responder, .noInputNoOutput)
            responder.policy.choice = .negotiated(
                PairingCapabilities(ioCapability: .noInputNoOutput, asksConsent: true))
            var rig = try Rig()
            rig.consents = consents
            rig.responder.handle(.arm(responder))
            rig.post(.initiator, .begin(try parameters(.initiator, .keyboardDisplay)))
            rig.run(until: { $1 == .requestConsent(.justWorks) })
            #expect(rig.responder.handle(.timerFired, at: 29_999).isEmpty)
            rig.run()
            #expect((rig.responder.completed != nil) == consents)
            #expect(rig.initiator.error == (consents ? nil : .refusedByPeer(.pairingNotSupported)))
        }
    }

    @Test("The user who begins is asked where a pairing shows nothing else, and only there")
    func consentOfInitiator() throws {
        for (capability, isAsked) in [(IOCapability.noInputNoOutput, true), (.displayYesNo, false)] {
            for consents in [true, false] {
                var initiator = try parameters(.initiator, capability)
                initiator.policy.choice = .negotiated(
                    PairingCapabilities(ioCapability: capability, asksConsent: true))
                var rig = try Rig()
                rig.consents = consents
                rig.responder.handle(.arm(try parameters(.responder, .displayYesNo)))
                rig.post(.initiator, .begin(initiator))
                var asked = 0
                rig.run {
                    if $0 == .initiator, case .requestConsent = $1 { asked += 1 }
                    return false
                }
                #expect(asked == (isAsked ? 1 : 0))
                let completes = consents || !isAsked
                #expect((rig.initiator.completed != nil) == completes && (rig.responder.completed != nil) == completes)
                if !completes { #expect(rig.responder.error == .refusedByPeer(.pairingNotSupported)) }
            }
        }
    }

    @Test("Key presses of the peer's user are heard while a passkey is typed, move nothing and stop no clock")
    func keypresses() throws {
        var rig = try Rig()
        try rig.begin(StateInputTests.Way(model: .passkeyEntry, typist: .initiator))
        rig.run(until: { $1 == .requestPasskey })
        let deadline = rig.responder.machine.deadline
        for type: UInt8 in [0, 1, 2, 3, 4, 5, 0xFF] {
            #expect(rig.responder.handle(.received([0x0E, type]), at: 1_000).isEmpty)
        }
        #expect(rig.responder.machine.deadline == deadline)
        rig.run()
        #expect(rig.responder.completed?.model == .passkeyEntry)
    }

    // MARK: The ratchet

    @Test("A bond without a name gives way only where that is allowed, and never to a weaker one")
    func ratchet() throws {
        let strong = try Fixture.bond(7, model: .numericComparison)
        let justWorks = try Fixture.bond(7, model: .justWorks)
        func attempt(_ old: Bond, _ capability: IOCapability, renews: Bool) throws -> Rig {
            var responder = try parameters(.responder, capability)
            responder.renewable = renews ? [old.id] : []
            return try pair(try parameters(.initiator, capability), responder, bonds: [old])
        }
        for (old, capability, renews, isReplaced) in [
            (justWorks, IOCapability.noInputNoOutput, false, false), (justWorks, .noInputNoOutput, true, true),
            (justWorks, .displayYesNo, true, true), (strong, .displayYesNo, true, true),
            (strong, .noInputNoOutput, true, false), (strong, .displayYesNo, false, false),
        ] {
            let rig = try attempt(old, capability, renews: renews)
            #expect((rig.responder.completed != nil) == isReplaced)
            #expect(rig.responder.book.bonds.map(\.id).contains(old.id) == !isReplaced)
            if !isReplaced { #expect(rig.responder.error == .identityTaken) }
        }
    }

    @Test("A named bond is not replaced by a pairing without its name")
    func namedBond() throws {
        let old = try Fixture.bond(7, model: .justWorks, credential: "alice")
        var responder = try parameters(.responder, .displayYesNo)
        responder.renewable = [old.id]
        let rig = try pair(try parameters(.initiator, .displayYesNo), responder, bonds: [old])
        #expect(rig.responder.error == .identityTaken && rig.responder.book.bonds == [old])
    }

    @Test("Strength is a ratchet in each of its parts: authentication, Secure Connections, key octets")
    func strength() {
        let full = BondStrength.full
        for weaker in [
            BondStrength(isAuthenticated: false, isSecureConnections: true, keyOctets: 16),
            BondStrength(isAuthenticated: true, isSecureConnections: false, keyOctets: 16),
            BondStrength(isAuthenticated: true, isSecureConnections: true, keyOctets: 15),
        ] {
            #expect(full.isAtLeast(weaker) && !weaker.isAtLeast(full) && weaker.isAtLeast(weaker))
        }
        let (authenticated, secure) = (
            BondStrength(isAuthenticated: true, isSecureConnections: false, keyOctets: 16),
            BondStrength(isAuthenticated: false, isSecureConnections: true, keyOctets: 16)
        )
        #expect(!authenticated.isAtLeast(secure) && !secure.isAtLeast(authenticated))
        #expect([full.level, authenticated.level, secure.level] == [4, 3, 2])
    }
}

extension PairingPolicy {
    fileprivate var ioCapabilityForTest: IOCapability? {
        if case .negotiated(let capabilities) = choice { capabilities.ioCapability } else { nil }
    }
}

extension [PairingOutput] {
    /// What the user of a side was asked.
    fileprivate var asked: String {
        compactMap { output -> String? in
            switch output {
            case .displayPasskey: "display"
            case .requestPasskey: "type"
            case .confirmNumeric: "compare"
            default: nil
            }
        }.joined(separator: " ")
    }
}
