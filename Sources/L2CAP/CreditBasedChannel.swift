import BluetoothCore

/// Names a channel of one link, and no other one of that link ever.
package struct ChannelNumber: Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Why a channel that was asked for or opened is there no longer.
package enum ChannelCloseReason: Equatable, Sendable {
    /// This side asked for it.
    case local
    /// The peer asked for it.
    case peer
    /// The peer does not open it.
    case refused(LECreditBasedConnectionResult)
    /// The peer does not know channels of this kind.
    case notUnderstood
    /// The peer did not answer in time.
    case timedOut
    case violation(ChannelViolation)
    case linkLost
}

package enum ChannelEvent: Equatable, Sendable {
    case send(SignallingPDU)
    /// Once, for a channel that the peer asked for or agreed to.
    case opened(ChannelNumber)
    case received(ChannelNumber, [UInt8])
    /// The queue has room again after an SDU that it refused.
    case hasRoom(ChannelNumber)
    /// Once, and nothing more is heard of the channel.
    case closed(ChannelNumber, ChannelCloseReason)
}

/// One channel in LE credit based flow control mode.
///
/// Core 5.4, Vol 3, Part A, 4.22-4.24, 10.1
package struct CreditBasedChannel: Sendable {
    /// Core 5.4, Vol 3, Part A, 6.2.1 (Response Timeout eXpired): 1 s to 60 s.
    package static let responseTimeoutMilliseconds: UInt64 = 30_000
    /// How long a channel that was closed with SDUs in its queue may wait for the peer's credits.
    package static let drainTimeoutMilliseconds: UInt64 = 30_000
    /// What this side says of its end. A K-frame of that length and its basic header fill a data packet of the greatest
    /// length that the link layer has.
    package static let ownParameters = ChannelParameters(
        mtu: 2048, mps: 247, initialCredits: UInt16(SDUReassembler.windowOctets / 247))
    /// The longest K-frame that is taken: the length field of an SDU is no payload.
    package static let frameOctetsMaximum = Int(ownParameters.mps) + SDUReassembler.lengthFieldOctets

    private enum State: Sendable {
        /// `isWanted`: false once the app has closed it, which the peer can only be told when it has named its end.
        case opening(SignallingIdentifier, deadline: Instant, isWanted: Bool)
        case open
        /// Closed by the app; what it sent goes first.
        case draining(deadline: Instant)
        case closing(SignallingIdentifier, deadline: Instant)
        case gone
    }

    package let number: ChannelNumber
    package let spsm: SPSM
    package let localCID: ChannelIdentifier
    /// 0 until the peer has named it.
    package private(set) var remoteCID = ChannelIdentifier(rawValue: 0)
    private var state: State
    private var reassembler = SDUReassembler(Self.ownParameters)
    private var segmenter = SDUSegmenter(.none, frameOctetsMaximum: 0)
    private var roomIsAwaited = false

    /// This side asks.
    init(
        opening number: ChannelNumber, _ spsm: SPSM, localCID: ChannelIdentifier, _ identifier: SignallingIdentifier,
        now: Instant
    ) {
        self.number = number
        self.spsm = spsm
        self.localCID = localCID
        state = .opening(identifier, deadline: Self.responseDeadline(now), isWanted: true)
    }

    /// The peer asked, and gets a yes.
    init(accepting request: LECreditBasedConnectionRequest, _ number: ChannelNumber, localCID: ChannelIdentifier) {
        self.number = number
        spsm = request.spsm
        self.localCID = localCID
        remoteCID = request.sourceCID
        segmenter = SDUSegmenter(request.parameters, frameOctetsMaximum: Int(Self.ownParameters.mps))
        state = .open
    }

    package var isGone: Bool { if case .gone = state { true } else { false } }
    package var isOpen: Bool { if case .open = state { true } else { false } }
    /// The longest SDU that the peer takes, in octets.
    package var peerMTU: Int { segmenter.mtu }

    /// Whether the peer's end of this channel is taken.
    var holdsRemoteCID: Bool {
        switch state {
        case .open, .draining, .closing: true
        case .opening, .gone: false
        }
    }

    var deadline: Instant? {
        switch state {
        case .opening(_, let deadline, _), .draining(let deadline), .closing(_, let deadline): deadline
        case .open, .gone: nil
        }
    }

    /// The request that waits for an answer.
    var pendingIdentifier: SignallingIdentifier? {
        switch state {
        case .opening(let identifier, _, _), .closing(let identifier, _): identifier
        case .open, .draining, .gone: nil
        }
    }

    var hasFrame: Bool {
        switch state {
        case .open, .draining: segmenter.canSend
        case .opening, .closing, .gone: false
        }
    }

    // MARK: Signals

    /// The answer to the request that opens this channel. `isRemoteCIDTaken`: whether another channel has that end.
    ///
    /// Core 5.4, Vol 3, Part A, 4.23 (L2CAP_LE_CREDIT_BASED_CONNECTION_RSP)
    mutating func receive(
        _ response: LECreditBasedConnectionResponse, isRemoteCIDTaken: Bool, now: Instant,
        _ identifiers: inout SignallingIdentifiers, into events: inout [ChannelEvent]
    ) {
        guard case .opening(_, _, let isWanted) = state else { return }
        guard response.result == .successful else {
            return end(.refused(response.result), wasTold: !isWanted, into: &events)
        }
        guard !isRemoteCIDTaken else {
            return end(.violation(.destinationCIDAlreadyAllocated), wasTold: !isWanted, into: &events)
        }
        // An end that is none cannot be disconnected either.
        guard response.destinationCID.isDynamic else {
            return end(.violation(.unacceptableParameters), wasTold: !isWanted, into: &events)
        }
        remoteCID = response.destinationCID
        segmenter = SDUSegmenter(response.parameters, frameOctetsMaximum: Int(Self.ownParameters.mps))
        state = .open
        guard isWanted else { return disconnect(now, &identifiers, into: &events) }
        guard response.parameters.isAcceptable else {
            return fail(.unacceptableParameters, now, &identifiers, into: &events)
        }
        events.append(.opened(number))
    }

    /// Another channel got the end that this one has: neither can be used.
    mutating func discard(into events: inout [ChannelEvent]) {
        end(.violation(.destinationCIDAlreadyAllocated), wasTold: !isOpen, into: &events)
    }

    /// The peer rejects the request that waits: it does not know such a request, or such a channel.
    mutating func rejected(into events: inout [ChannelEvent]) {
        switch state {
        case .opening(_, _, let isWanted): end(.notUnderstood, wasTold: !isWanted, into: &events)
        case .closing: state = .gone
        case .open, .draining, .gone: return
        }
    }

    /// Core 5.4, Vol 3, Part A, 4.24 (L2CAP_FLOW_CONTROL_CREDIT_IND); 10.1: a credit of zero is ignored.
    mutating func receive(
        credits: UInt16, now: Instant, _ identifiers: inout SignallingIdentifiers, into events: inout [ChannelEvent]
    ) {
        switch state {
        case .open, .draining:
            do {
                try segmenter.add(credits)
            } catch {
                fail(error, now, &identifiers, into: &events)
            }
        case .opening, .closing, .gone: return
        }
    }

    /// A request to disconnect this channel, both its ends right. The answer is the table's.
    mutating func disconnectedByPeer(into events: inout [ChannelEvent]) { end(.peer, wasTold: !isOpen, into: &events) }

    /// The answer to the request that waits, both ends right.
    mutating func disconnectionConfirmed() {
        guard case .closing = state else { return }
        state = .gone
    }

    // MARK: Data

    mutating func receive(
        frame payload: [UInt8], now: Instant, _ identifiers: inout SignallingIdentifiers,
        into events: inout [ChannelEvent]
    ) {
        // Whoever closed the channel reads no more; before it is open nothing may come.
        guard case .open = state else { return }
        do {
            if let sdu = try reassembler.receive(payload) { events.append(.received(number, sdu)) }
            grant(&identifiers, into: &events)
        } catch {
            fail(error, now, &identifiers, into: &events)
        }
    }

    /// A frame that is longer than anything this link takes, and so than the MPS of this channel.
    mutating func receivedOversizedFrame(
        now: Instant, _ identifiers: inout SignallingIdentifiers, into events: inout [ChannelEvent]
    ) {
        guard case .open = state else { return }
        fail(.frameTooLong, now, &identifiers, into: &events)
    }

    mutating func send(_ sdu: [UInt8]) throws(ChannelSendError) {
        guard case .open = state else { throw .notOpen }
        do {
            try segmenter.append(sdu)
        } catch {
            if error == .queueFull { roomIsAwaited = true }
            throw error
        }
    }

    /// The app is done with octets that it received.
    mutating func consume(
        _ octets: Int, _ identifiers: inout SignallingIdentifiers, into events: inout [ChannelEvent]
    ) {
        guard case .open = state else { return }
        reassembler.consume(octets)
        grant(&identifiers, into: &events)
    }

    /// The next K-frame's payload; nil while there is none, or no credit for it.
    mutating func nextPayload(into events: inout [ChannelEvent]) -> [UInt8]? {
        guard hasFrame, let payload = segmenter.nextPayload() else { return nil }
        if isOpen, roomIsAwaited, segmenter.queuedOctets <= SDUSegmenter.queuedOctetsMaximum / 2 {
            roomIsAwaited = false
            events.append(.hasRoom(number))
        }
        return payload
    }

    /// After the last frame of a channel that was closed before it had gone.
    mutating func disconnectIfDrained(
        now: Instant, _ identifiers: inout SignallingIdentifiers, into events: inout [ChannelEvent]
    ) {
        guard case .draining = state, segmenter.isEmpty else { return }
        disconnect(now, &identifiers, into: &events)
    }

    // MARK: Ends

    /// The app is done with the channel, and hears at once that it is closed.
    mutating func close(
        now: Instant, _ identifiers: inout SignallingIdentifiers, into events: inout [ChannelEvent]
    ) {
        switch state {
        case .opening(let identifier, let deadline, true):
            state = .opening(identifier, deadline: deadline, isWanted: false)
            events.append(.closed(number, .local))
        case .open:
            events.append(.closed(number, .local))
            guard segmenter.isEmpty else {
                state = .draining(deadline: now.advanced(byMilliseconds: Self.drainTimeoutMilliseconds))
                return
            }
            disconnect(now, &identifiers, into: &events)
        case .opening, .draining, .closing, .gone: return
        }
    }

    mutating func timerFired(
        now: Instant, _ identifiers: inout SignallingIdentifiers, into events: inout [ChannelEvent]
    ) {
        guard let deadline, deadline <= now else { return }
        switch state {
        case .opening(_, _, let isWanted): end(.timedOut, wasTold: !isWanted, into: &events)
        case .draining: disconnect(now, &identifiers, into: &events)
        case .closing: state = .gone
        case .open, .gone: return
        }
    }

    mutating func linkLost(into events: inout [ChannelEvent]) {
        switch state {
        case .opening(_, _, let isWanted): end(.linkLost, wasTold: !isWanted, into: &events)
        case .open: end(.linkLost, wasTold: false, into: &events)
        case .draining, .closing, .gone: state = .gone
        }
    }

    private mutating func grant(_ identifiers: inout SignallingIdentifiers, into events: inout [ChannelEvent]) {
        guard let credits = reassembler.takeGrant() else { return }
        let credit = FlowControlCredit(cid: localCID, credits: credits)
        events.append(.send(SignallingPDU(identifier: identifiers.take(), command: .flowControlCredit(credit))))
    }

    private mutating func fail(
        _ violation: ChannelViolation, _ now: Instant, _ identifiers: inout SignallingIdentifiers,
        into events: inout [ChannelEvent]
    ) {
        if isOpen { events.append(.closed(number, .violation(violation))) }
        disconnect(now, &identifiers, into: &events)
    }

    private mutating func disconnect(
        _ now: Instant, _ identifiers: inout SignallingIdentifiers, into events: inout [ChannelEvent]
    ) {
        let identifier = identifiers.take()
        state = .closing(identifier, deadline: Self.responseDeadline(now))
        let endpoints = ChannelEndpoints(destinationCID: remoteCID, sourceCID: localCID)
        events.append(.send(SignallingPDU(identifier: identifier, command: .disconnectionRequest(endpoints))))
    }

    private mutating func end(_ reason: ChannelCloseReason, wasTold: Bool, into events: inout [ChannelEvent]) {
        state = .gone
        if !wasTold { events.append(.closed(number, reason)) }
    }

    private static func responseDeadline(_ now: Instant) -> Instant {
        now.advanced(byMilliseconds: responseTimeoutMilliseconds)
    }
}
