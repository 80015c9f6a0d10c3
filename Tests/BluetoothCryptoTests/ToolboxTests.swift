import BluetoothCore
import BluetoothCrypto
import Testing

/// Core 5.4, Vol 3, Part H, Appendix D (Sample data)
@Suite("Cryptographic toolbox, Vol 3 Part H 2.2 and Appendix D")
struct ToolboxTests {
    let u = hex("20b003d2 f297be2c 5e2c83a7 e9f9a5b9 eff49111 acf4fddb cc030148 0e359de6")
    let v = hex("55188b3d 32f6bb9a 900afcfb eed4e72a 59cb9ac2 f19d7cfb 6b4fdd49 f47fc5fd")
    let n1 = number("d5cb8454 d177733e ffffb2ec 712baeab")
    let n2 = number("a6e8e7cc 25a75f6e 216583f7 ff3dc4cf")
    let a1 = DeviceAddress(kind: .public, bits: 0x5612_3737_BFCE)
    let a2 = DeviceAddress(kind: .public, bits: 0xA713_702D_CFC1)
    let key = secret("ec0234a3 57c8ad05 341010a6 0a397d9b")

    @Test("D.2 f4")
    func f4() {
        let expected = number("f2c916f1 07a9bd1c f1eda1be a974872d")
        #expect(Toolbox.f4(u: u, v: v, x: n1, z: 0) == expected)
        #expect(Toolbox.f4(u: u, v: v, x: Secret(n1.octets), z: 0) == expected)
        #expect(Toolbox.f4(u: u, v: v, x: n1, z: 0x80) != expected)
    }

    @Test("D.3 f5")
    func f5() {
        let dhKey = secret("ec0234a3 57c8ad05 341010a6 0a397d9b 99796b13 b4f866f1 868d34f3 73bfa698")
        let keys = Toolbox.f5(dhKey: dhKey, n1: n1, n2: n2, a1: a1, a2: a2)
        #expect(keys.ltk == secret("69867911 69d7cd23 980522b5 94750a38"))
        #expect(keys.macKey == secret("2965f176 a1084a02 fd3f6a20 ce636e20"))
    }

    @Test("D.4 f6")
    func f6() {
        let check = Toolbox.f6(
            macKey: secret("2965f176 a1084a02 fd3f6a20 ce636e20"), n1: n1, n2: n2,
            r: secret("12a3343b b453bb54 08da42d2 0c2d0fc8"), ioCapability: 0x010102, a1: a1, a2: a2)
        #expect(check == number("e3c47398 9cd0e8c5 d26c0b09 da958f61"))
    }

