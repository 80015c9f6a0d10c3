import BluetoothCore
import HCI

// MARK: Peers that somebody else answers for

extension Host {
    /// What the app received over a peer's link shows that the peer is who it says: a link that is not encrypted, and was
    /// not in vain.
    package func vouch(for peer: PeerIdentifier) { clientLink(peer)?.isVouched = true }

    /// A link in a bonded peer's name has ended. Whether somebody else may have been at its other end: it was never
    /// encrypted, though this side asked for it, or the other side ended it before it could.
    func noteContest(over link: Link) {
        guard state == .poweredOn, link.role == .central, let identity = link.identity, !link.isProven, !link.isVouched,
            !link.isEndedByApp || link.hasAskedForProof
        else { return }
        contestedPeers.lost(identity.address, at: link.address, now: now)
    }

    /// The attempt to connect to one who was heard has ended.
    func noteMissedAttempt() {
        guard let missed = initiator.takeMissed() else { return }
        if missed.isRefused {
            contestedPeers.giveUp(missed.wanted)
        } else {
            contestedPeers.lost(missed.wanted, at: missed.onAir, now: now)
        }
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

    func isContestedAndEnding(_ link: Link) -> Bool {
        guard link.isDisconnecting, let identity = link.identity else { return false }
        return contestedPeers.contains(identity.address)
    }
}
