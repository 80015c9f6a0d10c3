import BluetoothCrypto
import Testing

@Suite("HKDF with SHA-256")
struct HKDFTests {
    @Test(
        "RFC 5869, A.1, A.2, A.3",
        arguments: [
            (
                String(repeating: "0b", count: 22), "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
                "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
            ),
            (
                Self.counting(0x00, 80), Self.counting(0x60, 80), Self.counting(0xB0, 80),
                "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
            ),
            (
                String(repeating: "0b", count: 22), "", "",
                "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
            ),
        ])
    func vectors(secret: String, salt: String, info: String, key: String) {
        let expected = hex(key)
        #expect(
            HKDF.derive(Secret(hex(secret)), salt: Secret(hex(salt)), info: hex(info), octets: expected.count)
                == Secret(expected))
    }

    private static func counting(_ first: Int, _ count: Int) -> String {
        (first..<first + count).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
