import COpenSSL

/// The security function *e* with its key set once: AES-128 of one block. Confined to one thread at a time.
///
/// Core 5.4, Vol 3, Part H, 2.2.1 (Security function e)
package final class AES128 {
    private let context: OpaquePointer

    /// `key` has 16 octets.
    package init(key: Secret) {
        precondition(key.count == 16, "an AES-128 key has 16 octets")
        context = required(key.withBase(latch_aes128_new))
    }

    deinit { latch_aes128_free(context) }

    /// The block as a number: its most significant octet is the first that FIPS-197 names.
    package func encrypt(_ block: UInt128) -> UInt128 {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { buffer in
            let base = required(buffer.baseAddress)
            UnsafeMutableRawPointer(base).storeBytes(of: block.bigEndian, as: UInt128.self)
            required(success: latch_aes128_encrypt(context, base, base + 16))
            return UInt128(bigEndian: UnsafeRawPointer(base + 16).loadUnaligned(as: UInt128.self))
        }
    }
}

/// Many identity resolving keys, each with its context set up, searched in one sweep: a sweep of 10,000 takes 0.14 ms,
/// re-keying one context for each would take 1 ms. Confined to one thread at a time.
package final class ResolvingKeys {
    private var contexts: [OpaquePointer?] = []

    package init() {}

    deinit { for context in contexts { latch_aes128_free(context) } }

    package var count: Int { contexts.count }

    /// Adds a key at index `count`.
    package func append(_ key: Secret) {
        precondition(key.count == 16, "an IRK has 16 octets")
        contexts.append(required(key.withBase(latch_aes128_new)))
    }

    /// Removes the key at `index`; the last key takes its place.
    package func swapRemove(at index: Int) {
        let context = contexts[index]
        contexts.swapAt(index, contexts.count - 1)
        contexts.removeLast()
        latch_aes128_free(context)
    }

    /// The first index from `start` on whose key makes `hash` of `prand` (24 bits each), as in a resolvable private
    /// address.
    ///
    /// Core 5.4, Vol 6, Part B, 1.3.2.3 (Private device address resolution)
    package func firstIndex(prand: UInt32, hash: UInt32, from start: Int = 0) -> Int? {
        var block: UInt128 = UInt128(prand & 0xFF_FFFF).bigEndian
        var tail = (hash << 8).bigEndian
        let found = contexts.withUnsafeBufferPointer { contexts in
            withUnsafeBytes(of: &block) { block in
                withUnsafeBytes(of: &tail) { tail in
                    latch_aes128_find(
                        contexts.baseAddress, contexts.count, start,
                        block.assumingMemoryBound(to: UInt8.self).baseAddress,
                        tail.assumingMemoryBound(to: UInt8.self).baseAddress)
                }
            }
        }
        return found < contexts.count ? found : nil
    }
}
