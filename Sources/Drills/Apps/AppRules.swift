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
        /// The sight may never be seen.
        case never(Sight)
        /// A program that is started again after `first` has to show `then`.
        case restart(after: Sight, then: Sight)
        /// A program that is started again after `first` may not show this.
        case restartNever(after: Sight, never: Sight)
        /// After `first` the program may not show `never`, in that start or a later one.
        case afterNever(Sight, never: Sight)
        /// The last `first` has to be followed by a `then`.
        case when(Sight, then: Sight)
        /// A life that shows this is counted, and not judged any further.
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
    /// What each start has to show.
    var goal: Sight
    /// The line that the goal stands in.
    var goalLine: Int
    /// What the program has to show again after a fault has ended a link; nil where nothing is asked for.
    var again: Sight?
    var againLine = 0
    /// How long the program has for each thing that it owes.
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
