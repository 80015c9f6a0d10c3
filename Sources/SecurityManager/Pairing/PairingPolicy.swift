import BluetoothCore
import BluetoothCrypto

/// Core 5.4, Vol 3, Part H, 2.1 (Introduction): the central initiates, the peripheral responds.
package enum PairingRole: Sendable, CaseIterable { case initiator, responder }

/// The one association model that a pairing may use, with this side's part in it. Whatever else the exchange of
/// features would lead to ends the pairing.
package enum PairingMethod: Equatable, Sendable {
    /// This side printed its data (`offered`), read the peer's (`received`), or both.
    case outOfBand(offered: OutOfBandOffer?, received: OutOfBandData?)
    /// This side shows the passkey of its material; the peer types it.
    case passkeyDisplay
    /// The peer shows a passkey; this side's user types it.
    case passkeyInput
    /// Both show six digits and both users say whether they are equal.
    case numericComparison
    /// No protection against a machine in the middle. Never for a lock.
    case justWorks

    package var model: AssociationModel {
        switch self {
        case .outOfBand: .outOfBand
        case .passkeyDisplay, .passkeyInput: .passkeyEntry
        case .numericComparison: .numericComparison
        case .justWorks: .justWorks
        }
    }

    var ioCapability: IOCapability {
        switch self {
        case .outOfBand, .justWorks: .noInputNoOutput
        case .passkeyDisplay: .displayOnly
        case .passkeyInput: .keyboardOnly
        case .numericComparison: .displayYesNo
        }
    }

    var hasReceivedOutOfBandData: Bool {
        if case .outOfBand(_, .some) = self { true } else { false }
    }
}

/// What a pairing has to be. Without exception: LE Secure Connections, 16-octet keys, no key derived for BR/EDR, no
/// public key with our own X, no invalid point, no reflected key.
///
/// Core 5.4, Vol 3, Part H, 2.3.1 (Security properties)
package struct PairingPolicy: Sendable {
    package var method: PairingMethod
    /// What this side gives, if the peer takes it.
    package var localKeys: KeyDistribution
    /// What this side asks of the peer.
    package var peerKeys: KeyDistribution
    /// What the peer must give, or the pairing is refused.
    package var requiredPeerKeys: KeyDistribution
    /// The debug key's private half is in the specification: only a sniffer's rig may allow it.
    package var allowsDebugKey: Bool

    package init(
        method: PairingMethod, localKeys: KeyDistribution = [.idKey, .signKey],
        peerKeys: KeyDistribution = [.idKey, .signKey], requiredPeerKeys: KeyDistribution = [],
        allowsDebugKey: Bool = false
    ) {
        self.method = method
        self.localKeys = localKeys
        self.peerKeys = peerKeys
        self.requiredPeerKeys = requiredPeerKeys
        self.allowsDebugKey = allowsDebugKey
    }

    package static let keyOctets: UInt8 = 16

    var authReq: AuthReq {
        method.model.isAuthenticated ? [.bonding, .mitm, .secureConnections] : [.bonding, .secureConnections]
    }
}

/// What one side gives the other by a way that is not Bluetooth, such as a printed code: the address it advertises,
/// `r` and `C`.
///
/// Core 5.4, Vol 3, Part H, 2.3.5.6.4 (Authentication stage 1 – Out of Band)
package struct OutOfBandData: Equatable, Sendable {
    package var address: DeviceAddress
    package var random: Secret
    package var confirm: UInt128

    package init(address: DeviceAddress, random: Secret, confirm: UInt128) {
        self.address = address
        self.random = random
        self.confirm = confirm
    }
}

/// The `r` that belongs to the data this side gave away. It must go with the key pair of the same pairing's material.
package struct OutOfBandOffer: Equatable, Sendable {
    package var random: Secret
    package init(random: Secret) { self.random = random }

    /// What to print: `C` commits to the public key.
    package func data(address: DeviceAddress, publicKey: P256PublicKey) -> OutOfBandData {
        OutOfBandData(
            address: address, random: random, confirm: Toolbox.f4(u: publicKey.x, v: publicKey.x, x: random, z: 0))
    }
}

/// The identity that bonds belong to.
package struct LocalIdentity: Equatable, Sendable {
    package var address: IdentityAddress
    package var irk: Secret

    package init(address: IdentityAddress, irk: Secret) {
        self.address = address
        self.irk = irk
    }
}
