import BluetoothCore

/// What happened in one schedule, in order: for people who want to see why a promise was broken.
package struct Chronicle: Sendable {
    /// Who, or what, it happened to.
    package enum Lane: Hashable, Sendable {
        case lock
        case key(Int)
        case commands
        case bolt
        case faults
    }

    package enum Mark: Sendable {
        /// A process began, or ended.
        case begun, ended
        /// An operator gave a command, or was told something.
        case asked, told
        /// The bolt moved.
        case opened, locked
        case wrong
    }

    package struct Entry: Sendable {
        /// Of virtual time, since the schedule began.
        package let milliseconds: UInt64
        package let lane: Lane
        package let mark: Mark
        package let text: String
    }

    package let keys: Int
    package private(set) var entries: [Entry] = []
    /// The schedule's length, with what was owed behind it.
    package internal(set) var milliseconds: UInt64 = 0
    private let begin: Instant

    init(keys: Int, begin: Instant) {
        self.keys = keys
        self.begin = begin
    }

    mutating func note(_ lane: Lane, _ mark: Mark, _ text: String, at instant: Instant) {
        let entry = Entry(milliseconds: instant.milliseconds(since: begin), lane: lane, mark: mark, text: text)
        let place = entries.lastIndex { $0.milliseconds <= entry.milliseconds }.map { $0 + 1 } ?? 0
        entries.insert(entry, at: place)
    }
}
