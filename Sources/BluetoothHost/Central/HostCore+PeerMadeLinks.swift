import BluetoothCore
import HCI
import SecurityManager

// MARK: Links that the peer made, for managers that wait for the peer

extension HostCore {

    /// Gives a link that the peer made to whoever waits for that peer: there is never a second one between the same two.
    ///
    /// An address can be recorded, so that a link in a bonded peer's name is nobody's connection until it is encrypted with
    /// that peer's bond; until then it is waited for as before, and the central is asked to encrypt. In the name of a peer
    /// without a bond nobody can prove anything, whichever side made the link.
    mutating func serveWaiting(_ link: Link) {
        guard link.isImpostorPossible else { return serve(link) }
        if !unserved(by: link).isEmpty { askForProof(link) }
    }

    /// The same for a link at whose other end the peer is as far as that can be known.
    mutating func serve(_ link: Link) {
        let waiting = unserved(by: link)
        guard !waiting.isEmpty else { return }
        link.client.users = Set(waiting)
        secure(link, .proofNotAsked)
        tellConnected(link)
        wishesChanged()
    }

    private func unserved(by link: Link) -> [RestorationLedger.Owner] {
        link.role == .peripheral && link.client.users.isEmpty && !link.isDisconnecting ? waiting(for: link) : []
    }

    mutating func tellConnected(_ link: Link) {
        for owner in wanting(link.peer) where link.client.users.contains(owner) {
            if let manager = managers.manager(of: owner) { announce(.connected(link.info), to: manager) }
        }
        readName(of: link)
    }

    /// Managers that wait for a link's peer and have no other link to it. A manager keeps a link that is ending until it has
    /// heard of the end.
    func waiting(for link: Link) -> [RestorationLedger.Owner] {
        guard let taken = links.usersOfEnding(beside: link) else { return [] }
        return wanting(link.peer).filter { !taken.contains($0) }
    }

    private mutating func askForProof(_ link: Link) {
        guard !link.secured.isProofAsked else { return }
        secure(link, .proofAsked(until: now.advanced(byMilliseconds: Host.proofMilliseconds)))
        requestSecurity(link.id)
    }

    /// It has proved nothing, and keeps the peer itself away from those who still wait for it.
    mutating func proofOverdue(_ link: Link) {
        guard link.isImpostorPossible, !waiting(for: link).isEmpty else { return }
        // A pairing under way has a timer of its own, and what comes of it is seen then.
        guard !link.pairing.isPairing else {
            return secure(link, .proofAsked(until: now.advanced(byMilliseconds: Host.proofMilliseconds)))
        }
        disconnect(link, reason: .authenticationFailure)
    }
}
