import BluetoothCore
import BluetoothCrypto

// Phase 2: public keys, authentication stages 1 and 2.
//
// Core 5.4, Vol 3, Part H, 2.3.5.6 (LE Secure Connections pairing phase 2)

extension PairingMachine {
    /// Core 5.4, Vol 3, Part H, 2.3.5.6.1 (Public key exchange)
    mutating func publicKey(_ wire: [UInt8], _ agreed: AgreedFeatures, _ turn: inout PairingTurn) {
        let keyPair = agreed.material.keyPair
        guard let peer = P256PublicKey(wire: wire), peer.x != keyPair.publicKey.x,
            agreed.parameters.policy.allowsDebugKey || !peer.isDebugKey
        else { return reject(.invalidParameters, &turn) }
        if case .outOfBand(_, let received?) = agreed.method {
            let commitment = Toolbox.f4(u: peer.x, v: peer.x, x: received.random, z: 0)
            guard ConstantTime.equal(commitment, received.confirm) else { return reject(.confirmValueFailed, &turn) }
        }
        let keys = PublicKeys(agreed: agreed, peer: peer, dhKey: keyPair.sharedSecret(with: peer))
        if role == .responder { send(.pairingPublicKey(keyPair.publicKey.wire), &turn) }
        beginStage1(keys, &turn)
    }

    // MARK: Authentication stage 1

    private mutating func beginStage1(_ keys: PublicKeys, _ turn: inout PairingTurn) {
        switch keys.agreed.method {
        case .justWorks, .numericComparison:
            // Core 5.4, Vol 3, Part H, 2.3.5.6.2: the responder commits first.
            if role == .initiator {
                state = .awaitingConfirm(keys, .comparison)
            } else {
                sendConfirm(keys, .comparison, &turn)
                state = .awaitingRandom(keys, .comparison, peerConfirm: nil)
            }
        case .outOfBand:
            // Core 5.4, Vol 3, Part H, 2.3.5.6.4: the commitments went another way.
            if role == .initiator { sendNonce(keys, .outOfBand, &turn) }
            state = .awaitingRandom(keys, .outOfBand, peerConfirm: nil)
        case .passkeyDisplay:
            turn.output(.displayPasskey(keys.material.passkey))
            beginRound(keys, .passkey(keys.material.passkey, round: 0), &turn)
        case .passkeyInput:
            turn.output(.requestPasskey)
            state = .awaitingPasskey(keys, peerConfirm: nil)
        }
    }

    mutating func passkeyEntered(_ passkey: UInt32, _ turn: inout PairingTurn) {
        switch state {
        case .awaitingPasskey, .awaitingTemporaryKey: break
        default: return
        }
        guard passkey < Passkey.limit else {
            return fail(.cancelled(.passkeyEntryFailed), telling: .passkeyEntryFailed, &turn)
        }
        if case .awaitingTemporaryKey(let agreed, let peerConfirm) = state {
            return temporaryKeyEntered(passkey, agreed, peerConfirm, &turn)
        }
        guard case .awaitingPasskey(let keys, let peerConfirm) = state else { return }
        let stage = Stage1.passkey(passkey, round: 0)
        beginRound(keys, stage, &turn)
        if let peerConfirm { confirm(peerConfirm, keys, stage, &turn) }
    }

    /// Core 5.4, Vol 3, Part H, 2.3.5.6.3 (Authentication stage 1 – Passkey Entry)
    private mutating func beginRound(_ keys: PublicKeys, _ stage: Stage1, _ turn: inout PairingTurn) {
        if role == .initiator { sendConfirm(keys, stage, &turn) }
        state = .awaitingConfirm(keys, stage)
    }

    mutating func confirm(_ value: UInt128, _ keys: PublicKeys, _ stage: Stage1, _ turn: inout PairingTurn) {
        if role == .initiator { sendNonce(keys, stage, &turn) } else { sendConfirm(keys, stage, &turn) }
        state = .awaitingRandom(keys, stage, peerConfirm: value)
    }

    mutating func random(
        _ nonce: UInt128, _ keys: PublicKeys, _ stage: Stage1, _ peerConfirm: UInt128?, _ turn: inout PairingTurn
    ) {
        if let peerConfirm {
            let opened = Toolbox.f4(u: keys.peer.x, v: keys.material.keyPair.publicKey.x, x: nonce, z: stage.z)
            guard ConstantTime.equal(opened, peerConfirm) else { return reject(.confirmValueFailed, &turn) }
        }
        if role == .responder { sendNonce(keys, stage, &turn) }
        if case .passkey(let passkey, let round) = stage, round + 1 < Passkey.bits {
            return beginRound(keys, .passkey(passkey, round: round + 1), &turn)
        }
        let stage2 = stage2(keys, stage, peerNonce: nonce)
        guard case .numericComparison = keys.agreed.method else { return beginStage2(stage2, &turn) }
        turn.output(.confirmNumeric(numericValue(keys, peerNonce: nonce)))
        state = .comparing(stage2, peerCheck: nil)
    }

