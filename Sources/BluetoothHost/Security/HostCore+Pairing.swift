import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import L2CAP
import SecurityManager

// MARK: Pairing

extension HostCore {
    mutating func setPairingWindow(_ window: PairingWindow?) {
        pairingDoor.handle(.windowSet(window), now: now)
        for link in links.all where link.pairingOrigin.isWindow {
            pairing(link, .cancel(.unspecifiedReason))
        }
        wishesChanged()
    }

    /// The attempt on a link, if a window named its method.
    private func windowAttempt(on link: Link) -> PairingDoor.Attempt? {
        if case .window(let number) = link.pairingOrigin { PairingDoor.Attempt(window: number) } else { nil }
    }

    /// Lets the peer of a link pair if the window is open and nobody else is at it. Called when it asks, and not before: a key
    /// pair for each link that comes would cost every bonded return its making.
    private mutating func armPairing(_ link: Link) {
        guard !link.pairing.isDead else { return }
        link.pairingOrigin = pairingDoor.isOpen ? .window(pairingDoor.number) : .rules
        let isBusy = links.all.contains { $0.pairing.isPairing && $0.pairingOrigin.isWindow }
        let parameters: PairingParameters?
        switch pairingDoor.admission(
            of: claimant(link), isBusy: isBusy, allowsOthers: admitsCentrals, now: now)
        {
        case .window(let window): parameters = responderParameters(window)
        case .rules: parameters = negotiatedParameters(for: link, asksConsent: true)
        case .refused(let reason): return pairing(link, .disarm(refusing: reason))
        }
        pairing(link, parameters.map(PairingEvent.arm) ?? .disarm(refusing: .unspecifiedReason))
    }

    /// Whether the rules let a central pair that no window is open for.
    private var admitsCentrals: Bool {
        switch configuration.pairing.admission {
        case .nobody: false
        case .asNeeded: server.published.asksForEncryption || publishedChannels.asksForEncryption
        case .anybody: true
        }
    }

    /// What a Pairing Request finds depends on the moment at which it comes: the wait after a failure may be over.
    mutating func receivedSMP(_ octets: [UInt8], on link: Link) {
        let isRequest = octets.first == SMPOpcode.pairingRequest.rawValue
        if isRequest, link.role == .peripheral, !link.pairing.isPairing {
            armPairing(link)
            bondLostByCentral(link)
        }
        pairing(link, .received(octets))
    }

    /// Whom a peer's failures are held against.
    func claimant(_ link: Link) -> DeviceAddress { link.identity?.address ?? link.address }

    private mutating func responderParameters(_ window: PairingWindow) -> PairingParameters? {
        let method: PairingMethod
        let keyPair: P256KeyPair
        switch window.method {
        case .outOfBand(let offered, let random):
            method = .outOfBand(offered: OutOfBandOffer(random: random), received: nil)
            keyPair = offered
        case .passkeyDisplay:
            method = .passkeyDisplay
            keyPair = makeKeyPair()
        case .passkeyEntry:
            method = .passkeyInput
            keyPair = makeKeyPair()
        case .numericComparison:
            method = .numericComparison
            keyPair = makeKeyPair()
        }
        // Most phones have no signing key to give. Such a bond writes over encryption alone.
        return parameters(
            PairingPolicy(method: method), keyPair, credential: window.credential,
            applicationSecret: window.applicationSecret)
    }

    mutating func parameters(
        _ policy: PairingPolicy, _ keyPair: P256KeyPair, credential: String?, applicationSecret: Secret? = nil,
        renewable: Set<BondID> = []
    ) -> PairingParameters? {
        var octets = random.octets(PairingMaterial.randomOctets)
        guard let material = PairingMaterial(keyPair: keyPair, random: Secret(wiping: &octets)) else { return nil }
        return PairingParameters(
            policy: policy, material: material, credential: credential, applicationSecret: applicationSecret,
            renewable: renewable)
    }

    mutating func pair(
        _ manager: ManagerID, _ peer: PeerIdentifier, _ request: PairingRequest, credential: String,
        applicationSecret: Secret?
    ) {
        if blueZ != nil {
            return pairByBlueZ(manager, peer, request, credential: credential, applicationSecret: applicationSecret)
        }
        guard let link = linkToPair(with: peer, telling: manager) else { return }
        let method: PairingMethod
        switch request {
        case .outOfBand(let data): method = .outOfBand(offered: nil, received: data)
        case .passkeyEntry: method = .passkeyInput
        case .passkeyDisplay: method = .passkeyDisplay
        case .numericComparison: method = .numericComparison
        }
        guard pairingDoor.waits(claimant(link), at: now) == nil else {
            announce(.paired(peer, .failure(.pairing(.cancelled(.repeatedAttempts)))), to: manager)
            return
        }
        // With it the peer seals its receipts.
        let policy = PairingPolicy(method: method, requiredPeerKeys: [.signKey])
        let parameters = parameters(
            policy, makeKeyPair(), credential: credential, applicationSecret: applicationSecret)
        guard let parameters else {
            announce(.paired(peer, .failure(.noResources)), to: manager)
            return
        }
        begin(link, parameters, .request)
    }

    /// The link to a peer, if nobody pairs on it yet; else whoever asked is told why there is none. A pairing that is under
    /// way goes on, and whoever waits for it does.
    mutating func linkToPair(with peer: PeerIdentifier, telling manager: ManagerID) -> Link? {
        guard let link = links.central(of: peer), !link.isDisconnecting else {
            announce(.paired(peer, .failure(.notConnected)), to: manager)
            return nil
        }
        guard !link.pairing.isPairing else {
            announce(.paired(peer, .failure(.pairing(.notPossibleNow))), to: manager)
            return nil
        }
        return link
    }

