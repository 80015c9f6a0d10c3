import BluetoothCore
import BluetoothCrypto

/// A bond's name in this process and on its disk: 63 random bits, never given to another bond, never sent.
package struct BondID: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: Int64

    /// From the disk.
    package init(_ rawValue: Int64) { self.rawValue = rawValue }

    /// A new one; the sign bit is dropped so that it reads as the same number everywhere.
    package init(random: UInt64) { rawValue = Int64(random & (.max >> 1)) }

    package var description: String { String(UInt64(bitPattern: rawValue), radix: 16) }
}

/// How far a bond has been proven.
package enum BondState: UInt8, Sendable, CaseIterable {
    /// Keys are being exchanged on a link that is still up. It is good for nothing, and what a restart finds in this
    /// state is deleted: the link, and with it the peer's half of the keys, is gone.
    case provisional = 0
    /// The pairing is complete here. It may encrypt a link; nothing else may rest on it until a reconnection has been
    /// encrypted with it, because only that proves that the peer kept its half.
    case unconfirmed = 1
    /// Proven by an encrypted reconnection.
    case confirmed = 2
}

/// How the two devices made sure of each other.
///
/// Core 5.4, Vol 3, Part H, 2.3.5.1 (Selecting key generation method)
package enum AssociationModel: UInt8, Sendable, CaseIterable {
    case justWorks = 0
    case numericComparison = 1
    case passkeyEntry = 2
    case outOfBand = 3

    /// Whether the model protects against a machine in the middle, which is what makes a key authenticated.
    package var isAuthenticated: Bool { self != .justWorks }
}

/// What links the two devices once they are paired, as one local identity keeps it.
///
/// Core 5.4, Vol 3, Part H, 2.4.1 (Definition of keys and values)
package struct Bond: Equatable, Sendable {
    package var id: BondID
    /// Who the peer says it is: nil only in a provisional bond whose peer has not said yet.
    package var identity: IdentityAddress?
    /// nil for a peer that does not use resolvable private addresses.
    package var peerIRK: Secret?
    package var ltk: Secret
    /// Octets of entropy in `ltk`.
    package var keySize: UInt8
    /// 0, as is `rand`, for keys of LE Secure Connections.
    package var ediv: UInt16
    package var rand: UInt64
    /// Signs what this side sends. nil when it was not distributed.
    package var localCSRK: Secret?
    /// Verifies what the peer sends. nil when it was not distributed.
    package var remoteCSRK: Secret?
    package var secureConnections: Bool
    package var model: AssociationModel
    package var state: BondState
    /// The operator's name for the credential that this bond was enrolled for; means nothing here.
    package var credential: String?
    /// What the application keeps with the bond, of at most 255 octets; means nothing here, and goes with the bond.
    package var applicationSecret: Secret?
    /// The last accepted; nil for none yet, which is not 0.
    package var lastRemoteSignCounter: UInt32?
    /// Every local counter below this may have been used. The next process begins here.
    package var localSignCounterReserved: UInt32

    package init(
        id: BondID, identity: IdentityAddress?, peerIRK: Secret? = nil, ltk: Secret, keySize: UInt8 = 16,
        ediv: UInt16 = 0, rand: UInt64 = 0, localCSRK: Secret? = nil, remoteCSRK: Secret? = nil,
        secureConnections: Bool = true, model: AssociationModel, state: BondState, credential: String? = nil,
        applicationSecret: Secret? = nil, lastRemoteSignCounter: UInt32? = nil, localSignCounterReserved: UInt32 = 0
    ) {
        self.id = id
        self.identity = identity
        self.peerIRK = peerIRK
        self.ltk = ltk
        self.keySize = keySize
        self.ediv = ediv
        self.rand = rand
        self.localCSRK = localCSRK
        self.remoteCSRK = remoteCSRK
        self.secureConnections = secureConnections
        self.model = model
        self.state = state
        self.credential = credential
        self.applicationSecret = applicationSecret
        self.lastRemoteSignCounter = lastRemoteSignCounter
        self.localSignCounterReserved = localSignCounterReserved
    }

    package var isAuthenticated: Bool { model.isAuthenticated }

    /// Another host of this machine has made it and has its keys: that one alone encrypts links with it.
    package var isKeptElsewhere: Bool { ltk.count == 0 }

    package var strength: BondStrength {
        BondStrength(isAuthenticated: isAuthenticated, isSecureConnections: secureConnections, keyOctets: keySize)
    }

    /// Of LE security mode 1.
    package var securityLevel: UInt8 { strength.level }
}
