import BluetoothCore
import BluetoothCrypto
import LockProtocol

/// What a report tells, in the order of the chain.
package enum AuditReportItem: Hashable, Sendable {
    case record(AuditRecord)
    case cut(AuditCut)
    case end(SignedAuditEnd)

    var kind: AuditRecordPart.Kind {
        switch self {
        case .record: .record
        case .cut: .cut
        case .end: .end
        }
    }

    /// docs/PROTOCOL.md, "The audit over the air"
    package var encoded: [UInt8] {
        var writer = ByteWriter(capacity: 160)
        switch self {
        case .record(let record): record.encode(into: &writer)
        case .cut(let cut):
            writer.write(cut.first)
            writer.write(cut.last)
            writer.write(cut.hash)
            writer.write(cut.signature ?? [])
        case .end(let end):
            writer.write(end.checkpoint.head.sequence)
            writer.write(end.checkpoint.head.hash)
            writer.write(end.checkpoint.signature)
            writer.write(end.publicKey.octets)
        }
        return writer.bytes
    }
}

/// Records that somebody has asked for, on their way to one link.
///
/// In: pages of what the store has, in its order, each when it is asked for. Out: the values of notifications, one by one, and how
/// it ends. The report stops where the chain ended when it was asked for, however much the lock writes meanwhile. A record that the lock forgets
/// meanwhile is told as a cut. A record that cannot be read is left out, and its reader finds the gap. No page is read before the one before it
/// has left, so that a slow reader holds one page and no more.
package struct AuditReport {
    /// Records that are read from the store at once.
    package static let pageRecordsMaximum = 16

    /// What the report needs next.
    package enum Step: Hashable, Sendable {
        /// ``take(_:_:of:)`` wants the first ``pageRecordsMaximum`` records of these, and from there on one cut more.
        case page(ClosedRange<UInt64>)
        /// A notification's value; ``advance()`` behind it.
        case value([UInt8])
        case ended(RecordAccessResult)
    }

    private let through: UInt64
    /// What one notification carries.
    private let valueOctets: Int
    /// nil: the report does not reach the end, or nothing signs it.
    private var end: SignedAuditEnd?
    /// The last sequence that has been told, or is among the items.
    private var position: UInt64
    private var hasAll = false
    private var hasRecord = false
    private var hasUnreadable = false
    private var items: [AuditReportItem] = []
    /// The first item's octets, and how many of them have left.
    private var octets: [UInt8] = []
    private var sent = 0

    /// `through`: the last sequence that there was when somebody asked. `end`: the same by its signature.
    package init(_ sequences: ClosedRange<UInt64>, through: UInt64, end: SignedAuditEnd?, valueOctets: Int) {
        position = max(sequences.lowerBound, 1) - 1
        self.through = min(sequences.upperBound, through)
        self.end = sequences.upperBound >= through ? end : nil
        self.valueOctets = max(valueOctets, AuditRecordPart.headerOctets + 1)
        hasAll = position >= self.through
    }

    package var next: Step {
        if let first = items.first {
            let part = octets.dropFirst(sent).prefix(valueOctets - AuditRecordPart.headerOctets)
            let value = AuditRecordPart(
                first.kind, isFirst: sent == 0, isLast: sent + part.count == octets.count, octets: Array(part))
            return .value(value.encoded)
        }
        if !hasAll { return .page(position + 1...through) }
        if hasRecord { return .ended(.success) }
        // There are some, and nobody can tell them.
        return .ended(hasUnreadable ? .procedureNotCompleted : .noRecordsFound)
    }

    /// The value has left.
    package mutating func advance() {
        sent += valueOctets - AuditRecordPart.headerOctets
        guard sent >= octets.count, !items.isEmpty else { return }
        items.removeFirst()
        begin()
    }

    /// Both in their order, from the page's beginning on. `count`: of the page's records, those among them that cannot be read.
    package mutating func take(_ records: [AuditRecord], _ cuts: [AuditCut], of count: AuditCount) {
        var cuts = cuts[...]
        // Behind a page that is full, the next one tells.
        let isFull = count.records >= Self.pageRecordsMaximum
        let horizon = isFull ? min(count.last ?? through, through) : through
        let told = records.prefix { $0.sequence <= horizon }
        if told.count < count.records { hasUnreadable = true }
        func takeCuts(before sequence: UInt64) {
            while let cut = cuts.first, cut.first <= sequence {
                items.append(.cut(cut))
                position = max(position, cut.last)
                cuts = cuts.dropFirst()
            }
        }
        for record in told {
            takeCuts(before: record.sequence)
            items.append(.record(record))
            hasRecord = true
        }
        takeCuts(before: horizon)
        position = max(position, horizon)
        hasAll = position >= through
        // Nobody is told of cuts alone, where that is known before they leave.
        if hasAll, !hasRecord { items.removeAll() }
        if hasAll, hasRecord, let end { items.append(.end(end)) }
        begin()
    }

    private mutating func begin() {
        octets = items.first?.encoded ?? []
        sent = 0
    }
}

/// How many records there are of those that somebody has asked for, counted a slice at a time.
package struct AuditTally {
    /// Records of one slice.
    package static let sliceRecordsMaximum = 1_024

    private var records = 0
    /// The last sequence that has been counted.
    private var position: UInt64
    private let through: UInt64

    package init(_ sequences: ClosedRange<UInt64>, through: UInt64) {
        position = max(sequences.lowerBound, 1) - 1
        self.through = min(sequences.upperBound, through)
    }

    /// The next slice; nil when all are counted.
    package var next: ClosedRange<UInt64>? { position < through ? position + 1...through : nil }

    package var count: UInt32 { UInt32(clamping: records) }

    package mutating func take(_ slice: AuditCount) {
        records += slice.records
        let hasMore = slice.records >= Self.sliceRecordsMaximum
        position = max(position, hasMore ? slice.last ?? through : through)
    }
}
