/// One record of the lock's audit, as its row says.
struct AuditEntry: Equatable, Sendable {
    enum Event: Equatable, Sendable {
        case granted(Command)
        case refused(Command, result: UInt8)
        case securing
        case outcome(of: UInt64, Outcome)
        case other
    }

    enum Outcome: UInt8, Sendable { case done = 1, aborted, unknown }

    struct Command: Equatable, Sendable {
        /// nil on the encrypted path.
        var counter: UInt32?
        /// 1 lock, 2 unlock, 3 unlatch, 4 lock-and-go.
        var operation: UInt8
        var challenge: String
    }

    var sequence: UInt64
    /// Boot time in nanoseconds.
    var at: UInt64
    var event: Event
}

/// Reads the audit's rows: what each says, and whether each continues the chain. The drill's own reading, from the text
/// of docs/, so that a mistake in the lock's is not made twice.
enum AuditReader {
    struct Row: Equatable, Sendable {
        var sequence: UInt64
        /// Most significant octet first.
        var boot: [UInt8]
        var at: UInt64
        var wallClockSeconds: Int64?
        var event: [UInt8]
        var hash: [UInt8]
    }

    static func entry(_ row: Row) -> AuditEntry? {
        event(row.event).map { AuditEntry(sequence: row.sequence, at: row.at, event: $0) }
    }

    private static func event(_ octets: [UInt8]) -> AuditEntry.Event? {
        var reader = OctetReader(octets)
        guard let kind = reader.integer(1, as: UInt8.self) else { return nil }
        switch kind {
        case 1: return command(&reader).map { .granted($0) }
        case 2:
            guard let result = reader.integer(1, as: UInt8.self) else { return nil }
            return command(&reader).map { .refused($0, result: result) }
        case 4: return .securing
        case 5:
            guard let outcome = reader.integer(1, as: UInt8.self).flatMap(AuditEntry.Outcome.init),
                let sequence = reader.integer(8, as: UInt64.self)
            else { return nil }
            return .outcome(of: sequence, outcome)
        case 3, 6...15, 19...40: return .other
        default: return nil
        }
    }

    /// Flags, bond, then the credential and the counter if the flags say so, then the command's eight octets.
    private static func command(_ reader: inout OctetReader) -> AuditEntry.Command? {
        guard let flags = reader.integer(1, as: UInt8.self), reader.bytes(8) != nil else { return nil }
        if flags & 1 != 0 { guard reader.bytes(8) != nil else { return nil } }
        var counter: UInt32?
        if flags & 2 != 0 {
            guard let read = reader.integer(4, as: UInt32.self) else { return nil }
            counter = read
        }
        guard let first = reader.integer(1, as: UInt8.self), reader.bytes(1) != nil, let challenge = reader.bytes(6)
        else { return nil }
        return AuditEntry.Command(counter: counter, operation: first & 0x0F, challenge: hex(challenge))
    }

    /// The first record that does not continue the chain; nil when all do. Rows are in their order.
    static func firstBreak(_ rows: [Row]) -> UInt64? {
        var hash = SHA256.digest(Array("latch audit 1".utf8))
        var expected: UInt64 = 1
        for row in rows {
            var octets = hash + Array(littleEndian: row.sequence, count: 8) + row.boot.reversed()
            octets += Array(littleEndian: row.at, count: 8)
            octets += Array(littleEndian: row.wallClockSeconds ?? .min, count: 8) + row.event
            guard row.sequence == expected, row.hash == SHA256.digest(octets) else { return row.sequence }
            hash = row.hash
            expected += 1
        }
        return nil
    }
}
