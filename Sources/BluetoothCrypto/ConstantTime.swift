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

/// OpenSSL refused what it cannot refuse for any input of the right size: no memory, or a library without the
/// algorithm. No peer can cause it, and nothing secure can go on without it.
func required<T>(_ value: T?) -> T {
    guard let value else { fatalError("OpenSSL cannot provide what Bluetooth needs of it") }
    return value
}

/// See ``required(_:)``.
func required(success status: Int32) {
    if status != 1 { fatalError("OpenSSL cannot provide what Bluetooth needs of it") }
}
