import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import SecurityManager

// MARK: Encryption

extension HostCore {
    mutating func encrypt(_ peer: PeerIdentifier) {
        guard let link = links.client(of: peer) else { return }
        switch link.role {
        case .central:
            if let identity = link.identity { tellGAP(.proofAsked(of: identity.address)) }
            encrypt(link)
        case .peripheral:
            guard !link.security.encrypted else { return }
            if !awaitCentral(link, level: 0) { tellSecurity(link, .pairing(.notPossibleNow)) }
        }
    }

    mutating func encrypt(_ link: Link) {
        // A pairing encrypts by itself, with its own key; the old one in between would end it.
        guard link.role == .central, !link.security.encrypted, !link.secured.isEncrypting, !link.pairing.isPairing
        else { return }
        guard let identity = link.identity, let bond = bondBook.bondForEncryption(with: identity) else {
            return securityChanged(link, .notBonded)
        }
        secure(link, .encrypt(bond.id))
        link.contest.handle(.proofAsked)
        tell(.encrypting(link.id, bond.id))
        submitEncryption(link, bond.ltk, rand: bond.rand, ediv: bond.ediv)
    }

    /// With the key of the pairing that is under way: EDIV and Rand are 0 for LE Secure Connections.
    ///
    /// Core 5.4, Vol 3, Part H, 2.4.4.1 (Encryption setup using LTK)
    mutating func startEncryption(_ link: Link, _ ltk: Secret) { submitEncryption(link, ltk, rand: 0, ediv: 0) }

    private mutating func submitEncryption(_ link: Link, _ ltk: Secret, rand: UInt64, ediv: UInt16) {
        let command = HCILEEnableEncryption(
            handle: link.handle, randomNumber: rand, encryptedDiversifier: ediv, longTermKey: HCIKey(ltk))
        submit(command, for: .link(link.id, .enableEncryption))
    }

    /// As peripheral: the peer encrypts, and its controller has asked ours, which asks for the key.
    ///
    /// Core 5.4, Vol 4, Part E, 7.7.65.5 (LE Long Term Key Request event)
    mutating func longTermKeyRequested(_ link: Link, _ event: HCILELongTermKeyRequest) {
        if let ltk = link.pairing.longTermKey, event.randomNumber == 0, event.encryptedDiversifier == 0 {
            secure(link, .keyRequested(nil))
            tell(.keyRequested(link.id, isKnown: true))
            return replyLongTermKey(link, ltk)
        }
        guard let identity = link.identity, let bond = bondBook.bondForEncryption(with: identity),
            bond.rand == event.randomNumber, bond.ediv == event.encryptedDiversifier
        else {
            secure(link, .keyRequested(nil))
            tell(.keyRequested(link.id, isKnown: false))
            return submit(
                HCILELongTermKeyRequestNegativeReply(handle: link.handle), for: .link(link.id, .longTermKeyReply))
        }
        secure(link, .keyRequested(bond.id))
        tell(.keyRequested(link.id, isKnown: true))
        replyLongTermKey(link, bond.ltk)
    }

    private mutating func replyLongTermKey(_ link: Link, _ ltk: Secret) {
        submit(
            HCILELongTermKeyRequestReply(handle: link.handle, longTermKey: HCIKey(ltk)),
            for: .link(link.id, .longTermKeyReply))
    }

    mutating func encryptionChanged(_ link: Link, _ status: HCIErrorCode, isOn: Bool) {
        let isPairing = link.pairing.isPairing
        tell(.encryption(link.id, status, isPairing: isPairing && !link.secured.isEncrypting))
        guard status == .success, isOn else { return secure(link, .encryptionFailed, status) }
        secure(link, .encryptionOn(pairing: isPairing ? worth(of: link.pairing, bonded: link.security.bonded) : nil))
    }

    /// What the key of a pairing is worth until the pairing is complete.
    private func worth(of pairing: PairingMachine, bonded: Bool) -> LinkSecurity {
        let strength = pairing.strength
        return LinkSecurity(
            encrypted: true, secureConnections: strength?.isSecureConnections ?? false,
            keySize: strength?.keyOctets ?? 0, bonded: bonded)
    }

