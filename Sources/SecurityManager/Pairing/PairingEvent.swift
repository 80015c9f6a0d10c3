import BluetoothCore
import BluetoothCrypto

/// What happens to a pairing.
package enum PairingEvent: Sendable {
    /// Initiator: pair now.
    case begin(PairingParameters)
    /// Responder: accept the next Pairing Request with this, once.
    case arm(PairingParameters)
    /// Responder: refuse Pairing Requests with this reason, which is `pairingNotSupported` at first. A pairing under way
    /// goes on.
    case disarm(refusing: PairingFailedReason)
    /// Responder: ask the initiator for security.
    case requestSecurity(AuthReq)
    /// A command from the peer, whole.
    case received([UInt8])
    /// Whether the user lets the peer pair.
    case consented(Bool)
    case passkeyEntered(UInt32)
    /// Whether the user found the numbers equal.
    case numericCompared(equal: Bool)
    /// The link's encryption was switched on, or failed to be.
    case encryptionChanged(enabled: Bool)
    /// The user or the host gives up.
    case cancel(PairingFailedReason)
    /// The link is gone.
    case disconnected
    /// The moment that ``PairingMachine/deadline`` named may have come.
    case timerFired
}

/// What a pairing wants done, in order. A host commits every `persist` of an iteration before it lets any other go.
package enum PairingOutput: Equatable, Sendable {
    case send([UInt8])
    case persist(BondMutation)
    /// Ask the user whether this peer may pair, by this model.
    case requestConsent(AssociationModel)
    case displayPasskey(UInt32)
    case requestPasskey
    /// Show six digits and ask whether the peer shows the same.
    case confirmNumeric(UInt32)
    /// Initiator: encrypt the link with this, EDIV and Rand 0: the LTK, or legacy pairing's short term key. A responder's
    /// host answers its controller's request with ``PairingMachine/longTermKey``.
    case startEncryption(ltk: Secret)
    /// The peer wants security: encrypt with its bond, or begin to pair.
    case securityRequested(AuthReq)
    /// A Pairing Request came that nobody was ready for, and was refused.
    case refused(PairingFailedReason)
    case completed(Bond)
    case failed(PairingError)
}

/// Why a pairing failed, who is at fault, and how far it reaches: the pairing, or the whole channel.
package enum PairingError: Error, Equatable, Sendable {
    /// The peer said so.
    case refusedByPeer(PairingFailedReason)
    /// The peer did what it may not, and was told this.
    case peerViolation(PairingFailedReason)
    /// This side gave up, and told the peer this.
    case cancelled(PairingFailedReason)
    /// The peer's identity or address is another bond's, and the pairing was not meant to replace that.
    case identityTaken
    /// Thirty seconds without progress. The channel is dead until the next link.
    case timedOut
    case encryptionFailed
    case disconnected
    /// A pairing is under way, or the role is not one that may do this.
    case notPossibleNow
    /// An earlier timeout killed the channel.
    case channelDead
}
