import COpenSSL

/// HKDF with SHA-256: keys from a secret that is not evenly random, as a Diffie-Hellman secret is not.
///
/// RFC 5869
package enum HKDF {
    /// A key of `octets` octets, at most 255 times as many as a digest has, for the purpose that `info` names.
    package static func derive(_ secret: Secret, salt: Secret, info: [UInt8], octets: Int) -> Secret {
        Secret(count: octets) { key in
            secret.withBytes { secret in
                salt.withBytes { salt in
                    info.withUnsafeBufferPointer { info in
                        required(
                            success: latch_hkdf_sha256(
                                latch_octets(bytes: secret.baseAddress, count: secret.count),
                                latch_octets(bytes: salt.baseAddress, count: salt.count),
                                latch_octets(bytes: info.baseAddress, count: info.count), key, octets))
                    }
                }
            }
        }
    }
}
