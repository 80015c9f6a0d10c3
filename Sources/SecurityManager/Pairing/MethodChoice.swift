/// How a pairing comes by its association model.
package enum MethodChoice: Equatable, Sendable {
    /// This one or none: the lock's way.
    case pinned(PairingMethod)
    /// What both sides' capabilities lead to, if it is strong enough.
    case negotiated(PairingCapabilities)

    var ioCapability: IOCapability {
        switch self {
        case .pinned(let method): method.ioCapability
        case .negotiated(let capabilities): capabilities.ioCapability
        }
    }

    var receivedOutOfBandData: OutOfBandData? {
        switch self {
        case .pinned(.outOfBand(_, let received)): received
        case .pinned: nil
        case .negotiated(let capabilities): capabilities.received
        }
    }

    var offeredOutOfBandData: OutOfBandOffer? {
        switch self {
        case .pinned(.outOfBand(let offered, _)): offered
        case .pinned: nil
        case .negotiated(let capabilities): capabilities.offered
        }
    }

    var wantsMITM: Bool {
        switch self {
        case .pinned(let method): method.model.isAuthenticated
        case .negotiated(let capabilities):
            capabilities.minimumLevel > 2 || capabilities.ioCapability != .noInputNoOutput
                || capabilities.received != nil
        }
    }
}

/// What this side can do in a pairing whose model is negotiated, and what it insists on.
package struct PairingCapabilities: Equatable, Sendable {
    package var ioCapability: IOCapability
    package var offered: OutOfBandOffer?
    package var received: OutOfBandData?
    /// The least level of LE security mode 1 that will do: 2 allows Just Works, 3 does not.
    package var minimumLevel: UInt8
    /// Ask the user: as responder before a Pairing Request is answered, as initiator before a pairing goes on of which a user sees
    /// nothing else (Just Works).
    package var asksConsent: Bool

    package init(
        ioCapability: IOCapability, offered: OutOfBandOffer? = nil, received: OutOfBandData? = nil,
        minimumLevel: UInt8 = 2, asksConsent: Bool = false
    ) {
        self.ioCapability = ioCapability
        self.offered = offered
        self.received = received
        self.minimumLevel = minimumLevel
        self.asksConsent = asksConsent
    }
}
