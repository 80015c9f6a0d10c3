import Glibc

/// A controller that costs nothing: it answers each command at once, as the radio's controller did when it was asked the first time.
/// Nothing but answers ever comes from it.
final class LearnedController {
    private let radio: Int32
    /// Command Complete or Command Status, by opcode.
    private var answers: [UInt16: [UInt8]] = [:]
    private let acceptListSize: UInt8?

    /// - Parameters:
    ///   - air: the radio's socket.
    ///   - acceptListSize: how many its filter accept list takes; nil for as many as the radio's.
    init(air: String, acceptListSize: UInt8?) throws {
        guard let socket = try UnixSocket.connect(air) else { throw BenchmarkError(system: air) }
        radio = socket
        self.acceptListSize = acceptListSize
    }

    deinit { close(radio) }

    func answer(to command: [UInt8]) throws -> [UInt8] {
        let opcode = UInt16(command[1]) | UInt16(command[2]) << 8
        if let known = answers[opcode] { return known }
        guard write(radio, command, command.count) == command.count else { throw BenchmarkError(system: "the radio") }
        var packets = HCIPackets()
        while let events = packets.read(radio) {
            for var event in events where Self.answered(event) == opcode {
                // Core 5.4, Vol 4, Part E, 7.8.14 (LE Read Filter Accept List Size command)
                if opcode == 0x200F, let acceptListSize { event[7] = acceptListSize }
                answers[opcode] = event
                return event
            }
        }
        throw BenchmarkError("the radio is gone")
    }

    /// Whose answer it is; nil for another event.
    private static func answered(_ event: [UInt8]) -> UInt16? {
        // Command Complete, Command Status.
        guard event.count >= 7, event[0] == 0x04 else { return nil }
        return switch event[1] {
        case 0x0E: UInt16(event[4]) | UInt16(event[5]) << 8
        case 0x0F: UInt16(event[5]) | UInt16(event[6]) << 8
        default: nil
        }
    }

    /// Whether the controller does what it was asked.
    static func isSuccess(_ answer: [UInt8]) -> Bool {
        guard answer.count >= 7 else { return false }
        return answer[1] == 0x0E ? answer[6] == 0 : answer[3] == 0
    }
}
