import BluetoothCore

/// Everything that a lock says of one credential.
package struct CredentialRecord: WireCodable, Hashable {
    package static let nameOctetsMaximum = 64

    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let enabled = Self(rawValue: 0x01)
        /// It has a validity or a schedule.
        package static let scheduled = Self(rawValue: 0x02)
        /// It has its key.
        package static let enrolled = Self(rawValue: 0x04)
        /// Its user is of a kind that is not the ordinary one.
        package static let kind = Self(rawValue: 0x08)
        /// It is a device of a user who is called otherwise.
        package static let user = Self(rawValue: 0x10)
    }

    package var id: CredentialID
    /// A ``Role``, as far as this version knows it.
    package var role: UInt8
    package private(set) var flags: Flags
    package var name: String
    package var validity: Validity
    package var schedules: CredentialSchedules
    package let kind: UserKind
    /// nil: the user is called as the credential is.
    package let user: String?

    /// The flags of what follows the schedules are set here.
    package init(
        id: CredentialID, role: UInt8, flags: Flags, name: String, validity: Validity = .always,
        schedules: CredentialSchedules = .none, kind: UserKind = .ordinary, user: String? = nil
    ) {
        self.id = id
        self.role = role
        self.flags = flags.subtracting([.kind, .user])
        if kind != .ordinary { self.flags.insert(.kind) }
        if user != nil { self.flags.insert(.user) }
        self.name = name
        self.validity = validity
        self.schedules = schedules
        self.kind = kind
        self.user = user
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        id = CredentialID(rawValue: try reader.readUInt64())
        role = try reader.readUInt8()
        flags = Flags(rawValue: try reader.readUInt8())
        name = try reader.readCredentialName()
        validity = try Validity(decoding: &reader)
        schedules = try CredentialSchedules(decoding: &reader)
        kind = flags.contains(.kind) ? try UserKind(decoding: &reader) : .ordinary
        user = flags.contains(.user) ? try reader.readCredentialName() : nil
        guard flags.contains(.kind) == (kind != .ordinary) else { throw .invalidValue(field: "user kind") }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(id.rawValue)
        writer.write(role)
        writer.write(flags.rawValue)
        writer.writeCredentialName(name)
        validity.encode(into: &writer)
        schedules.encode(into: &writer)
        if flags.contains(.kind) { kind.encode(into: &writer) }
        if let user { writer.writeCredentialName(user) }
    }
}

/// What the list says of it.
package struct CredentialRow: WireCodable, Hashable {
    /// Of one without a name.
    package static let octetsMinimum = 15

    package var id: CredentialID
    /// Of the credential's record, which a change has to name.
    package var version: ValueVersion
    package var role: UInt8
    package var flags: CredentialRecord.Flags
    package var name: String

    package init(_ record: CredentialRecord) {
        id = record.id
        version = ValueVersion(of: record.encoded)
        role = record.role
        flags = record.flags
        name = record.name
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        id = CredentialID(rawValue: try reader.readUInt64())
        version = ValueVersion(rawValue: try reader.readUInt32())
        role = try reader.readUInt8()
        flags = CredentialRecord.Flags(rawValue: try reader.readUInt8())
        name = try reader.readCredentialName()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(id.rawValue)
        writer.write(version.rawValue)
        writer.write(role)
        writer.write(flags.rawValue)
        writer.writeCredentialName(name)
    }
}

extension ByteWriter {
    /// Its length, and its UTF-8.
    package mutating func writeCredentialName(_ name: String) {
        let octets = Array(name.utf8)
        write(UInt8(truncatingIfNeeded: octets.count))
        write(octets)
    }
}

extension ByteReader {
    @_lifetime(self: copy self)
    package mutating func readCredentialName() throws(DecodingError) -> String {
        let count = Int(try readUInt8())
        let octets = try readBytes(count)
        guard count <= CredentialRecord.nameOctetsMaximum, let name = String(validating: octets, as: UTF8.self) else {
            throw .invalidValue(field: "credential name")
        }
        return name
    }
}
