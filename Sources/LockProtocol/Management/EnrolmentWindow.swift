import BluetoothCore

/// What a manager opens a window with. Its key enrols out of band: the window's code says how.
package struct EnrolmentOpening: WireCodable, Hashable {
    /// As long as an operator may hold one open.
    package static let secondsMaximum: UInt16 = 3_600

    private static let hasKind: UInt8 = 0x08
    private static let hasUser: UInt8 = 0x10

    package let role: Role
    package let seconds: UInt16
    package let name: String
    /// nil: as the user's other devices are.
    package let kind: UserKind?
    /// Whose device it becomes. nil: a credential that stands keeps its user, and a new one is its own user's.
    package let user: String?

    /// nil without a name or a second, or with too much of either.
    package init?(role: Role, seconds: UInt16, name: String, kind: UserKind? = nil, user: String? = nil) {
        let names = 1...CredentialRecord.nameOctetsMaximum
        guard 1...Self.secondsMaximum ~= seconds, names ~= name.utf8.count, user.map({ names ~= $0.utf8.count }) ?? true
        else { return nil }
        (self.role, self.seconds, self.name, self.kind, self.user) = (role, seconds, name, kind, user)
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        guard let role = Role(rawValue: try reader.readUInt8()) else { throw .invalidValue(field: "role") }
        let seconds = try reader.readUInt16()
        let name = try reader.readCredentialName()
        var kind: UserKind?
        var user: String?
        if reader.remaining > 0 {
            let flags = try reader.readUInt8()
            guard flags != 0, flags & ~(Self.hasKind | Self.hasUser) == 0 else {
                throw .invalidValue(field: "enrolment flags")
            }
            if flags & Self.hasKind != 0 { kind = try UserKind(decoding: &reader) }
            if flags & Self.hasUser != 0 { user = try reader.readCredentialName() }
        }
        guard let opening = Self(role: role, seconds: seconds, name: name, kind: kind, user: user) else {
            throw .invalidValue(field: "enrolment")
        }
        self = opening
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(role.rawValue)
        writer.write(seconds)
        writer.writeCredentialName(name)
        guard kind != nil || user != nil else { return }
        writer.write((kind == nil ? 0 : Self.hasKind) | (user == nil ? 0 : Self.hasUser))
        kind?.encode(into: &writer)
        if let user { writer.writeCredentialName(user) }
    }
}

/// The enrolment window as a manager reads it.
package enum EnrolmentState: WireCodable {
    case closed
    /// `isPaired`: somebody has, and has yet to come back. `code`: for who opened it over the air, and nobody else.
    case open(role: UInt8, name: String, isPaired: Bool, code: SetupCode?)

    private static let isOpen: UInt8 = 0x01
    private static let isPaired: UInt8 = 0x02
    private static let hasCode: UInt8 = 0x04

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let flags = try reader.readUInt8()
        guard flags != 0 else {
            self = .closed
            return
        }
        guard flags & Self.isOpen != 0, flags & ~(Self.isOpen | Self.isPaired | Self.hasCode) == 0 else {
            throw .invalidValue(field: "enrolment")
        }
        let role = try reader.readUInt8()
        let name = try reader.readCredentialName()
        var code: SetupCode?
        if flags & Self.hasCode != 0 {
            code = SetupCode(octets: try reader.readBytes(SetupCode.octets))
            guard code != nil else { throw .invalidValue(field: "setup code") }
        }
        self = .open(role: role, name: name, isPaired: flags & Self.isPaired != 0, code: code)
    }

    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .closed: writer.write(0 as UInt8)
        case .open(let role, let name, let isPaired, let code):
            writer.write(Self.isOpen | (isPaired ? Self.isPaired : 0) | (code == nil ? 0 : Self.hasCode))
            writer.write(role)
            writer.writeCredentialName(name)
            if let code { writer.write(code.octets) }
        }
    }
}
