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
    case awaitingPublicKey(AgreedFeatures)
    /// The local user has a passkey to type; an initiator that has it already may have sent its first confirm value.
    case awaitingPasskey(PublicKeys, peerConfirm: UInt128?)
    case awaitingConfirm(PublicKeys, Stage1)
    /// `peerConfirm` is nil where the peer commits to nothing before its nonce.
    case awaitingRandom(PublicKeys, Stage1, peerConfirm: UInt128?)
    /// The local user compares numbers; the peer's may have been quicker.
    case comparing(Stage2, peerCheck: UInt128?)
    case awaitingCheck(Stage2)
    /// Both sides have the LTK.
    case awaitingEncryption(AgreedFeatures, ltk: Secret)
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

    var method: PairingMethod { parameters.policy.method }

    func features(of role: PairingRole) -> PairingFeatures { role == .initiator ? request : response }

    /// What each side distributes. The response has the last word.
    func keys(from role: PairingRole) -> KeyDistribution {
        let keys = role == .initiator ? response.initiatorKeyDistribution : response.responderKeyDistribution
        return keys.intersection([.idKey, .signKey])
    }
}

/// Both public keys, and what they make together.
struct PublicKeys {
    var agreed: AgreedFeatures
    var peer: P256PublicKey
    var dhKey: Secret

    var material: PairingMaterial { agreed.parameters.material }
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
    var ltk: Secret
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
        if keys.contains(.idKey) { owed += [.identityInformation, .identityAddressInformation] }
        if keys.contains(.signKey) { owed.append(.signingInformation) }
    }
}
