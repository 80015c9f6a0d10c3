import BluetoothCore

/// Why a channel was not asked for. This side's fault.
package enum ChannelOpenError: Error, Equatable, Sendable {
    case noResources
    case invalidSPSM
}

/// The credit-based channels of one link.
///
/// Core 5.4, Vol 3, Part A, 4.22-4.24, 10.1
package struct ChannelTable: Sendable {
    /// Channels of one link, those among them that are being opened and closed.
    package static let channelsMaximum = 8

    /// In the order in which their turns come to send.
    private var channels: [CreditBasedChannel] = []
    private var nextNumber: UInt64 = 1
    /// Where the search for the next channel to serve begins.
    private var turn = 0
    private var nextCID = ChannelIdentifier.dynamicRange.lowerBound

    package init() {}

    package var deadline: Instant? { channels.reduce(nil) { Instant.earliest($0, $1.deadline) } }
    package var hasFrame: Bool { channels.contains(where: \.hasFrame) }
    package var count: Int { channels.count }

    var pendingIdentifiers: [SignallingIdentifier] { channels.compactMap(\.pendingIdentifier) }

    /// nil once it is gone.
    package subscript(number: ChannelNumber) -> CreditBasedChannel? { channels.first { $0.number == number } }

    // MARK: What the app asks for

    /// Core 5.4, Vol 3, Part A, 4.22 (L2CAP_LE_CREDIT_BASED_CONNECTION_REQ)
    ///
    /// `again` is the number of a channel that is gone because the peer refused it: it is the same one to whoever asked.
    mutating func open(
        _ spsm: SPSM, again: ChannelNumber? = nil, now: Instant, _ identifiers: inout SignallingIdentifiers,
        into events: inout [ChannelEvent]
    ) throws(ChannelOpenError) -> ChannelNumber {
        guard spsm.isValid else { throw .invalidSPSM }
        guard channels.count < Self.channelsMaximum else { throw .noResources }
        let identifier = identifiers.take()
        let cid = takeCID()
        let channel = CreditBasedChannel(opening: again ?? takeNumber(), spsm, localCID: cid, identifier, now: now)
        channels.append(channel)
        let request = LECreditBasedConnectionRequest(
            spsm: spsm, sourceCID: cid, parameters: CreditBasedChannel.ownParameters)
        events.append(
            .send(SignallingPDU(identifier: identifier, command: .leCreditBasedConnectionRequest(request))))
        return channel.number
    }

    mutating func send(_ sdu: [UInt8], on number: ChannelNumber) throws(ChannelSendError) {
        guard let index = index(of: number) else { throw .notOpen }
        try channels[index].send(sdu)
    }

    mutating func consume(
        _ octets: Int, of number: ChannelNumber, _ identifiers: inout SignallingIdentifiers,
        into events: inout [ChannelEvent]
    ) {
        guard let index = index(of: number) else { return }
        channels[index].consume(octets, &identifiers, into: &events)
    }

    mutating func close(
        _ number: ChannelNumber, now: Instant, _ identifiers: inout SignallingIdentifiers,
        into events: inout [ChannelEvent]
    ) {
        guard let index = index(of: number) else { return }
        channels[index].close(now: now, &identifiers, into: &events)
    }

    // MARK: What the peer says

    /// `requirement` is that of a service which takes channels; nil for one that nobody offers.
    mutating func receive(
        _ pdu: SignallingPDU, security: ChannelSecurity, requirement: (SPSM) -> ChannelRequirement?, now: Instant,
        _ identifiers: inout SignallingIdentifiers, into events: inout [ChannelEvent]
    ) {
        switch pdu.command {
        case .leCreditBasedConnectionRequest(let request):
            let refusal = refusal(of: request, security, requirement(request.spsm))
            accept(request, refusal, pdu.identifier, into: &events)
        case .leCreditBasedConnectionResponse(let response):
            opened(response, pdu.identifier, now, &identifiers, into: &events)
        case .flowControlCredit(let credit):
            guard let index = index(ofRemote: credit.cid) else { return }
            channels[index].receive(credits: credit.credits, now: now, &identifiers, into: &events)
        case .disconnectionRequest(let endpoints):
            disconnected(endpoints, pdu.identifier, into: &events)
        case .disconnectionResponse(let endpoints):
            guard let index = index(awaiting: pdu.identifier),
                channels[index].localCID == endpoints.sourceCID, channels[index].remoteCID == endpoints.destinationCID
            else { return }
            channels[index].disconnectionConfirmed()
        case .commandReject:
            guard let index = index(awaiting: pdu.identifier) else { return }
            channels[index].rejected(into: &events)
        case .connectionParameterUpdateRequest, .connectionParameterUpdateResponse, .unknown: return
        }
        removeGone()
    }

    /// Core 5.4, Vol 3, Part A, 2.1: what arrives on a channel that is not there is discarded.
    mutating func receive(
        frame payload: [UInt8], on cid: ChannelIdentifier, now: Instant, _ identifiers: inout SignallingIdentifiers,
        into events: inout [ChannelEvent]
    ) {
        guard let index = index(ofLocal: cid) else { return }
        channels[index].receive(frame: payload, now: now, &identifiers, into: &events)
    }

    mutating func receivedOversizedFrame(
        on cid: ChannelIdentifier, now: Instant, _ identifiers: inout SignallingIdentifiers,
        into events: inout [ChannelEvent]
    ) {
        guard let index = index(ofLocal: cid) else { return }
        channels[index].receivedOversizedFrame(now: now, &identifiers, into: &events)
    }

    /// The next K-frame, from each channel that has one and the credit for it in turn.
    mutating func nextFrame(
        now: Instant, _ identifiers: inout SignallingIdentifiers, into events: inout [ChannelEvent]
    ) -> BasicFrame? {
        for step in 0..<channels.count {
            let index = (turn + step) % channels.count
            guard let payload = channels[index].nextPayload(into: &events) else { continue }
            turn = index + 1
            let cid = channels[index].remoteCID
            channels[index].disconnectIfDrained(now: now, &identifiers, into: &events)
            return BasicFrame(channel: cid, payload: payload)
        }
        return nil
    }

    mutating func timerFired(
        now: Instant, _ identifiers: inout SignallingIdentifiers, into events: inout [ChannelEvent]
    ) {
        for index in channels.indices { channels[index].timerFired(now: now, &identifiers, into: &events) }
        removeGone()
    }

    mutating func linkLost(into events: inout [ChannelEvent]) {
        for index in channels.indices { channels[index].linkLost(into: &events) }
        channels = []
    }
}

