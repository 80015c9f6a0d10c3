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

extension AuditedManager: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        credential = CredentialID(rawValue: try reader.readUInt64())
        name = try reader.readCredentialName()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(credential.rawValue)
        writer.writeCredentialName(name)
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
        case auditDoubted = 19
        case windowOpened = 20
        case windowClosed = 21
        case enrolled = 22
        case settingsChanged = 23
        case managed = 24
        case procedureRefused = 25
        case windowManaged = 26
        case spent = 27
        case lockedOut = 28
        case duress = 29
        case userSet = 30
        case settingsManaged = 31
        case modeChanged = 32
        case timeSet = 33
        case reset = 34
        case operatorIs = 35
        case stopped = 36
        case clockStepped = 37
        case held = 38
        case opening = 39
        case operated = 40
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
        case .held:
            let number = try reader.readUInt8()
            let hold = DoorHold(rawValue: number)
            guard hold != nil || number == 0 else { throw .invalidValue(field: "hold") }
            self = .held(hold)
        case .opening:
            guard let cause = OpeningCause(rawValue: try reader.readUInt8()) else {
                throw .invalidValue(field: "opening cause")
            }
            self = .opening(cause)
        case .operated:
            let number = try reader.readUInt8()
            let operation = LockOperation(rawValue: number)
            guard operation.rawValue == number, LockOperation.known.contains(operation) else {
                throw .invalidValue(field: "operation")
            }
            self = .operated(operation)
        case .reset: self = .reset
        case .stopped: self = .stopped
        case .operatorIs: self = .operatorIs(user: try reader.readUInt32())
        case .clockStepped:
            let expected = Int64(bitPattern: try reader.readUInt64())
            self = .clockStepped(expected: expected, found: Int64(bitPattern: try reader.readUInt64()))
        case .administered:
            let (act, credential) = try Self.readAct(&reader)
            self = .administered(credential, name: try reader.readCredentialName(), act)
        case .securedUnrecorded: self = .securedUnrecorded
        case .relaunched: self = .relaunched(times: try reader.readUInt64())
        case .stateConfirmed:
            guard let doubt = StateDoubt(rawValue: try reader.readUInt8()) else {
                throw .invalidValue(field: "state doubt")
            }
            self = .stateConfirmed(doubt)
        case .bondDeleted: self = .bondDeleted(bond: try reader.readUInt64())
        case .bondExpired: self = .bondExpired(bond: try reader.readUInt64())
        case .windowOpened:
            let role = try Self.readRole(&reader)
            self = .windowOpened(name: try reader.readCredentialName(), role)
        case .windowClosed:
            guard let end = WindowEnd(rawValue: try reader.readUInt8()) else {
                throw .invalidValue(field: "window end")
            }
            self = .windowClosed(name: try reader.readCredentialName(), end)
        case .enrolled:
            let credential = CredentialID(rawValue: try reader.readUInt64())
            let bond = try reader.readUInt64()
            let role = try Self.readRole(&reader)
            self = .enrolled(credential, name: try reader.readCredentialName(), role, bond: bond)
        case .settingsChanged: self = .settingsChanged(try LockSettings(decoding: &reader))
        case .auditDoubted:
            guard let doubt = AuditDoubt(rawValue: try reader.readUInt8()) else {
                throw .invalidValue(field: "audit doubt")
            }
            self = .auditDoubted(doubt)
        case .managed:
            let manager = try AuditedManager(decoding: &reader)
            let (act, credential) = try Self.readAct(&reader)
            self = .managed(by: manager, credential, name: try reader.readCredentialName(), act)
        case .windowManaged:
            guard let act = WindowAct(rawValue: try reader.readUInt8()) else {
                throw .invalidValue(field: "window act")
            }
            let manager = try AuditedManager(decoding: &reader)
            self = .windowManaged(by: manager, name: try reader.readCredentialName(), act)
        case .spent:
            let (act, credential) = try Self.readAct(&reader)
            self = .spent(credential, name: try reader.readCredentialName(), act)
        case .lockedOut:
            let bond = try reader.readUInt64()
            let credential = CredentialID(rawValue: try reader.readUInt64())
            self = .lockedOut(bond: bond, credential, seconds: try reader.readUInt64())
        case .duress:
            let credential = CredentialID(rawValue: try reader.readUInt64())
            self = .duress(credential, name: try reader.readCredentialName())
        case .userSet:
            let credential = CredentialID(rawValue: try reader.readUInt64())
            let name = try reader.readCredentialName()
            let user = try reader.readCredentialName()
            self = .userSet(credential, name: name, user: user, try UserKind(decoding: &reader))
        case .settingsManaged:
            let manager = try AuditedManager(decoding: &reader)
            self = .settingsManaged(by: manager, try LockSettings(decoding: &reader))
        case .modeChanged:
            guard let mode = LockMode(rawValue: try reader.readUInt8()) else { throw .invalidValue(field: "mode") }
            let manager = reader.remaining == 0 ? nil : try AuditedManager(decoding: &reader)
            self = .modeChanged(mode, by: manager)
        case .timeSet:
            let manager = try AuditedManager(decoding: &reader)
            self = .timeSet(by: manager, seconds: Int64(bitPattern: try reader.readUInt64()))
        case .procedureRefused:
            let hasCredential = try reader.readUInt8()
            guard hasCredential <= 1 else { throw .invalidValue(field: "refused procedure") }
            let bond = try reader.readUInt64()
            var credential: CredentialID?
            if hasCredential == 1 { credential = CredentialID(rawValue: try reader.readUInt64()) }
            self = .procedureRefused(
                bond: bond, credential: credential, ControlPointOpcode(rawValue: try reader.readUInt8()))
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
        case .held(let hold):
            begin(.held)
            writer.write(hold?.rawValue ?? 0)
        case .opening(let cause):
            begin(.opening)
            writer.write(cause.rawValue)
        case .operated(let operation):
            begin(.operated)
            writer.write(operation.rawValue)
        case .reset: begin(.reset)
        case .stopped: begin(.stopped)
        case .operatorIs(let user):
            begin(.operatorIs)
            writer.write(user)
        case .clockStepped(let expected, let found):
            begin(.clockStepped)
            writer.write(UInt64(bitPattern: expected))
            writer.write(UInt64(bitPattern: found))
        case .administered(let credential, let name, let act):
            begin(.administered)
            writer.write(act.rawValue)
            writer.write(credential.rawValue)
            writer.writeCredentialName(name)
        case .spent(let credential, let name, let act):
            begin(.spent)
            writer.write(act.rawValue)
            writer.write(credential.rawValue)
            writer.writeCredentialName(name)
        case .lockedOut(let bond, let credential, let seconds):
            begin(.lockedOut)
            writer.write(bond)
            writer.write(credential.rawValue)
            writer.write(seconds)
        case .duress(let credential, let name):
            begin(.duress)
            writer.write(credential.rawValue)
            writer.writeCredentialName(name)
        case .userSet(let credential, let name, let user, let kind):
            begin(.userSet)
            writer.write(credential.rawValue)
            writer.writeCredentialName(name)
            writer.writeCredentialName(user)
            kind.encode(into: &writer)
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
        case .windowOpened(let name, let role):
            begin(.windowOpened)
            writer.write(role.rawValue)
            writer.writeCredentialName(name)
        case .windowClosed(let name, let end):
            begin(.windowClosed)
            writer.write(end.rawValue)
            writer.writeCredentialName(name)
        case .enrolled(let credential, let name, let role, let bond):
            begin(.enrolled)
            writer.write(credential.rawValue)
            writer.write(bond)
            writer.write(role.rawValue)
            writer.writeCredentialName(name)
        case .settingsChanged(let settings):
            begin(.settingsChanged)
            settings.encode(into: &writer)
        case .settingsManaged(let manager, let settings):
            begin(.settingsManaged)
            manager.encode(into: &writer)
            settings.encode(into: &writer)
        case .modeChanged(let mode, let manager):
            begin(.modeChanged)
            writer.write(mode.rawValue)
            manager?.encode(into: &writer)
        case .timeSet(let manager, let seconds):
            begin(.timeSet)
            manager.encode(into: &writer)
            writer.write(UInt64(bitPattern: seconds))
        case .auditDoubted(let doubt):
            begin(.auditDoubted)
            writer.write(doubt.rawValue)
        case .managed(let manager, let credential, let name, let act):
            begin(.managed)
            manager.encode(into: &writer)
            writer.write(act.rawValue)
            writer.write(credential.rawValue)
            writer.writeCredentialName(name)
        case .windowManaged(let manager, let name, let act):
            begin(.windowManaged)
            writer.write(act.rawValue)
            manager.encode(into: &writer)
            writer.writeCredentialName(name)
        case .procedureRefused(let bond, let credential, let procedure):
            begin(.procedureRefused)
            writer.write(credential == nil ? 0 as UInt8 : 1)
            writer.write(bond)
            if let credential { writer.write(credential.rawValue) }
            writer.write(procedure.rawValue)
        }
    }

    private static func readAct(
        _ reader: inout ByteReader
    ) throws(DecodingError) -> (CredentialAct, CredentialID) {
        guard let act = CredentialAct(rawValue: try reader.readUInt8()) else {
            throw .invalidValue(field: "credential act")
        }
        return (act, CredentialID(rawValue: try reader.readUInt64()))
    }

    private static func readRole(_ reader: inout ByteReader) throws(DecodingError) -> Role {
        guard let role = Role(rawValue: try reader.readUInt8()) else { throw .invalidValue(field: "role") }
        return role
    }
}
