import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import StatePersistence

/// Whether a file's audit is as the lock wrote it: each record continues the chain, each cut is the lock's, and the end is the one
/// that was signed.
///
/// In: the file, slice by slice, and the key that the lock's signatures are believed under; nil: the one that the file names. Out:
/// ``faults``, in their order.
///
/// The lock may write between two slices. What it adds comes with a later slice. What it forgets of the slices before is not looked for. A
/// cut may then begin before its slice: the lock's signature is for all of it.
package struct AuditVerification {
    /// What is wrong, and where.
    package enum Fault: Hashable, Sendable, CustomStringConvertible {
        /// It is not the record that was written there.
        case altered(UInt64)
        case unreadable(UInt64)
        /// No cut answers for these.
        case missing(ClosedRange<UInt64>)
        case unreadableCut(through: UInt64)
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
            case .unreadableCut(let last): "the cut that ends with record \(last) cannot be read"
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
    /// Signatures of cuts that were looked at: the dearest part.
    package private(set) var signatures: UInt64 = 0
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

    /// Where the next slice begins, as the rows have it.
    private var place: Int64? = .min
    /// Cuts that end there or before have been looked at.
    private var cutsThrough: UInt64 = 0
    /// Cuts behind those, read with the last slice, and whether they are signed.
    private var ahead: ArraySlice<(row: AuditCutRow, isSigned: Bool)> = []
    /// What the last slice's file said of its end.
    private var seen: [UInt8]?
    /// Something was written between the slices, and nothing of this one has been looked at.
    private var mayOverlap = false
    private var hasher = AuditHasher()

    /// Verifies all of `file` as it is at one moment.
    ///
    /// - Throws: A ``StoreError``: the file cannot be read, or no lock has written it.
    package init(of file: any StatementSource, publicKey known: Ed25519PublicKey?) throws(StoreError) {
        try self.init(publicKey: known) { () throws(StoreError) in file }
    }

    /// Verifies in slices of `sliceRecords` records. `source` is called once for each slice, and may give the same file every time.
    /// `progress` is called behind each slice.
    ///
    /// - Throws: A ``StoreError``: of `source`, or of a file that cannot be read, or that no lock has written.
    package init(
        publicKey known: Ed25519PublicKey?, sliceRecords: Int = AuditFile.sliceRecords,
        progress: (AuditProgress) -> Void = { _ in }, source: () throws(StoreError) -> any StatementSource
    ) throws(StoreError) {
        var isNamed = false
        while place != nil {
            let file = try source()
            // Its statements live as long.
            defer { withExtendedLifetime(file) {} }
            let reader = LockReader(database: file)
            let end = try reader.auditCheckpoint()
            isNamed = end != nil
            let key = known ?? publicKey ?? end?.publicKey
            if key != publicKey { ahead = [] }
            publicKey = key
            checkpoint = end?.checkpoint
            mayOverlap = seen != nil && seen != checkpoint?.signature
            if seen == nil, let known, let named = end?.publicKey, named != known { add(.otherKey) }
            seen = checkpoint?.signature ?? []
            // What the lock has forgotten of the slices before.
            if mayOverlap { cutsThrough = max(cutsThrough, head.sequence) }
            try take(sliceRecords, of: file, reader)
            progress(AuditProgress(at: head.sequence, of: checkpoint?.head.sequence ?? head.sequence))
        }
        checkEnd(wasNamed: isNamed)
    }

    private mutating func take(_ most: Int, of file: any StatementSource, _ reader: LockReader) throws(StoreError) {
        guard let first = place else { return }
        var cuts: ArraySlice<(row: AuditCutRow, isSigned: Bool)> = []
        // Each record asks, and the rows of a slice stay as they were at its begin.
        var areAllRead = false
        func nextCut() throws(StoreError) -> (row: AuditCutRow, isSigned: Bool)? {
            if cuts.isEmpty, !areAllRead {
                let read = try reader.auditCutRows(after: cutsThrough, limit: most)
                areAllRead = read.count < most
                cuts = verify(read)
            }
            return cuts.first
        }
        var (count, last) = (0, first)
        try file.statement(
            """
            SELECT sequence, boot, at, wall_clock_seconds, event, hash FROM lock_audit
            WHERE sequence >= ? ORDER BY sequence LIMIT ?
            """
        )
        .forEachRow([.integer(first), SQLValue(most)]) { (row) throws(StoreError) in
            let sequence: UInt64 = try row.integer(0)
            while let (cut, isSigned) = try nextCut(), cut.last < sequence {
                take(cut, isSigned: isSigned)
                cuts = cuts.dropFirst()
            }
            take(row, sequence)
            mayOverlap = false
            last = try row.integer(0)
            count += 1
        }
        ahead = cuts
        if count == most, last < .max { return place = last + 1 }
        place = nil
        while let (cut, _) = try nextCut() {
            add(cut.cut == nil ? .unreadableCut(through: cut.last) : .misplaced(cutThrough: cut.last))
            cutsThrough = cut.last
            cuts = cuts.dropFirst()
        }
    }

    /// Checks the signature of each cut under ``publicKey``. Without a key no cut is signed.
    ///
    /// A check is dear. The cuts that the last slice has read and not used (``ahead``) are at the front here too, and keep their result
    /// while they are the same. Checking begins with the first that differs.
    ///
    /// - Parameter cuts: Behind ``cutsThrough``, in their order.
    /// - Returns: The same cuts in the same order.
    private mutating func verify(_ cuts: [AuditCutRow]) -> ArraySlice<(row: AuditCutRow, isSigned: Bool)> {
        let known = ahead.drop { $0.row.last <= cutsThrough }
        let same = Array(zip(known, cuts).lazy.prefix { $0.row == $1 }.map(\.0))
        let others = Array(cuts.dropFirst(same.count))
        let readable = others.compactMap(\.cut)
        // Of nobody's key none is signed.
        let areSigned = publicKey.map { AuditCut.areSigned(readable, by: $0) } ?? readable.map { _ in false }
        signatures += UInt64(readable.count)
        var answers = areSigned[...]
        return (same + others.map { (row: $0, isSigned: $0.cut != nil && answers.popFirst() == true) })[...]
    }

    private mutating func add(_ fault: Fault) {
        if faults.count < Self.faultsMaximum { faults.append(fault) } else { untold += 1 }
    }

    private mutating func take(_ row: AuditCutRow, isSigned: Bool) {
        cuts += 1
        cutsThrough = row.last
        // The records that it was for are missing then.
        guard let cut = row.cut else { return add(.unreadableCut(through: row.last)) }
        let begins = mayOverlap ? max(cut.first, head.sequence &+ 1) : cut.first
        mayOverlap = false
        let isNext = begins == head.sequence &+ 1 && begins <= cut.last
        if !isNext { add(.misplaced(cutThrough: cut.last)) }
        if isNext { forgotten &+= cut.last - begins &+ 1 }
        if !isSigned { add(.unsigned(cutThrough: cut.last)) }
        head = cut.head
    }

    private mutating func take(_ row: Row, _ sequence: UInt64) {
        records += 1
        let (hash, expected): ([UInt8], [UInt8])
        do throws(StoreError) {
            hash = try row.blob(5)
            expected = hasher.hash(
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
