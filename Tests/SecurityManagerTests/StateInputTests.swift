import BluetoothCore
import BluetoothCrypto
import SecurityManager
import Testing

/// Every state of the machine, in both roles, against every command and every other event.
@Suite("State x input")
struct StateInputTests {
    /// How a pairing goes: its model, and whether it is legacy pairing.
    struct Way: Sendable, CustomStringConvertible {
        var model: AssociationModel
        var isLegacy = false
        /// Passkey entry: who types; nil for both.
        var typist: PairingRole?
        var description: String { (isLegacy ? "legacy " : "") + "\(model)" }
    }

    /// What a state may take; everything else is expected to be refused.
    struct Row: Sendable, CustomStringConvertible {
        var role: PairingRole
        var name: String
        var way = Way(model: .outOfBand)
        var allowed: Set<SMPOpcode> = []
        var isPairing = true
        var takesConsent = false
        var takesPasskey = false
        var takesComparison = false
        var takesEncryption = false
        var description: String { "\(role) \(name), \(way)" }
    }

    static let rows: [Row] = outsidePairings + secureConnections + legacy

    private static let outsidePairings: [Row] = [
        Row(role: .initiator, name: "idle", allowed: [.securityRequest], isPairing: false),
        Row(role: .initiator, name: "completed", allowed: [.securityRequest], isPairing: false),
        Row(role: .initiator, name: "dead", isPairing: false),
        Row(role: .responder, name: "idle", allowed: [.pairingRequest], isPairing: false),
        Row(role: .responder, name: "armed", allowed: [.pairingRequest], isPairing: false),
        Row(role: .responder, name: "completed", allowed: [.pairingRequest], isPairing: false),
        Row(role: .responder, name: "dead", isPairing: false),
    ]

    private static let compared: [Way] = [Way(model: .justWorks), Way(model: .numericComparison)]
    private static let typed: [Way] = [
        Way(model: .passkeyEntry), Way(model: .passkeyEntry, typist: .initiator),
        Way(model: .passkeyEntry, typist: .responder),
    ]

    /// Every state that each method of LE Secure Connections passes through, in each role.
    private static let secureConnections: [Row] = (compared + typed + [Way(model: .outOfBand)]).flatMap { way in
        let isTyped = way.model == .passkeyEntry
        let keypress: Set<SMPOpcode> = isTyped ? [.pairingKeypressNotification] : []
        var rows = [
            Row(role: .initiator, name: "awaitingResponse", way: way, allowed: [.pairingResponse, .securityRequest]),
            Row(role: .initiator, name: "awaitingPublicKey", way: way, allowed: [.pairingPublicKey]),
            Row(role: .initiator, name: "awaitingRandom", way: way, allowed: keypress.union([.pairingRandom])),
            Row(role: .initiator, name: "awaitingCheck", way: way, allowed: [.pairingDHKeyCheck]),
            Row(role: .responder, name: "awaitingConsent", way: way, takesConsent: true),
            Row(role: .responder, name: "awaitingPublicKey", way: way, allowed: [.pairingPublicKey]),
            Row(role: .responder, name: "awaitingRandom", way: way, allowed: keypress.union([.pairingRandom])),
        ]
        if way.model == .justWorks {
            rows.append(Row(role: .initiator, name: "awaitingConsent", way: way, takesConsent: true))
        }
        if way.model != .outOfBand {
            rows.append(
                Row(role: .initiator, name: "awaitingConfirm", way: way, allowed: keypress.union([.pairingConfirm])))
        }
        if way.model == .numericComparison {
            rows += [
                Row(role: .initiator, name: "comparing", way: way, takesComparison: true),
                Row(
                    role: .responder, name: "comparing", way: way, allowed: [.pairingDHKeyCheck], takesComparison: true),
            ]
        } else {
            rows.append(Row(role: .responder, name: "awaitingCheck", way: way, allowed: [.pairingDHKeyCheck]))
        }
        if isTyped {
            rows.append(
                Row(role: .responder, name: "awaitingConfirm", way: way, allowed: keypress.union([.pairingConfirm])))
            if way.typist != .responder {
                rows.append(
                    Row(role: .initiator, name: "awaitingPasskey", way: way, allowed: keypress, takesPasskey: true))
            }
            if way.typist != .initiator {
                rows.append(
                    Row(
                        role: .responder, name: "awaitingPasskey", way: way,
                        allowed: keypress.union([.pairingConfirm]), takesPasskey: true))
            }
        }
        for role in PairingRole.allCases {
            rows += [
                Row(
                    role: role, name: "awaitingEncryption", way: way,
                    allowed: role == .initiator ? [.securityRequest] : [], takesEncryption: true),
                Row(role: role, name: "receivingIRK", way: way, allowed: [.identityInformation]),
                Row(role: role, name: "receivingAddress", way: way, allowed: [.identityAddressInformation]),
                Row(role: role, name: "receivingCSRK", way: way, allowed: [.signingInformation]),
            ]
        }
        return rows
    }

