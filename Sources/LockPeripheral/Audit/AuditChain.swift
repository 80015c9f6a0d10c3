import BluetoothCore
import BluetoothCrypto
import LockProtocol

extension AuditRecord: WireCodable {
    private static let noClock: Int64 = .min

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        sequence = try reader.readUInt64()
        boot = BootID(bits: try reader.readUInt128())
        at = Instant(nanoseconds: try reader.readUInt64())
        let seconds = Int64(bitPattern: try reader.readUInt64())
        wallClockSeconds = seconds == Self.noClock ? nil : seconds
        event = try AuditEvent(decoding: &reader)
        hash = try reader.readBytes(SHA256.digestOctets)
        holder = .lock
    }

    package func encode(into writer: inout ByteWriter) {
        encodeHashed(into: &writer)
        writer.write(hash)
    }

    private func encodeHashed(into writer: inout ByteWriter) {
        Self.write(sequence, boot, at, wallClockSeconds, into: &writer)
        event.encode(into: &writer)
    }

    private static func write(
        _ sequence: UInt64, _ boot: BootID, _ at: Instant, _ wallClockSeconds: Int64?, into writer: inout ByteWriter
    ) {
        writer.write(sequence)
        writer.write(boot.bits)
        writer.write(at.nanoseconds)
        writer.write(UInt64(bitPattern: wallClockSeconds ?? noClock))
    }

    /// What the hash of a record with these contents must be behind `previous`.
    package func expectedHash(after previous: AuditHead) -> [UInt8] {
        var hasher = AuditHasher()
        return hasher.hash(after: previous, sequence, boot, at, wallClockSeconds, event: event.encoded)
    }

    fileprivate static func write(
        _ head: AuditHead, _ sequence: UInt64, _ boot: BootID, _ at: Instant, _ wallClockSeconds: Int64?,
        _ event: [UInt8], into writer: inout ByteWriter
    ) {
        writer.write(head.hash)
        write(sequence, boot, at, wallClockSeconds, into: &writer)
        writer.write(event)
    }
}

/// Computes hashes of records, also of events of a version that is not known here. Whoever has many keeps one.
package struct AuditHasher {
    private var writer = ByteWriter(capacity: 256)

    package init() {}

    /// What the hash of a record with these contents must be behind `previous`.
    package mutating func hash(
        after previous: AuditHead, _ sequence: UInt64, _ boot: BootID, _ at: Instant, _ wallClockSeconds: Int64?,
        event: [UInt8]
    ) -> [UInt8] {
        writer.removeAll()
        AuditRecord.write(previous, sequence, boot, at, wallClockSeconds, event, into: &writer)
        return SHA256.digest(writer.bytes)
    }
}

extension AuditHead {
    /// The record that continues the chain with `event`; the head moves on to it.
    package mutating func append(
        _ event: AuditEvent, boot: BootID, at: Instant, wallClockSeconds: Int64?, holder: AuditHolder = .lock
    ) -> AuditRecord {
        var record = AuditRecord(
            sequence: sequence + 1, boot: boot, at: at, wallClockSeconds: wallClockSeconds, event: event, hash: [],
            holder: holder)
        record.hash = record.expectedHash(after: self)
        self = AuditHead(record)
        return record
    }

    /// The sequence of the first record, or of the first cut's first one, that does not continue the chain from here; nil when all
    /// do. Both are in their order; a cut behind the last record is none.
    package func firstBreak(in records: some Sequence<AuditRecord>, cuts: [AuditCut] = []) -> UInt64? {
        var head = self
        var cuts = cuts[...]
        for record in records {
            if let cut = cuts.first, cut.first < record.sequence {
                guard cut.first == head.sequence + 1, cut.last >= cut.first else { return cut.first }
                head = cut.head
                cuts = cuts.dropFirst()
            }
            guard record.sequence == head.sequence + 1, record.hash == record.expectedHash(after: head) else {
                return record.sequence
            }
            head = AuditHead(record)
        }
        return cuts.first?.first
    }
}
