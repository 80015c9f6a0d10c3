import BluetoothCore
import BluetoothCrypto
import LockJudge
import LockPeripheral
import LockProtocol
import MemoryStores
import TestSupport
import Testing

@Suite("A report of the audit, from the store to one link")
struct AuditReportTests {
    private let busy = AuditHolder(credential: CredentialID(rawValue: 2), isProtected: false)

    /// Records 1 to `count`, of which so many are kept. Every third one is administration's.
    private func store(_ count: UInt64, keeping most: UInt64 = 1_000) throws -> MemoryLockStore {
        let key = try #require(Ed25519SigningKey(seed: Secret([UInt8](repeating: 9, count: 32))))
        let store = MemoryLockStore(auditRecordsMaximum: most, signer: key)
        for _ in 0..<count { write(into: store) }
        return store
    }

    private func write(into store: MemoryLockStore) {
        var head = store.committed.auditHead
        let number = head.sequence + 1
        let name = String(repeating: "n", count: Int(number % 65))
        let event: AuditEvent =
            number.isMultiple(of: 3) ? .administered(CredentialID(rawValue: number), name: name, .disabled) : .launched
        let holder = number.isMultiple(of: 3) ? AuditHolder.administration : busy
        store.append(
            .audit(
                head.append(
                    event, boot: BootID(bits: 7), at: Instant(nanoseconds: number), wallClockSeconds: nil,
                    holder: holder)))
        store.didCommit()
    }

    private func report(
        _ store: MemoryLockStore, _ sequences: ClosedRange<UInt64> = 0...UInt64.max, valueOctets: Int = 20
    ) throws -> AuditReport {
        AuditReport(
            sequences, through: store.committed.auditHead.sequence, end: try store.auditEnd(), valueOctets: valueOctets)
    }

    /// Reads on, no more than so many values; how it ended, or nil.
    private func read(
        _ report: inout AuditReport, of store: MemoryLockStore, into reading: inout AuditReading,
        valueOctets: Int = 20, atMost values: Int = .max, onPage: (AuditReading) -> Void = { _ in }
    ) throws -> RecordAccessResult? {
        var left = values
        while left > 0 {
            switch report.next {
            case .ended(let result): return result
            case .page(let sequences):
                onPage(reading)
                try report.take(sequences, of: store)
            case .value(let value):
                #expect(value.count <= valueOctets)
                reading.take(value)
                report.advance()
                left -= 1
            }
        }
        return nil
    }

    private func kept(_ store: MemoryLockStore) -> [UInt64] { store.audit.map(\.sequence) }

    @Test(
        "The whole chain, with its cuts and its signed end, at any MTU",
        arguments: [20, 21, 182, 244, 512], [0, 1, 15, 16, 17, 32, 33, 150] as [UInt64])
    func all(valueOctets: Int, count: UInt64) throws {
        for most in [1_000, 40, 3] as [UInt64] {
            let store = try store(count, keeping: most)
            var (report, reading) = (try report(store, valueOctets: valueOctets), AuditReading())
            let result = try read(&report, of: store, into: &reading, valueOctets: valueOctets)
            #expect(result == (count == 0 ? .noRecordsFound : .success))
            #expect(reading.faults.isEmpty && reading.sequences == kept(store), "\(reading.faults)")
            #expect(reading.cuts.reduce(0) { $0 + $1.count } == Int(count) - store.audit.count)
            #expect(reading.signedEnd == (count == 0 ? nil : count))
        }
    }

    @Test("A report that is broken off after any value goes on where its reader asks, and reads each record once")
    func resumption() throws {
        let store = try store(40, keeping: 20)
        var (whole, once) = (try report(store), AuditReading())
        #expect(try read(&whole, of: store, into: &once) == .success)
        for values in 1...120 {
            var reading = AuditReading()
            var first = try report(store)
            let result = try read(&first, of: store, into: &reading, atMost: values)
            reading.linkEnded()
            if result == nil, reading.next <= 40 {
                var second = try report(store, reading.next...UInt64.max)
                #expect(try read(&second, of: store, into: &reading) == .success)
            }
            #expect(reading.faults.isEmpty && reading.sequences == once.sequences && reading.cuts == once.cuts)
        }
    }

