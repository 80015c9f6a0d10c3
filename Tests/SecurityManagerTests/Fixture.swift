import BluetoothCore
import BluetoothCrypto
import SecurityManager
import Testing

func hex(_ text: String) -> [UInt8] { HexText.decode(text) ?? [] }
func secret(_ text: String) -> Secret { Secret(hex(text)) }

/// Two devices with everything fixed.
enum Fixture {
    static let initiatorAddress = DeviceAddress(kind: .random, bits: 0xC011_2233_4455)
    static let responderAddress = DeviceAddress(kind: .random, bits: 0xC166_7788_99AA)
    static let outOfBandRandom = secret("A0A1A2A3A4A5A6A7A8A9AAABACADAEAF")
    static let passkey: UInt32 = 867_748
    static let strangerIRK = secret("5555AAAA5555AAAA5555AAAA5555AAAA")

    static func address(_ role: PairingRole) -> DeviceAddress {
        role == .initiator ? initiatorAddress : responderAddress
    }

    static func identity(_ address: DeviceAddress) throws -> IdentityAddress { try #require(IdentityAddress(address)) }

    static func local(_ role: PairingRole) throws -> LocalIdentity {
        LocalIdentity(
            address: try identity(address(role)),
            irk: secret(
                role == .initiator ? "0102030405060708090A0B0C0D0E0F10" : "F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF00"))
    }

    /// Data set 2 of Core 5.4, Vol 2, Part G, 7.1.2.1.
    static func keyPair(_ role: PairingRole) throws -> P256KeyPair {
        try #require(
            P256KeyPair(
                scalar: secret(
                    role == .initiator
                        ? "06A516693C9AA31A6084545D0C5DB641B48572B97203DDFFB7AC73F7D0457663"
                        : "529AA0670D72CD6497502ED473502B037E8803B5C60829A5A3CAA219505530BA")))
    }

    static let debugScalar = secret("3F49F6D4A3C55F3874C9B3E3D2103F504AFF607BEB40B7995899B8A6CD3C1ABD")

    static func random(seed: Int) -> [UInt8] {
        (0..<PairingMaterial.randomOctets).map { UInt8(truncatingIfNeeded: seed * 31 + $0 * 7 + ($0 >> 8) * 13) }
    }

    static func material(
        _ role: PairingRole, seed: Int? = nil, keyPair: P256KeyPair? = nil
    ) throws -> PairingMaterial {
        try #require(
            PairingMaterial(
                keyPair: try keyPair ?? self.keyPair(role),
                random: Secret(random(seed: seed ?? (role == .initiator ? 1 : 2)))))
    }

    static func method(_ role: PairingRole, _ model: AssociationModel) throws -> PairingMethod {
        switch (model, role) {
        case (.justWorks, _): return .justWorks
        case (.numericComparison, _): return .numericComparison
        case (.passkeyEntry, .initiator): return .passkeyInput
        case (.passkeyEntry, .responder): return .passkeyDisplay
        case (.outOfBand, .initiator):
            let data = OutOfBandOffer(random: outOfBandRandom)
                .data(address: responderAddress, publicKey: try keyPair(.responder).publicKey)
            return .outOfBand(offered: nil, received: data)
        case (.outOfBand, .responder):
            return .outOfBand(offered: OutOfBandOffer(random: outOfBandRandom), received: nil)
        }
    }

    static func parameters(
        _ role: PairingRole, _ model: AssociationModel, credential: String? = nil
    ) throws -> PairingParameters {
        PairingParameters(
            policy: PairingPolicy(method: try method(role, model)), material: try material(role),
            credential: credential)
    }

    static let temporaryKey = secret("B0B1B2B3B4B5B6B7B8B9BABBBCBDBEBF")

    /// What a pairing of this way is given. Legacy pairing's sides offer nothing better.
    static func parameters(
        _ role: PairingRole, _ way: StateInputTests.Way, asksConsent: Bool = false
    ) throws -> PairingParameters {
        let legacy =
            way.isLegacy
            ? LegacyPairing(temporaryKey: way.model == .outOfBand ? temporaryKey : nil, isAlone: true) : nil
        let capability: IOCapability
        switch way.model {
        case .justWorks, .outOfBand: capability = .noInputNoOutput
        case .numericComparison: capability = .displayYesNo
        case .passkeyEntry: capability = way.typist == nil || way.typist == role ? .keyboardOnly : .displayOnly
        }
        var capabilities = PairingCapabilities(
            ioCapability: capability, minimumLevel: way.model == .justWorks ? 2 : 3, asksConsent: asksConsent)
        if !way.isLegacy, case .outOfBand(let offered, let received) = try method(role, way.model) {
            (capabilities.offered, capabilities.received) = (offered, received)
        }
        return PairingParameters(
            policy: PairingPolicy(choice: .negotiated(capabilities), legacy: legacy), material: try material(role))
    }

    static func bond(
        _ id: Int64, identity: DeviceAddress = Fixture.initiatorAddress, irk: Secret? = nil,
        model: AssociationModel = .outOfBand, state: BondState = .confirmed, credential: String? = nil,
        last: UInt32? = nil, reserved: UInt32 = 0
    ) throws -> Bond {
        Bond(
            id: BondID(id), identity: try self.identity(identity), peerIRK: irk,
            ltk: secret("11223344556677889900AABBCCDDEEFF"),
            localCSRK: secret("611B64EBFBCD1FD372EC9196DF425E50"),
            remoteCSRK: secret("611B64EBFBCD1FD372EC9196DF425E50"), model: model, state: state,
            credential: credential, lastRemoteSignCounter: last, localSignCounterReserved: reserved)
    }
}

