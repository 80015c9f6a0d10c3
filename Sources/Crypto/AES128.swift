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
    package func encrypt(_ block: UInt128) -> UInt128 { Self.encrypt(block, with: context) }

    fileprivate static func encrypt(_ block: UInt128, with context: OpaquePointer) -> UInt128 {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { buffer in
            let base = required(buffer.baseAddress)
            UnsafeMutableRawPointer(base).storeBytes(of: block.bigEndian, as: UInt128.self)
            required(success: latch_aes128_encrypt(context, base, base + 16))
            return UInt128(bigEndian: UnsafeRawPointer(base + 16).loadUnaligned(as: UInt128.self))
        }
    }
}

/// Many identity resolving keys, searched in one sweep. Each of the first has its context set up: a sweep of 10,000 such keys
/// takes 0.14 ms. A context is 650 octets, so those behind share one, which each sweep gives one key after the other; that
/// takes some 0.1 µs for each. Confined to one thread at a time.
package final class ResolvingKeys {
    /// Keys with a context of their own: 2.7 MB.
    package static let contextsMaximum = 4_096

    private var contexts: [OpaquePointer?] = []
    /// The keys behind those.
    private var plain: [Secret] = []
    /// What `plain` goes through; nil until there is any.
    private var shared: OpaquePointer?

    package init() {}

    deinit {
        for context in contexts { latch_aes128_free(context) }
        latch_aes128_free(shared)
    }

    package var count: Int { contexts.count + plain.count }

    /// Adds a key at index `count`.
    package func append(_ key: Secret) {
        precondition(key.count == 16, "an IRK has 16 octets")
        guard contexts.count == Self.contextsMaximum else { return contexts.append(Self.context(of: key)) }
        if shared == nil { shared = Self.context(of: key) }
        plain.append(key)
    }

    private static func context(of key: Secret) -> OpaquePointer { required(key.withBase(latch_aes128_new)) }

    /// Removes the key at `index`; the last key takes its place.
    package func swapRemove(at index: Int) {
        if index >= contexts.count {
            plain.swapAt(index - contexts.count, plain.count - 1)
            plain.removeLast()
        } else {
            latch_aes128_free(contexts[index])
            if let last = plain.popLast() {
                contexts[index] = Self.context(of: last)
            } else {
                contexts.swapAt(index, contexts.count - 1)
                contexts.removeLast()
            }
        }
    }

    /// The first index from `start` on whose key makes `hash` of `prand` (24 bits each), as in a resolvable private
    /// address.
    ///
    /// Core 5.4, Vol 6, Part B, 1.3.2.3 (Private device address resolution)
    package func firstIndex(prand: UInt32, hash: UInt32, from start: Int = 0) -> Int? {
        if start < contexts.count, let found = firstContext(prand, hash, from: start) { return found }
        guard let shared else { return nil }
        let block = UInt128(prand & 0xFF_FFFF)
        for index in plain.indices.dropFirst(max(0, start - contexts.count)) {
            required(success: plain[index].withBase { latch_aes128_rekey(shared, $0) })
            let encrypted = AES128.encrypt(block, with: shared)
            if UInt32(truncatingIfNeeded: encrypted) & 0xFF_FFFF == hash & 0xFF_FFFF { return contexts.count + index }
        }
        return nil
    }

    private func firstContext(_ prand: UInt32, _ hash: UInt32, from start: Int) -> Int? {
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
