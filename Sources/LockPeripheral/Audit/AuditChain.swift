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
    }

    package func encode(into writer: inout ByteWriter) {
        encodeHashed(into: &writer)
        writer.write(hash)
    }

    private func encodeHashed(into writer: inout ByteWriter) {
        writer.write(sequence)
        writer.write(boot.bits)
        writer.write(at.nanoseconds)
        writer.write(UInt64(bitPattern: wallClockSeconds ?? Self.noClock))
        event.encode(into: &writer)
    }

    /// What the hash of a record with these contents must be behind `previous`.
    package func expectedHash(after previous: AuditHead) -> [UInt8] {
        var writer = ByteWriter(capacity: 128)
        writer.write(previous.hash)
        encodeHashed(into: &writer)
        return SHA256.digest(writer.bytes)
    }
}

extension AuditHead {
    /// The record that continues the chain with `event`; the head moves on to it.
    package mutating func append(
        _ event: AuditEvent, boot: BootID, at: Instant, wallClockSeconds: Int64?
    ) -> AuditRecord {
        var record = AuditRecord(
            sequence: sequence + 1, boot: boot, at: at, wallClockSeconds: wallClockSeconds, event: event, hash: [])
        record.hash = record.expectedHash(after: self)
        self = AuditHead(record)
        return record
    }

    /// The sequence of the first record that does not continue the chain from here; nil when all do.
    package func firstBreak(in records: some Sequence<AuditRecord>) -> UInt64? {
        var head = self
        for record in records {
            guard record.sequence == head.sequence + 1, record.hash == record.expectedHash(after: head) else {
                return record.sequence
            }
            head = AuditHead(record)
        }
        return nil
    }
}
