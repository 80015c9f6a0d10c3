import BluetoothCore
import BluetoothCrypto
import GATT
import SecurityManager

// MARK: Pairings that nothing pins

extension HostCore {
    mutating func answerPairing(_ id: LinkID, _ answer: PairingAnswer) {
        guard let link = links[id] else { return }
        if link.secured.isAskingUser { return answerRenewal(link, answer) }
        guard link.pairing.isPairing else { return }
        switch answer {
        case .consent(let consent): pairing(link, .consented(consent))
        case .numbersAreEqual(let equal): pairing(link, .numericCompared(equal: equal))
        case .passkey(let passkey): pairing(link, .passkeyEntered(passkey))
        case .refusal: pairing(link, .cancel(.unspecifiedReason))
        }
    }

    mutating func pair(_ manager: ManagerID, _ peer: PeerIdentifier, received: OutOfBandData?) {
        guard let link = linkToPair(with: peer, telling: manager) else { return }
        // Whoever asks for this has given the bond up, where the rules let that be done.
        let renewable = configuration.pairing.renewsBonds ? unnamedBonds(of: link) : []
        guard
            let parameters = negotiatedParameters(
                for: link, received: received, renewable: renewable, asksConsent: true)
        else {
            announce(.paired(peer, .failure(.pairing(.notPossibleNow))), to: manager)
            return
        }
        guard pairingDoor.waits(claimant(link), at: now) == nil else {
            announce(.paired(peer, .failure(.pairing(.cancelled(.repeatedAttempts)))), to: manager)
            return
        }
        begin(link, parameters, .rules)
    }

    mutating func requestSecurity(_ id: LinkID) {
        guard let link = links[id], link.role == .peripheral, !link.security.encrypted else { return }
        requestSecurity(link, level: configuration.pairing.minimumLevel)
    }

    /// False when the central may not be asked now.
    @discardableResult
    mutating func requestSecurity(_ link: Link, level: UInt8) -> Bool {
        guard pairingDoor.waits(claimant(link), at: now) == nil, !link.pairing.isDead, !link.isDisconnecting else {
            return false
        }
        secure(link, .centralAsked)
        pairing(
            link, .requestSecurity(level > 2 ? [.bonding, .mitm, .secureConnections] : [.bonding, .secureConnections]))
        return true
    }

    /// What both sides' capabilities lead to, under the host's rules. `renewable` beside the bond that the link is encrypted
    /// with; as peripheral those that a user who is asked gives up.
    mutating func negotiatedParameters(
        for link: Link, received: OutOfBandData? = nil, atLeast need: SecurityNeed = SecurityNeed(),
        renewable: Set<BondID> = [], asksConsent: Bool = false
    ) -> PairingParameters? {
        let rules = configuration.pairing
        guard rules.admission != .nobody else { return nil }
        let asksConsent = asksConsent && agent != nil
        var renewable = renewable
        if link.isProven, let bond = link.bond { renewable.insert(bond) }
        if asksConsent, link.role == .peripheral, rules.renewsBonds { renewable.formUnion(unnamedBonds(of: link)) }
        let capabilities = PairingCapabilities(
            ioCapability: agent ?? .noInputNoOutput,
            offered: rules.offered.map { OutOfBandOffer(random: $0.random) }, received: received,
            minimumLevel: max(rules.minimumLevel, need.level), asksConsent: asksConsent)
        var legacy = need.level > 3 ? nil : rules.legacy
        if let octets = legacy?.minimumKeyOctets { legacy?.minimumKeyOctets = max(octets, need.keyOctets) }
        let policy = PairingPolicy(choice: .negotiated(capabilities), legacy: legacy)
        return parameters(
            policy, rules.offered?.keyPair ?? makeKeyPair(), credential: nil, renewable: renewable)
    }

    /// The bonds of whoever the link's address stands for that no operator has named.
    func unnamedBonds(of link: Link) -> Set<BondID> {
        guard let identity = link.identity else { return [] }
        return Set(bondBook.bonds(with: identity).filter { $0.credential == nil }.map(\.id))
    }

    // MARK: Questions

    mutating func requestConsent(_ link: Link, _ model: AssociationModel) {
        guard agent != nil else { return work.append(.pairing(link.id, .consented(false))) }
        announce(.consentRequested(model), of: link)
    }

    /// What a window or a request pinned is the business of the app that asked; the rest is the agent's.
    mutating func displayPasskey(_ link: Link, _ passkey: UInt32) {
        guard link.pairingOrigin != .rules else { return announce(.displayPasskey(passkey), of: link) }
        switch link.role {
        case .central: announce(.displayPasskey(link.peer, passkey), toThoseWanting: link.peer)
        case .peripheral: announce(.displayPasskey(link.info, passkey))
        }
    }

    mutating func requestPasskey(_ link: Link) {
        guard link.pairingOrigin != .rules else {
            guard agent != nil else { return work.append(.pairing(link.id, .cancel(.passkeyEntryFailed))) }
            return announce(.passkeyRequested, of: link)
        }
        switch link.role {
        case .central: announce(.passkeyRequested(link.peer), toThoseWanting: link.peer)
        case .peripheral: announce(.passkeyRequested(link.info))
        }
    }

    mutating func confirmNumeric(_ link: Link, _ value: UInt32) {
        guard link.pairingOrigin != .rules else {
            guard agent != nil else { return work.append(.pairing(link.id, .numericCompared(equal: false))) }
            return announce(.numericComparisonRequested(value), of: link)
        }
        switch link.role {
        case .central: announce(.numericComparisonRequested(link.info, value), toThoseWanting: link.peer)
        case .peripheral: announce(.numericComparisonRequested(link.info, value))
        }
    }
}

extension PairingError {
    /// Whether the other side has to wait before it tries again. Giving up here is no fault of its.
    var countsAsAttempt: Bool {
        switch self {
        case .refusedByPeer, .peerViolation, .timedOut, .encryptionFailed, .disconnected: true
        case .cancelled, .identityTaken, .notPossibleNow, .channelDead: false
        }
    }
}
