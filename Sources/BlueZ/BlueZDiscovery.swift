import BluetoothCore

/// Whether bluetoothd looks for devices on this side's behalf. It does as long as anybody asks.
struct BlueZDiscovery: Equatable, Sendable {
    private enum State: Equatable { case off, starting, on, stopping }

    private var state = State.off
    /// One behind the other.
    private var failures: UInt64 = 0
    /// When one that was refused is asked for again; nil from then on, also where nobody wishes for one any more.
    private(set) var deadline: Instant?

    private static let wait = DoublingWait(firstMilliseconds: 1_000, longestMilliseconds: 30_000)

    enum Step: Equatable { case wait, start, stop }

    mutating func step(isWanted: Bool, _ now: Instant) -> Step {
        if !isWanted { (failures, deadline) = (0, nil) }
        if let due = deadline, due <= now { deadline = nil }
        switch state {
        case .off where isWanted && deadline == nil:
            state = .starting
            return .start
        case .on where !isWanted:
            state = .stopping
            return .stop
        case .off, .on, .starting, .stopping: return .wait
        }
    }

    /// The kernel refuses while it ends what somebody else has looked for: it is asked again, later and later.
    mutating func started(isMade: Bool, _ now: Instant) {
        guard state == .starting else { return }
        if isMade {
            (state, failures) = (.on, 0)
        } else {
            state = .off
            failures += 1
            deadline = now.advanced(byMilliseconds: Self.wait.milliseconds(failures: failures))
        }
    }

    mutating func stopped() { if state == .stopping { state = .off } }
}
