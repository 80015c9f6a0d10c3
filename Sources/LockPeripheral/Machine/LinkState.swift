import BluetoothCore
import LockProtocol

/// What the lock knows of one connection. All of it dies with the link and with the process.
struct LinkState {
    /// An unproven link is dropped after this long: one slot is not held by whoever replays an address.
    static let unprovenMaximumMilliseconds: UInt64 = 6_000

    /// A bond proves who it is and gives no right: a link whose bond has no credential that is enabled is dropped after this
    /// long, which is enough to finish an enrolment.
    static let withoutCredentialMaximumMilliseconds: UInt64 = 60_000

    enum Posture: Equatable {
        /// Unencrypted: signed commands only. `dropAt` is nil while an enrolment is under way.
        case signed(dropAt: Instant?)
        /// Proven by the bond's LTK. There is no way back. `dropAt` is nil while its credential is enabled.
        case encrypted(dropAt: Instant?)
        /// The disconnect has been asked for: nothing counts any more.
        case leaving
    }

    var posture: Posture
    var claim: LinkClaim?
    var subscriptions: Set<LockSubscription>
    var challenges = ChallengeBook()

    var isEncrypted: Bool { if case .encrypted = posture { true } else { false } }

    /// The bond whose key the peer has proved.
    var provenBond: UInt64? { isEncrypted ? claim?.bond : nil }

    /// What a credential may do over this link.
    func rights(of credential: Credential) -> Rights {
        let rights = credential.role.rights
        return claim?.programKey == nil ? rights : rights.intersection(.programs)
    }

    /// Whether a command that took this path may be looked at on this link.
    func admits(_ path: CommandPath) -> Bool {
        #if LATCH_PLANTS
        if Plant.active == .clear { return posture != .leaving }
        #endif
        return switch (posture, path) {
        case (.signed, .signed), (.encrypted, .encrypted): true
        case (.signed, .encrypted), (.encrypted, .signed), (.leaving, _): false
        }
    }

    var dropAt: Instant? {
        switch posture {
        case .signed(let dropAt), .encrypted(let dropAt): dropAt
        case .leaving: nil
        }
    }

    /// When the next challenge is due by itself.
    var renewalDue: Instant? {
        posture != .leaving && subscriptions.contains(.challenge) ? challenges.renewalDue : nil
    }
}
