/// Whether a link in a bonded peer's name that came to nothing says that somebody else may answer for that peer.
///
/// - In: what this side does to find out who is there, and the link's end.
/// - Out: whether its end counts against the peer's name. It counts once.
/// - Owner: the link. What is made of it is ``ContestedPeers``'.
struct LinkContest: Equatable {
    enum Event: Equatable {
        /// This side asked for encryption with the bond's key.
        case proofAsked
        /// An app has seen, by other means than encryption, that the peer is who it says.
        case vouched
        /// This side is about to end the link.
        case endedHere
        /// The link has ended, or is about to. `isSuspect`: it is a central's, in a bonded peer's name, and was never encrypted
        /// with the bond's key. `isProofExpected`: an app asks the peer for that as soon as it can.
        case ended(isSuspect: Bool, isProofExpected: Bool)
    }

    private enum State {
        case open
        case proofAsked
        case vouched
        /// Ended by this side, which has not asked the peer to prove itself: that says nothing of the peer.
        case endedHere
        case counted
    }

    private var state = State.open

    var isProofAsked: Bool { state == .proofAsked }
    var isVouched: Bool { state == .vouched }

    /// True when the end counts.
    @discardableResult
    mutating func handle(_ event: Event) -> Bool {
        switch (state, event) {
        case (.open, .proofAsked), (.endedHere, .proofAsked): state = .proofAsked
        case (.open, .vouched), (.proofAsked, .vouched), (.endedHere, .vouched): state = .vouched
        case (.open, .endedHere): state = .endedHere
        // The other side ended it before an app could ask for proof; or did not give it.
        case (.open, .ended(isSuspect: true, isProofExpected: true)),
            (.proofAsked, .ended(isSuspect: true, isProofExpected: _)):
            state = .counted
            return true
        case (.open, .ended), (.proofAsked, .proofAsked), (.proofAsked, .endedHere), (.proofAsked, .ended),
            (.endedHere, .endedHere), (.endedHere, .ended), (.vouched, _), (.counted, _):
            break
        }
        return false
    }
}
