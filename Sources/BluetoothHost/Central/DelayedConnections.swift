import BluetoothCore

/// Connections that an app asked for with a delay: nothing is done about them before it is over. What the app asked for is on disk
/// from the call on; the delay is not, so that a later process begins at once.
///
/// - In: wishes as they come (``begin(_:_:now:)``), and instants.
/// - Out: whom the controller is not to look for yet.
/// - Owner: ``HostCore``.
struct DelayedConnections {
    private struct Wish: Hashable {
        let owner: RestorationLedger.Owner
        let peer: PeerIdentifier
    }

    private var due: [Wish: Instant] = [:]

    /// A wish that comes again begins its delay again, or loses it.
    mutating func begin(_ owner: RestorationLedger.Owner, _ pending: PendingConnection, now: Instant) {
        let seconds = pending.delaySeconds
        due[Wish(owner: owner, peer: pending.peer)] = seconds == 0 ? nil : now.advanced(byMilliseconds: seconds * 1_000)
    }

    func isDelayed(_ owner: RestorationLedger.Owner, _ peer: PeerIdentifier) -> Bool {
        !due.isEmpty && due[Wish(owner: owner, peer: peer)] != nil
    }

    var deadline: Instant? { due.values.min() }

    /// Whether some delay is over.
    mutating func end(_ now: Instant) -> Bool {
        let before = due.count
        due = due.filter { now < $0.value }
        return due.count < before
    }

    /// What the owner asked for is taken back, or it is gone.
    mutating func forget(_ owner: RestorationLedger.Owner, _ peer: PeerIdentifier? = nil) {
        due = due.filter { $0.key.owner != owner || peer != nil && $0.key.peer != peer }
    }
}
