import BluetoothCore
import BluetoothCrypto

/// Pairing on one link, in either role, by LE Secure Connections and, where a policy allows it, by legacy pairing.
///
/// In: SMP PDUs, the user's answers, encryption changes, time (``PairingEvent``). Out: PDUs, requests to the user and
/// to the link layer, and the bond as facts for the store (``PairingOutput``). The host owns one for each link.
///
/// Core 5.4, Vol 3, Part H, 2.3 (Pairing methods); Appendix C (Message sequence charts)
package struct PairingMachine {
    /// Core 5.4, Vol 3, Part H, 3.4 (SMP timeout)
    package static let timeoutMilliseconds: UInt64 = 30_000

    package let role: PairingRole
    /// The addresses that the link was made with, which need not be identities.
    package let localAddress: DeviceAddress
    package let peerAddress: DeviceAddress
    /// When ``PairingEvent/timerFired`` is wanted.
    package internal(set) var deadline: Instant?
    var state: PairingState = .idle(refusing: .pairingNotSupported)
    /// Whether the peer has sent a value that shows whether it knows the secret: a confirm value, or a DHKey check. Of the pairing that is
    /// under way, or of the one that the last event has ended.
    package private(set) var hasPeerTried = false

    package init(role: PairingRole, localAddress: DeviceAddress, peerAddress: DeviceAddress) {
        self.role = role
        self.localAddress = localAddress
        self.peerAddress = peerAddress
    }

    /// Responder: the answer to the controller's request for the long term key with EDIV and Rand 0, while this pairing
    /// waits for encryption.
    package var longTermKey: Secret? {
        if case .awaitingEncryption(_, let key) = state, role == .responder { key } else { nil }
    }

    /// What encryption by this pairing is worth, once its keys have been agreed on.
    package var strength: BondStrength? {
        switch state {
        case .awaitingEncryption(let agreed, _): agreed.strength
        case .receivingKeys(let keys): keys.agreed.strength
        default: nil
        }
    }

    /// Nothing begins on this link any more: a pairing timed out on it, or it is gone.
    package var isDead: Bool {
        if case .dead = state { true } else { false }
    }

    package var isPairing: Bool {
        switch state {
        case .idle, .armed, .dead: false
        case .awaitingResponse, .awaitingConsent, .awaitingPublicKey, .awaitingPasskey, .awaitingConfirm,
            .awaitingRandom, .comparing, .awaitingCheck, .awaitingTemporaryKey, .awaitingLegacyConfirm,
            .awaitingLegacyRandom, .awaitingEncryption, .receivingKeys:
            true
        }
    }

    /// The commands that the peer may send now, beside Pairing Failed.
    package var allowedOpcodes: Set<SMPOpcode> {
        switch state {
        case .idle, .armed: role == .initiator ? [.securityRequest] : [.pairingRequest]
        case .awaitingResponse: [.pairingResponse, .securityRequest]
        case .awaitingConsent: []
        case .awaitingPublicKey: [.pairingPublicKey]
        // An initiator that shows the passkey begins without waiting for the one who types it.
        case .awaitingPasskey(_, let confirm): typing(confirm)
        case .awaitingTemporaryKey(_, let confirm): typing(confirm)
        case .awaitingConfirm(_, let stage): stage.keypresses.union([.pairingConfirm])
        case .awaitingRandom(_, let stage, _): stage.keypresses.union([.pairingRandom])
        case .comparing(_, let check): role == .responder && check == nil ? [.pairingDHKeyCheck] : []
        case .awaitingCheck: [.pairingDHKeyCheck]
        case .awaitingLegacyConfirm(let key): key.keypresses.union([.pairingConfirm])
        case .awaitingLegacyRandom(let key, _): key.keypresses.union([.pairingRandom])
        case .awaitingEncryption: role == .initiator ? [.securityRequest] : []
        case .receivingKeys(let keys): Set(keys.owed.prefix(1))
        case .dead: []
        }
    }

    private func typing(_ peerConfirm: UInt128?) -> Set<SMPOpcode> {
        role == .responder && peerConfirm == nil
            ? [.pairingConfirm, .pairingKeypressNotification] : [.pairingKeypressNotification]
    }

    /// Everything that happens comes in here. Bonds that this changes are changed in `book`, and come out as `persist`.
    package mutating func handle(_ event: PairingEvent, now: Instant, book: BondBook) -> [PairingOutput] {
        if !isPairing { hasPeerTried = false }
        var turn = PairingTurn(now: now, book: book)
        switch event {
        case .received(let octets): receive(octets, &turn)
        case .begin(let parameters): begin(parameters, &turn)
        case .arm(let parameters): arm(parameters, &turn)
        case .disarm(let reason): disarm(refusing: reason)
        case .requestSecurity(let authReq): requestSecurity(authReq, &turn)
        case .consented(let consent): consented(consent, &turn)
        case .passkeyEntered(let passkey): passkeyEntered(passkey, &turn)
        case .numericCompared(let equal): numericCompared(equal, &turn)
        case .encryptionChanged(let enabled): encryptionChanged(enabled, &turn)
        case .cancel(let reason): if isPairing { fail(.cancelled(reason), telling: reason, &turn) }
        case .disconnected: close(.disconnected, &turn)
        case .timerFired: if let deadline, now >= deadline { close(.timedOut, &turn) }
        }
        return turn.outputs
    }
}

