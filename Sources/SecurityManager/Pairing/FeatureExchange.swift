import BluetoothCore
import BluetoothCrypto

// Phase 1: what both sides can and want.
//
// Core 5.4, Vol 3, Part H, 2.3.5.1 (Selecting key generation method)

extension PairingMachine {
    mutating func begin(_ parameters: PairingParameters, _ turn: inout PairingTurn) {
        switch state {
        case .dead: return turn.output(.failed(.channelDead))
        case .idle where role == .initiator: break
        default: return turn.output(.failed(.notPossibleNow))
        }
        guard isAdmissible(parameters, turn.book) else { return turn.output(.failed(.identityTaken)) }
        let policy = parameters.policy
        let request = PairingFeatures(
            ioCapability: policy.method.ioCapability, oobDataFlag: policy.method.hasReceivedOutOfBandData ? 1 : 0,
            authReq: policy.authReq, initiatorKeyDistribution: policy.localKeys,
            responderKeyDistribution: policy.peerKeys)
        state = .awaitingResponse(parameters, request: request)
        send(.pairingRequest(request), &turn)
    }

    mutating func arm(_ parameters: PairingParameters, _ turn: inout PairingTurn) {
        switch state {
        case .idle where role == .responder, .armed: state = .armed(parameters)
        case .dead: turn.output(.failed(.channelDead))
        default: turn.output(.failed(.notPossibleNow))
        }
    }

    mutating func disarm(refusing reason: PairingFailedReason) {
        switch state {
        case .idle, .armed: state = .idle(refusing: reason)
        case .awaitingResponse, .awaitingPublicKey, .awaitingPasskey, .awaitingConfirm, .awaitingRandom, .comparing,
            .awaitingCheck, .awaitingEncryption, .receivingKeys, .dead:
            break
        }
    }

    /// The timer belongs to pairings: asking for one starts none.
    ///
    /// Core 5.4, Vol 3, Part H, 2.4.6 (Peripheral Security Request)
    mutating func requestSecurity(_ authReq: AuthReq, _ turn: inout PairingTurn) {
        switch state {
        case .idle where role == .responder, .armed: turn.output(.send(SMPPDU.securityRequest(authReq).encoded))
        default: break
        }
    }

    mutating func requested(
        _ request: PairingFeatures, _ parameters: PairingParameters, _ turn: inout PairingTurn
    ) {
        let policy = parameters.policy
        let response = PairingFeatures(
            ioCapability: policy.method.ioCapability, oobDataFlag: policy.method.hasReceivedOutOfBandData ? 1 : 0,
            authReq: policy.authReq,
            initiatorKeyDistribution: policy.peerKeys.intersection(request.initiatorKeyDistribution),
            responderKeyDistribution: policy.localKeys.intersection(request.responderKeyDistribution))
        let agreed = AgreedFeatures(parameters: parameters, request: request, response: response)
        if let reason = refusal(of: request, agreed) { return reject(reason, &turn) }
        guard isAdmissible(parameters, turn.book) else {
            return fail(.identityTaken, telling: .authenticationRequirements, &turn)
        }
        state = .awaitingPublicKey(agreed)
        send(.pairingResponse(response), &turn)
    }

    mutating func responded(_ agreed: AgreedFeatures, _ turn: inout PairingTurn) {
        let (request, response) = (agreed.request, agreed.response)
        let (initiatorKeys, responderKeys) = (
            response.initiatorKeyDistribution.intersection(.defined),
            response.responderKeyDistribution.intersection(.defined)
        )
        guard initiatorKeys.isSubset(of: request.initiatorKeyDistribution),
            responderKeys.isSubset(of: request.responderKeyDistribution)
        else { return reject(.invalidParameters, &turn) }
        if let reason = refusal(of: response, agreed) { return reject(reason, &turn) }
        state = .awaitingPublicKey(agreed)
        send(.pairingPublicKey(agreed.parameters.material.keyPair.publicKey.wire), &turn)
    }

    /// Whether the bonds allow this peer to pair at all, as far as its address tells.
    private func isAdmissible(_ parameters: PairingParameters, _ book: BondBook) -> Bool {
        book.replaceable(by: peerAddress, credential: parameters.credential, securityLevel: parameters.policy.level)
            != nil
    }

    /// Why the peer's features do not do; nil when they do.
    private func refusal(of peer: PairingFeatures, _ agreed: AgreedFeatures) -> PairingFailedReason? {
        guard peer.oobDataFlag <= 1, peer.ioCapability.rawValue <= IOCapability.keyboardDisplay.rawValue,
            7...16 ~= peer.maximumEncryptionKeySize
        else { return .invalidParameters }
        // Bonding_Flags is two bits, of which one value bonds.
        guard peer.authReq.contains(.secureConnections), peer.authReq.rawValue & 0x03 == AuthReq.bonding.rawValue
        else { return .authenticationRequirements }
        guard peer.maximumEncryptionKeySize == PairingPolicy.keyOctets else { return .encryptionKeySize }
        let method = agreed.method
        if case .outOfBand(let offered, let received) = method {
            let peerHasOurs = peer.oobDataFlag == 1
            guard peerHasOurs ? offered != nil : received != nil else { return .oobNotAvailable }
        }
        guard AssociationModel.selected(request: agreed.request, response: agreed.response) == method.model else {
            return .authenticationRequirements
        }
        let keys = agreed.keys(from: role == .initiator ? .responder : .initiator)
        guard agreed.parameters.policy.requiredPeerKeys.isSubset(of: keys),
            keys.contains(.idKey) || peerAddress.isIdentity
        else { return .authenticationRequirements }
        return nil
    }
}

extension PairingPolicy {
    /// The LE security mode 1 level of what it makes.
    var level: UInt8 { method.model.isAuthenticated ? 4 : 2 }
}

extension AssociationModel {
    /// What LE Secure Connections makes of two sets of features.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.5.1 (Selecting key generation method), Tables 2.7 and 2.8
    package static func selected(request: PairingFeatures, response: PairingFeatures) -> Self {
        if request.oobDataFlag == 1 || response.oobDataFlag == 1 { return .outOfBand }
        guard request.authReq.contains(.mitm) || response.authReq.contains(.mitm) else { return .justWorks }
        let capabilities = [request.ioCapability, response.ioCapability]
        if capabilities.contains(.noInputNoOutput) { return .justWorks }
        if capabilities.allSatisfy({ $0 == .displayYesNo || $0 == .keyboardDisplay }) { return .numericComparison }
        return capabilities.contains { $0 == .keyboardOnly || $0 == .keyboardDisplay } ? .passkeyEntry : .justWorks
    }
}
