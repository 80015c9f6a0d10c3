import BluetoothCore

/// What became of one submitted command. Each token gets exactly one.
package struct HCICommandCompletion: Equatable, Sendable {
    package enum Outcome: Equatable, Sendable {
        /// Command Complete: the return parameters, Status first.
        case returned([UInt8])
        /// Command Status: with `success`, an event of the command's own is still to come.
        case status(HCIErrorCode)
        /// The controller did not answer in time. The queue is dead until a Reset.
        case timedOut
        /// Another command's time ran out, a Reset overtook this one, or it was withdrawn.
        case abandoned
        /// The caller has submitted more than ``CommandQueue/maximumQueuedCommands``.
        case queueFull
    }

    package var token: UInt64
    package var opcode: HCIOpcode
    package var outcome: Outcome

    package init(token: UInt64, opcode: HCIOpcode, outcome: Outcome) {
        self.token = token
        self.opcode = opcode
        self.outcome = outcome
    }

    /// What the controller says: the first return parameter, or Command Status's; an answer without either is an error of
    /// no name. nil without an answer.
    package var status: HCIErrorCode? {
        switch outcome {
        case .returned(let parameters): parameters.first.map(HCIErrorCode.init(rawValue:)) ?? .unspecifiedError
        case .status(let status): status
        case .timedOut, .abandoned, .queueFull: nil
        }
    }

    /// The return parameters behind a Status of success.
    package func returnParameters<Command: HCICompletingCommand>(
        of command: Command.Type
    ) throws(HCICommandFailure) -> Command.ReturnParameters {
        switch outcome {
        case .returned(let parameters):
            guard let status = parameters.first.map(HCIErrorCode.init(rawValue:)) else {
                throw .malformed(.truncated(needed: 1, available: 0))
            }
            guard status == .success else { throw .status(status) }
            do throws(DecodingError) {
                return try Command.ReturnParameters(exactly: Array(parameters.dropFirst()))
            } catch {
                throw .malformed(error)
            }
        case .status(let status):
            // Success without Command Complete is not this command's answer.
            throw status == .success ? .malformed(.truncated(needed: 1, available: 0)) : .status(status)
        case .timedOut, .abandoned, .queueFull:
            throw .noAnswer
        }
    }
}

/// What the controller did wrong. Neither reaches further than itself, but `unresponsive`, after which nothing goes
/// on without a Reset.
package enum HCICommandFault: Error, Equatable, Sendable {
    /// Command Complete or Command Status for a command that is not pending.
    case unexpectedAnswer(HCIOpcode)
    /// This command was not answered in time; ``HCIOpcode/none``: no command was allowed in time.
    case unresponsive(HCIOpcode)
}

package enum CommandQueueOutput: Equatable, Sendable {
    /// A whole packet, indicator first.
    case send([UInt8])
    case completed(HCICommandCompletion)
    case fault(HCICommandFault)
}