/// One device of a pairing.
struct Side {
    var machine: PairingMachine
    let book: BondBook
    /// Everything the machine has said, in order.
    var log: [PairingOutput] = []

    init(_ role: PairingRole, bonds: [Bond] = [], peerAddress: DeviceAddress? = nil) throws {
        let peer: PairingRole = role == .initiator ? .responder : .initiator
        machine = PairingMachine(
            role: role, localAddress: Fixture.address(role), peerAddress: peerAddress ?? Fixture.address(peer))
        book = BondBook(localIdentity: try Fixture.local(role), bonds: bonds)
    }

    @discardableResult
    mutating func handle(_ event: PairingEvent, at milliseconds: UInt64 = 0) -> [PairingOutput] {
        let outputs = machine.handle(event, now: Instant(nanoseconds: milliseconds * 1_000_000), book: book)
        log += outputs
        return outputs
    }

    @discardableResult
    mutating func receive(_ pdu: SMPPDU) -> [PairingOutput] { handle(.received(pdu.encoded)) }

    var completed: Bond? {
        for case .completed(let bond) in log { return bond }
        return nil
    }

    var error: PairingError? {
        for case .failed(let error) in log { return error }
        return nil
    }

    var sent: [SMPPDU] { log.sent }
    var persisted: [BondMutation] { log.persisted }
}

extension [PairingOutput] {
    var sent: [SMPPDU] {
        compactMap { output in
            guard case .send(let octets) = output else { return nil }
            return try? SMPPDU(exactly: octets)
        }
    }

    var persisted: [BondMutation] {
        compactMap { output in
            guard case .persist(let mutation) = output else { return nil }
            return mutation
        }
    }

    var failure: PairingError? {
        for case .failed(let error) in self { return error }
        return nil
    }
}

/// Two sides, the channel between them, and the users and controllers that they need.
struct Rig {
    var initiator: Side
    var responder: Side
    /// `I` or `R`, a space, and the command in hexadecimal.
    var transcript: [String] = []
    /// Stands between the sides: what becomes of a command. nil loses it.
    var onTheAir: (PairingRole, SMPPDU) -> SMPPDU? = { $1 }
    /// What the user types when the peer shows a passkey.
    var typed: (UInt32) -> UInt32 = { $0 }
    var numbersAreEqual = true
    var consents = true
    var shownPasskey: UInt32?
    private var typist: PairingRole?
    private var pending: [(PairingRole, PairingOutput)] = []

    init(initiatorBonds: [Bond] = [], responderBonds: [Bond] = []) throws {
        initiator = try Side(.initiator, bonds: initiatorBonds)
        responder = try Side(.responder, bonds: responderBonds)
    }

    init(_ model: AssociationModel) throws {
        try self.init()
        try begin(model)
    }

    mutating func begin(_ model: AssociationModel, credential: String? = nil) throws {
        responder.handle(.arm(try Fixture.parameters(.responder, model, credential: credential)))
        post(.initiator, .begin(try Fixture.parameters(.initiator, model, credential: credential)))
    }

    mutating func begin(_ way: StateInputTests.Way, asking: PairingRole? = nil) throws {
        responder.handle(.arm(try Fixture.parameters(.responder, way, asksConsent: asking == .responder)))
        if way.model == .passkeyEntry, way.typist == nil { shownPasskey = Fixture.passkey }
        post(.initiator, .begin(try Fixture.parameters(.initiator, way, asksConsent: asking == .initiator)))
    }

    mutating func post(_ role: PairingRole, _ event: PairingEvent) {
        let outputs = role == .initiator ? initiator.handle(event) : responder.handle(event)
        pending += outputs.map { (role, $0) }
    }

    /// Lets everything happen until nothing does, or until `stop` says so before an output is carried out.
    mutating func run(until stop: (PairingRole, PairingOutput) -> Bool = { _, _ in false }) {
        while let (role, output) = pending.first {
            if stop(role, output) { return }
            pending.removeFirst()
            carryOut(output, of: role)
        }
    }

    private mutating func carryOut(_ output: PairingOutput, of role: PairingRole) {
        let other: PairingRole = role == .initiator ? .responder : .initiator
        switch output {
        case .send(let octets):
            transcript.append((role == .initiator ? "I " : "R ") + HexText.encode(octets))
            guard let pdu = try? SMPPDU(exactly: octets), let heard = onTheAir(role, pdu) else { return }
            post(other, .received(heard.encoded))
        case .displayPasskey(let passkey):
            shownPasskey = passkey
            type()
        case .requestPasskey:
            typist = role
            type()
        case .confirmNumeric: post(role, .numericCompared(equal: numbersAreEqual))
        case .requestConsent: post(role, .consented(consents))
        case .startEncryption(let ltk):
            let fits = responder.machine.longTermKey == ltk
            post(.responder, .encryptionChanged(enabled: fits))
            post(.initiator, .encryptionChanged(enabled: fits))
        case .persist, .securityRequested, .refused, .completed, .failed: break
        }
    }

    private mutating func type() {
        guard let shownPasskey, let typist else { return }
        post(typist, .passkeyEntered(typed(shownPasskey)))
    }
}