    private static let legacyWays: [Way] = [
        Way(model: .justWorks, isLegacy: true), Way(model: .outOfBand, isLegacy: true),
        Way(model: .passkeyEntry, isLegacy: true), Way(model: .passkeyEntry, isLegacy: true, typist: .initiator),
        Way(model: .passkeyEntry, isLegacy: true, typist: .responder),
    ]

    /// The same of legacy pairing.
    private static let legacy: [Row] = legacyWays.flatMap { way in
        let keypress: Set<SMPOpcode> = way.model == .passkeyEntry ? [.pairingKeypressNotification] : []
        var rows: [Row] = [
            Row(role: .initiator, name: "awaitingResponse", way: way, allowed: [.pairingResponse, .securityRequest]),
            Row(role: .responder, name: "awaitingConsent", way: way, takesConsent: true),
        ]
        for role in PairingRole.allCases {
            if way.model == .passkeyEntry, way.typist == nil || way.typist == role {
                rows.append(
                    Row(
                        role: role, name: "awaitingPasskey", way: way,
                        allowed: role == .responder ? keypress.union([.pairingConfirm]) : keypress,
                        takesPasskey: true))
            }
            rows += [
                Row(role: role, name: "awaitingConfirm", way: way, allowed: keypress.union([.pairingConfirm])),
                Row(role: role, name: "awaitingRandom", way: way, allowed: keypress.union([.pairingRandom])),
                Row(
                    role: role, name: "awaitingEncryption", way: way,
                    allowed: role == .initiator ? [.securityRequest] : [], takesEncryption: true),
                Row(role: role, name: "receivingIRK", way: way, allowed: [.identityInformation]),
                Row(role: role, name: "receivingAddress", way: way, allowed: [.identityAddressInformation]),
                Row(role: role, name: "receivingCSRK", way: way, allowed: [.signingInformation]),
            ]
        }
        rows += [
            Row(role: .initiator, name: "receivingLTK", way: way, allowed: [.encryptionInformation]),
            Row(role: .initiator, name: "receivingEDIV", way: way, allowed: [.centralIdentification]),
        ]
        return rows
    }

    static let commands: [SMPPDU] = SMPPDUTests.vectors.filter { !$0.section.contains("tomorrow") }.map(\.pdu)

    static func side(_ row: Row) throws -> Side {
        switch row.name {
        case "idle": return try Side(row.role)
        case "armed":
            var side = try Side(.responder)
            side.handle(.arm(try Fixture.parameters(.responder, .outOfBand)))
            return side
        case "dead":
            var side = try Side(row.role)
            side.handle(.disconnected)
            return side
        default: break
        }
        var rig = try Rig()
        try rig.begin(row.way, asking: row.name == "awaitingConsent" ? row.role : nil)
        rig.run(until: { speaker, output in isReached(row, speaker, output) })
        return row.role == .initiator ? rig.initiator : rig.responder
    }

    /// A state is entered before what led out of it is carried out.
    private static func isReached(_ row: Row, _ speaker: PairingRole, _ output: PairingOutput) -> Bool {
        let initiates = row.role == .initiator
        func sends(_ role: PairingRole, _ code: UInt8) -> Bool {
            guard case .send(let octets) = output else { return false }
            return speaker == role && octets.first == code
        }
        let peer: PairingRole = initiates ? .responder : .initiator
        switch row.name {
        case "awaitingResponse": return sends(.initiator, 0x01)
        case "awaitingConsent":
            if case .requestConsent = output { return true }
            return false
        case "awaitingPublicKey": return sends(row.role, initiates ? 0x0C : 0x02)
        case "awaitingPasskey": return speaker == row.role && output == .requestPasskey
        case "awaitingConfirm":
            let isCommitted = row.way.model == .passkeyEntry || row.way.isLegacy
            return isCommitted ? sends(.initiator, 0x03) : sends(.responder, 0x03)
        case "awaitingRandom": return sends(.initiator, 0x04)
        case "comparing":
            guard case .confirmNumeric = output else { return false }
            return speaker == row.role
        case "awaitingCheck": return sends(.initiator, 0x0D)
        case "awaitingEncryption": return speaker == .initiator && output.isStartEncryption
        case "receivingLTK": return sends(peer, 0x06)
        case "receivingEDIV": return sends(peer, 0x07)
        case "receivingIRK": return sends(peer, 0x08)
        case "receivingAddress": return sends(peer, 0x09)
        case "receivingCSRK": return sends(peer, 0x0A)
        default: return false
        }
    }

