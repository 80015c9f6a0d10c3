import ATT
import BluetoothCore
import BluetoothCrypto
import GATT
import SecurityManager

// MARK: Pairings that nothing pins

extension Host {
    /// Who asks the user, or nil for nobody: then only what needs no user is possible, and wants no consent.
    package func setPairingAgent(_ agent: (any PairingAgent)?) {
        pairingAgent = agent
        rearm()
    }

    /// What a link's user says.
    package func answerPairing(_ id: LinkID, _ answer: PairingAnswer) {
        guard let link = links[id], link.pairing.isPairing else { return }
        switch answer {
        case .consent(let consent): pairing(link, .consented(consent))
        case .numbersAreEqual(let equal): pairing(link, .numericCompared(equal: equal))
        case .passkey(let passkey): pairing(link, .passkeyEntered(passkey))
        case .refusal: pairing(link, .cancel(.unspecifiedReason))
        }
    }

    /// Pairs with a connected peer by whatever both sides can do, under the host's ``PairingRules``. `received` is what the
    /// peer gave out of band.
    package func pair(_ manager: ManagerID, _ peer: PeerIdentifier, received: OutOfBandData? = nil) {
        let delegate = managers[manager]?.central
        guard let link = centralLink(peer), !link.isDisconnecting else {
            delegate?.paired(peer, result: .failure(.notConnected))
            return
        }
        guard let parameters = negotiatedParameters(received: received, asksConsent: false) else {
            delegate?.paired(peer, result: .failure(.pairing(.notPossibleNow)))
            return
        }
        guard attempts.waits(claimant(link), at: now) == nil else {
            delegate?.paired(peer, result: .failure(.pairing(.cancelled(.repeatedAttempts))))
            return
        }
        begin(link, parameters, isPinned: false)
    }

    /// As peripheral: asks the central to encrypt or to pair.
    ///
    /// Core 5.4, Vol 3, Part H, 2.4.6 (Peripheral Security Request)
    package func requestSecurity(_ id: LinkID) {
        guard let link = links[id], link.role == .peripheral, !link.security.encrypted else { return }
        guard attempts.waits(claimant(link), at: now) == nil else { return }
        pairing(link, .requestSecurity([.bonding, .mitm, .secureConnections]))
    }

    func negotiatedParameters(received: OutOfBandData? = nil, asksConsent: Bool) -> PairingParameters? {
        let rules = configuration.pairing
        guard rules.isAllowed else { return nil }
        let capabilities = PairingCapabilities(
            ioCapability: pairingAgent?.ioCapability ?? .noInputNoOutput,
            offered: rules.offered.map { OutOfBandOffer(random: $0.random) }, received: received,
            minimumLevel: rules.minimumLevel, asksConsent: asksConsent && pairingAgent != nil)
        let policy = PairingPolicy(
            choice: .negotiated(capabilities), legacy: rules.legacy, renewsUnnamedBonds: rules.renewsBonds)
        return parameters(policy, rules.offered?.keyPair ?? makeKeyPair(), credential: nil)
    }

    // MARK: Questions

    func requestConsent(_ link: Link, _ model: AssociationModel) {
        guard let agent = pairingAgent else { return pairing(link, .consented(false)) }
        agent.consentRequested(link.info, model: model)
    }

    /// What a window or a request pinned is the business of the app that asked; the rest is the agent's.
    func displayPasskey(_ link: Link, _ passkey: UInt32) {
        guard link.isPairingPinned else {
            pairingAgent?.displayPasskey(link.info, passkey: passkey)
            return
        }
        switch link.role {
        case .central:
            for delegate in centralDelegates(of: link.peer) { delegate.displayPasskey(link.peer, passkey: passkey) }
        case .peripheral:
            for delegate in managers.peripherals { delegate.displayPasskey(link.info, passkey: passkey) }
        }
    }

