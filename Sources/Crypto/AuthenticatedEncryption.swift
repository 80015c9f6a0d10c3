import COpenSSL

/// What an authenticated encryption makes of a message.
package struct SealedMessage: Equatable, Sendable {
    /// As many octets as the message.
    package var ciphertext: [UInt8]
    package var tag: [UInt8]

    package init(ciphertext: [UInt8], tag: [UInt8]) {
        self.ciphertext = ciphertext
        self.tag = tag
    }
}

/// AES-128-CCM with a 13-octet nonce and an 8-octet tag: what seals a receipt into one packet.
///
/// NIST SP 800-38C; RFC 3610
package struct AESCCM: Sendable {
    package static let nonceOctets = 13
    package static let tagOctets = 8
    private let key: Secret

    /// `key` has 16 octets.
    package init(key: Secret) {
        precondition(key.count == 16, "an AES-128 key has 16 octets")
        self.key = key
    }

    /// A nonce must never seal two messages under one key.
    package func seal(_ message: [UInt8], nonce: [UInt8], authenticating data: [UInt8] = []) -> SealedMessage {
        precondition(nonce.count == Self.nonceOctets, "the nonce has 13 octets")
        return AEAD.seal(
            LATCH_AES128_CCM, key: key, nonce: nonce, authenticating: data, message: message, tagOctets: Self.tagOctets)
    }

    /// nil when the tag does not fit, or nonce or tag do not have their lengths.
    package func open(_ sealed: SealedMessage, nonce: [UInt8], authenticating data: [UInt8] = []) -> [UInt8]? {
        guard nonce.count == Self.nonceOctets, sealed.tag.count == Self.tagOctets else { return nil }
        return AEAD.open(LATCH_AES128_CCM, key: key, nonce: nonce, authenticating: data, sealed: sealed)
    }
}

/// AES-256-GCM with a 12-octet nonce and a 16-octet tag: what wraps keys on disk.
///
/// NIST SP 800-38D
package struct AESGCM: Sendable {
    package static let keyOctets = 32
    package static let nonceOctets = 12
    package static let tagOctets = 16
    private let key: Secret

    /// `key` has 32 octets.
    package init(key: Secret) {
        precondition(key.count == Self.keyOctets, "an AES-256 key has 32 octets")
        self.key = key
    }

    /// A nonce must never seal two messages under one key.
    package func seal(_ message: [UInt8], nonce: [UInt8], authenticating data: [UInt8]) -> SealedMessage {
        precondition(nonce.count == Self.nonceOctets, "the nonce has 12 octets")
        return AEAD.seal(
            LATCH_AES256_GCM, key: key, nonce: nonce, authenticating: data, message: message, tagOctets: Self.tagOctets)
    }

    /// nil when the tag does not fit, or nonce or tag do not have their lengths.
    package func open(_ sealed: SealedMessage, nonce: [UInt8], authenticating data: [UInt8]) -> [UInt8]? {
        guard nonce.count == Self.nonceOctets, sealed.tag.count == Self.tagOctets else { return nil }
        return AEAD.open(LATCH_AES256_GCM, key: key, nonce: nonce, authenticating: data, sealed: sealed)
    }
}

private enum AEAD {
    static func seal(
        _ kind: latch_aead, key: Secret, nonce: [UInt8], authenticating data: [UInt8], message: [UInt8], tagOctets: Int
    ) -> SealedMessage {
        var tag = [UInt8](repeating: 0, count: tagOctets)
        let ciphertext = [UInt8](unsafeUninitializedCapacity: capacity(for: message.count)) { buffer, count in
            let status = withOctets(nonce, data, message) { nonce, data, message in
                key.withBase {
                    latch_aead_seal(kind, $0, nonce, data, message, buffer.baseAddress, &tag, tagOctets)
                }
            }
            required(success: status)
            count = message.count
        }
        return SealedMessage(ciphertext: ciphertext, tag: tag)
    }

    static func open(
        _ kind: latch_aead, key: Secret, nonce: [UInt8], authenticating data: [UInt8], sealed: SealedMessage
    ) -> [UInt8]? {
        var status: Int32 = 0
        let opened = [UInt8](unsafeUninitializedCapacity: capacity(for: sealed.ciphertext.count)) { buffer, count in
            status = withOctets(nonce, data, sealed.ciphertext) { nonce, data, ciphertext in
                key.withBase {
                    latch_aead_open(
                        kind, $0, nonce, data, ciphertext, sealed.tag, sealed.tag.count, buffer.baseAddress)
                }
            }
            count = status == 1 ? sealed.ciphertext.count : 0
        }
        return status == 1 ? opened : nil
    }

    /// An array without capacity is the one that all empty arrays of the process share: its count would be written here,
    /// though with what it is, while other threads read it.
    private static func capacity(for count: Int) -> Int { max(1, count) }

    private static func withOctets(
        _ a: [UInt8], _ b: [UInt8], _ c: [UInt8], _ body: (latch_octets, latch_octets, latch_octets) -> Int32
    ) -> Int32 {
        a.withUnsafeBufferPointer { a in
            b.withUnsafeBufferPointer { b in
                c.withUnsafeBufferPointer { c in
                    body(
                        latch_octets(bytes: a.baseAddress, count: a.count),
                        latch_octets(bytes: b.baseAddress, count: b.count),
                        latch_octets(bytes: c.baseAddress, count: c.count))
                }
            }
        }
    }
}
