import BluetoothCore

/// What became of a request for other connection parameters.
package enum ConnectionParameterUpdateOutcome: Equatable, Sendable {
    /// The central will change them: the controller says when.
    case accepted
    case rejected
    /// The central does not know the request.
    case notUnderstood
    /// No answer in time.
    case timedOut
}

package enum LESignallingOutput: Equatable, Sendable {
    /// A payload for ``ChannelIdentifier/leSignalling``.
    case send([UInt8])
    /// The peripheral asks for these valid parameters and was told yes: the host starts the update.
    case updateConnection(ConnectionParameters)
    case updateFinished(ConnectionParameterUpdateOutcome)
    /// A command of the credit-based channels, or a rejection that may be meant for one of them.
    case channelCommand(SignallingPDU)
}

/// Why a request was not made. This side's fault; it reaches the request.
package enum LESignallingError: Error, Equatable, Sendable {
    /// A central changes parameters by its controller.
    case notPeripheral
    case requestPending
    case invalidParameters
}

/// One link's signalling channel.
///
/// Core 5.4, Vol 3, Part A, 4 (Signaling packet formats)
package struct LESignallingChannel: Sendable {
    /// Core 5.4, Vol 3, Part A, 4 (Signaling packet formats): MTU_sig for an LE-U link.
    package static let mtu = 23
    /// Core 5.4, Vol 3, Part C, Appendix A (TGAP(conn_param_timeout))
    package static let updateTimeoutMilliseconds: UInt64 = 30_000

    package enum Role: Sendable, CaseIterable { case central, peripheral }

    private enum State: Sendable {
        case idle
        case awaitingUpdateResponse(SignallingIdentifier, deadline: Instant)
    }

    private let role: Role
    private var state = State.idle
    var identifiers = SignallingIdentifiers()

    package init(role: Role) { self.role = role }

    package var deadline: Instant? {
        switch state {
        case .idle: nil
        case .awaitingUpdateResponse(_, let deadline): deadline
        }
    }

    /// Core 5.4, Vol 3, Part A, 4.20 (L2CAP_CONNECTION_PARAMETER_UPDATE_REQ)
    package mutating func requestUpdate(
        _ parameters: ConnectionParameters, now: Instant, into outputs: inout [LESignallingOutput]
    ) throws(LESignallingError) {
        guard role == .peripheral else { throw .notPeripheral }
        guard case .idle = state else { throw .requestPending }
        guard parameters.isValid else { throw .invalidParameters }
        let identifier = identifiers.take()
        state = .awaitingUpdateResponse(
            identifier, deadline: now.advanced(byMilliseconds: Self.updateTimeoutMilliseconds))
        send(.connectionParameterUpdateRequest(parameters), identifier, into: &outputs)
    }

    /// Takes a frame's payload. What cannot be answered, because it carries no usable identifier, is discarded.
    package mutating func receive(
        _ payload: [UInt8], takesUpdate: (ConnectionParameters) -> Bool = { _ in true },
        into outputs: inout [LESignallingOutput]
    ) {
        guard let head = Head(payload) else { return }
        guard payload.count <= Self.mtu else {
            if !head.code.wantsNoAnswer {
                reject(.signallingMTUExceeded(actualMTU: UInt16(Self.mtu)), head.identifier, into: &outputs)
            }
            return
        }
        guard let pdu = try? SignallingPDU(exactly: payload) else {
            if !head.code.wantsNoAnswer { reject(.commandNotUnderstood, head.identifier, into: &outputs) }
            return
        }
        receive(pdu, takesUpdate, into: &outputs)
    }

    package mutating func timerFired(now: Instant, into outputs: inout [LESignallingOutput]) {
        switch state {
        case .awaitingUpdateResponse(_, let deadline) where deadline <= now: finish(.timedOut, into: &outputs)
        case .awaitingUpdateResponse, .idle: return
        }
    }

    private mutating func receive(
        _ pdu: SignallingPDU, _ takesUpdate: (ConnectionParameters) -> Bool,
        into outputs: inout [LESignallingOutput]
    ) {
        switch pdu.command {
        case .connectionParameterUpdateRequest(let parameters):
            guard role == .central else {
                // Core 5.4, Vol 3, Part A, 4.20: a peripheral that gets it rejects it.
                return reject(.commandNotUnderstood, pdu.identifier, into: &outputs)
            }
            let result: ConnectionParameterUpdateResponse.Result =
                parameters.isValid && takesUpdate(parameters) ? .accepted : .rejected
            send(.connectionParameterUpdateResponse(.init(result: result)), pdu.identifier, into: &outputs)
            if result == .accepted { outputs.append(.updateConnection(parameters)) }
        case .connectionParameterUpdateResponse(let response):
            guard isAwaiting(pdu.identifier) else { return }
            finish(response.result == .accepted ? .accepted : .rejected, into: &outputs)
        case .commandReject:
            guard isAwaiting(pdu.identifier) else { return outputs.append(.channelCommand(pdu)) }
            finish(.notUnderstood, into: &outputs)
        case .leCreditBasedConnectionRequest, .leCreditBasedConnectionResponse, .flowControlCredit,
            .disconnectionRequest, .disconnectionResponse:
            outputs.append(.channelCommand(pdu))
        // Those of enhanced credit based flow control mode among them: this side has no such channels.
        case .unknown(let code, _):
            if !code.wantsNoAnswer { reject(.commandNotUnderstood, pdu.identifier, into: &outputs) }
        }
    }

    /// The request that waits for an answer.
    var pendingIdentifier: SignallingIdentifier? {
        switch state {
        case .awaitingUpdateResponse(let identifier, _): identifier
        case .idle: nil
        }
    }

    private func isAwaiting(_ identifier: SignallingIdentifier) -> Bool { pendingIdentifier == identifier }

    private mutating func finish(
        _ outcome: ConnectionParameterUpdateOutcome, into outputs: inout [LESignallingOutput]
    ) {
        state = .idle
        outputs.append(.updateFinished(outcome))
    }

    private func reject(
        _ reason: CommandReject.Reason, _ identifier: SignallingIdentifier,
        into outputs: inout [LESignallingOutput]
    ) {
        send(.commandReject(CommandReject(reason: reason)), identifier, into: &outputs)
    }

    private func send(
        _ command: SignallingPDU.Command, _ identifier: SignallingIdentifier,
        into outputs: inout [LESignallingOutput]
    ) {
        outputs.append(.send(SignallingPDU(identifier: identifier, command: command).encoded))
    }

    /// Code and identifier: as much as an answer needs.
    private struct Head {
        let code: SignallingCode
        let identifier: SignallingIdentifier

        init?(_ payload: [UInt8]) {
            guard payload.count >= 2, let identifier = SignallingIdentifier(payload[1]) else { return nil }
            code = SignallingCode(rawValue: payload[0])
            self.identifier = identifier
        }
    }
}