/// Sends commands as fast as the controller allows and joins each with its answer.
///
/// In: commands, Command Complete and Command Status events, time. Out: packets to send, and for each command exactly
/// one end: its answer, a refusal, or no answer in time.
///
/// Core 5.4, Vol 4, Part E, 4.4 (Command Flow Control)
package struct CommandQueue: Sendable {
    /// How long a controller may take to answer, or to allow the next command.
    package static let answerTimeoutMilliseconds: UInt64 = 2_000
    /// Commands that wait for their turn: several for each of 32 links.
    package static let maximumQueuedCommands = 256

    private struct Queued: Sendable {
        var opcode: HCIOpcode
        var packet: [UInt8]
        var token: UInt64
    }

    private struct Pending: Sendable {
        var opcode: HCIOpcode
        var token: UInt64
        var deadline: Instant
    }

    private enum State: Sendable {
        /// `allowance`: commands that may be sent now. `starvedUntil`: set while one waits and none may be sent, and
        /// none is pending whose answer would allow it.
        case running(allowance: Int, pending: [Pending], starvedUntil: Instant?)
        /// Core 5.4, Vol 4, Part E, 7.3.2 (Reset command): nothing is sent until it is answered.
        case resetting(Pending)
        /// Only a Reset leads out.
        case unresponsive
    }

    // Core 5.4, Vol 4, Part E, 4.4: at power-on and after a reset, one command may be outstanding.
    private var state = State.running(allowance: 1, pending: [], starvedUntil: nil)
    private var queue: [Queued] = []

    package init() {}

    /// When ``timerFired(now:into:)`` has something to do.
    package var deadline: Instant? {
        switch state {
        case .running(_, let pending, let starvedUntil):
            pending.reduce(starvedUntil) { Instant.earliest($0, $1.deadline) }
        case .resetting(let reset): reset.deadline
        case .unresponsive: nil
        }
    }

    /// Whether a Reset waits for its answer: what the controller says before that is about a life that is over.
    package var isResetting: Bool { if case .resetting = state { true } else { false } }

    /// Queues a command; ``HCIReset`` overtakes all others and abandons them.
    package mutating func submit(
        _ command: some HCICommand, token: UInt64, now: Instant, into outputs: inout [CommandQueueOutput]
    ) {
        let opcode = type(of: command).opcode
        var writer = ByteWriter(capacity: 4 + 64)
        H4Framer.encode(command, into: &writer)
        if opcode == HCIReset.opcode {
            abandonAll(into: &outputs)
            let deadline = now.advanced(byMilliseconds: Self.answerTimeoutMilliseconds)
            state = .resetting(Pending(opcode: opcode, token: token, deadline: deadline))
            outputs.append(.send(writer.bytes))
            return
        }
        if case .unresponsive = state {
            outputs.append(.completed(.init(token: token, opcode: opcode, outcome: .abandoned)))
            return
        }
        guard queue.count < Self.maximumQueuedCommands else {
            outputs.append(.completed(.init(token: token, opcode: opcode, outcome: .queueFull)))
            return
        }
        queue.append(Queued(opcode: opcode, packet: writer.bytes, token: token))
        sendAllowed(now: now, into: &outputs)
    }

    /// Those of these commands that still wait are not sent: what they were about is over.
    package mutating func withdraw(_ tokens: Set<UInt64>, now: Instant, into outputs: inout [CommandQueueOutput]) {
        guard queue.contains(where: { tokens.contains($0.token) }) else { return }
        for command in queue where tokens.contains(command.token) {
            outputs.append(.completed(.init(token: command.token, opcode: command.opcode, outcome: .abandoned)))
        }
        queue.removeAll { tokens.contains($0.token) }
        sendAllowed(now: now, into: &outputs)
    }

    package mutating func receive(
        _ event: HCICommandComplete, now: Instant, into outputs: inout [CommandQueueOutput]
    ) {
        answer(
            event.opcode, .returned(event.returnParameters), allowance: event.numHCICommandPackets, now: now,
            into: &outputs)
    }

    package mutating func receive(
        _ event: HCICommandStatus, now: Instant, into outputs: inout [CommandQueueOutput]
    ) {
        answer(event.opcode, .status(event.status), allowance: event.numHCICommandPackets, now: now, into: &outputs)
    }

    package mutating func timerFired(now: Instant, into outputs: inout [CommandQueueOutput]) {
        guard let deadline, deadline <= now else { return }
        var late = HCIOpcode.none
        switch state {
        case .running(let allowance, var pending, let starvedUntil):
            if let index = pending.firstIndex(where: { $0.deadline <= now }) {
                late = pending[index].opcode
                outputs.append(
                    .completed(.init(token: pending[index].token, opcode: late, outcome: .timedOut)))
                pending.remove(at: index)
            }
            state = .running(allowance: allowance, pending: pending, starvedUntil: starvedUntil)
            abandonAll(into: &outputs)
        case .resetting(let reset):
            late = reset.opcode
            outputs.append(.completed(.init(token: reset.token, opcode: late, outcome: .timedOut)))
            abandonQueue(into: &outputs)
        case .unresponsive:
            return
        }
        state = .unresponsive
        outputs.append(.fault(.unresponsive(late)))
    }

    private mutating func answer(
        _ opcode: HCIOpcode, _ outcome: HCICommandCompletion.Outcome, allowance: UInt8, now: Instant,
        into outputs: inout [CommandQueueOutput]
    ) {
        switch state {
        case .running(_, var pending, let starvedUntil):
            if let index = pending.firstIndex(where: { $0.opcode == opcode }) {
                let command = pending.remove(at: index)
                outputs.append(.completed(.init(token: command.token, opcode: opcode, outcome: outcome)))
            } else if opcode != .none {
                outputs.append(.fault(.unexpectedAnswer(opcode)))
            }
            // The controller may have counted before it saw what is still pending: never more than that leaves.
            let free = max(0, Int(allowance) - pending.count)
            state = .running(allowance: free, pending: pending, starvedUntil: starvedUntil)
            sendAllowed(now: now, into: &outputs)
        case .resetting(let reset):
            guard opcode == reset.opcode else {
                // What was answered before the reset reached the controller has been abandoned already.
                return
            }
            outputs.append(.completed(.init(token: reset.token, opcode: opcode, outcome: outcome)))
            state = .running(allowance: Int(allowance), pending: [], starvedUntil: nil)
            sendAllowed(now: now, into: &outputs)
        case .unresponsive:
            outputs.append(.fault(.unexpectedAnswer(opcode)))
        }
    }

    /// Sends from the head of the queue while the controller allows. Two commands of one opcode are never pending at
    /// once: their answers could not be told apart.
    private mutating func sendAllowed(now: Instant, into outputs: inout [CommandQueueOutput]) {
        guard case .running(var allowance, var pending, var starvedUntil) = state else { return }
        let deadline = now.advanced(byMilliseconds: Self.answerTimeoutMilliseconds)
        while allowance > 0, let next = queue.first, !pending.contains(where: { $0.opcode == next.opcode }) {
            queue.removeFirst()
            allowance -= 1
            pending.append(Pending(opcode: next.opcode, token: next.token, deadline: deadline))
            outputs.append(.send(next.packet))
        }
        let isStarved = !queue.isEmpty && pending.isEmpty
        starvedUntil = isStarved ? starvedUntil ?? deadline : nil
        state = .running(allowance: allowance, pending: pending, starvedUntil: starvedUntil)
    }

    private mutating func abandonAll(into outputs: inout [CommandQueueOutput]) {
        let pending: [Pending] =
            switch state {
            case .running(_, let pending, _): pending
            case .resetting(let reset): [reset]
            case .unresponsive: []
            }
        for command in pending {
            outputs.append(
                .completed(.init(token: command.token, opcode: command.opcode, outcome: .abandoned)))
        }
        abandonQueue(into: &outputs)
    }

    private mutating func abandonQueue(into outputs: inout [CommandQueueOutput]) {
        for command in queue {
            outputs.append(
                .completed(.init(token: command.token, opcode: command.opcode, outcome: .abandoned)))
        }
        queue.removeAll()
    }
}
