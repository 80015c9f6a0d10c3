import BluetoothCore
import LockProtocol

extension AuditedCommand: WireCodable {
    private static let hasCredential: UInt8 = 0x01
    private static let hasSignCounter: UInt8 = 0x02

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let flags = try reader.readUInt8()
        guard flags & ~(Self.hasCredential | Self.hasSignCounter) == 0 else {
            throw .invalidValue(field: "audited command flags")
        }
        bond = try reader.readUInt64()
        credential = nil
        if flags & Self.hasCredential != 0 { credential = CredentialID(rawValue: try reader.readUInt64()) }
        signCounter = nil
        if flags & Self.hasSignCounter != 0 { signCounter = try reader.readUInt32() }
        command = try LockCommand(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(
            (credential == nil ? 0 : Self.hasCredential) | (signCounter == nil ? 0 : Self.hasSignCounter))
        writer.write(bond)
        if let credential { writer.write(credential.rawValue) }
        if let signCounter { writer.write(signCounter) }
        command.encode(into: &writer)
    }
}

extension AuditEvent: WireCodable {
    /// What an event's first octet says it is. Never renumbered: hashes are over it.
    private enum Kind: UInt8 {
        case granted = 1
        case refused = 2
        case refusalsSuppressed = 3
        case securing = 4
        case outcome = 5
        case bolt = 6
        case door = 7
        case launched = 8
        case administered = 9
        case securedUnrecorded = 10
        case relaunched = 11
        case stateConfirmed = 12
        case idleGrantsSuppressed = 13
        case bondDeleted = 14
        case bondExpired = 15
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        guard let kind = Kind(rawValue: try reader.readUInt8()) else { throw .invalidValue(field: "audit event") }
        switch kind {
        case .granted: self = .granted(try AuditedCommand(decoding: &reader))
        case .refused:
            let result = LockResult(rawValue: try reader.readUInt8())
            self = .refused(try AuditedCommand(decoding: &reader), result)
        case .refusalsSuppressed: self = .refusalsSuppressed(bond: try reader.readUInt64())
        case .idleGrantsSuppressed: self = .idleGrantsSuppressed(bond: try reader.readUInt64())
        case .securing:
            let recovering = try reader.readUInt8()
            guard recovering <= 1 else { throw .invalidValue(field: "recovering") }
            self = .securing(recovering: recovering == 1)
        case .outcome:
            guard let outcome = Outcome(rawValue: try reader.readUInt8()) else {
                throw .invalidValue(field: "outcome")
            }
            self = .outcome(of: try reader.readUInt64(), outcome)
        case .bolt:
            guard let position = BoltPosition(rawValue: try reader.readUInt8()) else {
                throw .invalidValue(field: "bolt position")
            }
            self = .bolt(position)
        case .door: self = .door(DoorCode(rawValue: try reader.readUInt8()))
        case .launched: self = .launched
        case .administered: self = try Self.readAdministered(&reader)
        case .securedUnrecorded: self = .securedUnrecorded
        case .relaunched: self = .relaunched(times: try reader.readUInt64())
        case .stateConfirmed:
            guard let doubt = StateDoubt(rawValue: try reader.readUInt8()) else {
                throw .invalidValue(field: "state doubt")
            }
            self = .stateConfirmed(doubt)
        case .bondDeleted: self = .bondDeleted(bond: try reader.readUInt64())
        case .bondExpired: self = .bondExpired(bond: try reader.readUInt64())
        }
    }

    package func encode(into writer: inout ByteWriter) {
        func begin(_ kind: Kind) { writer.write(kind.rawValue) }
        switch self {
        case .granted(let command):
            begin(.granted)
            command.encode(into: &writer)
        case .refused(let command, let result):
            begin(.refused)
            writer.write(result.rawValue)
            command.encode(into: &writer)
        case .refusalsSuppressed(let bond):
            begin(.refusalsSuppressed)
            writer.write(bond)
        case .idleGrantsSuppressed(let bond):
            begin(.idleGrantsSuppressed)
            writer.write(bond)
        case .securing(let recovering):
            begin(.securing)
            writer.write(recovering ? 1 as UInt8 : 0)
        case .outcome(let sequence, let outcome):
            begin(.outcome)
            writer.write(outcome.rawValue)
            writer.write(sequence)
        case .bolt(let position):
            begin(.bolt)
            writer.write(position.rawValue)
        case .door(let door):
            begin(.door)
            writer.write(door.rawValue)
        case .launched: begin(.launched)
        case .administered(let credential, let name, let act):
            begin(.administered)
            writer.write(act.rawValue)
            writer.write(credential.rawValue)
            let octets = Array(name.utf8)
            writer.write(UInt8(truncatingIfNeeded: octets.count))
            writer.write(octets)
        case .securedUnrecorded: begin(.securedUnrecorded)
        case .relaunched(let times):
            begin(.relaunched)
            writer.write(times)
        case .stateConfirmed(let doubt):
            begin(.stateConfirmed)
            writer.write(doubt.rawValue)
        case .bondDeleted(let bond):
            begin(.bondDeleted)
            writer.write(bond)
        case .bondExpired(let bond):
            begin(.bondExpired)
            writer.write(bond)
        }
    }

    private static func readAdministered(_ reader: inout ByteReader) throws(DecodingError) -> Self {
        guard let act = CredentialAct(rawValue: try reader.readUInt8()) else {
            throw .invalidValue(field: "credential act")
        }
        let credential = CredentialID(rawValue: try reader.readUInt64())
        let count = Int(try reader.readUInt8())
        let octets = try reader.readBytes(count)
        guard count <= Credential.nameOctetsMaximum, let name = String(validating: octets, as: UTF8.self) else {
            throw .invalidValue(field: "credential name")
        }
        return .administered(credential, name: name, act)
    }
}
