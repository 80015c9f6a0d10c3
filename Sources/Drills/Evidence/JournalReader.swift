/// A movement that the simulated bolt made, from its journal.
struct Movement: Hashable, Sendable {
    enum Kind: String, Sendable { case lock, unlock, unlatch }

    var sequence: UInt64
    /// Boot time in nanoseconds.
    var at: UInt64
    var process: Int32
    var intent: UInt64
    /// The challenge of the command that it carried out; nil when the lock moved by its own rules.
    var command: String?
    var kind: Kind

    var opens: Bool { kind != .lock }
}

/// Reads the bolt's journal: `sequence boottime-ns pid intent command movement`, a line for each movement.
enum JournalReader {
    struct Malformed: Error, Equatable {
        let line: Int
    }

    /// Every whole line; the last one may still be on its way.
    static func read(_ octets: [UInt8]) throws(Malformed) -> [Movement] {
        var movements: [Movement] = []
        var lines = octets.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        lines.removeLast()
        for (index, line) in lines.enumerated() {
            guard let movement = movement(String(decoding: line, as: UTF8.self)) else {
                throw Malformed(line: index + 1)
            }
            movements.append(movement)
        }
        return movements
    }

    private static func movement(_ line: String) -> Movement? {
        let fields = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 6, let sequence = UInt64(fields[0]), let at = UInt64(fields[1]),
            let process = Int32(fields[2]), let intent = UInt64(fields[3]),
            let kind = Movement.Kind(rawValue: fields[5])
        else { return nil }
        return Movement(
            sequence: sequence, at: at, process: process, intent: intent,
            command: fields[4] == "-" ? nil : fields[4], kind: kind)
    }
}
