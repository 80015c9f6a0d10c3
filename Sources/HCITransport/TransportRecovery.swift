import BluetoothCore

/// What an operator is told of the way to the controller. Each is said once, however often the same is found again.
package enum TransportNotice: Equatable, Sendable {
    /// It broke. What was running waits.
    case lost(reason: String, retryMilliseconds: UInt64)
    /// It could not be opened.
    case unavailable(TransportError, retryMilliseconds: UInt64)
    /// It is open again, or at last.
    case found
    /// It is in step again; so many octets were nobody's.
    case resynchronised(discardedOctets: Int)
}

/// When a transport that broke is opened again, and what is said about it. One process owns one adapter, and nobody is
/// in step with it: the intervals need no chance in them.
package struct TransportRecovery: Sendable {
    package struct BackOff: Sendable {
        package var wait: DoublingWait
        /// Open for this long, a transport has earned that its next loss counts as the first.
        package var stableMilliseconds: UInt64

        package init(
            firstMilliseconds: UInt64 = 100, maximumMilliseconds: UInt64 = 5_000, stableMilliseconds: UInt64 = 30_000
        ) {
            wait = DoublingWait(firstMilliseconds: firstMilliseconds, longestMilliseconds: maximumMilliseconds)
            self.stableMilliseconds = stableMilliseconds
        }
    }

    package enum Input: Sendable {
        /// The system is at it: ``opened`` or ``failed(_:)`` will follow.
        case connecting
        case opened
        case failed(TransportError)
        /// An open one is of no use any more.
        case broke(reason: String)
        case timerFired
    }

    package enum Output: Equatable, Sendable {
        /// Try to open it, and say what came of it.
        case open
        /// Let go of the descriptor.
        case close
        /// The host has a controller, or has none any more.
        case hostOpened, hostClosed
        case say(TransportNotice)
        /// It never comes back.
        case end(TransportError)
    }

    package enum State: Equatable, Sendable {
        /// ``Output/open`` was asked for.
        case opening
        case connecting(until: Instant)
        case open(since: Instant)
        case waiting(until: Instant)
        case ended
    }

    /// How long a peer may take to accept.
    package static let connectTimeoutMilliseconds: UInt64 = 5_000

    package private(set) var state = State.opening
    private let name: String
    private let canReopen: Bool
    private let backOff: BackOff
    /// Attempts in a row that gave no transport that lasted.
    private var attempts: UInt64 = 0
    /// What was said last of an attempt in vain; nil when nothing is amiss.
    private var complaint: TransportError?
    private var isMissed = false

    /// Its owner makes the first attempt unasked. `canReopen`: a descriptor that was inherited comes once.
    package init(name: String, canReopen: Bool, backOff: BackOff = BackOff()) {
        self.name = name
        self.canReopen = canReopen
        self.backOff = backOff
    }

    /// When ``Input/timerFired`` has something to do.
    package var deadline: Instant? {
        switch state {
        case .connecting(let until), .waiting(let until): until
        case .opening, .open, .ended: nil
        }
    }

    package mutating func handle(_ input: Input, now: Instant, into outputs: inout [Output]) {
        switch (state, input) {
        case (.opening, .connecting):
            state = .connecting(until: now.advanced(byMilliseconds: Self.connectTimeoutMilliseconds))
        case (.opening, .opened), (.connecting, .opened):
            state = .open(since: now)
            if isMissed { outputs.append(.say(.found)) }
            isMissed = false
            complaint = nil
            outputs.append(.hostOpened)
        case (.opening, .failed(let error)): failed(error, now, &outputs)
        case (.connecting, .failed(let error)):
            outputs.append(.close)
            failed(error, now, &outputs)
        case (.connecting(let until), .timerFired):
            guard until <= now else { return }
            outputs.append(.close)
            let seconds = Self.connectTimeoutMilliseconds / 1_000
            failed(
                TransportError(.timedOut, "\(name): no answer within \(seconds) s; is the controller's host up?"), now,
                &outputs)
        case (.open(let since), .broke(let reason)):
            outputs += [.close, .hostClosed]
            broke(reason, since, now, &outputs)
        case (.waiting(let until), .timerFired):
            guard until <= now else { return }
            state = .opening
            outputs.append(.open)
        // What was under way when the state changed is about a descriptor that has gone.
        case (.opening, .broke), (.opening, .timerFired), (.connecting, .connecting), (.connecting, .broke),
            (.open, .connecting), (.open, .opened), (.open, .failed), (.open, .timerFired), (.waiting, .connecting),
            (.waiting, .opened), (.waiting, .failed), (.waiting, .broke), (.ended, .connecting), (.ended, .opened),
            (.ended, .failed), (.ended, .broke), (.ended, .timerFired):
            break
        }
    }

    private mutating func failed(_ error: TransportError, _ now: Instant, _ outputs: inout [Output]) {
        guard canReopen else { return end(error, &outputs) }
        isMissed = true
        let delay = wait(now)
        guard complaint != error else { return }
        complaint = error
        outputs.append(.say(.unavailable(error, retryMilliseconds: delay)))
    }

    private mutating func broke(_ reason: String, _ since: Instant, _ now: Instant, _ outputs: inout [Output]) {
        guard canReopen else {
            let remedy = "an inherited descriptor cannot be opened again: start this anew with another"
            return end(TransportError(.notFound, "\(name): \(reason); \(remedy)"), &outputs)
        }
        if since.advanced(byMilliseconds: backOff.stableMilliseconds) <= now { attempts = 0 }
        isMissed = true
        outputs.append(.say(.lost(reason: reason, retryMilliseconds: wait(now))))
    }

    private mutating func end(_ error: TransportError, _ outputs: inout [Output]) {
        state = .ended
        outputs.append(.end(error))
    }

    /// Milliseconds until the next attempt.
    private mutating func wait(_ now: Instant) -> UInt64 {
        attempts += 1
        let delay = backOff.wait.milliseconds(failures: attempts)
        state = .waiting(until: now.advanced(byMilliseconds: delay))
        return delay
    }
}
