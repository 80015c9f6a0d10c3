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

extension BondMutation {
    /// Which bond it is about.
    package var bond: BondID {
        switch self {
        case .upsert(let bond): bond.id
        case .remoteSignCounter(let id, _), .localSignCounterReserved(let id, _), .promoted(let id), .delete(let id): id
        }
    }

    /// What it makes of a store's bonds, as every store must.
    package func apply(to bonds: inout [BondID: Bond]) {
        switch self {
        case .upsert(let bond): bonds[bond.id] = bond
        case .remoteSignCounter(let id, let counter): bonds[id]?.lastRemoteSignCounter = counter
        case .localSignCounterReserved(let id, let bound): bonds[id]?.localSignCounterReserved = bound
        case .promoted(let id):
            if bonds[id]?.state == .unconfirmed { bonds[id]?.state = .confirmed }
        case .delete(let id): bonds[id] = nil
        }
    }
}
