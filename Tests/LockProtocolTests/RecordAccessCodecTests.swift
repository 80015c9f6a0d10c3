import BluetoothCore
import LockProtocol
import Testing

/// Octets are packed by hand from the GATT Specification Supplement, Record Access Control Point, and from docs/PROTOCOL.md.
@Suite("Codecs of the audit over the air")
struct RecordAccessCodecTests {
    static let procedures: [(RecordAccessProcedure, String)] = [
        (.report(.all), "0101"), (.report(.from(2)), "0103010200000000000000"),
        (.report(.within(2...0x0102_0304_0506_0708)), "01040102000000000000000807060504030201"),
        (.report(.first), "0105"), (.report(.last), "0106"), (.count(.all), "0401"),
        (.count(.from(.max)), "040301FFFFFFFFFFFFFFFF"),
        (.count(.within(7...7)), "04040107000000000000000700000000000000"), (.count(.first), "0405"),
        (.count(.last), "0406"), (.abort, "0300"),
    ]

    @Test("Each procedure, with each operator that it has; the longest fits one write at ATT_MTU 23")
    func whole() throws {
        for (procedure, hex) in Self.procedures {
            let whole = octets(hex)
            #expect(procedure.encoded == whole && whole.count <= 20)
            #expect(try RecordAccessProcedure(whole) == procedure)
        }
    }

    @Test("Operands of every length but the right one are invalid, and so is no operator")
    func lengths() throws {
        for (procedure, hex) in Self.procedures {
            let whole = octets(hex)
            #expect(throws: RecordAccessResult.opcodeNotSupported) { try RecordAccessProcedure([]) }
            #expect(throws: RecordAccessResult.invalidOperator) {
                try RecordAccessProcedure([procedure.opcode.rawValue])
            }
            for count in 2..<max(whole.count, 2) {
                #expect(throws: RecordAccessResult.invalidOperand) {
                    try RecordAccessProcedure(Array(whole.prefix(count)))
                }
            }
            for more in [1, 600] {
                let longer = whole + [UInt8](repeating: 0, count: more)
                #expect(throws: RecordAccessResult.invalidOperand) { try RecordAccessProcedure(longer) }
            }
        }
    }

    @Test("Every op-code and every operator that there may be: what is none, and what this version has not")
    func operators() throws {
        for opcode in UInt8.min...UInt8.max where ![1, 3, 4].contains(opcode) {
            #expect(throws: RecordAccessResult.opcodeNotSupported) { try RecordAccessProcedure([opcode, 1]) }
        }
        for opcode in [1, 4] as [UInt8] {
            for value in UInt8.min...UInt8.max where ![1, 3, 4, 5, 6].contains(value) {
                let result = value == 2 ? RecordAccessResult.operatorNotSupported : .invalidOperator
                #expect(throws: result) { try RecordAccessProcedure([opcode, value, 1]) }
            }
        }
        for value in 1...UInt8.max {
            #expect(throws: RecordAccessResult.invalidOperator) { try RecordAccessProcedure([3, value]) }
        }
    }

    @Test("Another filter than the sequence is not supported, and a range that ends before it begins is none")
    func operands() throws {
        for filter in UInt8.min...UInt8.max where filter != 1 {
            for value in [3, 4] as [UInt8] {
                let request = [1, value, filter] + [UInt8](repeating: 0, count: 16)
                #expect(throws: RecordAccessResult.operandNotSupported) { try RecordAccessProcedure(request) }
            }
        }
        let backwards = octets("01040102000000000000000100000000000000")
        #expect(throws: RecordAccessResult.invalidOperand) { try RecordAccessProcedure(backwards) }
    }

    @Test("Responses: every strict prefix and every octet too many is refused")
    func responses() throws {
        try checkCodec(RecordAccessResponse.result(of: .reportStoredRecords, .success), "06000101")
        try checkCodec(RecordAccessResponse.result(of: .abortOperation, .abortUnsuccessful), "06000307")
        try checkCodec(RecordAccessResponse.numberOfRecords(100_000), "0500A0860100")
        for octets in [[6, 1, 1, 1], [4, 0, 1, 1], [5, 1, 0, 0, 0, 0]] as [[UInt8]] {
            #expect(throws: DecodingError.self) { try RecordAccessResponse(exactly: octets) }
        }
    }

    @Test("Parts: what they are of, where they stand; other headers are refused")
    func parts() throws {
        for (kind, isFirst, isLast, octets) in [
            (.record, true, false, [0x11, 7]), (.record, false, false, [0x10, 7]), (.cut, false, true, [0x22, 7]),
            (.end, true, true, [0x33, 7]),
        ] as [(AuditRecordPart.Kind, Bool, Bool, [UInt8])] {
            let part = AuditRecordPart(kind, isFirst: isFirst, isLast: isLast, octets: [7])
            #expect(part.encoded == octets)
            #expect(try AuditRecordPart(exactly: octets) == part)
        }
        for header in UInt8.min...UInt8.max where !(1...3).contains(header >> 4) || header & 0x0C != 0 {
            #expect(throws: DecodingError.self) { try AuditRecordPart(exactly: [header, 7]) }
        }
        #expect(throws: DecodingError.self) { try AuditRecordPart(exactly: []) }
    }

    @Test("Capabilities: the procedures are in an octet of their own, beside those of the control point")
    func capabilities() throws {
        let records = RecordAccessOpcode.known.map { ControlPointOpcode($0) }
        let capabilities = Capabilities(
            version: 1, operations: LockOperation.known, procedures: ControlPointOpcode.known + records)
        #expect(capabilities.encoded == [0x01, 0x0F, 0xFF, 0xFF, 0x01, 0x00, 0x0D])
        #expect((ControlPointOpcode.known + records).allSatisfy { capabilities.contains($0) })
        #expect(!capabilities.contains(.response))
        // By these numbers nobody asks the Lock Control Point.
        #expect(records.allSatisfy { $0.requiredRights == nil })
    }
}
