import COpenSSL

/// A public key of Ed25519, as its 32 octets.
///
/// RFC 8032, 5.1.5 (Key Generation)
package struct Ed25519PublicKey: Hashable, Sendable {
    package static let octetCount = 32

    package let octets: [UInt8]

    /// nil unless there are 32 octets. Whether they are a point of the curve shows when something is verified: under any others nothing is valid.
    package init?(_ octets: [UInt8]) {
        guard octets.count == Self.octetCount else { return nil }
        self.octets = octets
    }

    fileprivate init(of key: OpaquePointer) {
        octets = [UInt8](unsafeUninitializedCapacity: Self.octetCount) { buffer, count in
            required(success: latch_ed25519_public(key, buffer.baseAddress))
            count = Self.octetCount
        }
    }

    /// Whether `signature` is of this key over `message`; false for one that has not 64 octets.
    ///
    /// RFC 8032, 5.1.7 (Verify)
    package func isSigned(_ message: [UInt8], _ signature: [UInt8]) -> Bool {
        signature.count == Ed25519SigningKey.signatureOctets
            && latch_ed25519_verify(octets, message, message.count, signature) == 1
    }
}

/// A private key of Ed25519, from its seed. One thread at a time.
///
/// RFC 8032, 5.1 (Ed25519ph, Ed25519ctx, and Ed25519)
package final class Ed25519SigningKey {
    package static let seedOctets = 32
    package static let signatureOctets = 64

    package let publicKey: Ed25519PublicKey
    private let key: OpaquePointer

    /// nil unless the seed has 32 octets.
    package convenience init?(seed: Secret) {
        guard seed.count == Self.seedOctets else { return nil }
        self.init(whole: seed)
    }

    /// The key for the purpose that `label` names (``HMACSHA256/derive(_:octets:from:)``).
    package convenience init(derived label: String, from key: Secret) {
        self.init(whole: HMACSHA256.derive(label, octets: Self.seedOctets, from: key))
    }

    private init(whole seed: Secret) {
        key = required(seed.withBase(latch_ed25519_new))
        publicKey = Ed25519PublicKey(of: key)
    }

    deinit { latch_ed25519_free(key) }

    /// The same for the same message.
    ///
    /// RFC 8032, 5.1.6 (Sign)
    package func sign(_ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.signatureOctets) { buffer, count in
            required(success: latch_ed25519_sign(key, message, message.count, buffer.baseAddress))
            count = Self.signatureOctets
        }
    }
}
