import BluetoothCore

/// In which order locks are told to people: the preferred ones first, and then by their names.
package struct LockOrder: Comparable {
    /// Its place among the preferred locks, from 1; nil where it is not one of them.
    private let place: Int?
    private let name: String
    private let peer: PeerIdentifier

    init(_ record: LockRecord, preference: Int?) { (place, name, peer) = (preference, record.name, record.peer) }

    package static func < (a: Self, b: Self) -> Bool {
        (a.place ?? .max, a.name, a.peer.bits) < (b.place ?? .max, b.name, b.peer.bits)
    }
}

/// What a key's user says of its locks: which of them come first, and a note of each.
extension KeyMachine {
    /// Each preferred lock's place, from 1.
    var preferences: [PeerIdentifier: Int] {
        Dictionary(preferred.enumerated().map { ($0.element, $0.offset + 1) }) { first, _ in first }
    }

    /// The preferred locks, and then the others by their identifiers: so links are asked for, and a host with room for a few has those first.
    var sortedPeers: [PeerIdentifier] {
        let first = Set(preferred)
        return preferred + locks.keys.filter { !first.contains($0) }.sorted { $0.bits < $1.bits }
    }

    /// The lock comes before all others from now on, or is preferred no more.
    mutating func prefer(_ peer: PeerIdentifier, _ isPreferred: Bool, _ turn: inout KeyTurn) {
        guard locks[peer] != nil else { return }
        let others = preferred.filter { $0 != peer }
        let order = isPreferred ? [peer] + others : others
        guard order != preferred else { return }
        preferred = order
        turn.persist(.preferred(order))
    }

    mutating func take(_ note: LockNote?, of peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let slot = locks[peer], slot.note != note else { return }
        locks[peer]?.note = note
        turn.persist(.note(peer, note))
    }
}