    @Test("D.5 g2")
    func g2() { #expect(Toolbox.g2(u: u, v: v, x: n1, y: n2) == 0x2F9E_D5BA) }

    @Test("D.6 h6")
    func h6() { #expect(Toolbox.h6(w: key, keyID: 0x6C65_6272) == secret("2d9ae102 e76dc91c e8d3a9e2 80b16399")) }

    @Test("D.7 ah, and 1.3.2.3 finds the key among others")
    func ah() {
        #expect(Toolbox.ah(irk: AES128(key: key), prand: 0x708194) == 0x0DFBAA)
        let keys = ResolvingKeys()
        #expect(keys.firstIndex(prand: 0x708194, hash: 0x0DFBAA) == nil)
        keys.append(secret("00000000 00000000 00000000 00000001"))
        keys.append(key)
        keys.append(secret("00000000 00000000 00000000 00000002"))
        keys.append(key)
        #expect(keys.firstIndex(prand: 0x708194, hash: 0x0DFBAA) == 1)
        #expect(keys.firstIndex(prand: 0x708194, hash: 0x0DFBAA, from: 2) == 3)
        #expect(keys.firstIndex(prand: 0x708194, hash: 0x0DFBAA, from: 4) == nil)
        #expect(keys.firstIndex(prand: 0x708194, hash: 0x0DFBAB) == nil)
        keys.swapRemove(at: 0)
        #expect(keys.firstIndex(prand: 0x708194, hash: 0x0DFBAA) == 0)
        #expect(keys.count == 3)
    }

    @Test("1.3.2.3: keys behind those with a context of their own are found and removed as they are")
    func sharedContext() {
        let most = ResolvingKeys.contextsMaximum
        func key(_ number: Int) -> Secret { Secret(UInt128(number).octets) }
        func find(_ number: Int, in keys: ResolvingKeys, from start: Int = 0) -> Int? {
            keys.firstIndex(
                prand: 0x708194, hash: Toolbox.ah(irk: AES128(key: key(number)), prand: 0x708194), from: start)
        }
        let keys = ResolvingKeys()
        for number in 0..<most + 3 { keys.append(key(number)) }
        #expect(keys.count == most + 3)
        for number in [0, most - 1, most, most + 2] { #expect(find(number, in: keys) == number) }
        #expect(find(most + 1, in: keys, from: most + 1) == most + 1)
        #expect(find(most + 1, in: keys, from: most + 2) == nil)
        #expect(find(most + 3, in: keys) == nil)
        // The last of all takes the place of one with a context; then those behind go one by one.
        keys.swapRemove(at: 1)
        #expect(find(1, in: keys) == nil)
        #expect(find(most + 2, in: keys) == 1)
        keys.swapRemove(at: most)
        #expect(find(most, in: keys) == nil)
        #expect(find(most + 1, in: keys) == most)
        keys.swapRemove(at: most)
        keys.swapRemove(at: most - 1)
        #expect(find(most - 1, in: keys) == nil)
        #expect(keys.count == most - 1)
        keys.append(key(most - 1))
        keys.append(key(most))
        #expect(find(most, in: keys) == most)
    }

    @Test("1.3.2.2: a generated address is resolvable, and by its own key only")
    func resolvablePrivateAddress() {
        let address = Toolbox.resolvablePrivateAddress(irk: AES128(key: key), random: 0xFFFF_FFFF)
        #expect(address.isResolvable)
        let hash = UInt32(truncatingIfNeeded: address.bits & 0xFF_FFFF)
        let prand = UInt32(truncatingIfNeeded: address.bits >> 24)
        #expect(prand == 0x7F_FFFF)
        #expect(Toolbox.ah(irk: AES128(key: key), prand: prand) == hash)
        #expect(Toolbox.ah(irk: AES128(key: Secret(n1.octets)), prand: prand) != hash)
    }

    @Test("D.8 h7")
    func h7() { #expect(Toolbox.h7(salt: 0x746D_7031, w: key) == secret("fb173597 c6a3c0ec d2998c2a 75a57011")) }

    @Test("2.2.3 c1")
    func c1() {
        let confirm = LegacyToolbox.c1(
            tk: AES128(key: Secret([UInt8](repeating: 0, count: 16))),
            random: 0x5783_D521_56AD_6F0E_6388_274E_C670_2EE0, request: hex("01010000100707"),
            response: hex("02030000080005"), initiator: DeviceAddress(kind: .random, bits: 0xA1A2_A3A4_A5A6),
            responder: DeviceAddress(kind: .public, bits: 0xB1B2_B3B4_B5B6))
        #expect(confirm == number("1e1e3fef 878988ea d2a74dc5 bef13b86"))
    }

    @Test("2.2.4 s1")
    func s1() {
        let key = LegacyToolbox.s1(
            tk: AES128(key: Secret([UInt8](repeating: 0, count: 16))), r1: 0x000F_0E0D_0C0B_0A09_1122_3344_5566_7788,
            r2: 0x0102_0304_0506_0708_99AA_BBCC_DDEE_FF00)
        #expect(key == secret("9a1fe1f0 e8b0f49b 5b4216ae 796da062"))
    }
}
