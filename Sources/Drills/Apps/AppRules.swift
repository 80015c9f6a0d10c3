/// What somebody's program has to do, as its rules file says.
struct AppRules: Equatable, Sendable {
    /// Something that can be seen from outside.
    enum Sight: Hashable, Sendable, CustomStringConvertible {
        case prints(AppSide, AppPattern)
        /// On the program's own adapter.
        case air(AppAir)

        var description: String {
            switch self {
            case .prints(.program, let pattern): "prints \(pattern)"
            case .prints(.peer, let pattern): "peer prints \(pattern)"
            case .air(let event): "air \(event.rawValue)"
            }
        }
    }

    enum Rule: Hashable, Sendable {
        /// At no time.
        case never(Sight)
        /// A program that is started again behind `first` shows `then`.
        case restart(after: Sight, then: Sight)
        /// And it does not show this.
        case restartNever(after: Sight, never: Sight)
        /// Once it has shown `first` it does not show `never` any more, in that life or another.
        case afterNever(Sight, never: Sight)
        /// Behind the last `first` comes a `then`.
        case when(Sight, then: Sight)
        /// A life that shows this is counted, and judged no further.
        case excuse(Sight)
    }

    /// A rule with the line that it stands in.
    struct Line: Hashable, Sendable {
        var number: Int
        /// As it stands in the file.
        var text: String
        var rule: Rule
    }

    /// The other program on the radio and its arguments; nil without one.
    var peer: [String]?
    /// What both programs find in their environments besides their adapter and their directory.
    var environment: [String: String] = ["LATCH_PAIRING": "just-works"]
    /// What each start comes to.
    var goal: Sight
    /// The line that the goal stands in.
    var goalLine: Int
    /// What it comes to again when a fault has taken a link from it; nil where nothing is due.
    var again: Sight?
    var againLine = 0
    /// How long anything may take that has to happen.
    var withinSeconds: UInt64 = defaultWithinSeconds
    var lines: [Line] = []

    static let defaultWithinSeconds: UInt64 = 30
    static let maximumWithinSeconds: UInt64 = 600
}

enum AppSide: String, CaseIterable, Hashable, Sendable { case program, peer }

/// What the capture of an adapter tells of its host.
enum AppAir: String, CaseIterable, Hashable, Sendable {
    case advertising
    case connecting
    case connected
    case disconnected
    case encrypted
    case pairing

    init?(_ event: CaptureEvent) {
        switch event {
        case .advertising(true): self = .advertising
        case .createConnection: self = .connecting
        case .linkUp: self = .connected
        case .linkDown: self = .disconnected
        case .encrypted: self = .encrypted
        case .pairing: self = .pairing
        default: return nil
        }
    }
}

/// Why a rules file cannot be used: which line, what is wrong with it, and what to write instead.
struct AppRulesError: Error, Equatable {
    var line: Int
    var message: String
}
