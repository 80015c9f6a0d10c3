import BluetoothCore

package enum LELogicalLinkOutput: Equatable, Sendable {
    /// A payload for ``ChannelIdentifier/leSignalling``.
    case signal([UInt8])
    /// The peripheral asks for these valid parameters and was told yes: the host starts the update.
    case updateConnection(ConnectionParameters)
    case updateFinished(ConnectionParameterUpdateOutcome)
    case opened(ChannelNumber)
    case received(ChannelNumber, [UInt8])
    case hasRoom(ChannelNumber)
    case closed(ChannelNumber, ChannelCloseReason)
}

/// Signalling and credit-based channels of one LE-U link, which share their identifiers.
///
/// In: signals and K-frames of the peer, calls of apps, time. Out: signals to send, connection parameters to apply,
/// events of channels; frames are drawn with ``nextFrame(now:into:)`` when the controller has room. The host owns one
/// for each link.
///
/// Core 5.4, Vol 3, Part A, 2.1 (LE-U logical link)
package struct LELogicalLink: Sendable {
    private var signalling: LESignallingChannel
    package private(set) var channels = ChannelTable()

    package init(role: LESignallingChannel.Role) { signalling = LESignallingChannel(role: role) }

    package var deadline: Instant? { Instant.earliest(signalling.deadline, channels.deadline) }
    /// Whether ``nextFrame(now:into:)`` has one.
    package var hasFrame: Bool { channels.hasFrame }

    /// Takes what came on ``ChannelIdentifier/leSignalling``. `requirement` is that of a service which takes channels;
    /// `takesUpdate` says whether a central gives valid parameters that its peer asks for.
    package mutating func receive(
        signal payload: [UInt8], security: ChannelSecurity, requirement: (SPSM) -> ChannelRequirement?,
        takesUpdate: (ConnectionParameters) -> Bool = { _ in true }, now: Instant,
        into outputs: inout [LELogicalLinkOutput]
    ) {
        withSignalling(&outputs) {
            $0.receive(payload, takesUpdate: takesUpdate, into: &$1)
        } command: { pdu, channels, identifiers, events in
            channels.receive(
                pdu, security: security, requirement: requirement, now: now, &identifiers, into: &events)
        }
    }

    /// Takes what came on a dynamic channel.
    package mutating func receive(
        frame payload: [UInt8], on cid: ChannelIdentifier, now: Instant, into outputs: inout [LELogicalLinkOutput]
    ) {
        withChannels(&outputs) { $0.receive(frame: payload, on: cid, now: now, &$1, into: &$2) }
    }

    /// A frame on a dynamic channel that is longer than anything this link takes.
    package mutating func receivedOversizedFrame(
        on cid: ChannelIdentifier, now: Instant, into outputs: inout [LELogicalLinkOutput]
    ) {
        withChannels(&outputs) { $0.receivedOversizedFrame(on: cid, now: now, &$1, into: &$2) }
    }

    /// Core 5.4, Vol 3, Part A, 4.20 (L2CAP_CONNECTION_PARAMETER_UPDATE_REQ)
    package mutating func requestUpdate(
        _ parameters: ConnectionParameters, now: Instant, into outputs: inout [LELogicalLinkOutput]
    ) throws(LESignallingError) {
        signalling.identifiers.pending = pendingIdentifiers
        var signals: [LESignallingOutput] = []
        try signalling.requestUpdate(parameters, now: now, into: &signals)
        for case .send(let payload) in signals { outputs.append(.signal(payload)) }
    }

    /// `again` names a channel that the peer has refused, and that is asked for once more.
    @discardableResult
    package mutating func open(
        _ spsm: SPSM, again: ChannelNumber? = nil, now: Instant, into outputs: inout [LELogicalLinkOutput]
    ) throws(ChannelOpenError) -> ChannelNumber {
        var events: [ChannelEvent] = []
        signalling.identifiers.pending = pendingIdentifiers
        let number = try channels.open(spsm, again: again, now: now, &signalling.identifiers, into: &events)
        take(events, &outputs)
        return number
    }

    /// Queues an SDU; ``nextFrame(now:into:)`` takes it from there.
    package mutating func send(_ sdu: [UInt8], on number: ChannelNumber) throws(ChannelSendError) {
        try channels.send(sdu, on: number)
    }

    /// The app is done with octets that it received.
    package mutating func consume(
        _ octets: Int, of number: ChannelNumber, into outputs: inout [LELogicalLinkOutput]
    ) {
        withChannels(&outputs) { $0.consume(octets, of: number, &$1, into: &$2) }
    }

    package mutating func close(
        _ number: ChannelNumber, now: Instant, into outputs: inout [LELogicalLinkOutput]
    ) {
        withChannels(&outputs) { $0.close(number, now: now, &$1, into: &$2) }
    }

    /// The next K-frame, from each channel that has one and the credit for it in turn.
    package mutating func nextFrame(now: Instant, into outputs: inout [LELogicalLinkOutput]) -> BasicFrame? {
        guard channels.hasFrame else { return nil }
        return withChannels(&outputs) { $0.nextFrame(now: now, &$1, into: &$2) }
    }

    package mutating func timerFired(now: Instant, into outputs: inout [LELogicalLinkOutput]) {
        withSignalling(&outputs) {
            $0.timerFired(now: now, into: &$1)
        } command: { _, _, _, _ in
        }
        withChannels(&outputs) { $0.timerFired(now: now, &$1, into: &$2) }
    }

    /// The link is gone, and every channel with it.
    package mutating func linkLost(into outputs: inout [LELogicalLinkOutput]) {
        withChannels(&outputs) { channels, _, events in channels.linkLost(into: &events) }
    }
}

extension LELogicalLink {
    private var pendingIdentifiers: [SignallingIdentifier] {
        channels.pendingIdentifiers + [signalling.pendingIdentifier].compactMap(\.self)
    }

    private mutating func withSignalling(
        _ outputs: inout [LELogicalLinkOutput], _ body: (inout LESignallingChannel, inout [LESignallingOutput]) -> Void,
        command: (SignallingPDU, inout ChannelTable, inout SignallingIdentifiers, inout [ChannelEvent]) -> Void
    ) {
        var signals: [LESignallingOutput] = []
        body(&signalling, &signals)
        for signal in signals {
            switch signal {
            case .send(let payload): outputs.append(.signal(payload))
            case .updateConnection(let parameters): outputs.append(.updateConnection(parameters))
            case .updateFinished(let outcome): outputs.append(.updateFinished(outcome))
            case .channelCommand(let pdu): withChannels(&outputs) { command(pdu, &$0, &$1, &$2) }
            }
        }
    }

    @discardableResult
    private mutating func withChannels<R>(
        _ outputs: inout [LELogicalLinkOutput],
        _ body: (inout ChannelTable, inout SignallingIdentifiers, inout [ChannelEvent]) -> R
    ) -> R {
        var events: [ChannelEvent] = []
        signalling.identifiers.pending = pendingIdentifiers
        let result = body(&channels, &signalling.identifiers, &events)
        take(events, &outputs)
        return result
    }

    private func take(_ events: [ChannelEvent], _ outputs: inout [LELogicalLinkOutput]) {
        for event in events {
            switch event {
            case .send(let pdu): outputs.append(.signal(pdu.encoded))
            case .opened(let number): outputs.append(.opened(number))
            case .received(let number, let sdu): outputs.append(.received(number, sdu))
            case .hasRoom(let number): outputs.append(.hasRoom(number))
            case .closed(let number, let reason): outputs.append(.closed(number, reason))
            }
        }
    }
}
