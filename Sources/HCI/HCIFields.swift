import BluetoothCore

/// How a controller names a peer: an address, and whether that is what was on the air or the identity that the
/// controller resolved it to.
package struct LEPeerAddress: Hashable, Sendable, WireCodable {
    /// Core 5.4, Vol 4, Part E, 7.7.65.2 (LE Advertising Report event, Address_Type)
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let `public` = Self(rawValue: 0x00)
        package static let random = Self(rawValue: 0x01)
        /// A public identity address, resolved by the controller.
        package static let publicIdentity = Self(rawValue: 0x02)
        /// A static random identity address, resolved by the controller.
        package static let randomIdentity = Self(rawValue: 0x03)
    }

    package var kind: Kind
    package var bits: UInt64

    package init(kind: Kind, bits: UInt64) {
        self.kind = kind
        self.bits = bits & 0xFFFF_FFFF_FFFF
    }

    package init(_ address: DeviceAddress) {
        self.init(kind: address.kind == .public ? .public : .random, bits: address.bits)
    }

    /// nil for a kind that is not an address's (anonymous advertisements, later versions).
    package var address: DeviceAddress? {
        switch kind {
        case .public, .publicIdentity: DeviceAddress(kind: .public, bits: bits)
        case .random, .randomIdentity: DeviceAddress(kind: .random, bits: bits)
        default: nil
        }
    }

    /// Whether the controller resolved the address on the air by an IRK of its resolving list.
    package var isResolved: Bool { kind == .publicIdentity || kind == .randomIdentity }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        kind = Kind(rawValue: try reader.readUInt8())
        bits = try reader.readUInt48()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(kind.rawValue)
        writer.writeUInt48(bits)
    }
}

/// Which of our addresses a procedure uses.
///
/// Core 5.4, Vol 4, Part E, 7.8.5 (LE Set Advertising Parameters, Own_Address_Type)
package enum LEOwnAddressType: UInt8, Sendable, CaseIterable {
    case `public` = 0x00
    case random = 0x01
    /// A resolvable private address by the resolving list, else the public address.
    case resolvableOrPublic = 0x02
    /// A resolvable private address by the resolving list, else the random address.
    case resolvableOrRandom = 0x03
}

/// Which end of the link a device is. Open, because an event that reports a failure may carry anything here.
package struct LERole: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let central = Self(rawValue: 0x00)
    package static let peripheral = Self(rawValue: 0x01)
}

/// 128 bits of key material on its way to a controller. It has no description, and comparing takes the same time
/// whatever differs.
package struct HCIKey: Sendable, Equatable, WireCodable, CustomStringConvertible, CustomReflectable {
    package let bits: UInt128
    package init(bits: UInt128) { self.bits = bits }
    package init(decoding reader: inout ByteReader) throws(DecodingError) { bits = try reader.readUInt128() }
    package func encode(into writer: inout ByteWriter) { writer.write(bits) }

    package static func == (a: Self, b: Self) -> Bool {
        let difference = a.bits ^ b.bits
        return (UInt64(truncatingIfNeeded: difference) | UInt64(truncatingIfNeeded: difference >> 64)) == 0
    }

    package var description: String { "(key)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The features of a link layer, bit 0 first.
///
/// Core 5.4, Vol 6, Part B, 4.6 (Feature Support)
package struct LEFeatures: OptionSet, Hashable, Sendable, WireCodable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let encryption = Self(rawValue: 1 << 0)
    package static let connectionParametersRequestProcedure = Self(rawValue: 1 << 1)
    package static let extendedRejectIndication = Self(rawValue: 1 << 2)
    package static let peripheralInitiatedFeaturesExchange = Self(rawValue: 1 << 3)
    package static let ping = Self(rawValue: 1 << 4)
    package static let dataPacketLengthExtension = Self(rawValue: 1 << 5)
    package static let privacy = Self(rawValue: 1 << 6)
    package static let extendedScannerFilterPolicies = Self(rawValue: 1 << 7)
    package static let le2MPHY = Self(rawValue: 1 << 8)
    package static let leCodedPHY = Self(rawValue: 1 << 11)
    package static let extendedAdvertising = Self(rawValue: 1 << 12)
    package static let channelSelectionAlgorithm2 = Self(rawValue: 1 << 14)

    package init(decoding reader: inout ByteReader) throws(DecodingError) { rawValue = try reader.readUInt64() }
    package func encode(into writer: inout ByteWriter) { writer.write(rawValue) }
}

extension ByteReader {
    @_lifetime(self: copy self)
    mutating func readConnectionHandle() throws(DecodingError) -> ConnectionHandle {
        ConnectionHandle(try readUInt16())
    }

    @_lifetime(self: copy self)
    mutating func readErrorCode() throws(DecodingError) -> HCIErrorCode {
        HCIErrorCode(rawValue: try readUInt8())
    }

    @_lifetime(self: copy self)
    mutating func readInt8() throws(DecodingError) -> Int8 { Int8(bitPattern: try readUInt8()) }

    @_lifetime(self: copy self)
    mutating func readBool(_ field: StaticString) throws(DecodingError) -> Bool {
        switch try readUInt8() {
        case 0: false
        case 1: true
        default: throw .invalidValue(field: field)
        }
    }

    /// One octet that must be a case of `T`.
    @_lifetime(self: copy self)
    mutating func readCase<T: RawRepresentable<UInt8>>(
        _ field: StaticString, as type: T.Type = T.self
    ) throws(DecodingError) -> T {
        guard let value = T(rawValue: try readUInt8()) else { throw .invalidValue(field: field) }
        return value
    }
}

extension ByteWriter {
    mutating func write(_ handle: ConnectionHandle) { write(handle.rawValue) }
    mutating func write(_ value: Bool) { write(UInt8(value ? 1 : 0)) }
    mutating func write(_ value: Int8) { write(UInt8(bitPattern: value)) }
    mutating func write(_ value: HCIErrorCode) { write(value.rawValue) }
}
