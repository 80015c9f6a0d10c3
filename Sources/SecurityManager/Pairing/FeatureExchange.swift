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
        let policy = parameters.policy
        // Nobody knows yet what it will be: what even the best would not replace is not begun.
        guard isAdmissible(parameters, .full, turn.book) else { return turn.output(.failed(.identityTaken)) }
        let request = PairingFeatures(
            ioCapability: policy.choice.ioCapability, oobDataFlag: policy.oobDataFlag, authReq: policy.authReq,
            maximumEncryptionKeySize: policy.maximumKeyOctets,
            initiatorKeyDistribution: policy.localKeys,
            responderKeyDistribution: policy.legacy == nil ? policy.peerKeys : policy.peerKeys.union(.encKey))
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
        case .awaitingResponse, .awaitingConsent, .awaitingPublicKey, .awaitingPasskey, .awaitingConfirm,
            .awaitingRandom, .comparing, .awaitingCheck, .awaitingTemporaryKey, .awaitingLegacyConfirm,
            .awaitingLegacyRandom, .awaitingEncryption, .receivingKeys, .dead:
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
        let isLegacy =
            policy.legacy != nil && !policy.authReq.intersection(request.authReq).contains(.secureConnections)
        let response = PairingFeatures(
            ioCapability: policy.choice.ioCapability, oobDataFlag: policy.oobDataFlag, authReq: policy.authReq,
            maximumEncryptionKeySize: policy.maximumKeyOctets,
            initiatorKeyDistribution: policy.peerKeys.intersection(request.initiatorKeyDistribution),
            responderKeyDistribution: (isLegacy ? policy.localKeys.union(.encKey) : policy.localKeys)
                .intersection(request.responderKeyDistribution))
        switch settle(parameters, request: request, response: response) {
        case .refused(let reason): reject(reason, &turn)
        case .agreed(let agreed):
            guard isAdmissible(parameters, agreed.strength, turn.book) else {
                return fail(.identityTaken, telling: .authenticationRequirements, &turn)
            }
            if case .negotiated(let capabilities) = policy.choice, capabilities.asksConsent {
                state = .awaitingConsent(agreed)
                startTimer(&turn)
                return turn.output(.requestConsent(agreed.method.model))
            }
            respond(agreed, &turn)
        }
    }

    mutating func consented(_ consent: Bool, _ turn: inout PairingTurn) {
        guard case .awaitingConsent(let agreed) = state else { return }
        guard consent else { return fail(.cancelled(.pairingNotSupported), telling: .pairingNotSupported, &turn) }
        switch role {
        case .initiator: proceed(agreed, &turn)
        case .responder: respond(agreed, &turn)
        }
    }

    private mutating func respond(_ agreed: AgreedFeatures, _ turn: inout PairingTurn) {
        send(.pairingResponse(agreed.response), &turn)
        if agreed.isSecureConnections { state = .awaitingPublicKey(agreed) } else { beginLegacy(agreed, &turn) }
    }

    mutating func responded(
        _ response: PairingFeatures, _ parameters: PairingParameters, to request: PairingFeatures,
        _ turn: inout PairingTurn
    ) {
        let (initiatorKeys, responderKeys) = (
            response.initiatorKeyDistribution.intersection(.defined),
            response.responderKeyDistribution.intersection(.defined)
        )
        guard initiatorKeys.isSubset(of: request.initiatorKeyDistribution),
            responderKeys.isSubset(of: request.responderKeyDistribution)
        else { return reject(.invalidParameters, &turn) }
        switch settle(parameters, request: request, response: response) {
        case .refused(let reason): reject(reason, &turn)
        case .agreed(let agreed):
            guard isAdmissible(parameters, agreed.strength, turn.book) else {
                return fail(.identityTaken, telling: .authenticationRequirements, &turn)
            }
            // Only now is it known that the user will see nothing of the pairing.
            if case .negotiated(let capabilities) = parameters.policy.choice, capabilities.asksConsent,
                agreed.method.model == .justWorks
            {
                state = .awaitingConsent(agreed)
                return turn.output(.requestConsent(.justWorks))
            }
            proceed(agreed, &turn)
        }
    }

    private mutating func proceed(_ agreed: AgreedFeatures, _ turn: inout PairingTurn) {
        guard agreed.isSecureConnections else { return beginLegacy(agreed, &turn) }
        state = .awaitingPublicKey(agreed)
        send(.pairingPublicKey(agreed.material.keyPair.publicKey.wire), &turn)
    }

    /// Whether the bonds allow this peer to pair at all, as far as its address tells.
    private func isAdmissible(_ parameters: PairingParameters, _ strength: BondStrength, _ book: BondBook) -> Bool {
        book.replaceable(
            by: peerAddress, credential: parameters.credential, renewable: parameters.renewable, strength: strength)
            != nil
    }

    private enum Settlement {
        case agreed(AgreedFeatures)
        case refused(PairingFailedReason)
    }

    /// What two sets of features make under this side's policy.
    private func settle(
        _ parameters: PairingParameters, request: PairingFeatures, response: PairingFeatures
    ) -> Settlement {
        let policy = parameters.policy
        let peer = role == .initiator ? response : request
        guard peer.oobDataFlag <= 1, peer.ioCapability.rawValue <= IOCapability.keyboardDisplay.rawValue,
            LegacyPairing.keyOctetsMinimum...PairingPolicy.keyOctets ~= peer.maximumEncryptionKeySize
        else { return .refused(.invalidParameters) }
        // Bonding_Flags is two bits, of which one value bonds.
        let isSecureConnections = policy.authReq.intersection(peer.authReq).contains(.secureConnections)
        guard isSecureConnections || policy.legacy != nil, peer.authReq.rawValue & 0x03 == AuthReq.bonding.rawValue
        else { return .refused(.authenticationRequirements) }
        let keyOctets = min(peer.maximumEncryptionKeySize, policy.maximumKeyOctets)
        guard keyOctets >= policy.minimumKeyOctets else { return .refused(.encryptionKeySize) }
        let model = AssociationModel.selected(request: request, response: response)
        let method: PairingMethod
        switch policy.choice {
        #if LATCH_PLANTS
        case .pinned where Plant.active == .pinned && model == .justWorks: method = .justWorks
        #endif
        case .pinned(let pinned): method = pinned
        case .negotiated(let capabilities):
            method = capabilities.method(model, role, request: request, response: response)
        }
        guard method.model != .outOfBand || hasOutOfBandData(policy, peer, isSecureConnections) else {
            return .refused(.oobNotAvailable)
        }
        guard model == method.model else { return .refused(.authenticationRequirements) }
        let agreed = AgreedFeatures(
            parameters: parameters, request: request, response: response, method: method,
            isSecureConnections: isSecureConnections, keyOctets: keyOctets)
        guard isEnough(agreed, peer) else { return .refused(.authenticationRequirements) }
        return .agreed(agreed)
    }

    /// Out of band, one direction is enough for LE Secure Connections, and legacy pairing has one key for both.
    private func hasOutOfBandData(
        _ policy: PairingPolicy, _ peer: PairingFeatures, _ isSecureConnections: Bool
    ) -> Bool {
        guard isSecureConnections else { return policy.legacy?.temporaryKey != nil }
        let received = policy.choice.receivedOutOfBandData
        guard policy.oobDataFlag == (received == nil ? 0 : 1) else { return false }
        return peer.oobDataFlag == 1 ? policy.choice.offeredOutOfBandData != nil : received != nil
    }

    private func isEnough(_ agreed: AgreedFeatures, _ peer: PairingFeatures) -> Bool {
        let policy = agreed.parameters.policy
        guard policy.choice.isEnough(agreed) else { return false }
        let keys = agreed.keys(from: role == .initiator ? .responder : .initiator)
        // Without the responder's long term key there is nothing to bond by.
        return policy.requiredPeerKeys.isSubset(of: keys) && (keys.contains(.idKey) || peerAddress.isIdentity)
            && (agreed.isSecureConnections || agreed.keys(from: .responder).contains(.encKey))
    }
}

