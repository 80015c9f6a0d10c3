/// The signature of a signed ATT command, with the CSRK's context set once.
///
/// The MAC is over the octets before it **reversed** (the counter's most significant octet first, the opcode last); its
/// 64 most significant bits are sent, least significant octet first.
///
/// Core 5.4, Vol 3, Part H, 2.4.5 (Signing algorithm); Vol 3, Part F, 3.4.5.4 (ATT_SIGNED_WRITE_CMD); Core 6.3 removed
/// both
package final class DataSigning {
    package static let signatureOctets = 8
    package static let signCounterOctets = 4
    private let cmac: CMAC

    package init(csrk: Secret) { cmac = CMAC(key: csrk) }

    /// Eight octets in transmission order. `message` is what precedes the counter, in transmission order.
    package func signature(message: some Collection<UInt8>, signCounter: UInt32) -> [UInt8] {
        let mac = authenticate(message, signCounter)
        return withUnsafeBytes(of: UInt64(truncatingIfNeeded: mac >> 64).littleEndian) { Array($0) }
    }

    /// In constant time. False for a signature that does not have eight octets.
    package func verify(
        _ signature: some Collection<UInt8>, message: some Collection<UInt8>, signCounter: UInt32
    ) -> Bool {
        guard signature.count == Self.signatureOctets else { return false }
        let received = signature.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let mac = UInt64(truncatingIfNeeded: authenticate(message, signCounter) >> 64)
        return ConstantTime.equal(UInt128(received), UInt128(mac))
    }

    private func authenticate(_ message: some Collection<UInt8>, _ signCounter: UInt32) -> UInt128 {
        let count = message.count + Self.signCounterOctets
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { buffer in
            for (index, shift) in [24, 16, 8, 0].enumerated() {
                buffer[index] = UInt8(truncatingIfNeeded: signCounter >> UInt32(shift))
            }
            var index = count
            for octet in message {
                index -= 1
                buffer[index] = octet
            }
            return cmac.authenticate(UnsafeBufferPointer(buffer))
        }
    }
}
