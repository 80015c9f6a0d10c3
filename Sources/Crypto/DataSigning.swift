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
    package func signature(message: [UInt8], signCounter: UInt32) -> [UInt8] {
        let mac = authenticate(message.span, signCounter)
        return withUnsafeBytes(of: mac.littleEndian) { Array($0) }
    }

    /// In constant time. False for a signature that does not have eight octets.
    package func verify(_ signature: [UInt8], message: [UInt8], signCounter: UInt32) -> Bool {
        verify(signature.span, message: message.span, signCounter: signCounter)
    }

    /// The same over octets that lie in one PDU.
    package func verify(_ signature: Span<UInt8>, message: Span<UInt8>, signCounter: UInt32) -> Bool {
        guard signature.count == Self.signatureOctets else { return false }
        var received: UInt64 = 0
        for index in signature.indices.reversed() { received = received << 8 | UInt64(signature[index]) }
        return ConstantTime.equal(UInt128(received), UInt128(authenticate(message, signCounter)))
    }

    /// The 64 most significant bits of the MAC.
    private func authenticate(_ message: Span<UInt8>, _ signCounter: UInt32) -> UInt64 {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: message.count + Self.signCounterOctets) { buffer in
            for index in 0..<Self.signCounterOctets {
                buffer[index] = UInt8(truncatingIfNeeded: signCounter >> UInt32(24 - 8 * index))
            }
            for index in message.indices { buffer[buffer.count - 1 - index] = message[index] }
            return UInt64(truncatingIfNeeded: cmac.authenticate(UnsafeBufferPointer(buffer)) >> 64)
        }
    }
}
