import BluetoothCore
import BluetoothCrypto

/// Core 5.4, Vol 3, Part H, 2.1 (Introduction): the central initiates, the peripheral responds.
package enum PairingRole: Sendable, CaseIterable { case initiator, responder }

/// An association model with this side's part in it.
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
}

/// Leave to pair without LE Secure Connections, by keys that whoever listens to the pairing can work out: passkeys of
/// six digits are found by trying them. Never for a lock.
///
/// Core 5.4, Vol 3, Part H, 2.3.5.5 (LE legacy pairing phase 2); Vol 1, Part A, 5.4.1 (Security architecture)
package struct LegacyPairing: Equatable, Sendable {
    /// Octets of the shortest key that will do.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.4 (Encryption key size): 7 to 16
    package var minimumKeyOctets: UInt8
    /// What both sides were given out of band.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.5.4 (LE legacy pairing – Out of Band)
    package var temporaryKey: Secret?
    /// Offers nothing better, as devices did before 2014: for a rig that has to see legacy pairing happen.
    package var isAlone: Bool

    package static let keyOctetsMinimum: UInt8 = 7

    package init(
        minimumKeyOctets: UInt8 = PairingPolicy.keyOctets, temporaryKey: Secret? = nil, isAlone: Bool = false
    ) {
        self.minimumKeyOctets = max(Self.keyOctetsMinimum, minimumKeyOctets)
        self.temporaryKey = temporaryKey
        self.isAlone = isAlone
    }
}

/// What a pairing has to be. Without exception: no key derived for BR/EDR, no public key with our own X, no invalid
/// point, no reflected key; and, unless ``legacy`` allows otherwise, LE Secure Connections and 16-octet keys.
///
/// Core 5.4, Vol 3, Part H, 2.3.1 (Security properties)
package struct PairingPolicy: Sendable {
    package var choice: MethodChoice
    /// nil, as it should be, allows none.
    package var legacy: LegacyPairing?
    /// What this side gives, if the peer takes it.
    package var localKeys: KeyDistribution
    /// What this side asks of the peer.
    package var peerKeys: KeyDistribution
    /// What the peer must give, or the pairing is refused.
    package var requiredPeerKeys: KeyDistribution
    /// The debug key's private half is in the specification: only a sniffer's rig may allow it.
    package var allowsDebugKey: Bool
    /// Octets of the longest key that is offered. All, but in a rig that has to see short ones.
    package var maximumKeyOctets = Self.keyOctets

    package init(
        choice: MethodChoice, legacy: LegacyPairing? = nil, localKeys: KeyDistribution = [.idKey, .signKey],
        peerKeys: KeyDistribution = [.idKey, .signKey], requiredPeerKeys: KeyDistribution = [],
        allowsDebugKey: Bool = false
    ) {
        self.choice = choice
        self.legacy = legacy
        self.localKeys = localKeys
        self.peerKeys = peerKeys
        self.requiredPeerKeys = requiredPeerKeys
        self.allowsDebugKey = allowsDebugKey
    }

    /// By one method and no other, with LE Secure Connections.
    package init(
        method: PairingMethod, localKeys: KeyDistribution = [.idKey, .signKey],
        peerKeys: KeyDistribution = [.idKey, .signKey], requiredPeerKeys: KeyDistribution = [],
        allowsDebugKey: Bool = false
    ) {
        self.init(
            choice: .pinned(method), localKeys: localKeys, peerKeys: peerKeys, requiredPeerKeys: requiredPeerKeys,
            allowsDebugKey: allowsDebugKey)
    }

    package static let keyOctets: UInt8 = 16

    var authReq: AuthReq {
        var authReq: AuthReq = choice.wantsMITM ? [.bonding, .mitm] : .bonding
        if legacy?.isAlone != true { authReq.insert(.secureConnections) }
        return authReq
    }

    /// Legacy pairing's flag has another meaning, and there is one bit for both: it is set for the one that is expected.
    var oobDataFlag: UInt8 { choice.receivedOutOfBandData != nil || legacy?.temporaryKey != nil ? 1 : 0 }

    var minimumKeyOctets: UInt8 { legacy?.minimumKeyOctets ?? Self.keyOctets }
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