/// One call of ``PairingMachine/handle(_:now:book:)``.
struct PairingTurn {
    let now: Instant
    let book: BondBook
    private(set) var outputs: [PairingOutput] = []

    init(now: Instant, book: BondBook) {
        self.now = now
        self.book = book
    }

    mutating func output(_ output: PairingOutput) { outputs.append(output) }
    mutating func persist(_ mutations: [BondMutation]) { outputs += mutations.map { .persist($0) } }
}

extension PairingMachine {
    /// Every command sent starts the thirty seconds again.
    mutating func send(_ pdu: SMPPDU, _ turn: inout PairingTurn) {
        turn.output(.send(pdu.encoded))
        startTimer(&turn)
    }

    mutating func startTimer(_ turn: inout PairingTurn) {
        deadline = turn.now.advanced(byMilliseconds: Self.timeoutMilliseconds)
    }

    /// The one way out of a pairing that goes wrong. What it was given is used up, its provisional bond is gone.
    mutating func fail(_ error: PairingError, telling reason: PairingFailedReason? = nil, _ turn: inout PairingTurn) {
        forgetProvisionalBond(&turn)
        if let reason { send(.pairingFailed(reason), &turn) }
        state = .idle(refusing: .pairingNotSupported)
        deadline = nil
        turn.output(.failed(error))
    }

    /// The peer did what it may not.
    mutating func reject(_ reason: PairingFailedReason, _ turn: inout PairingTurn) {
        fail(.peerViolation(reason), telling: reason, &turn)
    }

    /// Nothing more is said on this channel.
    ///
    /// Core 5.4, Vol 3, Part H, 3.4 (SMP timeout)
    private mutating func close(_ error: PairingError, _ turn: inout PairingTurn) {
        if isPairing { fail(error, &turn) }
        state = .dead
        deadline = nil
    }

    private func forgetProvisionalBond(_ turn: inout PairingTurn) {
        guard case .receivingKeys(let keys) = state, role == .responder else { return }
        turn.persist(turn.book.delete(keys.agreed.parameters.material.bondID))
    }

    // MARK: Received

    private mutating func receive(_ octets: [UInt8], _ turn: inout PairingTurn) {
        guard let first = octets.first else { return unexpected(nil, &turn) }
        let opcode = SMPOpcode(rawValue: first)
        if case .dead = state { return }
        if opcode.isReserved { return }
        guard opcode == .pairingFailed || allowedOpcodes.contains(opcode) else { return unexpected(opcode, &turn) }
        if opcode == .pairingRequest, case .idle(let reason) = state { return refuse(reason, &turn) }
        guard let pdu = try? SMPPDU(exactly: octets) else { return malformed(opcode, &turn) }
        if pdu.opcode == .pairingConfirm || pdu.opcode == .pairingDHKeyCheck { hasPeerTried = true }
        handle(pdu, &turn)
    }

