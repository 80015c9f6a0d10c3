import COpenSSL

/// Octets that nothing may print, log or compare in variable time, wiped when the last copy is let go.
///
/// Keys are held **most significant octet first**, as the Core Specification's functions and their sample data write
/// them; where a key crosses the air, least significant octet first, use ``init(wire:)`` and ``withWireBytes(_:)``.
package struct Secret: Sendable {
    private let storage: Storage

    /// Copies `bytes`, which stay the caller's to forget.
    package init(_ bytes: [UInt8]) {
        storage = Storage(count: bytes.count)
        storage.base.update(from: bytes, count: bytes.count)
    }

    /// Copies `bytes` and wipes them.
    package init(wiping bytes: inout [UInt8]) {
        self.init(bytes)
        bytes.withUnsafeMutableBytes { latch_cleanse($0.baseAddress, $0.count) }
    }

    /// From the order of the air: least significant octet first.
    package init(wire bytes: [UInt8]) { self.init(bytes.reversed()) }

    /// A number's octets, through no array. The number itself may stay in a register or on a stack.
    package init(_ number: UInt128) {
        self.init(count: 16) { base in
            for index in 0..<16 { base[index] = UInt8(truncatingIfNeeded: number >> UInt128(8 * (15 - index))) }
        }
    }

    /// A copy of these octets, as far as there are such, which is wiped by itself.
    package func part(_ range: Range<Int>) -> Secret {
        let kept = range.clamped(to: 0..<count)
        return Secret(count: kept.count) { $0.update(from: storage.base + kept.lowerBound, count: kept.count) }
    }

    /// These octets and then the other's.
    package func followed(by other: Secret) -> Secret {
        Secret(count: count + other.count) { base in
            base.update(from: storage.base, count: count)
            (base + count).update(from: other.storage.base, count: other.count)
        }
    }

    /// With all but the `octets` least significant octets 0.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.4 (Encryption key size)
    package func shortened(to octets: UInt8) -> Secret {
        let zeros = count - Int(octets)
        guard zeros > 0 else { return self }
        return Secret(count: count) { base in
            base.initialize(repeating: 0, count: zeros)
            (base + zeros).update(from: storage.base + zeros, count: Int(octets))
        }
    }

    init(count: Int, filledBy fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        storage = Storage(count: count)
        fill(storage.base)
    }

    package var count: Int { storage.count }

    /// Lends the octets, most significant first.
    package func withBytes<R, E: Error>(_ body: (UnsafeBufferPointer<UInt8>) throws(E) -> R) throws(E) -> R {
        try body(UnsafeBufferPointer(start: storage.base, count: storage.count))
    }

    /// Lends the octets in the order of the air: least significant first.
    package func withWireBytes<R>(_ body: ([UInt8]) -> R) -> R {
        var bytes = withBytes { Array($0.reversed()) }
        defer { bytes.withUnsafeMutableBytes { latch_cleanse($0.baseAddress, $0.count) } }
        return body(bytes)
    }

    /// Whether every octet is 0: what an unset or stolen slot looks like, never what a random source gives.
    package var isAllZero: Bool { withBytes { $0.reduce(0, |) == 0 } }

    func withBase<R>(_ body: (UnsafePointer<UInt8>) -> R) -> R { body(storage.base) }

    private final class Storage: Sendable {
        // Written only while the only reference is in `Secret.init`.
        nonisolated(unsafe) let base: UnsafeMutablePointer<UInt8>
        let count: Int

        init(count: Int) {
            self.count = count
            base = required(latch_secret_allocate(count))
        }

        deinit { latch_secret_free(base, count) }
    }
}

extension Secret: Equatable {
    /// In constant time for equal counts.
    package static func == (a: Self, b: Self) -> Bool {
        a.count == b.count && latch_equal(a.storage.base, b.storage.base, a.count) == 1
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var debugDescription: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
