import BluetoothCore
import BluetoothCrypto
import Testing

@Suite("Data signing, Vol 3 Part H 2.4.5")
struct DataSigningTests {
    struct Vector: Sendable {
        var origin: String, csrk: String, message: String, counter: UInt32, signature: String
    }

    static let vectors = [
        Vector(
            origin: "docs/PROTOCOL.md", csrk: "611B64EBFBCD1FD372EC9196DF425E50", message: "D212001337", counter: 1,
            signature: "F1871E933C900FF2"),
        // Sent by BlueZ 5.66, whose key file has the octets in the order of the air.
        Vector(
            origin: "BlueZ on the air", csrk: "FFEEDDCCBBAA99887766554433221100", message: "D21700AABB", counter: 0,
            signature: "A44B5A007C9E75C9"),
    ]

    @Test("Known answers", arguments: vectors)
    func knownAnswers(_ vector: Vector) {
        let signing = DataSigning(csrk: secret(vector.csrk))
        for _ in 0..<2 {
            #expect(
                signing.signature(message: hex(vector.message), signCounter: vector.counter) == hex(vector.signature),
                "\(vector.origin)")
        }
        #expect(signing.verify(hex(vector.signature), message: hex(vector.message), signCounter: vector.counter))
    }

    @Test("Forged signature: any changed octet, count, message, counter or key is refused", arguments: vectors)
    func forged(_ vector: Vector) {
        let signing = DataSigning(csrk: secret(vector.csrk))
        let (message, signature) = (hex(vector.message), hex(vector.signature))
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 1
            #expect(!signing.verify(changed, message: message, signCounter: vector.counter))
        }
        for index in message.indices {
            var changed = message
            changed[index] ^= 1
            #expect(!signing.verify(signature, message: changed, signCounter: vector.counter))
        }
        #expect(!signing.verify(signature, message: message, signCounter: vector.counter + 1))
        #expect(!signing.verify(signature.dropLast(), message: message, signCounter: vector.counter))
        #expect(!signing.verify(signature + [0], message: message, signCounter: vector.counter))
        #expect(!signing.verify([], message: message, signCounter: vector.counter))
        let other = DataSigning(csrk: Secret([UInt8](repeating: 7, count: 16)))
        #expect(!other.verify(signature, message: message, signCounter: vector.counter))
    }
}
