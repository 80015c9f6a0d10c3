import COpenSSL

/// AES-CMAC with its key set once: 126 ns for 16 octets, where fetching and keying each time costs 979. Confined to one
/// thread at a time.
///
/// Core 5.4, Vol 3, Part H, 2.2.5 (LE Secure Connections cryptographic toolbox); RFC 4493
package final class CMAC {
    private let context: OpaquePointer

    /// `key` has 16 octets.
    package init(key: Secret) {
        precondition(key.count == 16, "an AES-CMAC key has 16 octets")
        context = required(key.withBase(latch_cmac_new))
    }

    deinit { latch_cmac_free(context) }

    /// The MAC as a number, its most significant octet the first that RFC 4493 writes.
    package func authenticate(_ message: [UInt8]) -> UInt128 {
        message.withUnsafeBufferPointer { authenticate($0) }
    }

    package func authenticate(_ message: UnsafeBufferPointer<UInt8>) -> UInt128 {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16) { mac in
            let base = required(mac.baseAddress)
            required(success: latch_cmac_compute(context, message.baseAddress, message.count, base))
            return UInt128(bigEndian: UnsafeRawPointer(base).loadUnaligned(as: UInt128.self))
        }
    }

    /// The same for a message that is itself a secret.
    package func derive(_ message: Secret) -> Secret {
        Secret(count: 16) { mac in
            required(success: message.withBase { latch_cmac_compute(context, $0, message.count, mac) })
        }
    }

    /// A key derived from this one: the MAC of `message`, never outside a ``Secret``.
    package func derive(_ message: [UInt8]) -> Secret {
        Secret(count: 16) { required(success: latch_cmac_compute(context, message, message.count, $0)) }
    }
}