    /// One event of a link's security, and what follows from it. `status`: why encryption failed.
    mutating func secure(
        _ link: Link, _ event: LinkSecurityMachine.Event, _ status: HCIErrorCode = .unspecifiedError
    ) {
        var outputs: [LinkSecurityMachine.Output] = []
        link.secured.handle(event, now: now, into: &outputs)
        for output in outputs {
            switch output {
            case .encryptedWith(let key): encrypted(link, with: key)
            case .encryptedWithPairing: work.append(.pairing(link.id, .encryptionChanged(enabled: true)))
            case .pairingNotEncrypted: work.append(.pairing(link.id, .encryptionChanged(enabled: false)))
            case .fault: noteFault()
            case .disconnect: disconnect(link, reason: .authenticationFailure)
            case .keyLost(let key): bondBook.encryptionLost(key)
            case .notEncrypted: work.append(.notEncrypted(link.id, status))
            case .centralSilent, .userSilent: silent(link, output)
            case .proofOverdue: work.append(.proofOverdue(link.id))
            }
        }
    }

    private mutating func encrypted(_ link: Link, with key: BondID) {
        // The bond may have been deleted while the controllers were at it.
        guard let bond = bondBook.bond(key) else { return disconnect(link, reason: .authenticationFailure) }
        work.append(.proved(link.id, bond))
    }

    /// Neither the user nor the central has answered.
    private mutating func silent(_ link: Link, _ output: LinkSecurityMachine.Output) {
        // A pairing that has begun since has a timer of its own.
        guard !link.pairing.isPairing else { return }
        if output == .centralSilent { tellSecurity(link, .pairing(.timedOut)) }
        tellings.append(.settleSecurity(link.id, .pairing(.timedOut)))
    }

    /// The peer has shown that it has a bond's key. A bond with a credential waits for the word of whoever gave it.
    mutating func provedByEncryption(_ link: Link, _ bond: Bond) {
        if bond.credential == nil { promoteBond(bond.id) }
        proved(link, bond)
    }

    /// The link is encrypted with a bond's key: the peer is who it says.
    mutating func proved(_ link: Link, _ bond: Bond) {
        secure(
            link,
            .proved(
                bond.id,
                LinkSecurity(
                    encrypted: true, authenticated: bond.isAuthenticated, secureConnections: bond.secureConnections,
                    keySize: bond.keySize, bonded: true, authorized: false)))
        if link.role == .central, let identity = link.identity {
            tellGAP(.proven(peer: identity.address, at: link.address))
        }
        controller.acl?.setStanding(.proven, of: link.handle)
        identify(link, bond.id, proven: true)
        keepProvenSubscriptions(of: link)
        announceToObservers(.linkChanged(link.info, isUp: true))
        serve(link)
        securityChanged(link, nil)
        deliverQueuedUpdates(to: link)
        checkDatabaseHash(link)
        readName(of: link)
        // Core 5.4, Vol 4, Part E, 7.8.18 (LE Connection Update command)
        linkLayer(link, .proven(supervisionTimeout: configuration.supervisionTimeout))
    }

    mutating func securityChanged(_ link: Link, _ error: HostError?) {
        secure(link, .settled)
        tellSecurity(link, error)
        tellings.append(.settleSecurity(link.id, error))
    }

    /// Apps have heard that a link is secure, or that it did not become so. What waited for it runs again, unless they pair
    /// or ask the central in turn: what comes of that is known when it ends.
    mutating func settleSecurity(_ id: LinkID, _ error: HostError?) {
        guard let link = links[id] else { return }
        if error != nil, isSecurityAwaited(on: link) { return }
        if error == .encryptionFailed(.pinOrKeyMissing), askForRenewal(link) { return }
        runAwaitingSecurity(link)
    }

    mutating func tellSecurity(_ link: Link, _ error: HostError?) {
        if link.role == .peripheral { announce(.securityChanged(link.info, error)) }
        announce(.securityChanged(link.info, error), toClientsOf: link)
    }
}

extension HCIKey {
    /// A Secret's first octet is the most significant, as the number's.
    init(_ secret: Secret) { self.init(bits: secret.withBytes { $0.reduce(0) { $0 << 8 | UInt128($1) } }) }
}
