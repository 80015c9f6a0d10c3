import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import StatePersistence

/// Whether a file's audit is as the lock wrote it: each record continues the chain, each cut is the lock's, and the end is the one
/// that was signed.
///
/// In: the file, and the key that the lock's signatures are believed under; nil: the one that the file names. Out: ``faults``, in their order.
package struct AuditVerification {
    /// What is wrong, and where.
    package enum Fault: Hashable, Sendable, CustomStringConvertible {
        /// It is not the record that was written there.
        case altered(UInt64)
        case unreadable(UInt64)
        /// No cut answers for these.
        case missing(ClosedRange<UInt64>)
        /// A cut that does not fit between its neighbours.
        case misplaced(cutThrough: UInt64)
        case unsigned(cutThrough: UInt64)
        /// Records that nobody signed: all, or those behind the signed ones.
        case unsignedEnd(from: UInt64)
        case damagedSignature
        /// The file names another key than the one that is known.
        case otherKey
        /// These were signed, and are gone from the end.
        case shortened(ClosedRange<UInt64>)

        package var description: String {
            switch self {
            case .altered(let sequence):
                "record \(sequence) is not the one that was written there, or those before it are others"
            case .unreadable(let sequence): "record \(sequence) cannot be read"
            case .missing(let records):
                "records \(records.lowerBound) to \(records.upperBound) are missing, and no cut answers for them"
            case .misplaced(let last): "the cut that ends with record \(last) does not fit its neighbours"
            case .unsigned(let last): "the cut that ends with record \(last) is not signed by the lock"
            case .unsignedEnd(let first): "the records from \(first) on are not signed by the lock"
            case .damagedSignature: "the signature of the end is not the lock's"
            case .otherKey: "the file names another public key than the one that was given"
            case .shortened(let records):
                "records \(records.lowerBound) to \(records.upperBound) were signed and are gone from the end"
            }
        }
    }

    /// Faults that are told one by one; the others are counted.
    package static let faultsMaximum = 100

    package private(set) var records: UInt64 = 0
    package private(set) var cuts: UInt64 = 0
    /// Records that cuts answer for.
    package private(set) var forgotten: UInt64 = 0
    package private(set) var faults: [Fault] = []
    /// More of them than ``faultsMaximum``.
    package private(set) var untold: UInt64 = 0
    /// The key under which signatures were believed; nil where none is known.
    package private(set) var publicKey: Ed25519PublicKey?
    /// The signed end; nil where none is.
    package private(set) var checkpoint: AuditCheckpoint?
    /// The last record.
    package private(set) var head = AuditHead.empty

    package var isWhole: Bool { faults.isEmpty }

    /// - Throws: A ``StoreError``: the file cannot be read, or no lock has written it.
    package init(of file: any StatementSource, publicKey known: Ed25519PublicKey?) throws(StoreError) {
        let reader = LockReader(database: file)
        let end = try reader.auditCheckpoint()
        publicKey = known ?? end?.publicKey
        checkpoint = end?.checkpoint
        if let known, let named = end?.publicKey, named != known { add(.otherKey) }
        var cuts = try reader.auditCuts(after: 0, limit: .max)[...]
        try file.statement(
            "SELECT sequence, boot, at, wall_clock_seconds, event, hash FROM lock_audit ORDER BY sequence"
        )
        .forEachRow { (row) throws(StoreError) in
            let sequence: UInt64 = try row.integer(0)
            while let cut = cuts.first, cut.last < sequence {
                take(cut)
                cuts = cuts.dropFirst()
            }
            take(row, sequence)
        }
        for cut in cuts { add(.misplaced(cutThrough: cut.last)) }
        checkEnd(wasNamed: end != nil)
    }

    private mutating func add(_ fault: Fault) {
        if faults.count < Self.faultsMaximum { faults.append(fault) } else { untold += 1 }
    }

    private mutating func take(_ cut: AuditCut) {
        cuts += 1
        let isNext = cut.first == head.sequence &+ 1 && cut.first <= cut.last
        if !isNext { add(.misplaced(cutThrough: cut.last)) }
        if isNext { forgotten &+= cut.last - cut.first &+ 1 }
        if publicKey.map({ cut.isSigned(by: $0) }) != true { add(.unsigned(cutThrough: cut.last)) }
        head = cut.head
    }

    private mutating func take(_ row: Row, _ sequence: UInt64) {
        records += 1
        let (hash, expected): ([UInt8], [UInt8])
        do throws(StoreError) {
            hash = try row.blob(5)
            expected = AuditRecord.expectedHash(
                after: head, sequence, BootID(bits: try row.uint128(1)), Instant(nanoseconds: try row.integer(2)),
                try row.optionalInteger(3), event: try row.blob(4))
        } catch {
            add(.unreadable(sequence))
            head = AuditHead(sequence: sequence, hash: (try? row.blob(5)) ?? [])
            return
        }
        if sequence > head.sequence &+ 1 {
            add(.missing(head.sequence &+ 1...sequence - 1))
        } else if sequence <= head.sequence || hash != expected {
            add(.altered(sequence))
        }
        head = AuditHead(sequence: sequence, hash: hash)
    }

    private mutating func checkEnd(wasNamed: Bool) {
        guard wasNamed else {
            if head.sequence > 0 { add(.unsignedEnd(from: 1)) }
            return
        }
        guard let checkpoint, let publicKey, checkpoint.isSigned(by: publicKey) else {
            add(.damagedSignature)
            return
        }
        let signed = checkpoint.head.sequence
        if signed > head.sequence {
            add(.shortened(head.sequence + 1...signed))
        } else if signed < head.sequence {
            add(.unsignedEnd(from: signed + 1))
        } else if checkpoint.head != head {
            add(.altered(signed))
        }
    }
}
