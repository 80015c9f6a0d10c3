import BluetoothCore
import HCI
import L2CAP

// MARK: Peers that somebody else answers for

extension Host {
    /// What the app received over a peer's link shows that the peer is who it says: a link that is not encrypted, and was
    /// not in vain.
    package func vouch(for peer: PeerIdentifier) { clientLink(peer)?.isVouched = true }

    /// A link in a bonded peer's name has ended, or is about to. Whether somebody else may have been at its other end: it
    /// was never encrypted, though this side asked for it, or the other side ended it before an app could ask that does.
    /// Apps that never ask have links that are never encrypted, and these say nothing.
    func noteContest(over link: Link) {
        guard state == .poweredOn, link.role == .central, let identity = link.identity, !link.isProven, !link.isVouched,
            !link.isContestNoted, isProofWanted(on: link)
        else { return }
        link.isContestNoted = true
        contestedPeers.lost(identity.address, at: link.address, now: now)
    }

    private func isProofWanted(on link: Link) -> Bool {
        guard !link.hasAskedForProof, let identity = link.identity else { return link.hasAskedForProof }
        return !link.isEndedHere && contestedPeers.isProofExpected(of: identity.address)
    }

    /// The attempt to connect to one who was heard has ended.
    func noteMissedAttempt() {
        guard let missed = initiator.takeMissed() else { return }
        switch missed.refusal {
        case nil: contestedPeers.lost(missed.wanted, at: missed.onAir, now: now)
        // A controller that does not connect while it scans: the next contest would end like this one.
        case .commandDisallowed: contestedPeers.pause(now: now)
        default: contestedPeers.giveUp(missed.wanted)
        }
    }

    /// The scan that tells contested peers' addresses apart was refused, perhaps because of the standing attempt. Without it
    /// nobody would connect to them.
    func noteRefusedScan() {
        if scanner.failure != nil, !initiator.contested.isEmpty { contestedPeers.pause(now: now) }
    }

    /// The same the other way round: the standing attempt was refused, perhaps because of the scan. Nobody at all would be
    /// connected to.
    func noteRefusedAttempt() {
        guard initiator.failure == .commandDisallowed, scanner.isEnabled, initiator.needsScan else { return }
        contestedPeers.pause(now: now)
        // With an app's scan in its way it would be refused again.
        if wantedScan == nil { initiator.retry() }
    }

    /// Whether a peer's addresses are told apart, which takes a scan: without one the controller's lists find who they find.
    func isTold(_ address: DeviceAddress) -> Bool { scanner.failure == nil && contestedPeers.contains(address) }

    /// Whether an advertisement from `onAir` in the name of `address` is one to connect to.
    func isToBeTried(_ address: DeviceAddress, at onAir: DeviceAddress) -> Bool {
        guard !contestedPeers.isEmpty, initiator.contested.contains(address) else { return true }
        return contestedPeers.heard(address, at: onAir, now: now) { place in
            linksInOrder.contains { $0.address == place }
        }
    }

    /// A link that a stranger may have is given up soon after it falls silent; the peer's own has the time that the operator
    /// gives it.
    ///
    /// Core 5.4, Vol 4, Part E, 7.8.18 (LE Connection Update command)
    func lengthen(_ link: Link) {
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
            link.isBrief || link.hasAskedForProof || contestedPeers.isProofExpected(of: identity.address)
        return asked.timeout
            <= (isProofWanted ? link.facts.parameters.supervisionTimeout : Self.unprovenSupervisionTimeout)
    }

    /// What a bonded peer gets that nobody has asked to prove itself, in units of 10 ms.
    static let unprovenSupervisionTimeout: UInt16 = 600

    func isContestedAndEnding(_ link: Link) -> Bool {
        guard link.isDisconnecting, let identity = link.identity else { return false }
        return contestedPeers.contains(identity.address)
    }
}
