import BluetoothCore
import BluetoothCrypto
import Testing

@Suite("Primitives on OpenSSL")
struct PrimitiveTests {
    static let cmacVectors: [(message: String, mac: String)] = [
        ("", "bb1d6929 e9593728 7fa37d12 9b756746"),
        ("6bc1bee2 2e409f96 e93d7e11 7393172a", "070a16b4 6b4d4144 f79bdd9d d04a287c"),
        (
            "6bc1bee2 2e409f96 e93d7e11 7393172a ae2d8a57 1e03ac9c 9eb76fac 45af8e51 30c81c46 a35ce411",
            "dfa66747 de9ae630 30ca3261 1497c827"
        ),
        (
            """
            6bc1bee2 2e409f96 e93d7e11 7393172a ae2d8a57 1e03ac9c 9eb76fac 45af8e51 \
            30c81c46 a35ce411 e5fbc119 1a0a52ef f69f2445 df4f9b17 ad2b417b e66c3710
            """, "51f0bebf 7e3b9d92 fc497417 79363cfe"
        ),
    ]

    @Test("RFC 4493 section 4 (and Part H, D.1): one context serves every message, in any order")
    func cmac() {
        let cmac = CMAC(key: secret("2b7e1516 28aed2a6 abf71588 09cf4f3c"))
        for vector in Self.cmacVectors + Self.cmacVectors.reversed() {
            #expect(cmac.authenticate(hex(vector.message)) == number(vector.mac))
            #expect(cmac.derive(hex(vector.message)) == secret(vector.mac))
            #expect(cmac.derive(secret(vector.message)) == secret(vector.mac))
        }
    }

