import BluetoothCore

/// The peers without a bond that are on disk because an app asked for them. Nobody takes them back: an app that connects to whoever
/// it meets leaves one more each time.
struct KeptStrangers {
    private enum Reading {
        case behind(PeerIdentifier?)
        case done
    }

    /// Of earlier lives, in no order that means anything.
    private var earlier: [PeerIdentifier] = []
    /// Of this one, oldest first.
    private var new: [PeerIdentifier] = []
    private var members: Set<PeerIdentifier> = []
    private var reading = Reading.behind(nil)

    var count: Int { members.count }

    mutating func note(_ peer: PeerIdentifier) {
        if members.insert(peer).inserted { new.append(peer) }
    }

    mutating func remove(_ peer: PeerIdentifier) {
        guard members.remove(peer) != nil else { return }
        earlier.removeAll { $0 == peer }
        new.removeAll { $0 == peer }
    }

    /// Those of earlier lives go first.
    mutating func takeOldest(where mayGo: (PeerIdentifier) -> Bool) -> PeerIdentifier? {
        guard let oldest = earlier.first(where: mayGo) ?? new.first(where: mayGo) else { return nil }
        remove(oldest)
        return oldest
    }

    /// Takes the next slice of what earlier lives have kept. False once there is no more.
    mutating func readOn(_ rows: any HostRows, limit: Int) -> Bool {
        guard case .behind(let cursor) = reading else { return false }
        let page = rows.peersWithoutBond(after: cursor, limit: limit)
        for peer in page.peers where members.insert(peer).inserted { earlier.append(peer) }
        reading = page.next.map { .behind($0) } ?? .done
        return page.next != nil
    }
}
