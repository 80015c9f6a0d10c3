import BluetoothCrypto
import Testing

@Suite("HMAC-SHA-256")
struct HMACTests {
    @Test(
        "RFC 4231, 4.2, 4.3, 4.4, 4.7",
        arguments: [
            (
                String(repeating: "0b", count: 20), "4869205468657265",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                String(repeating: "aa", count: 20), String(repeating: "dd", count: 50),
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
            ),
            (
                String(repeating: "aa", count: 131),
                "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
        ])
    func vectors(key: String, message: String, mac: String) {
        #expect(HMACSHA256.authenticate(hex(message), key: Secret(hex(key))) == hex(mac))
    }

    @Test("Derived keys differ by label, by length and by key, and have as many octets as were asked for")
    func derived() {
        let key = Secret([UInt8](repeating: 1, count: 32))
        let one = HMACSHA256.derive("one", octets: 16, from: key)
        #expect(one == HMACSHA256.derive("one", octets: 16, from: key))
        #expect(one.count == 16)
        #expect(one != HMACSHA256.derive("two", octets: 16, from: key))
        #expect(one != HMACSHA256.derive("one", octets: 16, from: Secret([UInt8](repeating: 2, count: 32))))
        let long = HMACSHA256.derive("one", octets: 32, from: key).withBytes { Array($0) }
        #expect(one != Secret(Array(long.prefix(16))))
    }
}