    /// A state's own commands go on; whatever else comes is out of turn.
    private mutating func handle(_ pdu: SMPPDU, _ turn: inout PairingTurn) {
        if case .pairingFailed(let reason) = pdu {
            if isPairing { fail(.refusedByPeer(reason), &turn) }
            return
        }
        switch state {
        case .idle, .armed, .awaitingResponse, .awaitingConsent, .awaitingPublicKey: handleFeatures(pdu, &turn)
        case .awaitingPasskey, .awaitingConfirm, .awaitingRandom, .comparing, .awaitingCheck:
            handleAuthentication(pdu, &turn)
        case .awaitingTemporaryKey, .awaitingLegacyConfirm, .awaitingLegacyRandom:
            handleLegacyAuthentication(pdu, &turn)
        // The peripheral asked before it heard that this side had begun.
        // Core 5.4, Vol 3, Part H, 2.4.6 (Peripheral Security Request)
        case .awaitingEncryption: if pdu.opcode != .securityRequest { unexpected(pdu.opcode, &turn) }
        case .receivingKeys(let keys): key(pdu, keys, &turn)
        case .dead: break
        }
    }

    private mutating func handleFeatures(_ pdu: SMPPDU, _ turn: inout PairingTurn) {
        switch (state, pdu) {
        case (.idle, .securityRequest(let authReq)): turn.output(.securityRequested(authReq))
        case (.awaitingResponse, .securityRequest): break
        case (.armed(let parameters), .pairingRequest(let request)): requested(request, parameters, &turn)
        case (.awaitingResponse(let parameters, let request), .pairingResponse(let response)):
            responded(response, parameters, to: request, &turn)
        case (.awaitingPublicKey(let agreed), .pairingPublicKey(let wire)): publicKey(wire, agreed, &turn)
        default: unexpected(pdu.opcode, &turn)
        }
    }

    private mutating func handleAuthentication(_ pdu: SMPPDU, _ turn: inout PairingTurn) {
        switch (state, pdu) {
        // How many digits the peer's user has typed so far interests nobody here.
        // Core 5.4, Vol 3, Part H, 3.5.8 (Keypress Notification)
        case (_, .pairingKeypressNotification): break
        case (.awaitingPasskey(let keys, nil), .pairingConfirm(let value)):
            state = .awaitingPasskey(keys, peerConfirm: value)
        case (.awaitingConfirm(let keys, let stage), .pairingConfirm(let value)): confirm(value, keys, stage, &turn)
        case (.awaitingRandom(let keys, let stage, let commitment), .pairingRandom(let nonce)):
            random(nonce, keys, stage, commitment, &turn)
        case (.comparing(let stage, nil), .pairingDHKeyCheck(let value)):
            state = .comparing(stage, peerCheck: value)
        case (.awaitingCheck(let stage), .pairingDHKeyCheck(let value)): check(value, stage, &turn)
        default: unexpected(pdu.opcode, &turn)
        }
    }

    private mutating func handleLegacyAuthentication(_ pdu: SMPPDU, _ turn: inout PairingTurn) {
        switch (state, pdu) {
        case (_, .pairingKeypressNotification): break
        case (.awaitingTemporaryKey(let agreed, nil), .pairingConfirm(let value)):
            state = .awaitingTemporaryKey(agreed, peerConfirm: value)
        case (.awaitingLegacyConfirm(let key), .pairingConfirm(let value)): legacyConfirm(value, key, &turn)
        case (.awaitingLegacyRandom(let key, let commitment), .pairingRandom(let value)):
            legacyRandom(value, key, commitment, &turn)
        default: unexpected(pdu.opcode, &turn)
        }
    }

    /// Out of turn. Before a pairing it is ignored, because it may be the rest of one that this side has ended; but a
    /// central is told that it does not respond.
    private mutating func unexpected(_ opcode: SMPOpcode?, _ turn: inout PairingTurn) {
        if isPairing {
            reject(.unspecifiedReason, &turn)
        } else if opcode == .pairingRequest {
            refuse(.commandNotSupported, &turn)
        }
    }

    private mutating func malformed(_ opcode: SMPOpcode, _ turn: inout PairingTurn) {
        if case .armed = state, opcode == .pairingRequest { return reject(.invalidParameters, &turn) }
        if isPairing { reject(.invalidParameters, &turn) }
    }

    /// Says no to a pairing that never began; no timer runs for it.
    private mutating func refuse(_ reason: PairingFailedReason, _ turn: inout PairingTurn) {
        turn.output(.send(SMPPDU.pairingFailed(reason).encoded))
        turn.output(.refused(reason))
    }
}
