import BluetoothCore
import BluetoothCrypto

/// Where a pairing stands; each case owns what is known then.
enum PairingState {
    /// Responder: a Pairing Request is refused with this. Initiator: nothing is under way.
    case idle(refusing: PairingFailedReason)
    /// Responder: the next Pairing Request is taken.
    case armed(PairingParameters)
    /// Initiator: Pairing Request sent.
    case awaitingResponse(PairingParameters, request: PairingFeatures)
    /// Responder: the user says whether this peer may pair at all.
    case awaitingConsent(AgreedFeatures)
    case awaitingPublicKey(AgreedFeatures)
    /// The local user has a passkey to type; an initiator that has it already may have sent its first confirm value.
    case awaitingPasskey(PublicKeys, peerConfirm: UInt128?)
    case awaitingConfirm(PublicKeys, Stage1)
    /// `peerConfirm` is nil where the peer commits to nothing before its nonce.
    case awaitingRandom(PublicKeys, Stage1, peerConfirm: UInt128?)
    /// The local user compares numbers; the peer's may have been quicker.
    case comparing(Stage2, peerCheck: UInt128?)
    case awaitingCheck(Stage2)
    /// Legacy: the local user has the temporary key to type; see ``awaitingPasskey(_:peerConfirm:)``.
    case awaitingTemporaryKey(AgreedFeatures, peerConfirm: UInt128?)
    case awaitingLegacyConfirm(TemporaryKey)
    case awaitingLegacyRandom(TemporaryKey, peerConfirm: UInt128)
    /// Both sides have the key to encrypt with: the LTK, or legacy pairing's short term key.
    case awaitingEncryption(AgreedFeatures, key: Secret)
    case receivingKeys(ReceivedKeys)
    /// Timed out, or the link is gone.
    ///
    /// Core 5.4, Vol 3, Part H, 3.4 (SMP timeout)
    case dead
}

/// What the exchange of features settled.
struct AgreedFeatures {
    var parameters: PairingParameters
    var request: PairingFeatures
    var response: PairingFeatures
    /// The one that this pairing uses.
    var method: PairingMethod
    var isSecureConnections: Bool
    /// The smaller of both sides' maximum encryption key sizes.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.4 (Encryption key size)
    var keyOctets: UInt8

    var material: PairingMaterial { parameters.material }

    func features(of role: PairingRole) -> PairingFeatures { role == .initiator ? request : response }

    /// What each side distributes. The response has the last word. A long term key is legacy pairing's alone, and here
    /// only the responder's: a bond serves the roles that it was made in.
    func keys(from role: PairingRole) -> KeyDistribution {
        let keys = role == .initiator ? response.initiatorKeyDistribution : response.responderKeyDistribution
        return keys.intersection(isSecureConnections || role == .initiator ? [.idKey, .signKey] : .legacy)
    }

    var strength: BondStrength {
        BondStrength(
            isAuthenticated: method.model.isAuthenticated, isSecureConnections: isSecureConnections,
            keyOctets: keyOctets)
    }
}

/// Legacy pairing's key for its confirm values.
///
/// Core 5.4, Vol 3, Part H, 2.3.5.2 to 2.3.5.4 (LE legacy pairing)
struct TemporaryKey {
    var agreed: AgreedFeatures
    var key: AES128

    /// The peer's user may still be typing.
    var keypresses: Set<SMPOpcode> {
        agreed.method.model == .passkeyEntry ? [.pairingKeypressNotification] : []
    }
}

/// Both public keys, and what they make together.
struct PublicKeys {
    var agreed: AgreedFeatures
    var peer: P256PublicKey
    var dhKey: Secret

    var material: PairingMaterial { agreed.material }
}

/// Authentication stage 1, by model.
enum Stage1 {
    case comparison
    case outOfBand
    /// `round` counts from 0.
    case passkey(UInt32, round: Int)

    /// The index of the nonce of this round.
    var nonceIndex: Int {
        if case .passkey(_, let round) = self { round } else { 0 }
    }

    /// The peer's user may still be typing.
    var keypresses: Set<SMPOpcode> {
        if case .passkey = self { [.pairingKeypressNotification] } else { [] }
    }

    /// The last argument of f4: the passkey's bit of this round, with the highest bit set.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.5.6.3 (Authentication stage 1 – Passkey Entry)
    var z: UInt8 {
        guard case .passkey(let passkey, let round) = self else { return 0 }
        return 0x80 | UInt8(truncatingIfNeeded: passkey >> UInt32(round) & 1)
    }
}

/// Authentication stage 2: the long term key, and the values that prove that both sides have it.
struct Stage2 {
    var agreed: AgreedFeatures
    var ltk: Secret
    var localCheck: UInt128
    var peerCheck: UInt128
}

/// What the peer has distributed so far, and what is still owed, in the one order that is allowed.
struct ReceivedKeys {
    var agreed: AgreedFeatures
    /// Legacy: a responder's own; an initiator's comes from the peer.
    var ltk: Secret
    var ediv: UInt16 = 0
    var rand: UInt64 = 0
    var owed: ArraySlice<SMPOpcode>
    var irk: Secret?
    var identity: IdentityAddress?
    var csrk: Secret?

    /// Core 5.4, Vol 3, Part H, 3.6.1 (Key distribution and generation)
    init(agreed: AgreedFeatures, ltk: Secret, from peer: PairingRole) {
        self.agreed = agreed
        self.ltk = ltk
        let keys = agreed.keys(from: peer)
        owed = []
        if keys.contains(.encKey) { owed += [.encryptionInformation, .centralIdentification] }
        if keys.contains(.idKey) { owed += [.identityInformation, .identityAddressInformation] }
        if keys.contains(.signKey) { owed.append(.signingInformation) }
    }
}
