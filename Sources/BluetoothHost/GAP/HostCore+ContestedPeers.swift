import BluetoothCore
import HCI
import L2CAP

// MARK: Peers that somebody else answers for

extension HostCore {
    func vouch(for peer: PeerIdentifier) { links.client(of: peer)?.contest.handle(.vouched) }

    /// A link in a bonded peer's name has ended, or is about to. Whether somebody else may have been at its other end: it
    /// was never encrypted, though this side asked for it, or the other side ended it before an app could ask that does.
    /// Apps that never ask have links that are never encrypted, and these say nothing.
    mutating func noteContest(over link: Link) {
        guard state == .poweredOn, link.role == .central, let identity = link.identity else { return }
        let isProofExpected = gap.contestedPeers.isProofExpected(of: identity.address)
        guard link.contest.handle(.ended(isSuspect: !link.isProven, isProofExpected: isProofExpected)) else { return }
        tell(.unproven(peer: identity.address, onAir: link.address))
        tellGAP(.unproven(peer: identity.address, at: link.address))
    }

    /// Whether the parameters that a peer asks for are taken. The supervision timeout is how long a link lasts whose other
    /// end has gone silent, also one that this side has ended: a stranger would keep the peer away for so long.
    func takes(_ asked: ConnectionParameters, on link: Link) -> Bool {
        guard asked.isValid else { return false }
        guard link.role == .central, link.isImpostorPossible, !link.contest.isVouched, let identity = link.identity
        else {
            return true
        }
        let isProofWanted =
            link.layer.isBrief || link.contest.isProofAsked
            || gap.contestedPeers.isProofExpected(of: identity.address)
        return asked.timeout
            <= (isProofWanted ? link.layer.facts.parameters.supervisionTimeout : Self.unprovenSupervisionTimeout)
    }

    /// What a bonded peer gets that nobody has asked to prove itself, in units of 10 ms.
    static let unprovenSupervisionTimeout: UInt16 = 600
}
