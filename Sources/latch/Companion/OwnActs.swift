import BluetoothCore
import LockCentral
import LockProtocol

/// What a user is told of what their key does by itself: no more than is known of the door.
///
/// - In: what the key's daemon tells.
/// - Out: sentences, each about a lock.
/// - Owner: ``Companion``.
struct OwnActs {
    /// What a lock has accepted last of this, for each lock: its outcome may follow.
    private var accepted: [PeerIdentifier: (id: KeyRequestID, operation: LockOperation)] = [:]

    /// nil where there is nothing to tell.
    mutating func sentence(on event: KeyEvent) -> (peer: PeerIdentifier, text: String)? {
        switch event {
        case .byItself(let peer, _, let id, let operation, let verdict):
            accepted[peer] = verdict == .accepted ? (id, operation) : nil
            return (peer, Self.sentence(operation, verdict))
        case .outcome(let peer, let id, let result):
            guard let request = accepted[peer], request.id == id else { return nil }
            accepted[peer] = nil
            return (peer, result == .done ? Self.done(request.operation) : Self.capitalized(result.end) + ".")
        case .forgotten(let peer, _):
            accepted[peer] = nil
            return nil
        default: return nil
        }
    }

    private static func sentence(_ operation: LockOperation, _ verdict: KeyVerdict) -> String {
        let locks = operation == .lock
        return switch (verdict, verdict.obstacle) {
        // The bolt may still jam.
        case (.accepted, _): locks ? "Locking, as you left." : "Unlocking, as you came near."
        case (_, nil): done(operation)
        // The door may be open.
        case (.unknown, let obstacle?): "\(locks ? "You left" : "You came near"), and \(obstacle)."
        case (_, let obstacle?): "Not \(locks ? "locked" : "unlocked"): \(obstacle)."
        }
    }

    private static func done(_ operation: LockOperation) -> String {
        operation == .lock ? "Locked, as you left." : "Unlocked, as you came near."
    }

    private static func capitalized(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
}
