import BluetoothCore

/// A request to the control point with its operands read.
package enum ControlPointProcedure: WireCodable, Hashable {
    case keyStatus
    /// From the credential of this number on, or the next one that there is.
    case listCredentials(from: CredentialID, ReadingPlace)
    case getCredential(CredentialID, ReadingPlace)
    /// The version is that of the record which the sender has read: a change is made to nothing else.
    case change(CredentialID, ValueVersion, CredentialChange)
    case getSettings(ReadingPlace)
    case openEnrolment(EnrolmentOpening)
    case closeEnrolment
    case getEnrolment(ReadingPlace)

    package var opcode: ControlPointOpcode {
        switch self {
        case .keyStatus: .keyStatus
        case .listCredentials: .listCredentials
        case .getCredential: .getCredential
        case .change(_, _, let change): change.opcode
        case .getSettings: .getSettings
        case .openEnrolment: .openEnrolment
        case .closeEnrolment: .closeEnrolment
        case .getEnrolment: .getEnrolment
        }
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let opcode = ControlPointOpcode(rawValue: try reader.readUInt8())
        switch opcode {
        case .keyStatus: self = .keyStatus
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
        default: throw .invalidValue(field: "procedure")
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(opcode.rawValue)
        switch self {
        case .keyStatus, .closeEnrolment: break
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