    func requestPasskey(_ link: Link) {
        guard link.isPairingPinned else {
            guard let agent = pairingAgent else { return pairing(link, .cancel(.passkeyEntryFailed)) }
            return agent.passkeyRequested(link.info)
        }
        switch link.role {
        case .central:
            for delegate in centralDelegates(of: link.peer) { delegate.passkeyRequested(link.peer) }
        case .peripheral:
            for delegate in managers.peripherals { delegate.passkeyRequested(link.info) }
        }
    }

    func confirmNumeric(_ link: Link, _ value: UInt32) {
        guard link.isPairingPinned else {
            guard let agent = pairingAgent else { return pairing(link, .numericCompared(equal: false)) }
            return agent.numericComparisonRequested(link.info, value: value)
        }
        switch link.role {
        case .central:
            for delegate in centralDelegates(of: link.peer) {
                delegate.numericComparisonRequested(link.info, value: value)
            }
        case .peripheral:
            for delegate in managers.peripherals { delegate.numericComparisonRequested(link.info, value: value) }
        }
    }
}

// MARK: Security on demand

extension Host {
    /// The peripheral wants security: with its bond, or by pairing where the rules let a stranger pair.
    ///
    /// Core 5.4, Vol 3, Part H, 2.4.6 (Peripheral Security Request)
    func securityRequested(_ link: Link, _ authReq: AuthReq) {
        guard link.identity.flatMap(bondBook.bondForEncryption) == nil else { return encrypt(link) }
        if !pairOnDemand(link) { encrypt(link) }
    }

    private func pairOnDemand(_ link: Link) -> Bool {
        guard link.role == .central, !link.pairing.isDead, !link.isDisconnecting else { return false }
        guard !link.pairing.isPairing else { return true }
        guard attempts.waits(claimant(link), at: now) == nil,
            let parameters = negotiatedParameters(asksConsent: false)
        else { return false }
        begin(link, parameters, isPinned: false)
        return link.pairing.isPairing
    }

    /// An operation was refused for want of security. As with Apple, the link is secured and the operation runs once more:
    /// with the bond where there is one, by pairing where the rules allow it. False when neither is possible.
    ///
    /// Core 5.4, Vol 3, Part C, 10.3.2 (Initiating a service request)
    func secure(_ link: Link, for error: GATTClientError, _ operation: SecuredOperation) -> Bool {
        guard configuration.pairing.isAllowed, error.wantsSecurity, link.role == .central, !link.isDisconnecting,
            !operation.isRetry, link.awaitingSecurity.count < Link.awaitingSecurityMaximum
        else { return false }
        // First, because securing may end at once.
        link.awaitingSecurity.append(operation)
        guard makeSecure(link) else {
            link.awaitingSecurity.removeAll { $0.token == operation.token }
            return false
        }
        return true
    }

    private func makeSecure(_ link: Link) -> Bool {
        if link.security.encrypted {
            // Encrypted, and not enough: only another pairing makes more of it.
            return (link.pairing.isPairing || !link.security.authenticated) && pairOnDemand(link)
        }
        guard link.identity.flatMap(bondBook.bondForEncryption) != nil else { return pairOnDemand(link) }
        encrypt(link)
        return true
    }

    /// The link is as secure as it is going to be: what waited for it runs again, and meets what it meets.
    func runAwaitingSecurity(_ link: Link) {
        let waiting = link.awaitingSecurity
        link.awaitingSecurity = []
        for var operation in waiting {
            operation.isRetry = true
            start(operation, on: link)
        }
    }
}

extension GATTClientError {
    fileprivate var wantsSecurity: Bool {
        guard case .refused(let code, _) = self else { return false }
        return [.insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort].contains(code)
    }
}

extension PairingError {
    /// Whether the other side has had a try at what only the right one knows. Giving up here is none.
    var countsAsAttempt: Bool {
        switch self {
        case .refusedByPeer, .peerViolation, .timedOut, .encryptionFailed, .disconnected: true
        case .cancelled, .identityTaken, .notPossibleNow, .channelDead: false
        }
    }
}
