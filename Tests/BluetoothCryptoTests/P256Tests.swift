import BluetoothCore
import BluetoothCrypto
import Testing

/// Core 5.4, Vol 2, Part G, 7.1.2 (P-256 sample data); data set 1's device A is the debug key.
@Suite("P-256, Vol 2 Part G 7.1.2")
struct P256Tests {
    static let scalarA = secret("3f49f6d4 a3c55f38 74c9b3e3 d2103f50 4aff607b eb40b799 5899b8a6 cd3c1abd")
    static let scalarB = secret("55188b3d 32f6bb9a 900afcfb eed4e72a 59cb9ac2 f19d7cfb 6b4fdd49 f47fc5fd")
    let xA = hex("20b003d2 f297be2c 5e2c83a7 e9f9a5b9 eff49111 acf4fddb cc030148 0e359de6")
    let yA = hex("dc809c49 652aeb6d 63329abf 5a52155c 766345c2 8fed3024 741c8ed0 1589d28b")
    let xB = hex("1ea1f0f0 1faf1d96 09592284 f19e4c00 47b58afd 8615a69f 559077b2 2faaa190")
    let yB = hex("4c55f33e 429dad37 7356703a 9ab85160 472d1130 e28e3676 5f89aff9 15b1214a")
    let dhKey = secret("ec0234a3 57c8ad05 341010a6 0a397d9b 99796b13 b4f866f1 868d34f3 73bfa698")
    static let prime = "ffffffff 00000001 00000000 00000000 00000000 ffffffff ffffffff ffffffff"
    static let order = "ffffffff 00000000 ffffffff ffffffff bce6faad a7179e84 f3b9cac2 fc632551"

    @Test("7.1.2.1: public keys and DHKey of both sides")
    func dataSet1() throws {
        let a = try #require(P256KeyPair(scalar: Self.scalarA))
        let b = try #require(P256KeyPair(scalar: Self.scalarB))
        #expect(a.publicKey.x == xA)
        #expect(a.publicKey.y == yA)
        #expect(b.publicKey.x == xB)
        #expect(b.publicKey.y == yB)
        #expect(a.sharedSecret(with: b.publicKey) == dhKey)
        #expect(b.sharedSecret(with: a.publicKey) == dhKey)
    }

    @Test("A valid point is taken, in both orders, beside every invalid one")
    func validPoint() throws {
        let key = try #require(P256PublicKey(x: xB, y: yB))
        let wire = Array(xB.reversed()) + yB.reversed()
        #expect(P256PublicKey(wire: wire) == key)
        #expect(key.wire == wire)
    }

    @Test("Invalid curve attack: points off the curve, the identity, coordinates out of the field, wrong lengths")
    func invalidPoints() {
        let zero = [UInt8](repeating: 0, count: 32)
        let prime = hex(Self.prime)
        for index in [0, 15, 31] {
            var x = xB
            x[index] ^= 1
            #expect(P256PublicKey(x: x, y: yB) == nil)
            var y = yB
            y[index] ^= 1
            #expect(P256PublicKey(x: xB, y: y) == nil)
        }
        #expect(P256PublicKey(x: zero, y: zero) == nil)
        #expect(P256PublicKey(x: xB, y: zero) == nil, "the fixed coordinate attack, CVE-2018-5383")
        #expect(P256PublicKey(x: prime, y: yB) == nil)
        #expect(P256PublicKey(x: xB, y: prime) == nil)
        #expect(P256PublicKey(x: [UInt8](repeating: 0xFF, count: 32), y: yB) == nil)
        #expect(P256PublicKey(x: xB.dropLast(), y: yB) == nil)
        #expect(P256PublicKey(x: xB, y: yB + [0]) == nil)
        #expect(P256PublicKey(wire: []) == nil)
        #expect(P256PublicKey(wire: xB) == nil)
        #expect(P256PublicKey(wire: xB + yB) == nil, "the order of the specification is not the order of the air")
    }

    @Test("Scalars outside 1..<order are refused")
    func scalars() {
        #expect(P256KeyPair(scalar: Secret([UInt8](repeating: 0, count: 32))) == nil)
        #expect(P256KeyPair(scalar: secret(Self.order)) == nil)
        #expect(P256KeyPair(scalar: Secret([UInt8](repeating: 0xFF, count: 32))) == nil)
        #expect(P256KeyPair(scalar: Secret([1])) == nil)
        var last = hex(Self.order)
        last[31] -= 1
        #expect(P256KeyPair(scalar: Secret(last)) != nil)
    }

    @Test("The debug key is known by either of its points, and nothing else is")
    func debugKey() throws {
        let debug = try #require(P256KeyPair(scalar: Self.scalarA)).publicKey
        #expect(debug.isDebugKey)
        var negated = hex(Self.order)
        var borrow = 0
        let scalar = Self.scalarA.withBytes { Array($0) }
        for index in (0..<32).reversed() {
            let difference = Int(negated[index]) - Int(scalar[index]) - borrow
            negated[index] = UInt8(truncatingIfNeeded: difference)
            borrow = difference < 0 ? 1 : 0
        }
        let mirrored = try #require(P256KeyPair(scalar: Secret(negated))).publicKey
        #expect(mirrored.x == debug.x && mirrored.y != debug.y)
        #expect(mirrored.isDebugKey)
        #expect(try !#require(P256PublicKey(x: xB, y: yB)).isDebugKey)
    }

    @Test("Generated pairs agree on a secret and differ")
    func generate() {
        let (a, b) = (P256KeyPair.generate(), P256KeyPair.generate())
        #expect(a.publicKey != b.publicKey)
        #expect(a.sharedSecret(with: b.publicKey) == b.sharedSecret(with: a.publicKey))
        #expect(P256PublicKey(wire: a.publicKey.wire) == a.publicKey)
    }
}
