import BluetoothCore
import HCI
import L2CAP

// MARK: Peers that somebody else answers for

extension HostCore {
    func vouch(for peer: PeerIdentifier) { links.client(of: peer)?.isVouched = true }

    /// A link in a bonded peer's name has ended, or is about to. Whether somebody else may have been at its other end: it
    /// was never encrypted, though this side asked for it, or the other side ended it before an app could ask that does.
    /// Apps that never ask have links that are never encrypted, and these say nothing.
    mutating func noteContest(over link: Link) {
        guard state == .poweredOn, link.role == .central, let identity = link.identity, !link.isProven, !link.isVouched,
            !link.isContestNoted, isProofWanted(on: link)
        else { return }
        link.isContestNoted = true
        tell(.unproven(peer: identity.address, onAir: link.address))
        tellGAP(.unproven(peer: identity.address, at: link.address))
    }

    private func isProofWanted(on link: Link) -> Bool {
        guard !link.hasAskedForProof, let identity = link.identity else { return link.hasAskedForProof }
        return !link.isEndedHere && gap.contestedPeers.isProofExpected(of: identity.address)
    }

    /// A link that a stranger may have is given up soon after it falls silent; the peer's own has the time that the operator
    /// gives it.
    ///
    /// Core 5.4, Vol 4, Part E, 7.8.18 (LE Connection Update command)
    mutating func lengthen(_ link: Link) {
        guard link.isBrief else { return }
        link.isBrief = false
        let parameters = link.facts.parameters
        updateConnection(
            link,
            ConnectionParameters(
                intervalMin: parameters.connectionInterval, intervalMax: parameters.connectionInterval,
                latency: parameters.peripheralLatency, timeout: configuration.supervisionTimeout))
    }

    /// Whether the parameters that a peer asks for are taken. The supervision timeout is how long a link lasts whose other
    /// end has gone silent, also one that this side has ended: a stranger would keep the peer away for so long.
    func takes(_ asked: ConnectionParameters, on link: Link) -> Bool {
        guard asked.isValid else { return false }
        guard link.role == .central, link.isImpostorPossible, !link.isVouched, let identity = link.identity else {
            return true
        }
        let isProofWanted =
            link.isBrief || link.hasAskedForProof || gap.contestedPeers.isProofExpected(of: identity.address)
        return asked.timeout
            <= (isProofWanted ? link.facts.parameters.supervisionTimeout : Self.unprovenSupervisionTimeout)
    }

    /// What a bonded peer gets that nobody has asked to prove itself, in units of 10 ms.
    static let unprovenSupervisionTimeout: UInt16 = 600
}
