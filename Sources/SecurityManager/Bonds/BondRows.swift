import BluetoothCore
import BluetoothCrypto

/// The bonds that a store keeps, for a ``BondBook`` that reads them when they are asked for.
///
/// Every answer counts what was handed to the store, on disk or not yet. A row that cannot be read is left out of it: its
/// bond is no bond, and whoever has the store hears of the row.
package protocol BondRows: AnyObject {
    func bond(_ id: BondID) -> Bond?
    /// Its state alone, for lists: nothing is unwrapped.
    func bondState(_ id: BondID) -> BondState?
    /// Those that are not provisional, in the order of their identifiers.
    func bonds(with identity: IdentityAddress) -> [Bond]
    /// The next `limit` rows behind `cursor`, in an order of the store's own, which is the one that it reads fastest.
    func bonds(after cursor: BondCursor?, limit: Int) -> BondPage<Bond>
    /// The same of those that are not provisional, without the keys that only a link needs.
    func marks(after cursor: BondCursor?, limit: Int) -> BondPage<BondMark>
    /// Those that were enrolled for this credential and are not provisional, those that cannot be read among them.
    func bonds(enrolledFor credential: String) -> [BondID]
    /// The same of the identifiers of confirmed bonds, those that cannot be read among them.
    func confirmedBonds(after cursor: BondCursor?, limit: Int) -> BondPage<BondID>
    /// Whether a row has this identifier, readable or not.
    func isKept(_ id: BondID) -> Bool
    /// Whether there is any bond that is not provisional.
    var hasBonds: Bool { get }
}

/// A place among a store's rows. It means the same while the store lives, whatever is written.
package struct BondCursor: Hashable, Sendable {
    package let position: Int64
    package init(position: Int64) { self.position = position }
}

/// One slice of a store's bonds.
package struct BondPage<Row> {
    package var rows: [Row]
    /// Where the next slice begins; nil when there is none.
    package var next: BondCursor?

    package init(rows: [Row] = [], next: BondCursor? = nil) {
        self.rows = rows
        self.next = next
    }
}

/// As much of a bond as has to be in memory before its peer comes: by which addresses it is known.
package struct BondMark: Equatable, Sendable {
    package var id: BondID
    package var identity: IdentityAddress?
    package var peerIRK: Secret?
    package var isNamed: Bool

    package init(id: BondID, identity: IdentityAddress?, peerIRK: Secret?, isNamed: Bool) {
        self.id = id
        self.identity = identity
        self.peerIRK = peerIRK
        self.isNamed = isNamed
    }

    package init(_ bond: Bond) {
        self.init(
            id: bond.id, identity: bond.identity, peerIRK: bond.peerIRK, isNamed: bond.credential != nil)
    }
}
