import BluetoothCore

/// The keeper's whole judgement: when the line of a strike releases the door, and when it stops.
///
/// Orders of the lock's daemon, what the line answers, what the lines beside the door say, and the time come in. What the line is to
/// be set to and what the daemon is told go out. The keeper's shell owns it, and does this for it: it arms its timer for ``deadline``
/// **before** it carries out any output, and hands in the line's answer at once.
///
/// **Nothing moves without an order, but towards the locked door.** **A pulse ends at its time**, which was known before the line was
/// set, whoever has died meanwhile. **An opening is made once**: its name is remembered. docs/STRIKE.md has the table.
package struct StrikeMachine {
    /// Openings that are remembered.
    package static let answeredMaximum = 32
    /// How soon a line that did not go to its rest is set again.
    package static let retryMilliseconds: UInt64 = 100

    package enum Event: Hashable, Sendable {
        case order(StrikeOrder)
        case line(LineAnswer)
        /// The chip is there, and the line at rest.
        case chip(StrikeInputs)
        case chipGone
        case inputs(StrikeInputs)
        /// The daemon is connected, or no more.
        case daemon(isThere: Bool)
        case time
    }

    /// What the line is read to be behind a ``Output/set(isReleased:)``.
    package enum LineAnswer: Hashable, Sendable {
        case reads(isReleased: Bool)
        /// It could not be set, or not be read back.
        case failed
    }

    package enum Output: Hashable, Sendable {
        /// To be set, read back and answered.
        case set(isReleased: Bool)
        case report(StrikeReport)
        /// For the operator.
        case tell(String)
    }

    private struct Task: Hashable {
        var order: StrikeOrder
        var retriesLeft: Int
    }

    /// Why the line goes to its rest.
    private enum Reason: Hashable {
        /// A pulse or a hold is over.
        case over
        /// The task is to lock.
        case lock(Task)
        /// Another attempt follows.
        case retry(Task)
        case finish(Task, StrikeResult)

        var task: Task? {
            switch self {
            case .over: nil
            case .lock(let task), .retry(let task), .finish(let task, _): task
            }
        }
    }

    private enum State {
        /// No chip.
        case absent
        /// The line is at rest.
        case resting
        /// The line was told to release: its answer is awaited.
        case releasing(Task, ends: Instant?)
        /// It releases: the bolt is awaited.
        case opening(Task, limit: Instant, ends: Instant?)
        /// Until `ends`, if there is an end; until `orphaned`, if no daemon comes back.
        case released(ends: Instant?, orphaned: Instant?)
        /// The line was told to rest: its answer is awaited.
        case settling(Reason, retry: Instant)
        /// It is at rest: the bolt is awaited.
        case closing(Task, limit: Instant)
        case pausing(Task, until: Instant)
        /// The line did not go to its rest. It is told to again and again.
        case stuck(retry: Instant)
    }

    private let rules: StrikeRules
    private var state = State.absent
    private var inputs = StrikeInputs()
    private var isJammed = false
    private var isDaemonThere = false
    private var last: StrikeStatus.Last?
    /// A lock whose database was restored counts anew: a name with another time is another opening.
    private struct Opening: Equatable {
        let intent: UInt64
        let notAfter: Instant?
    }

    private var made: [Opening] = []

    package init(_ rules: StrikeRules) { self.rules = rules }

    /// When ``Event/time`` is due.
    package var deadline: Instant? {
        switch state {
        case .absent, .resting: nil
        case .releasing(_, let ends): ends
        case .opening(_, let limit, let ends): Instant.earliest(limit, ends)
        case .released(let ends, let orphaned): Instant.earliest(ends, orphaned)
        case .closing(_, let instant), .pausing(_, let instant), .settling(_, let instant), .stuck(let instant): instant
        }
    }

    /// Whether the door is released at present, as far as the keeper has done that.
    package var isReleased: Bool {
        switch state {
        case .releasing, .opening, .released: true
        case .absent, .resting, .settling, .closing, .pausing, .stuck: false
        }
    }

    package var status: StrikeStatus {
        StrikeStatus(
            position: position, contact: inputs.isClosed.map { $0 ? .closed : .open } ?? .unknown,
            isTampered: inputs.isTampered, isFire: inputs.isFire, hasChip: hasChip, last: last)
    }

    private var hasChip: Bool { if case .absent = state { false } else { true } }

    private var position: StrikePosition {
        switch state {
        case .absent, .releasing, .opening, .settling, .closing, .pausing, .stuck: .unknown
        case .resting where isJammed: .jammed
        case .resting: inputs.isLocked == false ? .unlocked : .locked
        // A line that releases is no locked door, whatever a sensor says: the lock's relock must not take it for one.
        case .released: inputs.isLocked == true ? .unknown : .unlocked
        }
    }

    package mutating func handle(_ event: Event, now: Instant, into outputs: inout [Output]) {
        switch event {
        case .order(let order): take(order, now, &outputs)
        case .line(let answer): take(answer, now, &outputs)
        case .chip(let found):
            // Whoever has held the button since before does not press it now.
            inputs = found
            state = .resting
        case .chipGone: lose(&outputs)
        case .inputs(let found): take(found, now, &outputs)
        case .daemon(let isThere):
            // A connection that ends before its hello has changed nothing: a held door's time does not begin anew.
            guard isThere != isDaemonThere else { return }
            isDaemonThere = isThere
            if case .released(let ends, _) = state { state = released(ends: ends, now) }
        case .time: look(now, &outputs)
        }
    }

    // MARK: Orders

    private mutating func take(_ order: StrikeOrder, _ now: Instant, _ outputs: inout [Output]) {
        guard order.movement == .lock else { return open(order, now, &outputs) }
        if let task { end(task.order, .unknown, &outputs) }
        switch state {
        case .absent, .stuck: decline(order, &outputs)
        case .resting, .releasing, .opening, .released, .settling, .closing, .pausing:
            last = StrikeStatus.Last(intent: order.intent, result: nil)
            rest(.lock(Task(order: order, retriesLeft: rules.feedback?.retries ?? 0)), now, &outputs)
        }
    }

    private mutating func open(_ order: StrikeOrder, _ now: Instant, _ outputs: inout [Output]) {
        let opening = Opening(intent: order.intent, notAfter: order.notAfter)
        guard !made.contains(opening) else {
            // While it is carried out its end is still to come.
            if task?.order.intent != order.intent {
                outputs.append(.report(.ended(intent: order.intent, .unknown)))
            }
            return
        }
        var ends: Instant?
        switch state {
        case .absent, .stuck, .releasing, .opening, .settling, .closing, .pausing: return decline(order, &outputs)
        case .resting: break
        case .released(let end, _): ends = end
        }
        if let notAfter = order.notAfter, now > notAfter { return decline(order, &outputs) }
        let isHold = rules.drive == .hold && order.movement == .unlock
        let isHeld = isReleased && ends == nil
        if isHold || isHeld {
            ends = nil
        } else {
            guard order.pulseMilliseconds > 0 else { return decline(order, &outputs) }
            ends = end(of: order, now)
        }
        // One that was declined has not moved, and may be ordered again.
        if made.count == Self.answeredMaximum { made.removeFirst() }
        made.append(opening)
        last = StrikeStatus.Last(intent: order.intent, result: nil)
        // A latch may have been pulled: there is no second attempt at that.
        let retries = order.movement == .unlatch ? 0 : rules.feedback?.retries ?? 0
        release(Task(order: order, retriesLeft: retries), ends: ends, &outputs)
    }

    private func end(of order: StrikeOrder, _ now: Instant) -> Instant {
        #if LATCH_PLANTS
        if Plant.active == .pulse { return now.advanced(byMilliseconds: rules.pulseMaximumMilliseconds) }
        #endif
        return now.advanced(byMilliseconds: min(UInt64(order.pulseMilliseconds), rules.pulseMaximumMilliseconds))
    }

    /// What is being carried out.
    private var task: Task? {
        switch state {
        case .absent, .resting, .released, .stuck: nil
        case .releasing(let task, _), .opening(let task, _, _), .closing(let task, _), .pausing(let task, _): task
        case .settling(let reason, _): reason.task
        }
    }

    private mutating func decline(_ order: StrikeOrder, _ outputs: inout [Output]) {
        // An order that is under way has the last word.
        if last?.result != nil || last == nil { last = StrikeStatus.Last(intent: order.intent, result: .declined) }
        outputs.append(.report(.ended(intent: order.intent, .declined)))
    }

    private mutating func end(_ order: StrikeOrder, _ result: StrikeResult, _ outputs: inout [Output]) {
        last = StrikeStatus.Last(intent: order.intent, result: result)
        outputs.append(.report(.ended(intent: order.intent, result)))
    }

    // MARK: The line

    private mutating func release(_ task: Task, ends: Instant?, _ outputs: inout [Output]) {
        state = .releasing(task, ends: ends)
        outputs.append(.set(isReleased: true))
    }

    private mutating func rest(_ reason: Reason, _ now: Instant, _ outputs: inout [Output]) {
        isJammed = false
        state = .settling(reason, retry: now.advanced(byMilliseconds: Self.retryMilliseconds))
        outputs.append(.set(isReleased: false))
    }

    private mutating func take(_ answer: LineAnswer, _ now: Instant, _ outputs: inout [Output]) {
        switch (state, answer) {
        case (.releasing(let task, let ends), .reads(isReleased: true)):
            guard let feedback = rules.feedback, inputs.isLocked != false else {
                state = released(ends: ends, now)
                return end(task.order, .unlocked, &outputs)
            }
            state = .opening(task, limit: now.advanced(byMilliseconds: feedback.travelMilliseconds), ends: ends)
        case (.releasing(let task, _), .reads(isReleased: false)), (.releasing(let task, _), .failed):
            outputs.append(.tell("the line could not be set, or does not read as it was set"))
            rest(.finish(task, .unknown), now, &outputs)
        case (.settling(let reason, _), .reads(isReleased: false)): settle(reason, now, &outputs)
        case (.settling(let reason, _), .reads(isReleased: true)), (.settling(let reason, _), .failed):
            outputs.append(.tell("the line does not go to its rest: it is tried again and again"))
            state = .stuck(retry: now.advanced(byMilliseconds: Self.retryMilliseconds))
            if let task = reason.task { end(task.order, .unknown, &outputs) }
        case (.stuck, .reads(isReleased: false)):
            outputs.append(.tell("the line is at rest again"))
            state = .resting
        case (.stuck, .reads(isReleased: true)), (.stuck, .failed), (.absent, _), (.resting, _), (.opening, _),
            (.released, _), (.closing, _), (.pausing, _):
            return
        }
    }

    private mutating func settle(_ reason: Reason, _ now: Instant, _ outputs: inout [Output]) {
        state = .resting
        switch reason {
        case .over: return
        case .lock(let task):
            guard let feedback = rules.feedback, inputs.isLocked != true else {
                return end(task.order, .locked, &outputs)
            }
            state = .closing(task, limit: now.advanced(byMilliseconds: feedback.travelMilliseconds))
        case .retry(let task):
            state = .pausing(
                task, until: now.advanced(byMilliseconds: rules.feedback?.retryPauseMilliseconds ?? 0))
        case .finish(let task, let result):
            isJammed = result == .jammed
            end(task.order, result, &outputs)
        }
    }

    private func released(ends: Instant?, _ now: Instant) -> State {
        // A door that is open without power stays open without a daemon.
        #if LATCH_PLANTS
        if Plant.active == .orphan { return .released(ends: ends, orphaned: nil) }
        #endif
        let isOrphan = ends == nil && !isDaemonThere && rules.failure == .secure
        return .released(
            ends: ends, orphaned: isOrphan ? now.advanced(byMilliseconds: rules.orphanMilliseconds) : nil)
    }

    private mutating func lose(_ outputs: inout [Output]) {
        if let task { end(task.order, .unknown, &outputs) }
        state = .absent
        inputs = StrikeInputs()
        isJammed = false
    }

    // MARK: The lines beside the door

    private mutating func take(_ found: StrikeInputs, _ now: Instant, _ outputs: inout [Output]) {
        let before = inputs
        inputs = found
        if found.isExit, !before.isExit { outputs.append(.report(.exit)) }
        guard found.isLocked != before.isLocked else { return }
        isJammed = false
        switch (state, found.isLocked) {
        case (.opening(let task, _, let ends), false?):
            state = released(ends: ends, now)
            end(task.order, .unlocked, &outputs)
        case (.closing(let task, _), true?):
            state = .resting
            end(task.order, .locked, &outputs)
        case (.absent, _), (.resting, _), (.releasing, _), (.opening, _), (.released, _), (.settling, _),
            (.closing, _), (.pausing, _), (.stuck, _):
            return
        }
    }

    // MARK: Time

    private mutating func look(_ now: Instant, _ outputs: inout [Output]) {
        guard let deadline, now >= deadline else { return }
        switch state {
        case .absent, .resting: return
        case .releasing(let task, _): rest(.finish(task, .unknown), now, &outputs)
        case .opening(let task, _, _): jam(task, now, &outputs)
        case .released: rest(.over, now, &outputs)
        case .settling(let reason, _): rest(reason, now, &outputs)
        case .closing(let task, _): jam(task, now, &outputs)
        case .pausing(let task, _): tryAgain(task, now, &outputs)
        case .stuck:
            state = .stuck(retry: now.advanced(byMilliseconds: Self.retryMilliseconds))
            outputs.append(.set(isReleased: false))
        }
    }

    /// The bolt has not arrived in its time. An opening is not tried again behind its own.
    private mutating func jam(_ task: Task, _ now: Instant, _ outputs: inout [Output]) {
        let next = now.advanced(byMilliseconds: rules.feedback?.retryPauseMilliseconds ?? 0)
        guard task.retriesLeft > 0, task.order.notAfter.map({ next <= $0 }) ?? true else {
            return rest(.finish(task, .jammed), now, &outputs)
        }
        outputs.append(.tell("the bolt is jammed: it is tried again"))
        rest(.retry(Task(order: task.order, retriesLeft: task.retriesLeft - 1)), now, &outputs)
    }

    private mutating func tryAgain(_ task: Task, _ now: Instant, _ outputs: inout [Output]) {
        guard task.order.movement != .lock else { return rest(.lock(task), now, &outputs) }
        if let notAfter = task.order.notAfter, now > notAfter { return rest(.finish(task, .jammed), now, &outputs) }
        let isHold = rules.drive == .hold && task.order.movement == .unlock
        release(task, ends: isHold ? nil : end(of: task.order, now), &outputs)
    }
}