    private mutating func sendConfirm(_ keys: PublicKeys, _ stage: Stage1, _ turn: inout PairingTurn) {
        let value = Toolbox.f4(
            u: keys.material.keyPair.publicKey.x, v: keys.peer.x, x: keys.material.nonces[stage.nonceIndex], z: stage.z)
        send(.pairingConfirm(value), &turn)
    }

    private mutating func sendNonce(_ keys: PublicKeys, _ stage: Stage1, _ turn: inout PairingTurn) {
        send(.pairingRandom(keys.material.nonces[stage.nonceIndex]), &turn)
    }

    /// The six digits to show.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.5.6.2 (Authentication stage 1 – Just Works or Numeric Comparison)
    private func numericValue(_ keys: PublicKeys, peerNonce: UInt128) -> UInt32 {
        let (local, peer) = (keys.material.keyPair.publicKey.x, keys.peer.x)
        let nonce = keys.material.nonces[0]
        let value =
            role == .initiator
            ? Toolbox.g2(u: local, v: peer, x: nonce, y: peerNonce)
            : Toolbox.g2(u: peer, v: local, x: peerNonce, y: nonce)
        return value % Passkey.limit
    }

    mutating func numericCompared(_ equal: Bool, _ turn: inout PairingTurn) {
        guard case .comparing(let stage, let peerCheck) = state else { return }
        guard equal else {
            return fail(.cancelled(.numericComparisonFailed), telling: .numericComparisonFailed, &turn)
        }
        beginStage2(stage, &turn)
        if let peerCheck { check(peerCheck, stage, &turn) }
    }

    // MARK: Authentication stage 2

    /// Core 5.4, Vol 3, Part H, 2.3.5.6.5 (Authentication stage 2 and long term key calculation)
    private func stage2(_ keys: PublicKeys, _ stage: Stage1, peerNonce: UInt128) -> Stage2 {
        let localNonce = keys.material.nonces[stage.nonceIndex]
        let isInitiator = role == .initiator
        let session = Toolbox.f5(
            dhKey: keys.dhKey, n1: isInitiator ? localNonce : peerNonce, n2: isInitiator ? peerNonce : localNonce,
            a1: isInitiator ? localAddress : peerAddress, a2: isInitiator ? peerAddress : localAddress)
        let agreed = keys.agreed
        let peerRole: PairingRole = isInitiator ? .responder : .initiator
        let (localR, peerR) = stage.checkValues(agreed, peer: peerRole)
        return Stage2(
            agreed: agreed, ltk: session.ltk.shortened(to: agreed.keyOctets),
            localCheck: Toolbox.f6(
                macKey: session.macKey, n1: localNonce, n2: peerNonce, r: localR,
                ioCapability: agreed.features(of: role).ioCapabilityForCheck, a1: localAddress, a2: peerAddress),
            peerCheck: Toolbox.f6(
                macKey: session.macKey, n1: peerNonce, n2: localNonce, r: peerR,
                ioCapability: agreed.features(of: peerRole).ioCapabilityForCheck, a1: peerAddress, a2: localAddress))
    }

    private mutating func beginStage2(_ stage: Stage2, _ turn: inout PairingTurn) {
        state = .awaitingCheck(stage)
        if role == .initiator { send(.pairingDHKeyCheck(stage.localCheck), &turn) }
    }

    mutating func check(_ value: UInt128, _ stage: Stage2, _ turn: inout PairingTurn) {
        guard ConstantTime.equal(value, stage.peerCheck) else { return reject(.dhKeyCheckFailed, &turn) }
        state = .awaitingEncryption(stage.agreed, key: stage.ltk)
        switch role {
        case .initiator: turn.output(.startEncryption(ltk: stage.ltk))
        case .responder: send(.pairingDHKeyCheck(stage.localCheck), &turn)
        }
    }
}

extension Stage1 {
    /// The `r` of this side's check and of the peer's. Out of band, each side's check carries what it received of the
    /// other, and 0 when it received nothing.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.5.6.4 (Authentication stage 1 – Out of Band), 2.3.5.6.5
    fileprivate func checkValues(_ agreed: AgreedFeatures, peer: PairingRole) -> (local: Secret, peer: Secret) {
        let zero = Secret(UInt128(0))
        switch self {
        case .comparison: return (zero, zero)
        case .passkey(let passkey, _):
            let value = Secret(UInt128(passkey))
            return (value, value)
        case .outOfBand:
            guard case .outOfBand(let offered, let received) = agreed.method else { return (zero, zero) }
            let peerHasOurs = agreed.features(of: peer).oobDataFlag == 1
            return (received?.random ?? zero, peerHasOurs ? offered?.random ?? zero : zero)
        }
    }
}
