import BluetoothCore

/// A request to the control point with its operands read.
package enum ControlPointProcedure: WireCodable, Hashable {
    case keyStatus
    /// Key Status too, of one command, as a program with a key of its own asks for it.
    case questionKeyStatus(StatusQuestion)
    /// From the credential of this number on, or the next one that there is.
    case listCredentials(from: CredentialID, ReadingPlace)
    case getCredential(CredentialID, ReadingPlace)
    /// The version is that of the record which the sender has read: a change is made to nothing else.
    case change(CredentialID, ValueVersion, CredentialChange)
    case getSettings(ReadingPlace)
    case openEnrolment(EnrolmentOpening)
    case closeEnrolment
    case getEnrolment(ReadingPlace)
    /// The version is that of the settings' record which the sender has read.
    case setSettings(ValueVersion, LockSettings)
    case setMode(LockMode)
    case getTime
    /// Seconds since 1970.
    case setTime(Int64)
    case agreeOnKey([UInt8])
    case confirmKey([UInt8])

    package var opcode: ControlPointOpcode {
        switch self {
        case .keyStatus, .questionKeyStatus: .keyStatus
        case .listCredentials: .listCredentials
        case .getCredential: .getCredential
        case .change(_, _, let change): change.opcode
        case .getSettings: .getSettings
        case .openEnrolment: .openEnrolment
        case .closeEnrolment: .closeEnrolment
        case .getEnrolment: .getEnrolment
        case .setSettings: .setSettings
        case .setMode: .setMode
        case .getTime: .getTime
        case .setTime: .setTime
        case .agreeOnKey: .agreeOnKey
        case .confirmKey: .confirmKey
        }
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let opcode = ControlPointOpcode(rawValue: try reader.readUInt8())
        switch opcode {
        case .keyStatus:
            // What has the octets of neither is refused as too long.
            self =
                reader.remaining < StatusQuestion.octets
                ? .keyStatus : .questionKeyStatus(try StatusQuestion(decoding: &reader))
        case .listCredentials:
            let from = CredentialID(rawValue: try reader.readUInt64())
            self = .listCredentials(from: from, try ReadingPlace(decoding: &reader))
        case .getCredential:
            let id = CredentialID(rawValue: try reader.readUInt64())
            self = .getCredential(id, try ReadingPlace(decoding: &reader))
        case .getSettings: self = .getSettings(try ReadingPlace(decoding: &reader))
        case .openEnrolment: self = .openEnrolment(try EnrolmentOpening(decoding: &reader))
        case .closeEnrolment: self = .closeEnrolment
        case .getEnrolment: self = .getEnrolment(try ReadingPlace(decoding: &reader))
        case .disableCredential, .enableCredential, .removeCredential, .setSchedule:
            let id = CredentialID(rawValue: try reader.readUInt64())
            let version = ValueVersion(rawValue: try reader.readUInt32())
            self = .change(id, version, try CredentialChange(opcode, decoding: &reader))
        case .setSettings:
            let version = ValueVersion(rawValue: try reader.readUInt32())
            self = .setSettings(version, try LockSettings(decoding: &reader))
        case .setMode:
            guard let mode = LockMode(rawValue: try reader.readUInt8()) else { throw .invalidValue(field: "mode") }
            self = .setMode(mode)
        case .getTime: self = .getTime
        case .setTime: self = .setTime(Int64(bitPattern: try reader.readUInt64()))
        case .agreeOnKey: self = .agreeOnKey(try reader.readBytes(ProgramKeyAgreement.messageOctets))
        case .confirmKey: self = .confirmKey(try reader.readBytes(ProgramKey.confirmationOctets))
        default: throw .invalidValue(field: "procedure")
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(opcode.rawValue)
        switch self {
        case .keyStatus, .closeEnrolment, .getTime: break
        case .questionKeyStatus(let question): question.encode(into: &writer)
        case .setSettings(let version, let settings):
            writer.write(version.rawValue)
            settings.encode(into: &writer)
        case .setMode(let mode): writer.write(mode.rawValue)
        case .setTime(let seconds): writer.write(UInt64(bitPattern: seconds))
        case .agreeOnKey(let octets), .confirmKey(let octets): writer.write(octets)
        case .openEnrolment(let opening): opening.encode(into: &writer)
        case .listCredentials(let id, let place), .getCredential(let id, let place):
            writer.write(id.rawValue)
            place.encode(into: &writer)
        case .change(let id, let version, let change):
            writer.write(id.rawValue)
            writer.write(version.rawValue)
            guard case .scheduled(let validity, let schedules) = change else { return }
            validity.encode(into: &writer)
            schedules.encode(into: &writer)
        case .getSettings(let place), .getEnrolment(let place): place.encode(into: &writer)
        }
    }
}

extension CredentialChange {
    fileprivate var opcode: ControlPointOpcode {
        switch self {
        case .disabled: .disableCredential
        case .enabled: .enableCredential
        case .removed: .removeCredential
        case .scheduled: .setSchedule
        }
    }

    fileprivate init(_ opcode: ControlPointOpcode, decoding reader: inout ByteReader) throws(DecodingError) {
        switch opcode {
        case .disableCredential: self = .disabled
        case .enableCredential: self = .enabled
        case .removeCredential: self = .removed
        case .setSchedule:
            let validity = try Validity(decoding: &reader)
            self = .scheduled(validity, try CredentialSchedules(decoding: &reader))
        default: throw .invalidValue(field: "procedure")
        }
    }
}
