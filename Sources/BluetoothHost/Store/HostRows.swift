import BluetoothCore
import GATT
import SecurityManager

/// What a host's store keeps, row by row, for what a launch has left there.
///
/// Every answer counts what was handed to the store, on disk or not yet. A row that cannot be read is left out of it, and
/// whoever has the store hears of it. When the file itself fails, the answer is nothing, and the next commit throws: an
/// iteration that rests on such an answer lets nothing go.
package protocol HostRows: BondRows {
    /// What is remembered of a bonded client; nil for nothing.
    func client(_ bond: UInt64) -> GATTClientRecord?
    /// Of every bonded client of which something is remembered, in the order of their bonds.
    func clients() -> [GATTClientRecord]
    func peer(_ identifier: PeerIdentifier) -> PeerRecord?
    /// Of several with one address, the one with the greatest identifier.
    func peer(at address: DeviceAddress) -> PeerRecord?
    /// Every peer, by nothing but its names, in the order of identifiers.
    func peerNames() -> [PeerName]
    /// Whom the next `limit` rows behind `cursor` are about, in the order of identifiers, as far as no bond has the peer's address.
    /// Of what is on disk, and only that.
    func peersWithoutBond(after cursor: PeerIdentifier?, limit: Int) -> PeerPage
}

/// A peer as apps name it, and as it calls itself.
package struct PeerName: Equatable, Sendable {
    package var identifier: PeerIdentifier
    package var name: String?

    package init(identifier: PeerIdentifier, name: String?) {
        self.identifier = identifier
        self.name = name
    }
}

/// One slice of a store's peers.
package struct PeerPage: Equatable, Sendable {
    package var peers: [PeerIdentifier]
    /// Where the next slice begins; nil when there is none.
    package var next: PeerIdentifier?

    package init(peers: [PeerIdentifier] = [], next: PeerIdentifier? = nil) {
        self.peers = peers
        self.next = next
    }
}
