import ATT
import BluetoothCore
import GATT
import HCI
import SecurityManager

// MARK: Security on demand

extension HostCore {
    /// The peripheral wants security: with its bond, or by pairing where the rules let a stranger pair.
    ///
    /// Core 5.4, Vol 3, Part H, 2.4.6 (Peripheral Security Request)
    mutating func securityRequested(_ link: Link, _ authReq: AuthReq) {
        if link.security.encrypted {
            // The key in use will not do for a peripheral that wants protection against a machine in the middle.
            if authReq.contains(.mitm), !link.security.authenticated, admitsRequests(on: link) {
                _ = pairOnDemand(link, atLeast: SecurityNeed(level: 3))
            }
            return
        }
        guard link.identity.flatMap(bondBook.bondForEncryption) == nil else { return encrypt(link) }
        if !admitsRequests(on: link) || !pairOnDemand(link) { encrypt(link) }
    }

    /// Whether a peripheral that asks for security by itself is paired with.
    private func admitsRequests(on link: Link) -> Bool {
        configuration.pairing.admission != .asNeeded || agent != nil || link.client.isAwaitingSecurity
    }

    /// As central pairs, as peripheral asks the central to.
    private mutating func pairOnDemand(
        _ link: Link, atLeast need: SecurityNeed = SecurityNeed(), renewable: Set<BondID> = [], asksConsent: Bool = true
    ) -> Bool {
        guard !link.pairing.isDead, !link.isDisconnecting else { return false }
        guard !link.pairing.isPairing else { return true }
        guard pairingDoor.waits(claimant(link), at: now) == nil, isPossible(need) else { return false }
        guard link.role == .central else { return awaitCentral(link, level: need.level) }
        guard
            let parameters = negotiatedParameters(
                for: link, atLeast: need, renewable: renewable, asksConsent: asksConsent)
        else { return false }
        begin(link, parameters, .rules)
        return link.pairing.isPairing
    }

    /// Nobody here can see or type anything: then no pairing gets beyond Just Works, and none is begun for more.
    private func isPossible(_ need: SecurityNeed) -> Bool {
        need.level < 3 || configuration.pairing.offered != nil
            || ![nil, .noInputNoOutput].contains(agent)
    }

    /// As peripheral: asks the central, and waits for it as long as a pairing may take. False when it cannot be asked now.
    mutating func awaitCentral(_ link: Link, level: UInt8) -> Bool {
        guard !link.secured.isAsking else { return true }
        guard requestSecurity(link, level: max(level, configuration.pairing.minimumLevel)) else { return false }
        secure(link, .centralAwaited(until: pairingTimeout))
        return true
    }

    /// Whether a refusal is a reason to make the link secure.
    func wantsSecurity(_ refused: RefusedRequest, on link: Link) -> Bool {
        configuration.pairing.admission != .nobody && link.isClient && link.device == nil && refused.lack != nil
            && !refused.isRetry
    }

    /// Something was refused for want of security. As with Apple, the link is secured and it is asked for once more: with the
    /// bond where there is one, by pairing where the rules allow it. When neither is possible, it has failed.
    ///
    /// Core 5.4, Vol 3, Part C, 10.3.2 (Initiating a service request)
    mutating func refused(_ refused: RefusedRequest, on link: Link) {
        if !link.isDisconnecting, link.client.hasRoomToAwaitSecurity, let lack = refused.lack,
            makeSecure(link, for: lack)
        {
            return link.client.awaitSecurity(refused)
        }
        switch refused {
        case .operation(let operation, let error): ended(operation, .failure(error), on: link)
        case .channel(let number, _, let result): channelEnded(number, ChannelEnd(result), on: link)
        }
    }

    private mutating func makeSecure(_ link: Link, for lack: SecurityLack) -> Bool {
        // What comes of it is as much as there will be.
        if link.pairing.isPairing { return true }
        if link.security.encrypted {
            // Encrypted, and not enough: only another pairing makes more of it.
            guard let need = SecurityNeed(beyond: link.security, lack) else { return false }
            return pairOnDemand(link, atLeast: need)
        }
        guard link.role == .central, link.identity.flatMap(bondBook.bondForEncryption) != nil else {
            return pairOnDemand(link)
        }
        // The user is being asked about its bond.
        if !link.secured.isAsking { encrypt(link) }
        return true
    }

    /// The link is as secure as it is going to be: what waited for it runs again, and meets what it meets.
    mutating func runAwaitingSecurity(_ link: Link) {
        secure(link, .settled)
        for waiting in link.client.takeAwaitingSecurity() {
            switch waiting {
            case .operation(let operation, _): start(operation, on: link)
            case .channel(let number, let owner, _): openAgain(number, owner, on: link)
            }
        }
    }
}

// MARK: A peer that has lost its bond

extension HostCore {
    /// A bonded peer does not know the key of its bond any more, or is somebody else under its address. Nobody can tell, so
    /// that nothing replaces the bond without a user's word: the user is asked if something waits for the link to be secure,
    /// and the rules let bonds be renewed at all. False when nobody is.
    ///
    /// Core 5.4, Vol 3, Part C, 10.3.2 (Initiating a service request)
    mutating func askForRenewal(_ link: Link) -> Bool {
        guard link.role == .central, link.client.isAwaitingSecurity, configuration.pairing.renewsBonds,
            agent != nil, !unnamedBonds(of: link).isEmpty, !link.pairing.isDead, !link.isDisconnecting
        else { return false }
        secure(link, .userAsked(until: pairingTimeout))
        announce(.consentRequested(nil), of: link)
        return true
    }

    mutating func answerRenewal(_ link: Link, _ answer: PairingAnswer) {
        secure(link, .settled)
        // The user has just been asked about this very pairing.
        guard case .consent(true) = answer,
            pairOnDemand(link, renewable: unnamedBonds(of: link), asksConsent: false)
        else {
            return runAwaitingSecurity(link)
        }
    }

    /// As peripheral: the central answers our wish for encryption with a Pairing Request, which says that it has no key for
    /// it. Apps hear that; whether it may pair is another question.
    mutating func bondLostByCentral(_ link: Link) {
        guard link.secured.isCentralAsked, !link.isProven, link.bond != nil else { return }
        secure(link, .overtaken)
        tellSecurity(link, .encryptionFailed(.pinOrKeyMissing))
        tellings.append(.settleSecurity(link.id, .encryptionFailed(.pinOrKeyMissing)))
    }

    /// As long as a pairing may take.
    private var pairingTimeout: Instant { now.advanced(byMilliseconds: PairingMachine.timeoutMilliseconds) }

    func isSecurityAwaited(on link: Link) -> Bool { link.pairing.isPairing || link.secured.isAsking }
}

/// What a link has to be worth.
struct SecurityNeed: Equatable {
    /// Of LE security mode 1.
    var level: UInt8 = 2
    var keyOctets: UInt8 = LegacyPairing.keyOctetsMinimum
}

extension SecurityNeed {
    /// What an encrypted link has to be worth that lacks something; nil where no pairing makes more of it.
    ///
    /// Core 5.4, Vol 3, Part C, 10.3.1 (Responding to a service request), Table 10.2
    init?(beyond security: LinkSecurity, _ lack: SecurityLack) {
        switch lack {
        case .keySize where security.keySize < PairingPolicy.keyOctets:
            self.init(level: security.authenticated ? 3 : 2, keyOctets: PairingPolicy.keyOctets)
        case .authentication where !security.authenticated: self.init(level: 3)
        case .authentication where !security.secureConnections: self.init(level: 4)
        case .keySize, .authentication, .encryption: return nil
        }
    }
}
