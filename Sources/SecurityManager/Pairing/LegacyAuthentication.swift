import BluetoothCore
import BluetoothCrypto

// Phase 2 as it was before LE Secure Connections, for policies that allow it.
//
// Core 5.4, Vol 3, Part H, 2.3.5.5 (LE legacy pairing phase 2)

extension PairingMachine {
    mutating func beginLegacy(_ agreed: AgreedFeatures, _ turn: inout PairingTurn) {
        switch agreed.method {
        case .passkeyDisplay:
            turn.output(.displayPasskey(agreed.material.passkey))
            commit(to: TemporaryKey(agreed, passkey: agreed.material.passkey), &turn)
        case .passkeyInput:
            turn.output(.requestPasskey)
            state = .awaitingTemporaryKey(agreed, peerConfirm: nil)
        case .outOfBand:
            let key = agreed.parameters.policy.legacy?.temporaryKey.flatMap { TemporaryKey(agreed, $0) }
            guard let key else { return reject(.oobNotAvailable, &turn) }
            commit(to: key, &turn)
        // Legacy pairing compares nothing: ``AssociationModel/selected(request:response:)`` never says so.
        case .justWorks, .numericComparison: commit(to: TemporaryKey(agreed, passkey: 0), &turn)
        }
    }

    mutating func temporaryKeyEntered(
        _ passkey: UInt32, _ agreed: AgreedFeatures, _ peerConfirm: UInt128?, _ turn: inout PairingTurn
    ) {
        let key = TemporaryKey(agreed, passkey: passkey)
        commit(to: key, &turn)
        if let peerConfirm { legacyConfirm(peerConfirm, key, &turn) }
    }

    private mutating func commit(to key: TemporaryKey, _ turn: inout PairingTurn) {
        if role == .initiator { send(.pairingConfirm(confirmValue(of: key.agreed.material.nonces[0], key)), &turn) }
        state = .awaitingLegacyConfirm(key)
    }

    mutating func legacyConfirm(_ value: UInt128, _ key: TemporaryKey, _ turn: inout PairingTurn) {
        let random = key.agreed.material.nonces[0]
        let own = confirmValue(of: random, key)
        // Both sides' values are made alike: what comes back as it went is a reflection.
        guard !ConstantTime.equal(value, own) else { return reject(.confirmValueFailed, &turn) }
        send(role == .initiator ? .pairingRandom(random) : .pairingConfirm(own), &turn)
        state = .awaitingLegacyRandom(key, peerConfirm: value)
    }

    mutating func legacyRandom(
        _ value: UInt128, _ key: TemporaryKey, _ peerConfirm: UInt128, _ turn: inout PairingTurn
    ) {
        guard ConstantTime.equal(confirmValue(of: value, key), peerConfirm) else {
            return reject(.confirmValueFailed, &turn)
        }
        let own = key.agreed.material.nonces[0]
        let isInitiator = role == .initiator
        let shortTermKey = LegacyToolbox.s1(tk: key.key, r1: isInitiator ? value : own, r2: isInitiator ? own : value)
            .shortened(to: key.agreed.keyOctets)
        state = .awaitingEncryption(key.agreed, key: shortTermKey)
        if isInitiator { turn.output(.startEncryption(ltk: shortTermKey)) } else { send(.pairingRandom(own), &turn) }
    }

    /// Core 5.4, Vol 3, Part H, 2.2.3 (c1)
    private func confirmValue(of random: UInt128, _ key: TemporaryKey) -> UInt128 {
        let isInitiator = role == .initiator
        return LegacyToolbox.c1(
            tk: key.key, random: random, request: SMPPDU.pairingRequest(key.agreed.request).encoded,
            response: SMPPDU.pairingResponse(key.agreed.response).encoded,
            initiator: isInitiator ? localAddress : peerAddress, responder: isInitiator ? peerAddress : localAddress)
    }
}

extension TemporaryKey {
    /// The passkey as a number; 0 for Just Works.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.5.3 (LE legacy pairing – Passkey Entry)
    fileprivate init(_ agreed: AgreedFeatures, passkey: UInt32) {
        self.init(agreed: agreed, key: AES128(key: Secret(UInt128(passkey))))
    }

    /// nil unless the key is of 16 octets.
    fileprivate init?(_ agreed: AgreedFeatures, _ temporaryKey: Secret) {
        guard temporaryKey.count == PairingPolicy.keyOctets else { return nil }
        self.init(agreed: agreed, key: AES128(key: temporaryKey))
    }
}
