import CoreBluetoothEssentials
import Foundation
import Synchronization

/// Speaks with the user about pairings. Apple's systems show dialogs of their own; on Linux the app, or whoever composes the process, has
/// this in their place: ``CBHost/pairingAgent``.
///
/// A pairing stands still for thirty seconds at most while it waits for an answer. Then it fails, the task of the question is cancelled,
/// and ``done(_:error:)`` comes. Questions about several peers may be open at once.
///
/// Core 5.4, Vol 3, Part H, 2.3.5.1 (Selecting key generation method): which questions come depends on what both sides can show and type.
public protocol PairingAgent: AnyObject, Sendable {
    /// What the user can see and type here. Asked once, when the agent is set.
    var capability: PairingCapability { get }
    /// Whether to pair at all. Comes first where the peer began, where a bonded peer has lost its half of the bond, and where the user
    /// would see nothing else of a pairing that this side began (Just Works).
    func confirm(_ pairing: PairingAttempt) async -> Bool
    /// Shows six digits, which the peer's user types. Nothing waits for the end of this.
    func show(_ passkey: String, for pairing: PairingAttempt) async
    /// The six digits that the peer shows, or that its user types there too; nil gives up.
    func enter(for pairing: PairingAttempt) async -> String?
    /// Whether the peer shows these six digits, too.
    func compare(_ number: String, for pairing: PairingAttempt) async -> Bool
    /// The pairing is over, and what was shown goes; with an error where there is no bond.
    func done(_ pairing: PairingAttempt, error: (any Error)?) async
}

extension PairingAgent {
    /// Does nothing.
    public func done(_ pairing: PairingAttempt, error: (any Error)?) async {}
}

/// What a user can see and type, by which the way of pairing is chosen.
///
/// Core 5.4, Vol 3, Part H, 2.3.2 (IO capabilities)
public enum PairingCapability: Sendable {
    /// Yes and no, at most: nobody is shown to be who they say (Just Works).
    case confirmOnly
    /// Six digits are shown.
    case displayOnly
    /// Six digits are shown, and the user says whether they are right.
    case displayYesNo
    /// Six digits are typed.
    case keyboardOnly
    /// All of that.
    case keyboardDisplay
}

/// One pairing with one peer, as its user is told of it.
public struct PairingAttempt: Hashable, Sendable {
    /// How the peer is shown to be the one that the user means.
    public enum Method: Sendable {
        /// It is not: anybody could stand in the middle.
        case justWorks
        /// Both users compare six digits.
        case numericComparison
        /// One side shows six digits, and the other side's user types them.
        case passkeyEntry
        /// What was carried from one to the other by another way.
        case outOfBand
    }

    /// This side's name for the peer: `CBPeer.identifier`, which may become another one when the peer says who it is.
    public let peer: UUID
    /// nil for a bonded peer that has lost its half of the bond, before a new pairing has begun.
    public let method: Method?
    /// Whether the peer's address is a bonded peer's, which has lost its half of the bond or is somebody else: who says yes gives the
    /// bond up.
    public let replacesBond: Bool
    let link: UInt64
}

extension CBHost {
    /// Who asks the user about pairings; nil, as at first, for nobody. Held until another one is set.
    ///
    /// Without an agent nobody is asked: a central may pair while this process publishes something that asks for encryption, and a
    /// peripheral is paired with when it refuses something for want of security. `LATCH_PAIRING` says otherwise.
    public var pairingAgent: (any PairingAgent)? {
        get { agent.withLock { $0 as? PairingAgentBridge }?.agent }
        set {
            let bridge = newValue.map { PairingAgentBridge($0, of: self) }
            agent.withLock { $0 = bridge }
            setPairingAgent(bridge)
        }
    }
}
