import BluetoothCore
import GATT
import SecurityManager

/// How secure one link is, and what is being done about that.
///
/// - In: what this side wants, and what the controllers and the peer make of it.
/// - Out: what follows, in order.
/// - Owner: the link. It knows no bond and no key: what they are worth comes with the events. Whether a pairing is under way is
///   the ``SecurityManager/PairingMachine``'s to know.
///
/// An encrypted link never goes back to being an open one, and nobody is proven but by a bond's key.
///
/// Core 5.4, Vol 3, Part C, 10.2 (LE security modes); Vol 4, Part E, 7.7.8 (Encryption Change event)
struct LinkSecurityMachine: Equatable {
    enum State: Equatable {
        /// In clear. An address may name a bonded peer, which anybody can use. `proofUntil`: when an app waits for that peer, the
        /// central has until then to show that it is the one.
        case open(Pursuit, proofUntil: Instant?)
        /// Encrypted with the key of a pairing that is not complete. Nobody has proved anything.
        case keyed(LinkSecurity, Pursuit, proofUntil: Instant?)
        /// Encrypted with a bond's key: the peer is who it says.
        case proven(LinkSecurity, Pursuit)
    }

    /// What is being done to make the link more secure, beside a pairing.
    enum Pursuit: Equatable {
        case none
        /// As peripheral: the central has a Security Request, and has not answered. `until`: how long somebody waits for it.
        case askingCentral(until: Instant?)
        /// As central: the peer has lost its bond, and the user is asked whether it may pair again.
        case askingUser(until: Instant)
        /// The controller has this bond's key: the peer has it too when the controller says that encryption is on.
        case encrypting(BondID)
    }

    enum Event {
        /// This side encrypts, with a bond's key.
        case encrypt(BondID)
        /// The controller asks for a key: this bond's, or one that is no bond's.
        case keyRequested(BondID?)
        /// Encryption is on. `pairing`: what the key of a pairing under way is worth.
        case encryptionOn(pairing: LinkSecurity?)
        case encryptionFailed
        /// Encryption is on with a bond's key, which is worth this; or a pairing is complete.
        case proved(BondID, LinkSecurity)
        /// A Security Request goes out.
        case centralAsked
        /// Somebody waits for what comes of it, or for the user's word.
        case centralAwaited(until: Instant)
        case userAsked(until: Instant)
        case proofAsked(until: Instant)
        /// The central is somebody's connection, and has nothing to prove any more; or has had its time.
        case proofNotAsked
        /// A Pairing Request has come, or goes out: what was asked is overtaken.
        case overtaken
        /// Nobody waits any more.
        case settled
        case timerFired
        case linkClosed
    }

    enum Output: Equatable {
        /// Encryption is on, with this bond's key.
        case encryptedWith(BondID)
        case encryptedWithPairing
        /// Encryption is on with a key that nobody here gave.
        case fault
        /// The link is not what it was, or cannot be trusted.
        case disconnect
        /// Of two bonds the peer may have kept the other one.
        case keyLost(BondID)
        case pairingNotEncrypted
        /// The link stays as insecure as it is.
        case notEncrypted
        case centralSilent
        case userSilent
        case proofOverdue
    }

    private(set) var state: State
    /// The bond that the peer's address names; once the peer is proven, the one that it is encrypted with.
    private(set) var bond: BondID?

    init(named bond: BondID?) {
        self.bond = bond
        state = .open(.none, proofUntil: nil)
    }

    var security: LinkSecurity {
        switch state {
        case .open: bond == nil ? .open : .named
        case .keyed(let security, _, _), .proven(let security, _): security
        }
    }

    var isProven: Bool {
        switch state {
        case .open, .keyed: false
        case .proven: true
        }
    }

    var isEncrypting: Bool { if case .encrypting = pursuit { true } else { false } }

    /// Whether it is known when what is being asked has its answer, at the latest.
    var isAsking: Bool { askedUntil != nil }

    var isAskingUser: Bool { if case .askingUser = pursuit { true } else { false } }

    /// Whether the central has a Security Request that it has not answered.
    var isCentralAsked: Bool { if case .askingCentral = pursuit { true } else { false } }

    var isProofAsked: Bool { proofUntil != nil }

    var deadline: Instant? { Instant.earliest(askedUntil, proofUntil) }