    @Test("Each row is reached, and the machine names the commands that the row does", arguments: rows)
    func allowed(_ row: Row) throws {
        let machine = try Self.side(row).machine
        #expect(machine.allowedOpcodes == row.allowed)
        #expect(machine.isPairing == row.isPairing)
        #expect((machine.deadline != nil) == row.isPairing)
        #expect((machine.longTermKey != nil) == (row.role == .responder && row.takesEncryption))
    }

    @Test("Every command: allowed, or a pairing ends with Unspecified Reason, or nothing", arguments: rows)
    func everyCommand(_ row: Row) throws {
        for pdu in Self.commands {
            var side = try Self.side(row)
            let outputs = side.receive(pdu)
            if row.allowed.contains(pdu.opcode) {
                #expect(outputs.failure != .peerViolation(.unspecifiedReason), "\(pdu.opcode)")
            } else if pdu.opcode == .pairingFailed, row.isPairing {
                #expect(outputs.failure == .refusedByPeer(.repeatedAttempts))
                #expect(outputs.sent.isEmpty && !side.machine.isPairing)
            } else if row.isPairing {
                #expect(outputs.failure == .peerViolation(.unspecifiedReason), "\(pdu.opcode)")
                #expect(outputs.sent == [.pairingFailed(.unspecifiedReason)])
                #expect(!side.machine.isPairing && side.machine.deadline == nil)
            } else if row.role == .initiator, row.name != "dead", pdu.opcode == .pairingRequest {
                #expect(outputs == [.send([0x05, 0x07]), .refused(.commandNotSupported)])
            } else {
                #expect(outputs.isEmpty, "\(pdu.opcode)")
            }
        }
    }

    @Test("Every command cut short or too long: Invalid Parameters where it was allowed", arguments: rows)
    func everyLength(_ row: Row) throws {
        for pdu in Self.commands where row.allowed.contains(pdu.opcode) {
            for octets in [Array(pdu.encoded.dropLast()), pdu.encoded + [0], [pdu.opcode.rawValue]] {
                var side = try Self.side(row)
                let outputs = side.handle(.received(octets))
                if row.isPairing || row.name == "armed" {
                    #expect(outputs.sent == [.pairingFailed(.invalidParameters)])
                    #expect(outputs.failure == .peerViolation(.invalidParameters))
                } else if row.role == .responder {
                    #expect(outputs == [.send([0x05, 0x05]), .refused(.pairingNotSupported)])
                } else {
                    #expect(outputs.isEmpty)
                }
                #expect(!side.machine.isPairing)
            }
        }
    }

    @Test("3.3: a reserved code is ignored everywhere; an empty command ends a pairing", arguments: rows)
    func reserved(_ row: Row) throws {
        for code: UInt8 in [0x00, 0x0F, 0xFF] {
            var side = try Self.side(row)
            #expect(side.handle(.received([code, 1, 2])).isEmpty)
            #expect(side.machine.isPairing == row.isPairing && side.machine.allowedOpcodes == row.allowed)
        }
        var side = try Self.side(row)
        #expect(side.handle(.received([])).failure == (row.isPairing ? .peerViolation(.unspecifiedReason) : nil))
    }

    @Test("Users and controllers are heard only where they were asked", arguments: rows)
    func localEvents(_ row: Row) throws {
        for (event, taken) in [
            (PairingEvent.consented(true), row.takesConsent),
            (.consented(false), row.takesConsent),
            (.passkeyEntered(Fixture.passkey), row.takesPasskey),
            (.passkeyEntered(1_000_000), row.takesPasskey),
            (.numericCompared(equal: true), row.takesComparison),
            (.numericCompared(equal: false), row.takesComparison),
            (.encryptionChanged(enabled: true), row.takesEncryption),
            (.encryptionChanged(enabled: false), row.takesEncryption),
        ] {
            var side = try Self.side(row)
            let outputs = side.handle(event)
            if !taken {
                #expect(outputs.isEmpty && side.machine.allowedOpcodes == row.allowed, "\(event)")
                continue
            }
            switch event {
            case .consented(false):
                #expect(outputs.sent == [.pairingFailed(.pairingNotSupported)])
                #expect(outputs.failure == .cancelled(.pairingNotSupported))
            case .passkeyEntered(1_000_000):
                #expect(outputs.sent == [.pairingFailed(.passkeyEntryFailed)])
                #expect(outputs.failure == .cancelled(.passkeyEntryFailed))
            case .numericCompared(equal: false):
                #expect(outputs.sent == [.pairingFailed(.numericComparisonFailed)])
                #expect(outputs.failure == .cancelled(.numericComparisonFailed))
            case .encryptionChanged(enabled: false):
                #expect(outputs == [.failed(.encryptionFailed)])
            default:
                #expect(outputs.failure == nil && side.machine.isPairing)
                #expect(side.machine.allowedOpcodes != row.allowed || row.role == .responder)
            }
        }
    }

