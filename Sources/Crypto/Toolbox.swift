import BluetoothCore

/// The LE Secure Connections toolbox.
///
/// 128-bit values are numbers, which have no octet order to get wrong; keys are ``Secret``; coordinates are 32 octets,
/// most significant first. The functions' inputs are concatenated most significant octet first, as the specification
/// writes them.
///
/// Core 5.4, Vol 3, Part H, 2.2 (Cryptographic toolbox)
package enum Toolbox {
    /// Confirm value generation; `x` is a nonce.
    ///
    /// Core 5.4, Vol 3, Part H, 2.2.6 (f4)
    package static func f4(u: [UInt8], v: [UInt8], x: UInt128, z: UInt8) -> UInt128 {
        CMAC(key: Secret(x)).authenticate(u + v + [z])
    }

    /// Confirm value generation for out-of-band data, whose `r` is a secret.
    ///
    /// Core 5.4, Vol 3, Part H, 2.3.5.6.4 (Authentication stage 1 – Out of Band)
    package static func f4(u: [UInt8], v: [UInt8], x: Secret, z: UInt8) -> UInt128 {
        CMAC(key: x).authenticate(u + v + [z])
    }

    package struct SessionKeys: Sendable {
        package let macKey: Secret
        package let ltk: Secret
    }

    /// Key generation. `n1` and `a1` are the central's, `n2` and `a2` the peripheral's.
    ///
    /// Core 5.4, Vol 3, Part H, 2.2.7 (f5)
    package static func f5(
        dhKey: Secret, n1: UInt128, n2: UInt128, a1: DeviceAddress, a2: DeviceAddress
    ) -> SessionKeys {
        let salt = Secret(UInt128(0x6C88_8391_AAF5_A538_6037_0BDB_5A60_83BE))
        let t = CMAC(key: salt).derive(dhKey)
        let cmac = CMAC(key: t)
        let btle: [UInt8] = [0x62, 0x74, 0x6C, 0x65]
        let lengthBits: [UInt8] = [0x01, 0x00]
        let message = btle + n1.octets + n2.octets + a1.typedOctets + a2.typedOctets + lengthBits
        return SessionKeys(macKey: cmac.derive([0] + message), ltk: cmac.derive([1] + message))
    }

    /// The DHKey check. `ioCapability` is AuthReq, OOB data flag and IO capability, from the most significant octet
    /// down.
    ///
    /// Core 5.4, Vol 3, Part H, 2.2.8 (f6)
    package static func f6(
        macKey: Secret, n1: UInt128, n2: UInt128, r: Secret, ioCapability: UInt32, a1: DeviceAddress, a2: DeviceAddress
    ) -> UInt128 {
        var message = n1.octets + n2.octets
        r.withBytes { message.append(contentsOf: $0) }
        message.append(contentsOf: ioCapability.octets24)
        message.append(contentsOf: a1.typedOctets + a2.typedOctets)
        return CMAC(key: macKey).authenticate(message)
    }

    /// Numeric comparison: 32 bits, of which the six lowest decimal digits are shown.
    ///
    /// Core 5.4, Vol 3, Part H, 2.2.9 (g2)
    package static func g2(u: [UInt8], v: [UInt8], x: UInt128, y: UInt128) -> UInt32 {
        UInt32(truncatingIfNeeded: CMAC(key: Secret(x)).authenticate(u + v + y.octets))
    }

    /// Link key conversion with a four-letter identifier.
    ///
    /// Core 5.4, Vol 3, Part H, 2.2.10 (h6)
    package static func h6(w: Secret, keyID: UInt32) -> Secret {
        CMAC(key: w).derive(withUnsafeBytes(of: keyID.bigEndian) { Array($0) })
    }

    /// Link key conversion with a salt.
    ///
    /// Core 5.4, Vol 3, Part H, 2.2.11 (h7)
    package static func h7(salt: UInt128, w: Secret) -> Secret {
        CMAC(key: Secret(salt)).derive(w)
    }

    /// The random address hash: 24 bits of 24 bits.
    ///
    /// Core 5.4, Vol 3, Part H, 2.2.2 (ah)
    package static func ah(irk: AES128, prand: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: irk.encrypt(UInt128(prand & 0xFF_FFFF)) & 0xFF_FFFF)
    }

    /// A resolvable private address of `irk`. `random` gives prand its 22 random bits.
    ///
    /// Core 5.4, Vol 6, Part B, 1.3.2.2 (Private device address generation)
    package static func resolvablePrivateAddress(irk: AES128, random: UInt32) -> DeviceAddress {
        let prand = random & 0x3F_FFFF | 0x40_0000
        return DeviceAddress(kind: .random, bits: UInt64(prand) << 24 | UInt64(ah(irk: irk, prand: prand)))
    }
}

extension UInt128 {
    /// 16 octets, most significant first.
    package var octets: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

extension UInt32 {
    /// The low 24 bits, most significant octet first.
    fileprivate var octets24: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0[1...]) } }
}

extension DeviceAddress {
    /// 56 bits: the type octet, then the address from its most significant octet.
    fileprivate var typedOctets: [UInt8] {
        withUnsafeBytes(of: (UInt64(kind.rawValue) << 48 | bits).bigEndian) { Array($0[1...]) }
    }
}
