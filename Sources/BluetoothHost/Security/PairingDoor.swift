import BluetoothCore
import SecurityManager

/// Who may begin to pair with this side, and how: the window that an operator holds open, the attempts in it, and the wait
/// after a failure.
///
/// - In: windows, and what becomes of attempts.
/// - Out: what a peer finds that asks to pair (``admission(of:isBusy:allowsOthers:now:)``).
/// - Owner: ``Host``. In memory only: a window dies with the process.
///
/// Core 5.4, Vol 3, Part C, 9.4.3 (Bondable mode); Part H, 2.3.6 (Repeated attempts)
struct PairingDoor {
    /// Attempts that may fail in one window behind a try; then only the operator opens another.
    static let failuresMaximum = 3

    /// An attempt that a window named the method of, by the window's number. An attempt that began in an earlier window is none
    /// in this.
    struct Attempt: Equatable {
        let window: Int
    }

    enum Event {
        /// The operator opens the window, or closes it.
        case windowSet(PairingWindow?)
        /// `claimant`: who has to wait for its next attempt, where `waits`. `hasTried`: the other side has sent a value that only the
        /// right one knows; without one nobody has learnt anything. The attempt is nil where no window named it.
        case failed(Attempt?, claimant: DeviceAddress, waits: Bool, hasTried: Bool)
        case succeeded(Attempt?, claimant: DeviceAddress)
    }

    enum Admission {
        case window(PairingWindow)
        /// By the host's ``PairingRules``: no window is open.
        case rules
        case refused(PairingFailedReason)
    }

    private enum State {
        case closed
        case open(PairingWindow, failures: Int)
    }

    private var state = State.closed
    private var attempts = RepeatedAttempts()
    /// Counts windows.
    private(set) var number = 0

    var isOpen: Bool {
        switch state {
        case .closed: false
        case .open: true
        }
    }

    mutating func handle(_ event: Event, now: Instant) {
        switch (event, state) {
        case (.windowSet(let window), .closed), (.windowSet(let window), .open):
            number += 1
            state = window.map { .open($0, failures: 0) } ?? .closed
            // Anybody can fail under the address of a peer that is to be enrolled. The window has its own count of failures.
            if window != nil { attempts.startOver(at: now) }
        case (.failed(let attempt, let claimant, let waits, let hasTried), .closed),
            (.failed(let attempt, let claimant, let waits, let hasTried), .open):
            if waits { attempts.failed(claimant, at: now) }
            if hasTried, attempt?.window == number { failed() }
        case (.succeeded(let attempt, let claimant), .closed), (.succeeded(let attempt, let claimant), .open):
            attempts.succeeded(claimant)
            // One window, one enrolment: nobody else gets in through what is left of it.
            if attempt != nil { state = .closed }
        }
    }

    /// What a setup code commits to serves one try. A stranger who taps "pair" has none.
    private mutating func failed() {
        guard case .open(let window, let failures) = state else { return }
        let isBurnt = if case .outOfBand = window.method { true } else { false }
        state = isBurnt || failures + 1 >= Self.failuresMaximum ? .closed : .open(window, failures: failures + 1)
    }

    /// When `claimant` may try again; nil for now.
    func waits(_ claimant: DeviceAddress, at now: Instant) -> Instant? { attempts.waits(claimant, at: now) }

    /// `isBusy`: somebody pairs in a window already. `allowsOthers`: the host's rules let strangers pair without one.
    func admission(of claimant: DeviceAddress, isBusy: Bool, allowsOthers: Bool, now: Instant) -> Admission {
        let found: Admission
        switch state {
        case .open(let window, _): found = .window(window)
        case .closed where allowsOthers: found = .rules
        case .closed: return .refused(.pairingNotSupported)
        }
        if isBusy { return .refused(.pairingNotSupported) }
        return waits(claimant, at: now) == nil ? found : .refused(.repeatedAttempts)
    }
}
