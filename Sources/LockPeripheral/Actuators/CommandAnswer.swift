/// What a bolt's command is asked for: its last argument.
package enum CommandWord: String, Sendable, CaseIterable {
    case lock, unlock, unlatch
    /// Where the bolt rests. Moves nothing.
    case read

    package init(_ movement: Movement) {
        self =
            switch movement {
            case .lock: .lock
            case .unlock: .unlock
            case .unlatch: .unlatch
            }
    }
}

/// How a bolt's command ended.
package enum CommandEnd: Hashable, Sendable {
    case exited(Int32)
    case signalled(Int32)

    /// As `waitpid` tells it.
    package init(waitStatus: Int32) {
        let signal = waitStatus & 0x7F
        self = signal == 0 ? .exited(waitStatus >> 8 & 0xFF) : .signalled(signal)
    }
}

/// What a bolt's command says by its exit status. docs/OPERATING.md has the table.
package enum CommandAnswer: Hashable, Sendable {
    /// The bolt rests where it was sent.
    case done
    /// It rests here.
    case rests(BoltPosition)
    /// It did not move at all.
    case declined
    /// Nobody knows where it is, and what has been said about that is nothing that this lock knows.
    case failed(CommandEnd)

    /// Whether a status may say this depends on what was asked: 0 tells no position, and reading declines nothing.
    package init(_ end: CommandEnd, to word: CommandWord) {
        switch (end, word) {
        case (.exited(0), .lock), (.exited(0), .unlock), (.exited(0), .unlatch): self = .done
        case (.exited(10), _): self = .rests(.jammed)
        case (.exited(11), .lock), (.exited(11), .unlock), (.exited(11), .unlatch): self = .declined
        case (.exited(12), _): self = .rests(.unknown)
        case (.exited(20), _): self = .rests(.locked)
        case (.exited(21), _): self = .rests(.unlocked)
        case (.exited, _), (.signalled, _): self = .failed(end)
        }
    }
}
