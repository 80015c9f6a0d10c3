import COpenSSL

/// Comparison that does not tell by its time where two values differ.
package enum ConstantTime {
    package static func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        a.count == b.count && latch_equal(a, b, a.count) == 1
    }

    package static func equal(_ a: UInt128, _ b: UInt128) -> Bool {
        withUnsafeBytes(of: a) { a in
            withUnsafeBytes(of: b) { b in
                guard let a = a.baseAddress, let b = b.baseAddress else { return true }
                return latch_equal(a.assumingMemoryBound(to: UInt8.self), b.assumingMemoryBound(to: UInt8.self), 16)
                    == 1
            }
        }
    }
}
