import BluetoothCore

/// Core 5.4, Vol 3, Part H, 3.5.1 (Pairing Request), IO Capability
package struct IOCapability: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let displayOnly = Self(rawValue: 0x00)
    package static let displayYesNo = Self(rawValue: 0x01)
    package static let keyboardOnly = Self(rawValue: 0x02)
    package static let noInputNoOutput = Self(rawValue: 0x03)
    package static let keyboardDisplay = Self(rawValue: 0x04)
}

/// Core 5.4, Vol 3, Part H, 3.5.1 (Pairing Request), AuthReq
package struct AuthReq: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The low one of Bonding_Flags' two bits; the value with both is reserved.
    package static let bonding = Self(rawValue: 0x01)
    package static let mitm = Self(rawValue: 0x04)
    package static let secureConnections = Self(rawValue: 0x08)
    package static let keypress = Self(rawValue: 0x10)
    package static let ct2 = Self(rawValue: 0x20)
}

/// Core 5.4, Vol 3, Part H, 3.6.1 (Key distribution and generation)
package struct KeyDistribution: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The LTK of legacy pairing; LE Secure Connections generates it instead and ignores the bit.
    package static let encKey = Self(rawValue: 0x01)
    package static let idKey = Self(rawValue: 0x02)
    package static let signKey = Self(rawValue: 0x04)
    /// A BR/EDR link key derived from the LTK: never asked for here.
    package static let linkKey = Self(rawValue: 0x08)
    /// The other bits are reserved: whatever a peer sets there is ignored.
    package static let defined: Self = [.encKey, .idKey, .signKey, .linkKey]
    /// What legacy pairing distributes on LE.
    static let legacy: Self = [.encKey, .idKey, .signKey]
}

/// What both sides say of themselves in Pairing Request and Pairing Response.
///
/// Core 5.4, Vol 3, Part H, 3.5.1 (Pairing Request)
package struct PairingFeatures: WireCodable, Hashable {
    package var ioCapability: IOCapability
    /// 1 when the sender has received the other's out-of-band data.
    package var oobDataFlag: UInt8
    package var authReq: AuthReq
    package var maximumEncryptionKeySize: UInt8
    package var initiatorKeyDistribution: KeyDistribution
    package var responderKeyDistribution: KeyDistribution

    package init(
        ioCapability: IOCapability, oobDataFlag: UInt8, authReq: AuthReq, maximumEncryptionKeySize: UInt8 = 16,
        initiatorKeyDistribution: KeyDistribution, responderKeyDistribution: KeyDistribution
    ) {
        self.ioCapability = ioCapability
        self.oobDataFlag = oobDataFlag
        self.authReq = authReq
        self.maximumEncryptionKeySize = maximumEncryptionKeySize
        self.initiatorKeyDistribution = initiatorKeyDistribution
        self.responderKeyDistribution = responderKeyDistribution
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        ioCapability = IOCapability(rawValue: try reader.readUInt8())
        oobDataFlag = try reader.readUInt8()
        authReq = AuthReq(rawValue: try reader.readUInt8())
        maximumEncryptionKeySize = try reader.readUInt8()
        initiatorKeyDistribution = KeyDistribution(rawValue: try reader.readUInt8())
        responderKeyDistribution = KeyDistribution(rawValue: try reader.readUInt8())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(ioCapability.rawValue)
        writer.write(oobDataFlag)
        writer.write(authReq.rawValue)
        writer.write(maximumEncryptionKeySize)
        writer.write(initiatorKeyDistribution.rawValue)
        writer.write(responderKeyDistribution.rawValue)
    }

    /// AuthReq, OOB data flag and IO capability from the most significant octet down, as f6 takes them.
    ///
    /// Core 5.4, Vol 3, Part H, 2.2.8 (f6)
    var ioCapabilityForCheck: UInt32 {
        UInt32(authReq.rawValue) << 16 | UInt32(oobDataFlag) << 8 | UInt32(ioCapability.rawValue)
    }
}