extension MethodChoice {
    fileprivate func isEnough(_ agreed: AgreedFeatures) -> Bool {
        switch self {
        case .pinned: true
        case .negotiated(let capabilities): agreed.strength.level >= capabilities.minimumLevel
        }
    }
}

extension PairingCapabilities {
    /// This side's part in `model`.
    fileprivate func method(
        _ model: AssociationModel, _ role: PairingRole, request: PairingFeatures, response: PairingFeatures
    ) -> PairingMethod {
        switch model {
        case .justWorks: return .justWorks
        case .numericComparison: return .numericComparison
        case .outOfBand: return .outOfBand(offered: offered, received: received)
        case .passkeyEntry:
            let display = PairingRole.displayingPasskey(
                initiator: request.ioCapability, responder: response.ioCapability)
            return display == role ? .passkeyDisplay : .passkeyInput
        }
    }
}

extension PairingRole {
    /// Who shows the passkey; nil when both users type the same one, which they made up.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.5.1 (Selecting key generation method), Table 2.8
    package static func displayingPasskey(initiator: IOCapability, responder: IOCapability) -> Self? {
        if initiator.hasDisplay, responder.hasKeyboard { return .initiator }
        if responder.hasDisplay, initiator.hasKeyboard { return .responder }
        return nil
    }
}

extension IOCapability {
    package var hasKeyboard: Bool { self == .keyboardOnly || self == .keyboardDisplay }
    package var hasDisplay: Bool { self == .displayOnly || self == .displayYesNo || self == .keyboardDisplay }
    fileprivate var hasDisplayAndYesNo: Bool { self == .displayYesNo || self == .keyboardDisplay }
}

extension AssociationModel {
    /// What two sets of features make.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.5.1 (Selecting key generation method), Tables 2.6 to 2.8
    package static func selected(request: PairingFeatures, response: PairingFeatures) -> Self {
        let sides = [request, response]
        let isSecureConnections = sides.allSatisfy { $0.authReq.contains(.secureConnections) }
        let flags = sides.count { $0.oobDataFlag == 1 }
        if flags == 2 || flags == 1 && isSecureConnections { return .outOfBand }
        guard sides.contains(where: { $0.authReq.contains(.mitm) }) else { return .justWorks }
        let capabilities = sides.map(\.ioCapability)
        if capabilities.contains(.noInputNoOutput) { return .justWorks }
        if isSecureConnections, capabilities.allSatisfy(\.hasDisplayAndYesNo) { return .numericComparison }
        return capabilities.contains(where: \.hasKeyboard) ? .passkeyEntry : .justWorks
    }
}