    @Test("FIPS-197 C.1")
    func aes() {
        let aes = AES128(key: secret("000102030405060708090a0b0c0d0e0f"))
        for _ in 0..<3 {
            #expect(
                aes.encrypt(number("00112233445566778899aabbccddeeff")) == number("69c4e0d86a7b0430d8cdb78070b4c55a"))
        }
    }

    @Test("FIPS 180-4: SHA-256")
    func sha256() {
        #expect(
            SHA256.digest([]) == hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
        #expect(
            SHA256.digest(Array("abc".utf8)) == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    }

    /// RFC 3610, packet vector #1: 13-octet nonce, 8-octet tag, 8 octets of header.
    @Test("RFC 3610, packet vector #1")
    func ccm() {
        let ccm = AESCCM(key: secret("C0C1C2C3C4C5C6C7C8C9CACBCCCDCECF"))
        let nonce = hex("00000003020100A0A1A2A3A4A5")
        let header = hex("0001020304050607")
        let message = hex("08090A0B0C0D0E0F101112131415161718191A1B1C1D1E")
        let sealed = SealedMessage(
            ciphertext: hex("588C979A61C663D2F066D0C2C0F989806D5F6B61DAC384"), tag: hex("17E8D12CFDF926E0"))
        #expect(ccm.seal(message, nonce: nonce, authenticating: header) == sealed)
        #expect(ccm.open(sealed, nonce: nonce, authenticating: header) == message)
        refusesEveryChange(sealed) { ccm.open($0, nonce: nonce, authenticating: header) }
        #expect(ccm.open(sealed, nonce: nonce, authenticating: hex("0001020304050608")) == nil)
        #expect(ccm.open(sealed, nonce: hex("00000003020100A0A1A2A3A4A6"), authenticating: header) == nil)
        #expect(ccm.open(sealed, nonce: hex("00"), authenticating: header) == nil)
        #expect(
            AESCCM(key: secret("C0C1C2C3C4C5C6C7C8C9CACBCCCDCEC0")).open(sealed, nonce: nonce, authenticating: header)
                == nil)
        let empty = ccm.seal([], nonce: nonce)
        #expect(ccm.open(empty, nonce: nonce) == [])
        #expect(ccm.open(SealedMessage(ciphertext: [], tag: sealed.tag), nonce: nonce) == nil)
    }

    /// The GCM specification's test case 16 (256-bit key, 96-bit nonce, associated data).
    @Test("GCM specification, test case 16")
    func gcm() {
        let gcm = AESGCM(key: secret("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))
        let nonce = hex("cafebabefacedbaddecaf888")
        let data = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let message = hex(
            """
            d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
            1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
            """)
        let sealed = SealedMessage(
            ciphertext: hex(
                """
                522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
                8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
                """), tag: hex("76fc6ece0f4e1768cddf8853bb2d551b"))
        #expect(gcm.seal(message, nonce: nonce, authenticating: data) == sealed)
        #expect(gcm.open(sealed, nonce: nonce, authenticating: data) == message)
        refusesEveryChange(sealed) { gcm.open($0, nonce: nonce, authenticating: data) }
        #expect(gcm.open(sealed, nonce: nonce, authenticating: []) == nil)
        #expect(gcm.open(gcm.seal([], nonce: nonce, authenticating: data), nonce: nonce, authenticating: data) == [])
    }

    func refusesEveryChange(_ sealed: SealedMessage, open: (SealedMessage) -> [UInt8]?) {
        for index in sealed.ciphertext.indices {
            var changed = sealed
            changed.ciphertext[index] ^= 1
            #expect(open(changed) == nil)
        }
        for index in sealed.tag.indices {
            var changed = sealed
            changed.tag[index] ^= 0x80
            #expect(open(changed) == nil)
        }
        #expect(open(SealedMessage(ciphertext: sealed.ciphertext, tag: sealed.tag.dropLast())) == nil)
        #expect(open(SealedMessage(ciphertext: sealed.ciphertext, tag: [])) == nil)
        #expect(open(SealedMessage(ciphertext: sealed.ciphertext.dropLast(), tag: sealed.tag)) == nil)
    }

    @Test("Random octets have their count and do not repeat")
    func random() {
        #expect(SystemRandom.bytes(0) == [])
        #expect(SystemRandom.bytes(33).count == 33)
        #expect(SystemRandom.bytes(16) != SystemRandom.bytes(16))
        #expect(SystemRandom.secret() != SystemRandom.secret())
        #expect(SystemRandom.secret(32).count == 32)
    }
}

@Suite("Secret")
struct SecretTests {
    @Test("A secret printed, interpolated, dumped or reflected shows nothing")
    func noDescription() {
        let key = secret("DEADBEEF DEADBEEF DEADBEEF DEADBEEF")
        struct Holder { var name = "n", key: Secret }
        var dumped = ""
        dump(Holder(key: key), to: &dumped)
        for text in ["\(key)", String(reflecting: key), "\(Holder(key: key))", "\(Optional(key) as Any)", dumped] {
            #expect(text.contains("<secret>"))
            for shown in ["222", "DE", "173", "0x"] { #expect(!text.contains(shown), "\(text)") }
        }
        #expect(Mirror(reflecting: key).children.isEmpty)
    }

    @Test("Equality is of all octets and of the count")
    func equality() {
        let key = hex("00112233445566778899AABBCCDDEEFF")
        #expect(Secret(key) == Secret(key))
        for index in key.indices {
            var other = key
            other[index] ^= 1
            #expect(Secret(key) != Secret(other))
            #expect(!ConstantTime.equal(key, other))
        }
        #expect(Secret(key) != Secret(key.dropLast()))
        #expect(Secret([]) == Secret([]))
        #expect(!ConstantTime.equal(key, key.dropLast()))
        #expect(ConstantTime.equal(key, key))
        #expect(ConstantTime.equal(1 as UInt128, 1))
        #expect(!ConstantTime.equal(1 as UInt128, 1 << 127 | 1))
        #expect(Secret([0, 0]).isAllZero)
        #expect(!Secret([0, 1]).isAllZero)
    }

    @Test("The order of the air is the reverse of the order of the specification")
    func wireOrder() {
        let key = Secret(wire: hex("0102030405060708090A0B0C0D0E0F10"))
        #expect(key == secret("100F0E0D0C0B0A090807060504030201"))
        #expect(key.withWireBytes { $0 } == hex("0102030405060708090A0B0C0D0E0F10"))
        var bytes = hex("0102")
        #expect(Secret(wiping: &bytes) == Secret([1, 2]))
        #expect(bytes == [0, 0])
    }
}
