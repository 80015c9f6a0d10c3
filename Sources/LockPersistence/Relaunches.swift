import BluetoothCore

/// How many launches have followed the launch that the audit's last record tells. It counts for that record alone: with one more
/// record it is void, and nobody has to take it back.
struct Relaunches: Equatable {
    /// Its name among the facts of the file.
    static let fact = "lock.relaunches"

    let sequence: UInt64
    let times: UInt64

    init(behind sequence: UInt64, times: UInt64) {
        self.sequence = sequence
        self.times = times
    }

    /// Nil for anything else: then the launches so far are not counted.
    init?(_ octets: [UInt8]) {
        var reader = ByteReader(octets.span.bytes)
        guard let sequence = try? reader.readUInt64(), let times = try? reader.readUInt64(), reader.remaining == 0
        else {
            return nil
        }
        self.init(behind: sequence, times: times)
    }

    var encoded: [UInt8] {
        var writer = ByteWriter(capacity: 16)
        writer.write(sequence)
        writer.write(times)
        return writer.bytes
    }
}
