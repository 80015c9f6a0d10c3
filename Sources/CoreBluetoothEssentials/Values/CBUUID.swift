import BluetoothCore
import FoundationEssentials

/// A UUID of a service, characteristic or descriptor, in the 16-, 32- or 128-bit form in which it was written.
///
/// Two are equal when they name the same 128 bits, whatever their forms.
public final class CBUUID: Hashable, Sendable, CustomStringConvertible {
    private enum Form: Sendable { case bits16, bits32, bits128 }

    /// The 128 bits that attributes carry.
    package let bluetoothUUID: BluetoothUUID
    private let form: Form

    private init(_ uuid: BluetoothUUID, _ form: Form) {
        bluetoothUUID = uuid
        self.form = form
    }

    /// In its shortest form of 16 or 128 bits, as attribute PDUs carry it.
    package convenience init(_ uuid: BluetoothUUID) { self.init(uuid, uuid.short == nil ? .bits128 : .bits16) }

    /// Four, eight or 32 hexadecimal digits, the last as 8-4-4-4-12; a short form may have `0x` before it, as many apps write
    /// it. Anything else ends the process, as with Apple; text from outside goes through `UUID(uuidString:)` and
    /// ``init(nsuuid:)``.
    public convenience init(string theString: String) {
        guard let parsed = Self.parse(theString) else {
            preconditionFailure("String \(theString) does not represent a valid UUID")
        }
        self.init(parsed.0, parsed.1)
    }

    /// Two, four or 16 octets, the most significant first. Any other number ends the process, as with Apple.
    public convenience init(data theData: Data) {
        var bits: UInt128 = 0
        for octet in theData { bits = bits << 8 | UInt128(octet) }
        switch theData.count {
        case 2: self.init(BluetoothUUID(UInt16(truncatingIfNeeded: bits)), .bits16)
        case 4: self.init(Self.expanding(UInt32(truncatingIfNeeded: bits)), .bits32)
        case 16: self.init(BluetoothUUID(bits: bits), .bits128)
        default: preconditionFailure("A UUID has 2, 4 or 16 octets, not \(theData.count)")
        }
    }

    /// The 128-bit form.
    public convenience init(nsuuid theUUID: UUID) { self.init(BluetoothUUID(bits: theUUID.bits), .bits128) }

    /// The octets in the form in which the UUID was written, the most significant first.
    public var data: Data {
        let octets = (0..<16).map { UInt8(truncatingIfNeeded: bluetoothUUID.bits >> UInt128(120 - 8 * $0)) }
        return switch form {
        case .bits16: Data(octets[2..<4])
        case .bits32: Data(octets[0..<4])
        case .bits128: Data(octets)
        }
    }

    /// Upper-case hexadecimal digits: four, eight, or 8-4-4-4-12.
    public var uuidString: String {
        switch form {
        case .bits16: bluetoothUUID.description
        case .bits32: HexText.encode(data)
        case .bits128: PeerIdentifier(bits: bluetoothUUID.bits).description
        }
    }

    /// The same as ``uuidString``.
    public var description: String { uuidString }

    /// Whether both name the same 128 bits.
    public static func == (a: CBUUID, b: CBUUID) -> Bool { a.bluetoothUUID == b.bluetoothUUID }
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(bluetoothUUID) }

    private static func parse(_ text: String) -> (BluetoothUUID, Form)? {
        let isPrefixed = text.utf8.count < 36 && (text.hasPrefix("0x") || text.hasPrefix("0X"))
        let digits = isPrefixed ? String(text.dropFirst(2)) : text
        guard let uuid = BluetoothUUID(digits) else { return nil }
        return switch digits.utf8.count {
        case 4: (uuid, .bits16)
        case 8: (uuid, .bits32)
        default: (uuid, .bits128)
        }
    }

    /// Core 5.4, Vol 3, Part B, 2.5.1 (UUID)
    private static func expanding(_ short: UInt32) -> BluetoothUUID {
        BluetoothUUID(bits: BluetoothUUID(0).bits | UInt128(short) << 96)
    }
}

extension UUID {
    /// The 128 bits, the first hexadecimal digit being the most significant.
    package var bits: UInt128 {
        withUnsafeBytes(of: uuid) { octets in octets.reduce(0) { $0 << 8 | UInt128($1) } }
    }

    package init(bits: UInt128) {
        let octets = (0..<16).map { UInt8(truncatingIfNeeded: bits >> UInt128(120 - 8 * $0)) }
        self.init(
            uuid: (
                octets[0], octets[1], octets[2], octets[3], octets[4], octets[5], octets[6], octets[7], octets[8],
                octets[9], octets[10], octets[11], octets[12], octets[13], octets[14], octets[15]
            ))
    }

    /// How an app sees the name of a peer.
    package init(_ peer: PeerIdentifier) { self.init(bits: peer.bits) }
}

extension PeerIdentifier {
    package init(_ uuid: UUID) { self.init(bits: uuid.bits) }
}

/// Characteristic Extended Properties.
public let CBUUIDCharacteristicExtendedPropertiesString = "2900"
/// Characteristic User Description.
public let CBUUIDCharacteristicUserDescriptionString = "2901"
/// Client Characteristic Configuration.
public let CBUUIDClientCharacteristicConfigurationString = "2902"
/// Server Characteristic Configuration.
public let CBUUIDServerCharacteristicConfigurationString = "2903"
/// Characteristic Presentation Format.
public let CBUUIDCharacteristicFormatString = "2904"
/// Characteristic Aggregate Format.
public let CBUUIDCharacteristicAggregateFormatString = "2905"
/// Valid Range.
public let CBUUIDCharacteristicValidRangeString = "2906"
/// Observation Schedule.
public let CBUUIDCharacteristicObservationScheduleString = "2910"
