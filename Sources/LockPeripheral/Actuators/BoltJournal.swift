import BluetoothCore
import Glibc
import LockProtocol

/// The file that stands for a simulated bolt's position, and for everything that it was ever made to do: one line for
/// each movement, added by a single write and never changed. A drill reads it from outside.
///
/// `sequence boottime-ns pid intent command movement`, the command `-` when the lock moved by its own rules.
package final class BoltJournal: MovementJournal {
    package struct Line: Hashable, Sendable {
        package var sequence: UInt64
        package var at: Instant
        package var process: Int32
        package var intent: IntentID
        package var command: ChallengeID?
        package var movement: Movement

        package init(
            sequence: UInt64, at: Instant, process: Int32, intent: IntentID, command: ChallengeID?, movement: Movement
        ) {
            self.sequence = sequence
            self.at = at
            self.process = process
            self.intent = intent
            self.command = command
            self.movement = movement
        }
    }

    package enum Failure: Error, Equatable {
        /// errno of the call that failed.
        case io(call: StaticString, code: Int32)
        /// Counted from 1.
        case damaged(line: Int)

        package static func == (a: Self, b: Self) -> Bool {
            switch (a, b) {
            case (.io(let call, let code), .io(let other, let otherCode)):
                call.description == other.description && code == otherCode
            case (.damaged(let line), .damaged(let other)): line == other
            case (.io, .damaged), (.damaged, .io): false
            }
        }
    }

    private let descriptor: Int32
    package private(set) var last: Line?
    package private(set) var lastIntended: Line?

    /// Opens or makes the file, and reads where the bolt has got to.
    package init(path: String) throws {
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure.io(call: "open", code: errno) }
        do {
            let (lines, whole) = try Self.parse(try Self.contents(of: descriptor))
            // A line without its end is a movement that had not begun when the power went.
            guard ftruncate(descriptor, off_t(whole)) == 0 else { throw Failure.io(call: "ftruncate", code: errno) }
            last = lines.last
            lastIntended = lines.last(where: \.isIntended)
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit { close(descriptor) }

    package func append(_ order: ActuatorOrder, now: Instant) throws {
        let line = Line(
            sequence: (last?.sequence ?? 0) + 1, at: now, process: getpid(), intent: order.intent,
            command: order.command, movement: order.movement)
        let octets = Array((line.text + "\n").utf8)
        guard write(descriptor, octets, octets.count) == octets.count else {
            throw Failure.io(call: "write", code: errno)
        }
        last = line
        if line.isIntended { lastIntended = line }
    }

    package func settle() throws {
        guard fdatasync(descriptor) == 0 else { throw Failure.io(call: "fdatasync", code: errno) }
    }

    /// Every whole line, and how many octets they fill.
    package static func parse(_ octets: [UInt8]) throws -> (lines: [Line], wholeOctets: Int) {
        let newline = UInt8(ascii: "\n")
        let whole = octets.lastIndex(of: newline).map { $0 + 1 } ?? 0
        var lines: [Line] = []
        for text in octets[..<whole].split(separator: newline, omittingEmptySubsequences: false).dropLast() {
            guard let line = Line(String(decoding: text, as: UTF8.self)), line.sequence > lines.last?.sequence ?? 0
            else { throw Failure.damaged(line: lines.count + 1) }
            lines.append(line)
        }
        return (lines, whole)
    }

    private static func contents(of descriptor: Int32) throws -> [UInt8] {
        var contents: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw Failure.io(call: "read", code: errno) }
            if count == 0 { return contents }
            contents += buffer[..<count]
        }
    }
}

extension BoltJournal.Line {
    package var text: String {
        "\(sequence) \(at.nanoseconds) \(process) \(intent) \(command?.description ?? "-") \(movement)"
    }

    package init?(_ text: String) {
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        guard fields.count == 6, let sequence = UInt64(fields[0]), let nanoseconds = UInt64(fields[1]),
            let process = Int32(fields[2]), let intent = UInt64(fields[3]),
            let movement = Movement.allCases.first(where: { "\($0)" == fields[5] })
        else { return nil }
        var command: ChallengeID?
        if fields[4] != "-" {
            guard let octets = HexText.decode(String(fields[4])), let id = try? ChallengeID(exactly: octets) else {
                return nil
            }
            command = id
        }
        self.init(
            sequence: sequence, at: Instant(nanoseconds: nanoseconds), process: process,
            intent: IntentID(rawValue: intent), command: command, movement: movement)
    }

    package var isIntended: Bool { !answers(.unrecordedLock) }

    /// Whether this is the movement that `order` asks for.
    package func answers(_ order: ActuatorOrder) -> Bool {
        intent == order.intent && command == order.command && movement == order.movement
    }
}