// MARK: Requests and responses

extension ChannelTable {
    /// Core 5.4, Vol 3, Part A, 4.23 (Table 4.20)
    private func refusal(
        of request: LECreditBasedConnectionRequest, _ security: ChannelSecurity, _ requirement: ChannelRequirement?
    ) -> LECreditBasedConnectionResult? {
        guard request.spsm.isValid, let requirement else { return .spsmNotSupported }
        if let refusal = requirement.refusal(on: security) { return refusal }
        if !request.sourceCID.isDynamic { return .invalidSourceCID }
        if index(ofRemote: request.sourceCID) != nil { return .sourceCIDAlreadyAllocated }
        if !request.parameters.isAcceptable { return .unacceptableParameters }
        if channels.count >= Self.channelsMaximum { return .noResources }
        return nil
    }

    private mutating func accept(
        _ request: LECreditBasedConnectionRequest, _ refusal: LECreditBasedConnectionResult?,
        _ identifier: SignallingIdentifier, into events: inout [ChannelEvent]
    ) {
        func answer(_ response: LECreditBasedConnectionResponse) {
            events.append(
                .send(SignallingPDU(identifier: identifier, command: .leCreditBasedConnectionResponse(response))))
        }
        if let refusal { return answer(LECreditBasedConnectionResponse(refusing: refusal)) }
        let channel = CreditBasedChannel(accepting: request, takeNumber(), localCID: takeCID())
        channels.append(channel)
        answer(
            LECreditBasedConnectionResponse(
                destinationCID: channel.localCID, parameters: CreditBasedChannel.ownParameters))
        events.append(.opened(channel.number))
    }

    /// Core 5.4, Vol 3, Part A, 4.23: an end that another channel has already makes both channels useless.
    private mutating func opened(
        _ response: LECreditBasedConnectionResponse, _ identifier: SignallingIdentifier, _ now: Instant,
        _ identifiers: inout SignallingIdentifiers, into events: inout [ChannelEvent]
    ) {
        guard let index = index(awaiting: identifier) else { return }
        var other: Int?
        if response.result == .successful { other = self.index(ofRemote: response.destinationCID) }
        channels[index].receive(
            response, isRemoteCIDTaken: other != nil, now: now, &identifiers, into: &events)
        if let other, other != index { channels[other].discard(into: &events) }
    }

    /// Core 5.4, Vol 3, Part A, 4.6 (L2CAP_DISCONNECTION_REQ): an unknown destination is rejected; a source that does not
    /// fit it is no answer's worth.
    private mutating func disconnected(
        _ endpoints: ChannelEndpoints, _ identifier: SignallingIdentifier, into events: inout [ChannelEvent]
    ) {
        guard let index = index(ofLocal: endpoints.destinationCID) else {
            let reason = CommandReject.Reason.invalidCID(
                local: endpoints.destinationCID.rawValue, remote: endpoints.sourceCID.rawValue)
            let reject = SignallingPDU(identifier: identifier, command: .commandReject(CommandReject(reason: reason)))
            return events.append(.send(reject))
        }
        guard channels[index].holdsRemoteCID, channels[index].remoteCID == endpoints.sourceCID else { return }
        events.append(.send(SignallingPDU(identifier: identifier, command: .disconnectionResponse(endpoints))))
        channels[index].disconnectedByPeer(into: &events)
    }

    private func index(of number: ChannelNumber) -> Int? { channels.firstIndex { $0.number == number } }

    private func index(ofLocal cid: ChannelIdentifier) -> Int? { channels.firstIndex { $0.localCID == cid } }

    private func index(ofRemote cid: ChannelIdentifier) -> Int? {
        channels.firstIndex { $0.holdsRemoteCID && $0.remoteCID == cid }
    }

    private func index(awaiting identifier: SignallingIdentifier) -> Int? {
        channels.firstIndex { $0.pendingIdentifier == identifier }
    }

    private mutating func removeGone() {
        guard channels.contains(where: \.isGone) else { return }
        channels.removeAll(where: \.isGone)
        turn = 0
    }

    private mutating func takeNumber() -> ChannelNumber {
        defer { nextNumber += 1 }
        return ChannelNumber(rawValue: nextNumber)
    }

    /// Round the range, so that what is still on its way to a channel that has gone finds no other in its place. There are
    /// more of them than channels.
    private mutating func takeCID() -> ChannelIdentifier {
        while true {
            let cid = ChannelIdentifier(rawValue: nextCID)
            nextCID =
                nextCID == ChannelIdentifier.dynamicRange.upperBound
                ? ChannelIdentifier.dynamicRange.lowerBound : nextCID + 1
            if index(ofLocal: cid) == nil { return cid }
        }
    }
}
