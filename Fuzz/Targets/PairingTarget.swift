import BluetoothCore
import BluetoothCrypto
import SecurityManager

/// Two sides of a pairing with an attacker between them, who delivers, drops, changes and invents commands, and with
/// hosts and users who do anything at any time.
@Sendable func fuzzPairing(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    guard let policies = pinnedPolicies(input.octet()), let world = PairingWorld(policies, credential: "fuzz") else {
        return
    }
    while let event = input.nextEvent() { world.happen(event, &input) }
    world.finish()
}

/// The same where both sides' capabilities choose the model, Just Works and legacy pairing among them, and where nobody
/// has named the bonds: they give way only to a pairing that may renew them.
@Sendable func fuzzNegotiatedPairing(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    guard let world = PairingWorld((negotiatedPolicy(&input), negotiatedPolicy(&input)), credential: nil) else {
        return
    }
    while let event = input.nextEvent() { world.happen(event, &input) }
    world.finish()
}

private let initiatorAddress = DeviceAddress(kind: .public, bits: 0xA1)
private let responderAddress = DeviceAddress(kind: .public, bits: 0xB2)

private func pinnedPolicies(_ choice: UInt8) -> (PairingPolicy, PairingPolicy)? {
    let offer = OutOfBandOffer(random: Secret([UInt8](repeating: 7, count: 16)))
    guard let key = PairingSide.keyPair(5)?.publicKey else { return nil }
    let methods: (PairingMethod, PairingMethod) =
        switch choice & 3 {
        case 0: (.numericComparison, .numericComparison)
        case 1: (.passkeyInput, .passkeyDisplay)
        case 2: (.passkeyDisplay, .passkeyInput)
        default:
            (
                .outOfBand(offered: nil, received: offer.data(address: responderAddress, publicKey: key)),
                .outOfBand(offered: offer, received: nil)
            )
        }
    let required: KeyDistribution = choice & 4 == 0 ? [] : [.idKey, .signKey]
    return (
        PairingPolicy(method: methods.0, requiredPeerKeys: required),
        PairingPolicy(method: methods.1, requiredPeerKeys: required)
    )
}

private func negotiatedPolicy(_ input: inout FuzzInput) -> PairingPolicy {
    let (choice, keys) = (input.octet(), input.octet())
    let capabilities: [IOCapability] = [
        .displayOnly, .displayYesNo, .keyboardOnly, .noInputNoOutput, .keyboardDisplay,
    ]
    let temporaryKey = keys & 0x40 == 0 ? nil : Secret([UInt8](repeating: 9, count: 16))
    let legacy = LegacyPairing(
        minimumKeyOctets: keys & 0x0F, temporaryKey: temporaryKey, isAlone: keys & 0x80 != 0)
    var policy = PairingPolicy(
        choice: .negotiated(
            PairingCapabilities(
                ioCapability: capabilities[Int(choice & 7) % capabilities.count],
                minimumLevel: choice & 8 == 0 ? 2 : 3, asksConsent: choice & 0x10 != 0)),
        legacy: choice & 0x20 == 0 ? nil : legacy)
    if choice & 0x80 != 0 { policy.maximumKeyOctets = max(LegacyPairing.keyOctetsMinimum, keys & 0x1F) }
    return policy
}

private final class PairingSide {
    var machine: PairingMachine
    let book: BondBook
    private(set) var parameters: PairingParameters
    private let peer: IdentityAddress
    private var random: CountingRandom
    /// Bonds that any pairing so far was allowed to renew.
    private(set) var given: Set<BondID> = []
    var sent: [[UInt8]] = []
    var completed: Bond?
    /// The key of the pairing that began last on this side, once it is complete.
    var agreed: Secret?
    var ltk: Secret?

    init?(
        role: PairingRole, scalar: UInt8, own: DeviceAddress, peer: DeviceAddress, _ policy: PairingPolicy,
        credential: String?
    ) {
        guard let identity = IdentityAddress(own), let peerIdentity = IdentityAddress(peer),
            let pair = Self.keyPair(scalar)
        else { return nil }
        let irk = Secret([UInt8](repeating: scalar, count: 16))
        machine = PairingMachine(role: role, localAddress: own, peerAddress: peer)
        book = BondBook(localIdentity: LocalIdentity(address: identity, irk: irk))
        random = CountingRandom(UInt64(scalar))
        self.peer = peerIdentity
        let chance = Secret(random.octets(PairingMaterial.randomOctets))
        guard let material = PairingMaterial(keyPair: pair, random: chance) else {
            return nil
        }
        parameters = PairingParameters(policy: policy, material: material, credential: credential)
    }

    /// Another pairing, with chance of its own. It may renew the bond that the link is encrypted with, which that proves,
    /// or those that a user gave up.
    func prepareAnother(isEncrypted: Bool, isGivenUp: Bool) {
        let chance = Secret(random.octets(PairingMaterial.randomOctets))
        guard let material = PairingMaterial(keyPair: parameters.material.keyPair, random: chance) else { return }
        parameters.material = material
        parameters.renewable = []
        if isEncrypted, let bond = completed?.id, book.bond(bond) != nil {
            _ = book.promote(bond)
            parameters.renewable.insert(bond)
        }
        if isGivenUp {
            parameters.renewable.formUnion(book.bonds(with: peer).filter { $0.credential == nil }.map(\.id))
        }
        given.formUnion(parameters.renewable)
    }

