/// Why a bearer can no longer be used. Reaches as far as the link: nothing but a new one mends it.
package enum ATTBearerFailure: Error, Hashable, Sendable {
    /// The peer's fault: our request was not answered within 30 s.
    case requestTimedOut
    /// The peer's fault: our indication was not confirmed within 30 s.
    case indicationTimedOut
    /// A local fault: the app did not answer the peer's request within 30 s, which ended the bearer for the peer.
    case requestUnanswered
    /// The peer's fault: it sent a request before its last one was answered.
    case requestOverlap
    /// The peer's fault: it answered a request other than the one it was asked.
    case mismatchedResponse
}
