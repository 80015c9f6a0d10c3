import BluetoothCore

/// What a request to the Record Access Control Point (2A52) asks for, or what kind of an answer an indication is.
///
/// GATT Specification Supplement, Record Access Control Point (Op Code)
package struct RecordAccessOpcode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let reportStoredRecords = Self(rawValue: 0x01)
    package static let abortOperation = Self(rawValue: 0x03)
    package static let reportNumberOfStoredRecords = Self(rawValue: 0x04)
    package static let numberOfStoredRecordsResponse = Self(rawValue: 0x05)
    package static let responseCode = Self(rawValue: 0x06)
}

/// Which records a request is about.
///
/// GATT Specification Supplement, Record Access Control Point (Operator)
package struct RecordAccessOperator: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let null = Self(rawValue: 0x00)
    package static let all = Self(rawValue: 0x01)
    package static let lessThanOrEqual = Self(rawValue: 0x02)
    package static let greaterThanOrEqual = Self(rawValue: 0x03)
    package static let withinRange = Self(rawValue: 0x04)
    package static let first = Self(rawValue: 0x05)
    package static let last = Self(rawValue: 0x06)
}

/// What became of a request. Thrown where it is the answer to one that cannot be read.
///
/// GATT Specification Supplement, Record Access Control Point (Response Code Values)
package struct RecordAccessResult: RawRepresentable, Hashable, Sendable, Error {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let success = Self(rawValue: 0x01)
    package static let opcodeNotSupported = Self(rawValue: 0x02)
    package static let invalidOperator = Self(rawValue: 0x03)
    package static let operatorNotSupported = Self(rawValue: 0x04)
    package static let invalidOperand = Self(rawValue: 0x05)
    package static let noRecordsFound = Self(rawValue: 0x06)
    package static let abortUnsuccessful = Self(rawValue: 0x07)
    /// The store cannot be read, or the right to it is gone meanwhile.
    package static let procedureNotCompleted = Self(rawValue: 0x08)
    package static let operandNotSupported = Self(rawValue: 0x09)
}

/// Records by their sequences.
package enum RecordSelection: Hashable, Sendable {
    /// With the operator All Records, where the bound is 0.
    case from(UInt64)
    case within(ClosedRange<UInt64>)
    case first
    case last

    package static let all = Self.from(0)
}

/// A request with its operands read.
package enum RecordAccessProcedure: Hashable, Sendable {
    case report(RecordSelection)
    case count(RecordSelection)
    case abort

    /// Of an operand that has sequence numbers of eight octets.
    private static let sequenceFilter: UInt8 = 0x01

    package var opcode: RecordAccessOpcode {
        switch self {
        case .report: .reportStoredRecords
        case .count: .reportNumberOfStoredRecords
        case .abort: .abortOperation
        }
    }

    /// - Throws: What the request is answered with.
    package init(_ octets: [UInt8]) throws(RecordAccessResult) {
        var reader = ByteReader(octets.span.bytes)
        let opcode = RecordAccessOpcode(rawValue: (try? reader.readUInt8()) ?? 0)
        guard opcode.requiredRights != nil else { throw .opcodeNotSupported }
        guard let value = try? reader.readUInt8() else { throw .invalidOperator }
        let criterion = RecordAccessOperator(rawValue: value)
        guard opcode != .abortOperation else {
            guard criterion == .null else { throw .invalidOperator }
            guard reader.remaining == 0 else { throw .invalidOperand }
            self = .abort
            return
        }
        let selection = try RecordSelection(criterion, decoding: &reader)
        self = opcode == .reportStoredRecords ? .report(selection) : .count(selection)
    }

    /// A request's octets.
    package var encoded: [UInt8] {
        var writer = ByteWriter(capacity: 19)
        writer.write(opcode.rawValue)
        func write(_ criterion: RecordAccessOperator, _ bounds: UInt64...) {
            writer.write(criterion.rawValue)
            if !bounds.isEmpty { writer.write(Self.sequenceFilter) }
            for bound in bounds { writer.write(bound) }
        }
        switch self {
        case .abort: write(.null)
        case .report(let selection), .count(let selection):
            switch selection {
            case .all: write(.all)
            case .from(let first): write(.greaterThanOrEqual, first)
            case .within(let range): write(.withinRange, range.lowerBound, range.upperBound)
            case .first: write(.first)
            case .last: write(.last)
            }
        }
        return writer.bytes
    }

    fileprivate static func readFilter(_ reader: inout ByteReader) throws(RecordAccessResult) {
        guard let filter = try? reader.readUInt8() else { throw .invalidOperand }
        guard filter == sequenceFilter else { throw .operandNotSupported }
    }
}

extension RecordSelection {
    fileprivate init(_ criterion: RecordAccessOperator, decoding reader: inout ByteReader) throws(RecordAccessResult) {
        switch criterion {
        case .all: self = .all
        case .first: self = .first
        case .last: self = .last
        case .greaterThanOrEqual:
            try RecordAccessProcedure.readFilter(&reader)
            guard let first = try? reader.readUInt64() else { throw .invalidOperand }
            self = .from(first)
        case .withinRange:
            try RecordAccessProcedure.readFilter(&reader)
            guard let first = try? reader.readUInt64(), let last = try? reader.readUInt64(), first <= last else {
                throw .invalidOperand
            }
            self = .within(first...last)
        case .lessThanOrEqual: throw .operatorNotSupported
        default: throw .invalidOperator
        }
        guard reader.remaining == 0 else { throw .invalidOperand }
    }
}

/// What is indicated: op-code, a null operator, operands.
package enum RecordAccessResponse: WireCodable, Hashable {
    case numberOfRecords(UInt32)
    case result(of: RecordAccessOpcode, RecordAccessResult)

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let opcode = RecordAccessOpcode(rawValue: try reader.readUInt8())
        guard try reader.readUInt8() == RecordAccessOperator.null.rawValue else {
            throw .invalidValue(field: "operator")
        }
        switch opcode {
        case .numberOfStoredRecordsResponse: self = .numberOfRecords(try reader.readUInt32())
        case .responseCode:
            let request = RecordAccessOpcode(rawValue: try reader.readUInt8())
            self = .result(of: request, RecordAccessResult(rawValue: try reader.readUInt8()))
        default: throw .invalidValue(field: "response")
        }
    }

    package func encode(into writer: inout ByteWriter) {
        func begin(_ opcode: RecordAccessOpcode) {
            writer.write(opcode.rawValue)
            writer.write(RecordAccessOperator.null.rawValue)
        }
        switch self {
        case .numberOfRecords(let count):
            begin(.numberOfStoredRecordsResponse)
            writer.write(count)
        case .result(let request, let result):
            begin(.responseCode)
            writer.write(request.rawValue)
            writer.write(result.rawValue)
        }
    }
}
