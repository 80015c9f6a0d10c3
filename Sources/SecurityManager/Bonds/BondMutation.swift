/// A change to the bonds of one local identity that must be on disk before what depends on it leaves. The host commits
/// all of an iteration in one transaction, in order.
package enum BondMutation: Equatable, Sendable {
    /// The whole bond, new or in place of what its identifier named.
    case upsert(Bond)
    /// The last sign counter accepted from the peer.
    case remoteSignCounter(BondID, UInt32)
    /// Every local sign counter below `bound` may be used from now on.
    case localSignCounterReserved(BondID, bound: UInt32)
    /// An unconfirmed bond is confirmed.
    case promoted(BondID)
    case delete(BondID)
}
