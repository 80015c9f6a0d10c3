import BluetoothCore
import LockProtocol

extension BoltJournal {
    /// One movement: `sequence boottime-ns pid intent command movement`, the command `-` when the lock moved by its own rules.
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