    @Test("A range: what is in it, with the cuts that are; the end's signature only where the range reaches it")
    func ranges() throws {
        let store = try store(60, keeping: 30)
        let all = kept(store)
        for first in 1...61 as ClosedRange<UInt64> {
            for last in first...62 {
                let wanted = all.filter { first...last ~= $0 }
                var (report, reading) = (try report(store, first...last), AuditReading(from: first))
                let result = try read(&report, of: store, into: &reading)
                #expect(result == (wanted.isEmpty ? .noRecordsFound : .success))
                #expect(reading.sequences == wanted)
                #expect((reading.signedEnd == 60) == (!wanted.isEmpty && last >= 60))
                // Nobody hears of cuts alone. A cut that begins before the range is one that its reader cannot place.
                if wanted.isEmpty { #expect(reading.cuts.isEmpty) }
            }
        }
    }

    @Test("What is forgotten while a report is under way comes as a cut; what its reader has stays as it is")
    func forgottenMeanwhile() throws {
        for values in [1, 10, 40, 100] {
            let store = try store(60, keeping: 60)
            var (report, reading) = (try report(store), AuditReading())
            #expect(try read(&report, of: store, into: &reading, atMost: values) == nil)
            let had = reading.sequences
            for _ in 0..<35 { write(into: store) }
            #expect(try read(&report, of: store, into: &reading) == .success)
            #expect(reading.faults.isEmpty, "\(reading.faults)")
            #expect(reading.sequences.starts(with: had) && Set(reading.sequences).count == reading.sequences.count)
            let lost = Set(1...60).subtracting(kept(store))
            #expect(lost.count > 20)
            let told = Set(reading.sequences).union(reading.cuts.flatMap { $0 })
            #expect(Set(1...60).isSubset(of: told))
            // From here on it reads what came meanwhile, to the new end.
            var rest = try self.report(store, reading.next...UInt64.max)
            #expect(try read(&rest, of: store, into: &reading) == .success)
            #expect(reading.faults.isEmpty && reading.signedEnd == 95)
        }
    }

    @Test("A lock that writes faster than its reader reads: the report ends where the chain ended at the request")
    func busyLock() throws {
        let store = try store(20)
        var (report, reading) = (try report(store), AuditReading())
        var pages = 0
        let result = try read(&report, of: store, into: &reading) { _ in
            pages += 1
            for _ in 0..<(pages < 100 ? 50 : 0) { write(into: store) }
        }
        #expect(result == .success)
        #expect(reading.sequences == Array(1...20) && reading.signedEnd == 20 && reading.faults.isEmpty)
    }

    @Test("Silent reader: a page is read when the one before it has left, and no more is held")
    func pages() throws {
        let store = try store(1_000)
        var (report, reading) = (try report(store), AuditReading())
        var before: [Int] = []
        _ = try read(&report, of: store, into: &reading) { before.append($0.sequences.count) }
        #expect(before == Array(stride(from: 0, to: 1_000, by: AuditReport.pageRecordsMaximum)))
        var silent = try self.report(store)
        let read = store.auditRecordsRead
        guard case .page(let sequences) = silent.next else { return #expect(Bool(false), "no page") }
        try silent.take(sequences, of: store)
        for _ in 0..<100 { guard case .value = silent.next else { return #expect(Bool(false), "no value") } }
        #expect(store.auditRecordsRead - read == AuditReport.pageRecordsMaximum)
    }

    @Test("A record that cannot be read costs itself, wherever it is: its reader has all others, and finds the gap")
    func damaged() throws {
        let size = UInt64(AuditReport.pageRecordsMaximum)
        let wholePages = Set(size + 1...3 * size)
        for damaged in (1...50 as ClosedRange<UInt64>).map({ [$0] as Set<UInt64> }) + [
            [1, 2], [16, 17, 32], [49, 50], wholePages,
        ] {
            let store = try store(50)
            store.damagedAudit = damaged
            let left = (1...50 as ClosedRange<UInt64>).filter { !damaged.contains($0) }
            var (report, reading) = (try report(store), AuditReading())
            #expect(try read(&report, of: store, into: &reading) == .success)
            #expect(reading.sequences == left, "without \(damaged)")
            // The chain's end is whole where its last record is.
            #expect((reading.signedEnd == 50) == !damaged.contains(50), "without \(damaged)")
            // Behind each gap the reader finds that it is one, and that the hash does not go on.
            let gaps = left.filter { damaged.contains($0 - 1) }
            #expect(reading.faults.count == 2 * gaps.count, "\(reading.faults)")
            for (number, sequence) in gaps.enumerated() where 2 * number < reading.faults.count {
                #expect(reading.faults[2 * number].hasPrefix("record \(sequence) behind "), "\(reading.faults)")
            }
        }
    }

    @Test("What was forgotten and cannot be read is told apart: nothing of the one is found, and of the other no word")
    func damagedBehindCut() throws {
        let store = try store(60, keeping: 30)
        let (first, second) = (try #require(kept(store).first), try #require(kept(store).dropFirst().first))
        store.damagedAudit = [first]
        for (range, wanted) in [
            (1...first - 1, RecordAccessResult.noRecordsFound), (first...first, .procedureNotCompleted),
            (1...first, .procedureNotCompleted), (1...second, .success),
        ] {
            var (report, reading) = (try report(store, range), AuditReading())
            #expect(try read(&report, of: store, into: &reading) == wanted, "\(range)")
            #expect(reading.sequences == (wanted == .success ? [second] : []), "\(range)")
        }
        store.damagedAudit = Set(kept(store))
        var (report, reading) = (try report(store), AuditReading())
        #expect(try read(&report, of: store, into: &reading) == .procedureNotCompleted)
        // It hears of what was cut before the first page of them, as no page is held back for the next one.
        #expect(reading.sequences.isEmpty && reading.signedEnd == nil)
    }

    @Test("Nothing signs: the report ends without an end")
    func unsigned() throws {
        let store = MemoryLockStore()
        for _ in 0..<5 { write(into: store) }
        var (report, reading) = (try report(store), AuditReading())
        #expect(try read(&report, of: store, into: &reading) == .success)
        #expect(reading.sequences == Array(1...5) && reading.signedEnd == nil && reading.faults.isEmpty)
    }

    @Test("Records are counted a slice at a time: those of a range, none twice, and none that came later")
    func tally() throws {
        let slice = UInt64(AuditTally.sliceRecordsMaximum)
        let store = try store(slice * 2 + 100, keeping: slice * 2 + 10)
        let end = store.committed.auditHead.sequence
        write(into: store)
        let all = kept(store)
        for range in [0...UInt64.max, 0...1, 1...slice, slice...slice * 2, 500...600, end...end, end + 1...UInt64.max] {
            var tally = AuditTally(range, through: end)
            var slices = 0
            while let next = tally.next {
                let part = try store.auditCount(in: next, limit: AuditTally.sliceRecordsMaximum)
                #expect(part.records <= AuditTally.sliceRecordsMaximum)
                tally.take(part)
                slices += 1
            }
            let wanted = all.filter { range.contains($0) && $0 <= end }.count
            #expect(Int(tally.count) == wanted && slices <= wanted / AuditTally.sliceRecordsMaximum + 1)
        }
    }
}
