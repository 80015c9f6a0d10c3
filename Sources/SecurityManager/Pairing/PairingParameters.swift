import BluetoothCrypto

/// The chance in one pairing, made by a shell and used once: a pairing that ends takes it along.
package struct PairingMaterial: Sendable {
    package static let randomOctets = 20 * 16 + 16 + 8 + 8 + 16 + 8 + 2

    package let keyPair: P256KeyPair
    /// One for each round of a passkey entry; other models use the first.
    let nonces: [UInt128]
    let localCSRK: Secret
    let bondID: BondID
    /// Six decimal digits.
    let passkey: UInt32
    /// What a responder distributes after legacy pairing.
    let legacyLTK: Secret
    let rand: UInt64
    let ediv: UInt16

    /// nil unless `random` has ``randomOctets``. Keys are cut out of it as secrets, through no array. An out-of-band offer's key pair is the one it committed to.
    package init?(keyPair: P256KeyPair, random: Secret) {
        guard random.count == Self.randomOctets else { return nil }
        self.keyPair = keyPair
        func number(_ range: Range<Int>) -> UInt128 {
            random.withBytes { $0[range].reduce(0) { $0 << 8 | UInt128($1) } }
        }
        nonces = (0..<Passkey.bits).map { number($0 * 16..<$0 * 16 + 16) }
        localCSRK = random.part(320..<336)
        bondID = BondID(random: UInt64(number(336..<344)))
        // 64 bits on six digits: no digit is favoured by more than 1 in 10^13.
        passkey = UInt32(number(344..<352) % UInt128(Passkey.limit))
        legacyLTK = random.part(352..<368)
        rand = UInt64(number(368..<376))
        ediv = UInt16(number(376..<378))
    }
}

/// Core 5.4, Vol 3, Part H, 2.3.5.6.3 (Authentication stage 1 – Passkey Entry)
package enum Passkey {
    /// One past the greatest.
    package static let limit: UInt32 = 1_000_000
    /// Rounds of a passkey entry.
    package static let bits = 20
}

/// Everything a pairing is given when it begins.
package struct PairingParameters: Sendable {
    package var policy: PairingPolicy
    package var material: PairingMaterial
    /// The operator's name for whom this is; the only bond that the pairing may replace has the same.
    package var credential: String?
    /// What the application keeps with the bond from the bond's first moment on (``Bond/applicationSecret``).
    package var applicationSecret: Secret?
    /// Bonds without a credential's name that this pairing may replace, by one that is no weaker: the one that the link is
    /// encrypted with, and those that a user gave up. All others stand, whatever the peer claims to be.
    package var renewable: Set<BondID>

    package init(
        policy: PairingPolicy, material: PairingMaterial, credential: String? = nil, applicationSecret: Secret? = nil,
        renewable: Set<BondID> = []
    ) {
        self.policy = policy
        self.material = material
        self.credential = credential
        self.applicationSecret = applicationSecret
        self.renewable = renewable
    }
}
