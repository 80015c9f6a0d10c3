import BluetoothCrypto
import Testing

@Suite("Ed25519")
struct Ed25519Tests {
    struct Vector: Sendable {
        let seed, publicKey, message, signature: String
    }

    /// RFC 8032, 7.1: TEST 1, 2 and 3.
    static let vectors = [
        Vector(
            seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", message: "",
            signature: "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
                + "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
        Vector(
            seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", message: "72",
            signature: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
        Vector(
            seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", message: "af82",
            signature: "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
                + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"),
    ]

    @Test("RFC 8032, 7.1", arguments: vectors)
    func rfc(vector: Vector) throws {
        let key = try #require(Ed25519SigningKey(seed: Secret(hex(vector.seed))))
        #expect(key.publicKey.octets == hex(vector.publicKey))
        #expect(key.sign(hex(vector.message)) == hex(vector.signature))
        let known = try #require(Ed25519PublicKey(hex(vector.publicKey)))
        #expect(known.isSigned(hex(vector.message), hex(vector.signature)))
    }

    @Test("One bit more or less anywhere, another length, another key: nothing is signed")
    func altered() throws {
        let vector = Self.vectors[2]
        let known = try #require(Ed25519PublicKey(hex(vector.publicKey)))
        let (message, signature) = (hex(vector.message), hex(vector.signature))
        for bit in 0..<signature.count * 8 {
            var wrong = signature
            wrong[bit / 8] ^= 1 << (bit % 8)
            #expect(!known.isSigned(message, wrong))
        }
        #expect(!known.isSigned(message + [0], signature) && !known.isSigned([], signature))
        #expect(!known.isSigned(message, Array(signature.dropLast())) && !known.isSigned(message, signature + [0]))
        let other = try #require(Ed25519PublicKey(hex(Self.vectors[0].publicKey)))
        #expect(!other.isSigned(message, signature))
        #expect(Ed25519PublicKey([UInt8](repeating: 0xFF, count: 32))?.isSigned(message, signature) == false)
        #expect(Ed25519PublicKey([]) == nil && Ed25519SigningKey(seed: Secret([1])) == nil)
    }

    @Test("Many at once are judged each by itself, in their order", arguments: [0, 1, 31, 32, 33, 64, 257])
    func many(count: Int) throws {
        let key = try #require(Ed25519SigningKey(seed: Secret([UInt8](repeating: 3, count: 32))))
        var items = (0..<count).map { number in
            let message = [UInt8(truncatingIfNeeded: number), 7]
            return (message: message, signature: key.sign(message))
        }
        for index in items.indices where index % 5 == 2 { items[index].message[0] ^= 1 }
        for index in items.indices where index % 7 == 3 { items[index].signature = [] }
        #expect(key.publicKey.areSigned(items) == (0..<count).map { $0 % 5 != 2 && $0 % 7 != 3 })
    }
}
