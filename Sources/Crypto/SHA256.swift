import COpenSSL

/// FIPS 180-4.
package enum SHA256 {
    package static let digestOctets = 32

    package static func digest(_ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: digestOctets) { buffer, count in
            required(success: latch_sha256(message, message.count, buffer.baseAddress))
            count = digestOctets
        }
    }
}
