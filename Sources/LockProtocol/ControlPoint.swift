import BluetoothCore

/// A procedure of the Lock Control Point (0004), or the code that opens every response.
package struct ControlPointOpcode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// What became of this credential's last command. No operands, or those of ``StatusQuestion``.
    package static let keyStatus = Self(rawValue: 0x01)
    /// Who has a credential, a page at a time.
    package static let listCredentials = Self(rawValue: 0x02)
    /// Everything about one credential.
    package static let getCredential = Self(rawValue: 0x03)
    package static let disableCredential = Self(rawValue: 0x04)
    package static let enableCredential = Self(rawValue: 0x05)
    /// With its bond and its links.
    package static let removeCredential = Self(rawValue: 0x06)
    /// A validity and schedules in the place of those that a credential had.
    package static let setSchedule = Self(rawValue: 0x07)
    package static let getSettings = Self(rawValue: 0x08)
    /// A window in which a new key enrols.
    package static let openEnrolment = Self(rawValue: 0x09)
    package static let closeEnrolment = Self(rawValue: 0x0A)
    /// The window, and its code for who opened it.
    package static let getEnrolment = Self(rawValue: 0x0B)
    /// Settings in the place of those that there were.
    package static let setSettings = Self(rawValue: 0x0C)
    package static let setMode = Self(rawValue: 0x0D)
    /// What time the lock has, and whose.
    package static let getTime = Self(rawValue: 0x0E)
    /// For a lock whose machine does not know the time.
    package static let setTime = Self(rawValue: 0x0F)
    /// A program and the lock come to a key of their own, in a window that asks for one. Operands and parameters are the two messages of
    /// ``ProgramKeyAgreement``.
    package static let agreeOnKey = Self(rawValue: 0x10)
    /// The program shows that it has the key, and its bond is confirmed. Operands are ``ProgramKey/confirmation``, parameters
    /// ``ProgramKey/acceptance``.
    package static let confirmKey = Self(rawValue: 0x11)
    /// Opens every indication.
    package static let response = Self(rawValue: 0x20)

    /// A procedure of the Record Access Control Point, in capabilities and in the audit, where both control points have one numbering.
    /// Nobody asks for it by this number.
    package init(_ opcode: RecordAccessOpcode) { self.init(rawValue: Self.response.rawValue | opcode.rawValue) }
}

/// What a procedure says first.
package struct ControlPointResult: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let success = Self(rawValue: 0x01)
    package static let opcodeNotSupported = Self(rawValue: 0x02)
    package static let invalidOperand = Self(rawValue: 0x03)
    package static let operationFailed = Self(rawValue: 0x04)
    package static let notPermitted = Self(rawValue: 0x05)
    /// The value has another version than the one that the request names: read it again.
    package static let changed = Self(rawValue: 0x06)
    package static let unknownCredential = Self(rawValue: 0x07)
    /// An enrolment window is open already.
    package static let windowIsOpen = Self(rawValue: 0x08)
    /// The lock's operator has fixed what this would change, or its machine knows better.
    package static let fixed = Self(rawValue: 0x09)
    /// The bolt is on its way: ask again when it rests.
    package static let busy = Self(rawValue: 0x0A)
    /// The lock was told a later time before.
    package static let behind = Self(rawValue: 0x0B)
}

/// What is written to the control point: op-code, operands.
package struct ControlPointRequest: WireCodable {
    package var opcode: ControlPointOpcode
    package var operands: [UInt8]

    package init(opcode: ControlPointOpcode, operands: [UInt8] = []) {
        self.opcode = opcode
        self.operands = operands
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        opcode = ControlPointOpcode(rawValue: try reader.readUInt8())
        operands = reader.readRemaining()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(opcode.rawValue)
        writer.write(operands)
    }
}

/// What is indicated: response code, the request's op-code, result, parameters.
package struct ControlPointResponse: WireCodable, Hashable {
    /// Before the parameters.
    package static let headerOctets = 3

    package var request: ControlPointOpcode
    package var result: ControlPointResult
    package var parameters: [UInt8]

    package init(request: ControlPointOpcode, result: ControlPointResult, parameters: [UInt8] = []) {
        self.request = request
        self.result = result
        self.parameters = parameters
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        guard try reader.readUInt8() == ControlPointOpcode.response.rawValue else {
            throw .invalidValue(field: "response code")
        }
        request = ControlPointOpcode(rawValue: try reader.readUInt8())
        result = ControlPointResult(rawValue: try reader.readUInt8())
        parameters = reader.readRemaining()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(ControlPointOpcode.response.rawValue)
        writer.write(request.rawValue)
        writer.write(result.rawValue)
        writer.write(parameters)
    }
}
