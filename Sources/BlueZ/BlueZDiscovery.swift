/// Whether bluetoothd looks for devices on this side's behalf. It does as long as anybody asks.
struct BlueZDiscovery: Equatable, Sendable {
    private enum State: Equatable { case off, starting, on, stopping }

    private var state = State.off
    /// It was refused, and is not asked again before the wish is another one.
    private var isRefused = false

    enum Step: Equatable { case wait, start, stop }

    mutating func step(isWanted: Bool) -> Step {
        if !isWanted { isRefused = false }
        switch state {
        case .off where isWanted && !isRefused:
            state = .starting
            return .start
        case .on where !isWanted:
            state = .stopping
            return .stop
        case .off, .on, .starting, .stopping: return .wait
        }
    }

    mutating func started(isMade: Bool) {
        (state, isRefused) = (isMade ? .on : .off, !isMade)
    }

    mutating func stopped() { state = .off }
}
