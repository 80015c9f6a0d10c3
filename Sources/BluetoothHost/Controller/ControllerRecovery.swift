import BluetoothCore
import HCI

/// What is wrong with a controller that is there.
package enum ControllerFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// Core 5.4, Vol 4, Part E, 7.7.16 (Hardware Error event)
    case hardwareError(code: UInt8)
    /// This command was not answered in time; ``HCIOpcode/none``: no command was allowed in time.
    case unresponsive(HCIOpcode)
    /// Where its next packet starts is unknown. `indicator`: what stood where one should have started.
    case outOfStep(indicator: UInt8?)
    /// Its commands wait without end.
    case commandQueueFull
    /// It has ended a link of which it had never told.
    case unknownLink(ConnectionHandle)
    /// At bring-up it has refused a command that LE cannot do without, or its answer is of no use.
    case bringUpFailed(HCIOpcode, HCICommandFailure)

    package var description: String {
        switch self {
        case .hardwareError(let code): "the controller reports hardware error 0x" + HexText.encode([code])
        case .unresponsive(.none): "the controller takes no commands"
        case .unresponsive(let opcode): "the controller does not answer command \(opcode)"
        case .outOfStep(let indicator?):
            "the controller's octets are out of step: packet indicator 0x" + HexText.encode([indicator])
        case .outOfStep(nil): "the controller's octets are out of step: a packet's length is wrong"
        case .commandQueueFull: "the controller leaves commands waiting"
        case .unknownLink(let handle):
            "the controller has ended a link at handle \(handle.rawValue), of which it had not told"
        case .bringUpFailed(let opcode, .status(let status)): "the controller refuses command \(opcode): \(status)"
        case .bringUpFailed(let opcode, .malformed(.invalidValue(let field))):
            "the controller's answer to command \(opcode) is of no use: \(field)"
        case .bringUpFailed(let opcode, .malformed), .bringUpFailed(let opcode, .noAnswer):
            "the controller's answer to command \(opcode) does not decode"
        }
    }
}

/// What is done about it.
package enum ControllerRemedy: Equatable, Sendable {
    /// HCI_Reset, and everything from the start.
    case reset(afterMilliseconds: UInt64)
    /// HCI_Reset does not help: the transport has to be opened anew.
    case reopen
}

/// How often a controller that fails is reset, and when that is given up. The first reset is at once, the next ones
/// wait longer and longer, so that a controller which does nothing but fail costs nothing.
package struct ControllerRecovery: Sendable {
    package static let firstDelayMilliseconds: UInt64 = 250
    /// Resets in a row, none of which lasted, before the transport is opened anew.
    package static let resetsMaximum = 4
    /// Up for this long, a controller has earned that its next failure counts as the first.
    package static let stableMilliseconds: UInt64 = 30_000

    package enum Input: Sendable {
        case transportOpened
        case transportClosed
        case failed(ControllerFailure)
        /// Every command of the bring-up has been answered.
        case cameUp
        case timerFired
    }

    package enum Output: Equatable, Sendable {
        /// Send HCI_Reset.
        case reset
        /// Everything that lived on the controller is void.
        case startOver(ControllerFailure, ControllerRemedy)
    }

    package enum State: Equatable, Sendable {
        /// No transport, or none that is of use.
        case absent
        case comingUp
        case up(since: Instant)
        /// HCI_Reset is due then, and nothing that the controller says before counts.
        case resting(until: Instant)
    }

    package private(set) var state = State.absent
    /// It did not come up the last time: it lacks something that LE cannot do without, as far as anybody knows.
    package private(set) var isUnsupported = false
    private var failures = 0

    package init() {}

    package var deadline: Instant? {
        if case .resting(let until) = state { until } else { nil }
    }

    /// Whether what the controller says is of any use.
    package var isListening: Bool {
        switch state {
        case .comingUp, .up: true
        case .absent, .resting: false
        }
    }

    package mutating func handle(_ input: Input, now: Instant, into outputs: inout [Output]) {
        switch (state, input) {
        case (.absent, .transportOpened), (.comingUp, .transportOpened), (.up, .transportOpened),
            (.resting, .transportOpened):
            failures = 0
            state = .comingUp
            outputs.append(.reset)
        case (.absent, .transportClosed), (.comingUp, .transportClosed), (.up, .transportClosed),
            (.resting, .transportClosed):
            state = .absent
        case (.comingUp, .cameUp):
            isUnsupported = false
            state = .up(since: now)
        case (.comingUp, .failed(let failure)): failed(failure, now, &outputs)
        case (.up(let since), .failed(let failure)):
            if since.advanced(byMilliseconds: Self.stableMilliseconds) <= now { failures = 0 }
            failed(failure, now, &outputs)
        case (.resting(let until), .timerFired):
            guard until <= now else { return }
            state = .comingUp
            outputs.append(.reset)
        // One failure is enough until something has been done about it.
        case (.absent, .failed), (.resting, .failed): break
        case (.absent, .cameUp), (.absent, .timerFired), (.comingUp, .timerFired), (.up, .cameUp), (.up, .timerFired),
            (.resting, .cameUp):
            break
        }
    }

    private mutating func failed(_ failure: ControllerFailure, _ now: Instant, _ outputs: inout [Output]) {
        failures += 1
        isUnsupported = if case .bringUpFailed = failure { true } else { false }
        guard failure != .unresponsive(HCIReset.opcode), failures <= Self.resetsMaximum else {
            state = .absent
            return outputs.append(.startOver(failure, .reopen))
        }
        let delay = failures == 1 ? 0 : Self.firstDelayMilliseconds << UInt64(failures - 2)
        outputs.append(.startOver(failure, .reset(afterMilliseconds: delay)))
        guard delay == 0 else {
            state = .resting(until: now.advanced(byMilliseconds: delay))
            return
        }
        state = .comingUp
        outputs.append(.reset)
    }
}