    /// Bonds that were there `before` go only for one that may take their place.
    func requireOrder(before: [Bond]) {
        let kept = book.bonds
        for bond in before where !kept.contains(where: { $0.id == bond.id }) {
            require(bond.credential != nil || given.contains(bond.id), "a bond is gone that nobody gave up")
            require(completed?.strength.isAtLeast(bond.strength) == true, "a bond gave way to a weaker one")
        }
        for identity in Set(kept.compactMap(\.identity)) {
            let bonds = book.bonds(with: identity)
            require(bonds.count { $0.state == .confirmed } <= 1, "a peer has two bonds that have proved themselves")
            require(
                bonds.count { $0.state == .unconfirmed } <= BondBook.unprovenBondsOfPeerMaximum, "bonds pile up")
        }
    }

    static func keyPair(_ scalar: UInt8) -> P256KeyPair? {
        P256KeyPair(scalar: Secret([UInt8](repeating: 0, count: 31) + [scalar]))
    }
}

private final class PairingWorld {
    private let initiator: PairingSide
    private let responder: PairingSide
    private var now = Instant(nanoseconds: 0)
    private var isTampered = false

    init?(_ policies: (PairingPolicy, PairingPolicy), credential: String?) {
        let (a, b) = (initiatorAddress, responderAddress)
        guard
            let initiator = PairingSide(
                role: .initiator, scalar: 3, own: a, peer: b, policies.0, credential: credential),
            let responder = PairingSide(
                role: .responder, scalar: 5, own: b, peer: a, policies.1, credential: credential)
        else { return nil }
        (self.initiator, self.responder) = (initiator, responder)
        feed(responder, .arm(responder.parameters))
        feed(initiator, .begin(initiator.parameters))
    }

    func happen(_ event: UInt8, _ input: inout FuzzInput) {
        let side = event & 0x80 == 0 ? responder : initiator
        let other = event & 0x80 == 0 ? initiator : responder
        switch event & 15 {
        case 0...4: deliver(other, side) { $0 }
        case 5:
            let (index, bits) = (Int(input.octet()), input.octet())
            deliver(other, side) { octets in
                var octets = octets
                if index < octets.count { octets[index] ^= bits }
                return octets
            }
        case 6:
            isTampered = true
            feed(side, .received(input.chunk()))
        case 7:
            isTampered = true
            if !other.sent.isEmpty { other.sent.removeFirst() }
        case 8: feed(side, .passkeyEntered(displayed ?? UInt32(input.uint16())))
        case 9: feed(side, .numericCompared(equal: input.bool()))
        case 10: feed(side, .encryptionChanged(enabled: input.bool()))
        case 11: feed(side, .cancel(.unspecifiedReason))
        case 12:
            now = now.advanced(byMilliseconds: input.milliseconds())
            feed(side, .timerFired)
        case 13:
            side.prepareAnother(isEncrypted: event & 0x20 != 0, isGivenUp: event & 0x40 != 0)
            feed(side, side.machine.role == .initiator ? .begin(side.parameters) : .arm(side.parameters))
        case 14: feed(side, input.bool() ? .disarm(refusing: .pairingNotSupported) : .disconnected)
        default: feed(side, event & 0x10 == 0 ? .requestSecurity([.bonding, .mitm]) : .consented(input.bool()))
        }
    }

    private var displayed: UInt32?

    private func deliver(_ from: PairingSide, _ to: PairingSide, _ change: ([UInt8]) -> [UInt8]) {
        guard !from.sent.isEmpty else { return }
        let command = from.sent.removeFirst()
        let changed = change(command)
        if changed != command { isTampered = true }
        feed(to, .received(changed))
    }

    private func feed(_ side: PairingSide, _ event: PairingEvent) {
        let (before, wasPairing) = (side.book.bonds, side.machine.isPairing)
        let outputs = side.machine.handle(event, now: now, book: side.book)
        require(outputs.count <= 16, "one event, \(outputs.count) outputs")
        var ends = 0
        for output in outputs {
            switch output {
            case .send(let pdu):
                require(pdu.count <= SMPPDU.maximumOctets, "a command is longer than any")
                // What nobody takes is lost, as on a link that went away.
                if side.sent.count < 32 { side.sent.append(pdu) } else { isTampered = true }
            case .displayPasskey(let passkey): displayed = passkey
            case .startEncryption(let ltk): side.ltk = ltk
            case .completed(let bond):
                ends += 1
                side.completed = bond
                side.agreed = bond.ltk
                require(isStrongEnough(bond, side.parameters.policy), "a bond is weaker than its policy")
            case .failed: ends += 1
            case .persist, .requestConsent, .requestPasskey, .confirmNumeric, .securityRequested, .refused: break
            }
        }
        require(ends <= 1, "a pairing ended twice")
        require(!side.machine.isPairing || side.machine.deadline != nil, "a pairing has no end in sight")
        if !wasPairing, side.machine.isPairing { side.agreed = nil }
        side.requireOrder(before: before)
    }

    private func isStrongEnough(_ bond: Bond, _ policy: PairingPolicy) -> Bool {
        let hasModel =
            switch policy.choice {
            case .pinned(let method): bond.model == method.model
            case .negotiated(let capabilities): bond.isAuthenticated || capabilities.minimumLevel <= 2
            }
        guard let legacy = policy.legacy else { return hasModel && bond.secureConnections && bond.keySize == 16 }
        return hasModel && bond.keySize >= legacy.minimumKeyOctets
    }

    func finish() {
        if !isTampered, let a = initiator.agreed, let b = responder.agreed {
            require(a == b, "two sides are bonded by different keys")
        }
        for side in [initiator, responder] {
            feed(side, .disconnected)
            require(!side.machine.isPairing && side.machine.isDead, "a pairing outlives its link")
        }
    }
}