    /// On a link on which nobody is pairing.
    mutating func begin(_ link: Link, _ parameters: PairingParameters, _ origin: PairingOrigin) {
        link.pairingOrigin = origin
        // Whoever was asked whether to pair again has been overtaken: answers are this pairing's.
        secure(link, .overtaken)
        pairing(link, .begin(parameters))
    }

    mutating func enterPasskey(_ passkey: UInt32?, for peer: PeerIdentifier) {
        guard let link = links.all.first(where: { $0.peer == peer && $0.pairing.isPairing }) else { return }
        pairing(link, passkey.map(PairingEvent.passkeyEntered) ?? .cancel(.passkeyEntryFailed))
    }

    /// Hands an event to a link's pairing machine, and does what it wants done.
    mutating func pairing(_ link: Link, _ event: PairingEvent) {
        let wasUnderWay = link.pairing.isPairing
        let outputs = link.pairing.handle(event, now: now, book: bondBook)
        if !wasUnderWay, link.pairing.isPairing {
            tell(.pairingBegan(link.id))
            secure(link, .overtaken)
        }
        let record = recordToInherit(link, outputs)
        for output in outputs {
            if case .completed(let bond) = output, let record {
                tellServer(.bondRenewed(record, bond.id))
            }
            performPairing(output, on: link)
        }
    }

    /// A client that makes its bond a stronger one, on a link that the bond encrypts, goes on as it was: its subscriptions
    /// are its own. One that an operator enrols anew begins anew.
    private func recordToInherit(_ link: Link, _ outputs: [PairingOutput]) -> GATTClientRecord? {
        guard link.isProven, let old = link.bond,
            outputs.contains(where: { if case .completed(let bond) = $0 { bond.credential == nil } else { false } })
        else { return nil }
        return server.record(of: old)
    }

    private mutating func performPairing(_ output: PairingOutput, on link: Link) {
        switch output {
        case .send(let pdu): sendPDU(pdu, on: .securityManagerProtocol, link)
        case .persist(let mutation): persist(mutation)
        case .requestConsent(let model): requestConsent(link, model)
        case .displayPasskey(let passkey): displayPasskey(link, passkey)
        case .requestPasskey: requestPasskey(link)
        case .confirmNumeric(let value): confirmNumeric(link, value)
        case .startEncryption(let ltk): startEncryption(link, ltk)
        case .securityRequested(let authReq): work.append(.securityRequested(link.id, authReq))
        case .refused: break
        case .completed(let bond): paired(link, bond)
        case .failed(let error): pairingFailed(link, error)
        }
    }

    mutating func persist(_ mutation: BondMutation) {
        persist(.bond(mutation))
        guard case .delete(let bond) = mutation else { return }
        work.append(.server(.bondDeleted(bond)))
        withLedger { $0.forget(bond: bond, &$1) }
    }

    private mutating func paired(_ link: Link, _ bond: Bond) {
        if let identity = bond.identity {
            let name = name(link.peer, withIdentity: identity)
            link.identity = identity
            if name != link.peer, link.isClient { supersede(link, at: identity) } else { link.peer = name }
        }
        pairingDoor.handle(.succeeded(windowAttempt(on: link), claimant: claimant(link)), now: now)
        tell(.paired(link.id, bond.id))
        proved(link, bond)
        tellPaired(link, .success(bond.id))
        wishesChanged()
    }

    private mutating func pairingFailed(_ link: Link, _ error: PairingError) {
        tell(.pairingFailed(link.id, error))
        pairingDoor.handle(
            .failed(
                windowAttempt(on: link), claimant: claimant(link), waits: error.countsAsAttempt,
                hasTried: link.pairing.hasPeerTried), now: now)
        secure(link, .settled)
        tellPaired(link, .failure(.pairing(error)))
        if link.role == .peripheral { wishesChanged() }
        tellings.append(.settleSecurity(link.id, .pairing(error)))
    }

    private mutating func tellPaired(_ link: Link, _ result: Result<BondID, HostError>) {
        if link.pairingOrigin == .rules { announce(.pairingEnded(result), of: link) }
        switch link.role {
        case .central: announce(.paired(link.peer, result), toThoseWanting: link.peer)
        case .peripheral:
            announce(.paired(link.info, result))
            announce(.paired(link.peer, result), toClientsOf: link)
        }
    }

    func makePairingMachine(_ role: LinkRole, own: DeviceAddress, peer: DeviceAddress) -> PairingMachine {
        PairingMachine(role: role == .central ? .initiator : .responder, localAddress: own, peerAddress: peer)
    }
}

// MARK: Bonds

extension HostCore {
    var bonds: [Bond] { bondBook.bonds }

    var unconfirmedBonds: [BondID] { bondBook.unconfirmed }

    func bond(_ id: BondID) -> Bond? { bondBook.bond(id) }

    mutating func promoteBond(_ id: BondID) {
        for mutation in bondBook.promote(id) { persist(mutation) }
    }

    mutating func keep(_ secret: Secret?, with id: BondID) {
        if let mutation = bondBook.keep(secret, with: id) { persist(mutation) }
    }

    mutating func deleteBond(_ id: BondID) {
        let identity = bondBook.bond(id)?.identity
        for link in links.all where link.bond == id { disconnect(link, reason: .authenticationFailure) }
        for mutation in bondBook.delete(id) { persist(mutation) }
        bondDeleted(with: identity)
        wishesChanged()
    }
}

extension PairingOrigin {
    /// Whether one attempt at a time is let through a window, and this is one.
    var isWindow: Bool { if case .window = self { true } else { false } }
}
