import BluetoothCore
import BluetoothCrypto
import SecurityManager

/// Who speaks with the user about pairings that no window and no request pins to a method: those of apps that know
/// nothing but Core Bluetooth. Called inline on the loop; answers go to ``Host/answerPairing(_:_:)`` then or later, within
/// the thirty seconds that a pairing may stand still.
package protocol PairingAgent: AnyObject {
    /// What the user can see and type here.
    var ioCapability: IOCapability { get }
    /// A peer asks to pair, by this model; or this side does, and the user will see nothing else of it (Just Works); or, where there
    /// is no model yet, this side would ask a peer to, which has lost
    /// the key of its bond. ``PairingAnswer/consent(_:)``. A link that is in a bond's name and not proven is a bonded peer
    /// that lost its half of the bond, or somebody else under its address: whoever consents gives the bond up.
    func consentRequested(_ link: LinkInfo, model: AssociationModel?)
    /// Show these six digits and ask whether the peer shows the same: ``PairingAnswer/numbersAreEqual(_:)``.
    func numericComparisonRequested(_ link: LinkInfo, value: UInt32)
    /// Show these six digits, which the peer's user types.
    func displayPasskey(_ link: LinkInfo, passkey: UInt32)
    /// Ask for six digits that the peer shows, or that its user types there too: ``PairingAnswer/passkey(_:)``.
    func passkeyRequested(_ link: LinkInfo)
    /// The pairing is over: what was shown or asked goes.
    func pairingEnded(_ link: LinkInfo, result: Result<BondID, HostError>)
}

/// What a user said to a question of a ``PairingAgent``. What does not answer the question that stands is ignored.
package enum PairingAnswer: Sendable {
    case consent(Bool)
    case numbersAreEqual(Bool)
    case passkey(UInt32)
    /// The user gives up.
    case refusal
}

/// What becomes of pairings that no window and no request pins to a method.
package struct PairingRules: Sendable {
    /// Who may pair without a window.
    package enum Admission: Sendable {
        /// A lock's way: who pairs with it comes through a window.
        case nobody
        /// As peripheral, centrals while something is published that asks for encryption. As central, the peripheral at which an
        /// app's operation was refused for want of security; one that asks by itself where there is a user to ask.
        case asNeeded
        case anybody
    }

    package var admission: Admission
    /// The least level of LE security mode 1: 2 lets Just Works through, which anybody in the middle can be part of.
    package var minimumLevel: UInt8
    /// Whether what is bonded without a credential's name, and has lost its half, may pair again in place of its bond, no
    /// weaker than it was: when the agent's user consents, and not without one. On a link that is encrypted with the bond a
    /// stronger one may always take its place.
    package var renewsBonds: Bool
    /// nil, as it should be, allows LE Secure Connections only.
    package var legacy: LegacyPairing?
    /// Out-of-band data of this side, with the key pair that it commits to.
    package var offered: (keyPair: P256KeyPair, random: Secret)?

    package init(
        _ admission: Admission, minimumLevel: UInt8 = 2, renewsBonds: Bool = false, legacy: LegacyPairing? = nil,
        offered: (keyPair: P256KeyPair, random: Secret)? = nil
    ) {
        self.admission = admission
        self.minimumLevel = minimumLevel
        self.renewsBonds = renewsBonds
        self.legacy = legacy
        self.offered = offered
    }

    package static let refused = Self(.nobody)
    package static let asNeeded = Self(.asNeeded)
    package static let justWorks = Self(.anybody)
}
