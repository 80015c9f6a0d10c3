/// Who is killed.
enum Role: String, CaseIterable, Sendable {
    case lock
    case key

    /// The word of the command line.
    var command: String { self == .lock ? "peripheral" : "central" }
}

/// What a process was in the middle of when it was killed, as seen from outside.
enum Phase: String, CaseIterable, Sendable {
    /// An enrolment was under way.
    case enrolment
    /// A connection was wanted, and there was none.
    case connecting
    /// Something was on disk, and not yet done: an intent without its movement, a command without its packet.
    case committed = "commit_to_act"
    /// It had been started again and had not come back to where it was.
    case restoring
    /// There was a link.
    case connected
    case idle

    var title: String {
        switch self {
        case .enrolment: "enrolment"
        case .connecting: "connecting"
        case .committed: "between commit and act"
        case .restoring: "during restore"
        case .connected: "connected"
        case .idle: "idle"
        }
    }
}
