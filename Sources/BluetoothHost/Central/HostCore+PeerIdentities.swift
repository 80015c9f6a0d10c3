import BluetoothCore
import SecurityManager

// MARK: Peers that turn out to be others

extension HostCore {
    /// The name of a peer that is known as `peer`, and has shown its identity: that may have another name from before.
    mutating func name(_ peer: PeerIdentifier, withIdentity identity: IdentityAddress) -> PeerIdentifier {
        withPeers { $0.bonded(peer, identity: identity, &$1) }
    }

    /// The peer has another name on disk. Apps go on under the link's name until the link ends. The disk forgets that name now.
    mutating func supersede(_ link: Link, at identity: IdentityAddress) {
        link.isSuperseded = true
        for owner in ledger.owners(of: .central) { withLedger { $0.forgetKept(owner, link.peer, &$1) } }
        withPeers { $0.supersede(link.peer, at: identity.address, &$1) }
    }

    /// Nobody comes under this name, and nobody is connected under it any more.
    mutating func forgetSuperseded(_ peer: PeerIdentifier) {
        endSubscriptions(at: peer)
        for owner in ledger.owners(of: .central) { withLedger { $0.connectionEnded(owner, peer, &$1) } }
        withPeers { $0.forget(peer, &$1) }
    }
}
