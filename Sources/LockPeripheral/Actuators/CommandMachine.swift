import BluetoothCore

/// One movement of a bolt that is a command: its attempts, its time limit and what its answers amount to.
///
/// An order, the process's end and the time come in; what to start and kill, and the one report for each order, go out.
/// ``CommandBolt`` owns it. One process runs at a time: while one that was killed has not ended, nothing else is begun.
package struct CommandMachine {
    /// Behind a kill that the kernel has yet to carry out.
    package static let killedMaximumMilliseconds: UInt64 = 500

    package struct Limits: Hashable, Sendable {
        /// Of one process.
        package var timeMilliseconds: UInt64
        /// Further attempts behind a jam, or behind a process that was to lock and could not be started.
        package var retries: Int
        /// In front of each of them.
        package var pauseMilliseconds: UInt64

        package init(timeMilliseconds: UInt64, retries: Int, pauseMilliseconds: UInt64) {
            self.timeMilliseconds = timeMilliseconds
            self.retries = retries
            self.pauseMilliseconds = pauseMilliseconds
        }

        /// What a movement takes at most. Behind ``BoltMachine/travelMaximumMilliseconds`` nobody listens to its report.
        package var wholeMilliseconds: UInt64 {
            UInt64(retries + 1) * attemptMilliseconds + UInt64(retries) * pauseMilliseconds
        }

        /// Of one process, with its end behind a kill.
        fileprivate var attemptMilliseconds: UInt64 { timeMilliseconds + CommandMachine.killedMaximumMilliseconds }
    }

    package enum Event: Hashable, Sendable {
        case order(ActuatorOrder)
        /// The process that was to be started is not there, for this reason.
        case notStarted(String)
        case ended(CommandEnd)
        case time
    }

    package enum Output: Hashable, Sendable {
        case start(ActuatorOrder)
        case kill
        case report(ActuatorReport)
        /// For the operator.
        case tell(String)
    }

    private struct Attempt {
        var order: ActuatorOrder
        var retriesLeft: Int
    }

    private enum State {
        case resting
        case running(Attempt, limit: Instant)
        /// Its time is over.
        case killed(Attempt, giveUp: Instant)
        case pausing(Attempt, until: Instant)
        /// Reported already; its process was killed and has not ended.
        case stuck
        /// The same, and what is to be locked waits for that.
        case behind(Attempt, until: Instant)
    }

    private let limits: Limits
    private var state = State.resting

    package init(_ limits: Limits) { self.limits = limits }

    /// The order that is being carried out.
    package var order: ActuatorOrder? {
        switch state {
        case .resting, .stuck: nil
        case .running(let attempt, _), .killed(let attempt, _), .pausing(let attempt, _), .behind(let attempt, _):
            attempt.order
        }
    }

    package var deadline: Instant? {
        switch state {
        case .resting, .stuck: nil
        case .running(_, let instant), .killed(_, let instant), .pausing(_, let instant), .behind(_, let instant):
            instant
        }
    }

    package mutating func handle(_ event: Event, now: Instant, into outputs: inout [Output]) {
        switch (state, event) {
        case (.resting, .order(let order)):
            if let notAfter = order.notAfter, now > notAfter { return outputs.append(.report(.declined(order.intent))) }
            begin(Attempt(order: order, retriesLeft: limits.retries), now, &outputs)
        case (.stuck, .order(let order)):
            outputs.append(.tell("the process before was killed and has not ended: nothing else is begun"))
            awaitEnd(for: Attempt(order: order, retriesLeft: limits.retries), now, &outputs)
        // The lock makes one movement at a time.
        case (.running, .order(let order)), (.killed, .order(let order)), (.pausing, .order(let order)),
            (.behind, .order(let order)):
            outputs.append(.report(.declined(order.intent)))
        case (.running(let attempt, _), .notStarted(let reason)):
            outputs.append(.tell(reason))
            // A program that is being replaced is there again before long, and a door that is to be locked waits for it. People do not.
            guard attempt.order.movement.isSecuring, pause(attempt, now) else {
                return conclude(.declined(attempt.order.intent), &outputs)
            }
        case (.running(let attempt, _), .ended(let end)): answer(end, attempt, now, &outputs)
        case (.running(let attempt, let limit), .time):
            guard now >= limit else { return }
            state = .killed(attempt, giveUp: now.advanced(byMilliseconds: Self.killedMaximumMilliseconds))
            outputs.append(.tell("it did not end in \(limits.timeMilliseconds) ms, and was killed"))
            outputs.append(.kill)
        case (.killed(let attempt, _), .ended): jam(attempt, isSaid: false, now, &outputs)
        case (.killed(let attempt, let giveUp), .time):
            guard now >= giveUp else { return }
            state = .stuck
            outputs.append(.report(.ended(attempt.order.intent, .unknown)))
        case (.pausing(let attempt, let until), .time):
            guard now >= until else { return }
            begin(attempt, now, &outputs)
        case (.stuck, .ended): state = .resting
        case (.behind(let attempt, _), .ended): begin(attempt, now, &outputs)
        case (.behind(let attempt, let until), .time):
            guard now >= until else { return }
            awaitEnd(for: attempt, now, &outputs)
        case (.resting, .notStarted), (.resting, .ended), (.resting, .time), (.killed, .notStarted),
            (.pausing, .notStarted), (.pausing, .ended), (.stuck, .notStarted), (.stuck, .time), (.behind, .notStarted):
            return
        }
    }

    /// As long as an attempt and the pause behind it would take, which it counts as: no movement takes longer for that. People who want to
    /// open do not wait.
    private mutating func awaitEnd(for attempt: Attempt, _ now: Instant, _ outputs: inout [Output]) {
        guard attempt.order.movement.isSecuring, attempt.retriesLeft > 0 else {
            state = .stuck
            return outputs.append(.report(.declined(attempt.order.intent)))
        }
        let next = Attempt(order: attempt.order, retriesLeft: attempt.retriesLeft - 1)
        let milliseconds = limits.attemptMilliseconds + limits.pauseMilliseconds
        state = .behind(next, until: now.advanced(byMilliseconds: milliseconds))
    }

    private mutating func begin(_ attempt: Attempt, _ now: Instant, _ outputs: inout [Output]) {
        state = .running(attempt, limit: now.advanced(byMilliseconds: limits.timeMilliseconds))
        outputs.append(.start(attempt.order))
    }

    private mutating func answer(_ end: CommandEnd, _ attempt: Attempt, _ now: Instant, _ outputs: inout [Output]) {
        let order = attempt.order
        switch CommandAnswer(end, to: CommandWord(order.movement)) {
        case .done: conclude(.ended(order.intent, order.movement.target), &outputs)
        case .rests(.jammed): jam(attempt, isSaid: true, now, &outputs)
        case .rests(let position): conclude(.ended(order.intent, position), &outputs)
        case .declined: conclude(.declined(order.intent), &outputs)
        case .failed(let end):
            outputs.append(.tell(end.complaint))
            conclude(.ended(order.intent, .unknown), &outputs)
        }
    }

    /// It met resistance, or did not come to its end in its time. Another attempt asks for the same end again. A latch may have
    /// been pulled, so there is no second attempt at that; and an opening is not begun behind its time.
    private mutating func jam(_ attempt: Attempt, isSaid: Bool, _ now: Instant, _ outputs: inout [Output]) {
        let order = attempt.order
        guard order.movement != .unlatch, pause(attempt, now) else {
            let isJam = isSaid || order.movement != .unlatch
            return conclude(.ended(order.intent, isJam ? .jammed : .unknown), &outputs)
        }
        outputs.append(.tell("the bolt is jammed: it is tried again"))
    }

    /// In front of the next attempt. False where that was the last one.
    private mutating func pause(_ attempt: Attempt, _ now: Instant) -> Bool {
        let next = now.advanced(byMilliseconds: limits.pauseMilliseconds)
        let isInTime = attempt.order.notAfter.map { next <= $0 } ?? true
        guard attempt.retriesLeft > 0, isInTime else { return false }
        state = .pausing(Attempt(order: attempt.order, retriesLeft: attempt.retriesLeft - 1), until: next)
        return true
    }

    private mutating func conclude(_ report: ActuatorReport, _ outputs: inout [Output]) {
        state = .resting
        outputs.append(.report(report))
    }
}

extension CommandEnd {
    package var complaint: String {
        switch self {
        case .exited(let status): "it ended with status \(status), which says nothing of the bolt"
        case .signalled(let signal): "it was ended by signal \(signal)"
        }
    }
}
