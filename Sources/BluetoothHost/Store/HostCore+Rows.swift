import BluetoothCore
import GATT
import SecurityManager

// What a launch left in the store, when it is asked for.

extension HostCore {
    /// Before a bond's client is first looked at.
    mutating func recall(_ bond: BondID) {
        let number = UInt64(bitPattern: bond.rawValue)
        guard let rows else { return }
        server.gatt.recall(number, rows.client(number))
    }

    /// Every client, for questions about all of them.
    mutating func recallAll() {
        guard !isEveryClientRecalled else { return }
        isEveryClientRecalled = true
        for client in rows?.clients() ?? [] { server.gatt.recall(client.bond, client) }
    }
}

extension HostCore {
    /// What earlier lives have kept counts too, and goes first.
    mutating func readPeersOn(limit: Int) -> Bool {
        let hasMore = peers.readOn(limit: limit)
        forgetKeptStrangers()
        return hasMore
    }
}

extension Host {
    /// Rows of one slice: some tenths of a millisecond.
    package static let readOnMaximumRows = 64

    /// Reads one slice of what was left. False once there is no more. For moments when the loop has nothing else to do.
    package func readOn() -> Bool {
        core.bondBook.readOn(limit: Self.readOnMaximumRows) || ask { $0.readPeersOn(limit: Self.readOnMaximumRows) }
    }

    /// The state of a bond, for lists of many.
    package func bondState(_ id: BondID) -> BondState? { core.bondBook.state(of: id) }

    /// Whether there is a bond of this name, one whose row cannot be read among them.
    package func isBondKept(_ id: BondID) -> Bool { core.bondBook.isKept(id) }

    /// Bonds that were enrolled for this credential and are not provisional.
    package func bonds(enrolledFor credential: String) -> [BondID] { core.bondBook.bonds(enrolledFor: credential) }

    /// The next confirmed bonds behind `cursor`.
    package func confirmedBonds(after cursor: BondCursor?, limit: Int) -> BondPage<BondID> {
        core.bondBook.confirmedBonds(after: cursor, limit: limit)
    }
}
