import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import LockProtocol
import TestSupport
import Testing

/// The vectors of docs/PROTOCOL.md, with the records of its audit.
@Suite("docs/PROTOCOL.md, the audit over the air")
struct RecordAccessVectorTests {
    private let vectors: DocumentVectors
    private let records: [AuditRecord]
    private let end: SignedAuditEnd
    private let cut: AuditCut

    init() throws {
        let audit = try DocumentVectors("vectors")
        func value(_ name: String) throws -> [UInt8] {
            try #require(audit[name].flatMap { HexText.decode($0) }, "no vector “\(name)”")
        }
        vectors = try DocumentVectors("records")
        records = try [1, 2].map { try AuditRecord(exactly: value("audit record \($0)") + value("audit hash \($0)")) }
        end = SignedAuditEnd(
            checkpoint: AuditCheckpoint(
                head: AuditHead(sequence: 2, hash: try value("audit hash 2")),
                signature: try value("audit checkpoint signature")),
            publicKey: try #require(Ed25519PublicKey(try value("audit key"))))
        cut = AuditCut(
            first: 1, last: 1, hash: try value("audit hash 1"), signature: try value("audit cut signature"))
    }

    private func values(_ name: String) throws -> [[UInt8]] {
        let names = vectors.names.filter { $0.hasPrefix(name + " part ") }
        #expect(!names.isEmpty)
        return try names.map { try #require(vectors[$0].flatMap { HexText.decode($0) }) }
    }

    private func read(_ sequences: ClosedRange<UInt64>, isCut: Bool = false) -> ([[UInt8]], RecordAccessResult) {
        var report = AuditReport(sequences, through: 2, end: end, valueOctets: 20)
        var values: [[UInt8]] = []
        while true {
            switch report.next {
            case .ended(let result): return (values, result)
            case .page(let sequences):
                let kept = records.filter { $0.sequence > (isCut ? 1 : 0) }
                let counted = kept.map(\.sequence).filter(sequences.contains)
                report.take(
                    kept.filter { $0.sequence >= sequences.lowerBound }, isCut && sequences.contains(1) ? [cut] : [],
                    of: AuditCount(records: counted.count, last: counted.last))
            case .value(let value):
                values.append(value)
                report.advance()
            }
        }
    }

    @Test("Records, a cut and the signed end, in parts")
    func parts() throws {
        let (first, second, end) = (try values("record 1"), try values("record 2"), try values("end"))
        #expect(read(0...UInt64.max) == (first + second + end, .success))
        #expect(read(0...1) == (first, .success))
        #expect(read(2...UInt64.max) == (second + end, .success))
        #expect(read(3...9) == ([], .noRecordsFound))
        #expect(read(0...UInt64.max, isCut: true) == (try values("cut") + second + end, .success))
    }

    @Test("Requests, and how each is answered")
    func requests() throws {
        let procedures: [String: RecordAccessProcedure] = [
            "report all": .report(.all), "report from": .report(.from(2)), "report range": .report(.within(3...9)),
            "report first": .report(.first), "report last": .report(.last), "count all": .count(.all),
            "count range": .count(.within(2...9)), "abort": .abort,
        ]
        let responses: [String: RecordAccessResponse] = [
            "report range": .result(of: .reportStoredRecords, .noRecordsFound), "count all": .numberOfRecords(2),
            "count range": .numberOfRecords(1), "abort": .result(of: .abortOperation, .abortUnsuccessful),
        ]
        let names = vectors.names.filter { $0.hasSuffix(" request") }.map { String($0.dropLast(8)) }
        #expect(Set(names).isSuperset(of: procedures.keys) && names.count == 13)
        for name in names {
            let request = try #require(vectors[name + " request"].flatMap { HexText.decode($0) })
            let response = try #require(vectors[name + " response"].flatMap { HexText.decode($0) })
            do throws(RecordAccessResult) {
                let procedure = try RecordAccessProcedure(request)
                #expect(procedure == procedures[name] && procedure.encoded == request)
                let expected = responses[name] ?? .result(of: procedure.opcode, .success)
                #expect(expected.encoded == response, "\(name)")
            } catch {
                let opcode = RecordAccessOpcode(rawValue: request[0])
                #expect(RecordAccessResponse.result(of: opcode, error).encoded == response, "\(name)")
                #expect(procedures[name] == nil)
            }
        }
    }
}
