import BluetoothCore

/// What stands between a key that has come near and the opening that it asks for by itself.
package struct ApproachPolicy: Hashable, Sendable {
    /// The user is asked first.
    package var asksFirst: Bool
    /// The user has to be there: their session unlocked, and the lid open.
    package var needsUser: Bool
    /// A program of the user's has to agree.
    package var asksProgram: Bool

    /// Nothing stands in between.
    package static let immediate = Self(asksFirst: false, needsUser: false)

    package init(asksFirst: Bool, needsUser: Bool, asksProgram: Bool = false) {
        self.asksFirst = asksFirst
        self.needsUser = needsUser
        self.asksProgram = asksProgram
    }

    /// For so long somebody may decide. Who is asked has to find the question first.
    var decisionMilliseconds: UInt64 {
        (asksFirst ? Self.questionMilliseconds : Self.lookMilliseconds) + (asksProgram ? Self.programMilliseconds : 0)
    }
    package static let questionMilliseconds: UInt64 = 30_000
    /// So long the program may take.
    package static let programMilliseconds: UInt64 = 5_000
    static let lookMilliseconds: UInt64 = 3_000
}

/// One coming near that somebody is to decide on. Until then the disk has the key away, so that after a kill it comes near once more.
package struct Approach: Hashable, Sendable {
    package var peer: PeerIdentifier
    /// Behind this it is over. No two of a lock's have the same.
    package var until: Instant
    package var policy: ApproachPolicy

    package init(peer: PeerIdentifier, until: Instant, policy: ApproachPolicy) {
        (self.peer, self.until, self.policy) = (peer, until, policy)
    }
}