    @Test("Beginning, arming and asking: only in their role and before a pairing", arguments: rows)
    func beginnings(_ row: Row) throws {
        let before = ["idle", "completed"].contains(row.name)
        let expectedRefusal: PairingError = row.name == "dead" ? .channelDead : .notPossibleNow

        var side = try Self.side(row)
        let begun = side.handle(.begin(try Fixture.parameters(.initiator, .outOfBand)))
        if row.role == .initiator, row.name == "idle" {
            #expect(begun.sent.map(\.opcode) == [.pairingRequest])
        } else if row.role == .initiator, row.name == "completed" {
            #expect(begun == [.failed(.identityTaken)], "the pairing's own bond is not named for replacement")
        } else {
            #expect(begun == [.failed(expectedRefusal)])
            #expect(side.machine.allowedOpcodes == row.allowed)
        }

        side = try Self.side(row)
        let armed = side.handle(.arm(try Fixture.parameters(.responder, .outOfBand)))
        #expect(armed == (row.role == .responder && (before || row.name == "armed") ? [] : [.failed(expectedRefusal)]))

        side = try Self.side(row)
        let asked = side.handle(.requestSecurity([.mitm]))
        #expect(asked == (row.role == .responder && (before || row.name == "armed") ? [.send([0x0B, 0x04])] : []))

        side = try Self.side(row)
        #expect(side.handle(.disarm(refusing: .repeatedAttempts)).isEmpty)
        #expect(side.machine.isPairing == row.isPairing)
        if row.role == .responder, before || row.name == "armed" {
            #expect(
                side.receive(Self.commands[0]) == [.send([0x05, 0x09]), .refused(.repeatedAttempts)],
                "back-off has its reason on the air")
        }
    }

    @Test("3.4: thirty seconds and the channel is dead; one millisecond before, nothing", arguments: rows)
    func timeout(_ row: Row) throws {
        var side = try Self.side(row)
        #expect(side.handle(.timerFired, at: 29_999).isEmpty)
        #expect(side.machine.isPairing == row.isPairing)
        let outputs = side.handle(.timerFired, at: 30_000)
        #expect(outputs.sent.isEmpty)
        #expect(outputs.failure == (row.isPairing ? .timedOut : nil))
        guard row.isPairing else { return }
        #expect(side.machine.deadline == nil && side.machine.allowedOpcodes.isEmpty)
        for pdu in Self.commands { #expect(side.receive(pdu).isEmpty) }
        #expect(side.handle(.begin(try Fixture.parameters(.initiator, .outOfBand))) == [.failed(.channelDead)])
    }

    @Test("A pairing that ends early leaves no provisional bond, in memory or on the disk", arguments: rows)
    func endings(_ row: Row) throws {
        for event in [PairingEvent.disconnected, .cancel(.unspecifiedReason), .received([0x05, 0x08])] {
            var side = try Self.side(row)
            let bondsBefore = side.book.bonds
            let outputs = side.handle(event)
            #expect((outputs.failure != nil) == row.isPairing)
            let isProvisional = row.role == .responder && row.name.hasPrefix("receiving")
            let id = try Fixture.material(.responder).bondIDForTest
            #expect(outputs.persisted == (isProvisional ? [.delete(id)] : []))
            #expect(side.book.bonds == bondsBefore && side.book.discardUnfinished().isEmpty)
        }
    }
}

extension PairingOutput {
    fileprivate var isStartEncryption: Bool {
        if case .startEncryption = self { true } else { false }
    }
}

extension PairingMaterial {
    fileprivate var bondIDForTest: BondID {
        BondID(random: Fixture.random(seed: 2)[336..<344].reduce(0) { $0 << 8 | UInt64($1) })
    }
}