    mutating func handle(_ event: Event, now: Instant, into outputs: inout [Output]) {
        switch event {
        case .encrypt(let bond): pursue(.encrypting(bond))
        case .keyRequested(let bond):
            if let bond { pursue(.encrypting(bond)) } else if isEncrypting { pursue(.none) }
        case .encryptionOn(let pairing): encryptionOn(pairing, &outputs)
        case .encryptionFailed: encryptionFailed(&outputs)
        case .proved(let bond, let security):
            self.bond = bond
            state = .proven(security, .none)
        case .centralAsked: if !isCentralAsked, !isEncrypting { pursue(.askingCentral(until: nil)) }
        case .centralAwaited(let until): if isCentralAsked { pursue(.askingCentral(until: until)) }
        case .userAsked(let until): pursue(.askingUser(until: until))
        case .proofAsked(let until): setProof(until)
        case .proofNotAsked: setProof(nil)
        case .overtaken: if !isEncrypting { pursue(.none) }
        case .settled: settle()
        case .timerFired: timerFired(now, &outputs)
        case .linkClosed: if case .encrypting(let bond) = pursuit { outputs.append(.keyLost(bond)) }
        }
    }

    private mutating func encryptionOn(_ pairing: LinkSecurity?, _ outputs: inout [Output]) {
        switch (pursuit, state, pairing) {
        case (.encrypting(let bond), _, _):
            pursue(.none)
            outputs.append(.encryptedWith(bond))
        case (_, .open(let pursuit, let proofUntil), let pairing?),
            (_, .keyed(_, let pursuit, let proofUntil), let pairing?):
            state = .keyed(pairing, pursuit, proofUntil: proofUntil)
            outputs.append(.encryptedWithPairing)
        // The pairing makes more of a bond: what its key proved stays proved until it is complete.
        case (_, .proven(_, let pursuit), let pairing?):
            state = .proven(pairing, pursuit)
            outputs.append(.encryptedWithPairing)
        case (_, .open, nil): outputs += [.fault, .disconnect]
        // The controllers have changed the key's session, not the key.
        case (_, .keyed, nil), (_, .proven, nil): break
        }
    }

    private mutating func encryptionFailed(_ outputs: inout [Output]) {
        let was = pursuit
        if isEncrypting { pursue(.none) }
        switch (state, was) {
        case (.keyed, _), (.proven, _): outputs.append(.disconnect)
        case (.open, .encrypting(let bond)): outputs += [.keyLost(bond), .notEncrypted]
        case (.open, _): outputs += [.pairingNotEncrypted, .notEncrypted]
        }
    }

    private mutating func timerFired(_ now: Instant, _ outputs: inout [Output]) {
        if let until = askedUntil, until <= now {
            outputs.append(isAskingUser ? .userSilent : .centralSilent)
            settle()
        }
        if let proofUntil, proofUntil <= now {
            setProof(nil)
            outputs.append(.proofOverdue)
        }
    }

    /// Nobody waits any more. That the central was asked stays true.
    private mutating func settle() {
        switch pursuit {
        case .askingCentral: pursue(.askingCentral(until: nil))
        case .askingUser: pursue(.none)
        case .none, .encrypting: break
        }
    }
}

// MARK: The parts of the state

extension LinkSecurityMachine {
    private var pursuit: Pursuit {
        switch state {
        case .open(let pursuit, _), .keyed(_, let pursuit, _), .proven(_, let pursuit): pursuit
        }
    }

    private var proofUntil: Instant? {
        switch state {
        case .open(_, let proofUntil), .keyed(_, _, let proofUntil): proofUntil
        case .proven: nil
        }
    }

    private var askedUntil: Instant? {
        switch pursuit {
        case .askingCentral(let until): until
        case .askingUser(let until): until
        case .none, .encrypting: nil
        }
    }

    private mutating func pursue(_ pursuit: Pursuit) {
        switch state {
        case .open(_, let proofUntil): state = .open(pursuit, proofUntil: proofUntil)
        case .keyed(let security, _, let proofUntil): state = .keyed(security, pursuit, proofUntil: proofUntil)
        case .proven(let security, _): state = .proven(security, pursuit)
        }
    }

    private mutating func setProof(_ until: Instant?) {
        switch state {
        case .open(let pursuit, _): state = .open(pursuit, proofUntil: until)
        case .keyed(let security, let pursuit, _): state = .keyed(security, pursuit, proofUntil: until)
        case .proven: break
        }
    }
}

extension LinkSecurity {
    /// In clear, with a peer whose address names a bond.
    fileprivate static let named = {
        var security = LinkSecurity.open
        security.bonded = true
        return security
    }()
}
