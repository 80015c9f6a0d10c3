/// HMAC with SHA-256: what keys are derived from a key of any length with.
///
/// RFC 2104; RFC 4231
package enum HMACSHA256 {
    private static let blockOctets = 64

    package static func authenticate(_ message: [UInt8], key: Secret) -> [UInt8] {
        if key.count > blockOctets {
            var digest = key.withBytes { SHA256.digest(Array($0)) }
            return authenticate(message, key: Secret(wiping: &digest))
        }
        return hash(key, 0x5C, before: hash(key, 0x36, before: message))
    }

    /// Of the key, padded to a block and masked, and then `message`.
    private static func hash(_ key: Secret, _ mask: UInt8, before message: [UInt8]) -> [UInt8] {
        var octets: [UInt8] = []
        // Room for all, so that no copy is left behind by growing.
        octets.reserveCapacity(blockOctets + message.count)
        key.withBytes { bytes in for byte in bytes { octets.append(byte ^ mask) } }
        octets.append(contentsOf: repeatElement(mask, count: blockOctets - key.count))
        octets.append(contentsOf: message)
        let digest = SHA256.digest(octets)
        _ = Secret(wiping: &octets)
        return digest
    }

    /// A key of `octets` octets for the purpose that `label` names.
    ///
    /// NIST SP 800-108, 4.1 (KDF in Counter Mode), without a context
    package static func derive(_ label: String, octets: Int, from key: Secret) -> Secret {
        func big(_ number: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) } }
        let fixed = Array(label.utf8) + [0] + big(octets * 8)
        var stream: [UInt8] = []
        stream.reserveCapacity(octets + SHA256.digestOctets)
        var counter = 0
        while stream.count < octets {
            counter += 1
            var block = authenticate(big(counter) + fixed, key: key)
            stream += block
            _ = Secret(wiping: &block)
        }
        var derived = Array(stream.prefix(octets))
        _ = Secret(wiping: &stream)
        return Secret(wiping: &derived)
    }
}
