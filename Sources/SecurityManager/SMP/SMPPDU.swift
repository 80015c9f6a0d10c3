import BluetoothCore
import BluetoothCrypto

/// A Security Manager command, as the fixed channel 0x0006 carries it.
///
/// 128-bit values are numbers, read and written least significant octet first; keys are secrets, in the order that
/// ``Secret`` documents.
///
/// Core 5.4, Vol 3, Part H, 3.3 (Command format)
package enum SMPPDU: WireCodable {
    /// The longest command: a public key with its code.
    package static let maximumOctets = 65

    /// Core 5.4, Vol 3, Part H, 3.5.1 (Pairing Request)
    case pairingRequest(PairingFeatures)
    /// Core 5.4, Vol 3, Part H, 3.5.2 (Pairing Response)
    case pairingResponse(PairingFeatures)
    /// Core 5.4, Vol 3, Part H, 3.5.3 (Pairing Confirm)
    case pairingConfirm(UInt128)
    /// Core 5.4, Vol 3, Part H, 3.5.4 (Pairing Random)
    case pairingRandom(UInt128)
    /// Core 5.4, Vol 3, Part H, 3.5.5 (Pairing Failed)
    case pairingFailed(PairingFailedReason)
    /// Core 5.4, Vol 3, Part H, 3.6.2 (Encryption Information)
    case encryptionInformation(longTermKey: Secret)
    /// Core 5.4, Vol 3, Part H, 3.6.3 (Central Identification)
    case centralIdentification(ediv: UInt16, rand: UInt64)
    /// Core 5.4, Vol 3, Part H, 3.6.4 (Identity Information)
    case identityInformation(identityResolvingKey: Secret)
    /// Core 5.4, Vol 3, Part H, 3.6.5 (Identity Address Information)
    case identityAddressInformation(DeviceAddress)
    /// Core 5.4, Vol 3, Part H, 3.6.6 (Signing Information)
    case signingInformation(signatureKey: Secret)
    /// Core 5.4, Vol 3, Part H, 3.6.7 (Security Request)
    case securityRequest(AuthReq)
    /// X then Y, each least significant octet first, not yet validated.
    ///
    /// Core 5.4, Vol 3, Part H, 3.5.6 (Pairing Public Key)
    case pairingPublicKey([UInt8])
    /// Core 5.4, Vol 3, Part H, 3.5.7 (Pairing DHKey Check)
    case pairingDHKeyCheck(UInt128)
    /// Core 5.4, Vol 3, Part H, 3.5.8 (Keypress Notification)
    case pairingKeypressNotification(KeypressNotificationType)
    /// A reserved code and what followed it.
    case reserved(SMPOpcode, [UInt8])

    package var opcode: SMPOpcode {
        switch self {
        case .pairingRequest: .pairingRequest
        case .pairingResponse: .pairingResponse
        case .pairingConfirm: .pairingConfirm
        case .pairingRandom: .pairingRandom
        case .pairingFailed: .pairingFailed
        case .encryptionInformation: .encryptionInformation
        case .centralIdentification: .centralIdentification
        case .identityInformation: .identityInformation
        case .identityAddressInformation: .identityAddressInformation
        case .signingInformation: .signingInformation
        case .securityRequest: .securityRequest
        case .pairingPublicKey: .pairingPublicKey
        case .pairingDHKeyCheck: .pairingDHKeyCheck
        case .pairingKeypressNotification: .pairingKeypressNotification
        case .reserved(let opcode, _): opcode
        }
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let opcode = SMPOpcode(rawValue: try reader.readUInt8())
        switch opcode {
        case .pairingRequest: self = .pairingRequest(try PairingFeatures(decoding: &reader))
        case .pairingResponse: self = .pairingResponse(try PairingFeatures(decoding: &reader))
        case .pairingConfirm: self = .pairingConfirm(try reader.readUInt128())
        case .pairingRandom: self = .pairingRandom(try reader.readUInt128())
        case .pairingFailed: self = .pairingFailed(PairingFailedReason(rawValue: try reader.readUInt8()))
        case .encryptionInformation: self = .encryptionInformation(longTermKey: try Self.readKey(&reader))
        case .centralIdentification:
            self = .centralIdentification(ediv: try reader.readUInt16(), rand: try reader.readUInt64())
        case .identityInformation: self = .identityInformation(identityResolvingKey: try Self.readKey(&reader))
        case .identityAddressInformation: self = .identityAddressInformation(try Self.readAddress(&reader))
        case .signingInformation: self = .signingInformation(signatureKey: try Self.readKey(&reader))
        case .securityRequest: self = .securityRequest(AuthReq(rawValue: try reader.readUInt8()))
        case .pairingPublicKey: self = .pairingPublicKey(try reader.readBytes(64))
        case .pairingDHKeyCheck: self = .pairingDHKeyCheck(try reader.readUInt128())
        case .pairingKeypressNotification:
            self = .pairingKeypressNotification(KeypressNotificationType(rawValue: try reader.readUInt8()))
        default: self = .reserved(opcode, reader.readRemaining())
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(opcode.rawValue)
        switch self {
        case .pairingRequest(let features), .pairingResponse(let features): features.encode(into: &writer)
        case .pairingConfirm(let value), .pairingRandom(let value), .pairingDHKeyCheck(let value): writer.write(value)
        case .pairingFailed(let reason): writer.write(reason.rawValue)
        case .encryptionInformation(let key), .identityInformation(let key), .signingInformation(let key):
            key.withBytes { for octet in $0.reversed() { writer.write(octet) } }
        case .centralIdentification(let ediv, let rand):
            writer.write(ediv)
            writer.write(rand)
        case .identityAddressInformation(let address):
            writer.write(address.kind.rawValue)
            writer.writeUInt48(address.bits)
        case .securityRequest(let authReq): writer.write(authReq.rawValue)
        case .pairingPublicKey(let octets), .reserved(_, let octets): writer.write(octets)
        case .pairingKeypressNotification(let type): writer.write(type.rawValue)
        }
    }

    private static func readKey(_ reader: inout ByteReader) throws(DecodingError) -> Secret {
        var wire = try reader.readBytes(16)
        wire.reverse()
        return Secret(wiping: &wire)
    }

    private static func readAddress(_ reader: inout ByteReader) throws(DecodingError) -> DeviceAddress {
        guard let kind = DeviceAddress.Kind(rawValue: try reader.readUInt8()) else {
            throw .invalidValue(field: "AddrType")
        }
        return DeviceAddress(kind: kind, bits: try reader.readUInt48())
    }
}
