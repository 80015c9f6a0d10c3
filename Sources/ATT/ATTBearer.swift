import BluetoothCore

/// What bounds a bearer and the values on it.
package enum ATTBound {
    /// Core 5.4, Vol 3, Part G, 5.2.1 (ATT_MTU): the default on LE.
    package static let defaultMTUOctets = 23
    /// A value of 512 octets, behind the longest header that a PDU of one value has.
    package static let maximumMTUOctets = 517
    /// Core 5.4, Vol 3, Part F, 3.2.9 (Long attribute values)
    package static let attributeValueOctets = 512
    /// Core 5.4, Vol 3, Part F, 3.3.3 (Transaction)
    package static let transactionTimeoutMilliseconds: UInt64 = 30_000
    /// Indications that wait for the confirmation of the one before them.
    package static let indicationQueueCapacityCount = 32
}

/// Whose an indication is: its sender's note, which comes back with the confirmation.
package enum ATTIndicationTag: Hashable, Sendable {
    case app(token: UInt64)
    /// The server's own, with what it has to remember until then.
    case server(note: [UInt8])

    fileprivate var isApp: Bool { if case .app = self { true } else { false } }
}

/// The ATT bearer of one link: it decides what may be sent when, and what an arriving PDU is worth.
///
/// In: PDUs of the peer, PDUs that this side wants to send, time. Out: PDUs for the channel, requests and indications
/// for the owner, or the bearer's end.
///
/// The two ends of a link are client and server to each other at once. Each of four transactions has its own slot: our
/// request, the peer's request, our indication, the peer's indication. The last is never open between two calls: its
/// confirmation stands in the same list of outputs.
///
/// Core 5.4, Vol 3, Part F, 3.3.2 (Sequential protocol)
package struct ATTBearer: Sendable {
    /// What an arriving PDU is.
    package enum Arrival: Hashable, Sendable {
        /// For the server. The bearer holds the peer to one at a time until ``respond(_:)``.
        case request(ATTRequest)
        /// For the client: the answer to our request.
        case response(ATTResponse)
        /// For the client: our request was answered with octets that mean nothing.
        case malformedResponse
        case command(ATTCommand)
        case notification(ATTNotification)
        case indication(ATTHandleValueIndication)
        /// Our indication with this tag was confirmed; the PDU, if there is one, is the next one's.
        case confirmation(ATTIndicationTag, next: [UInt8]?)
        /// The bearer itself answers.
        case refused(ATTErrorResponse)
        /// Nothing to do: an unknown or malformed command, a response or confirmation that nobody waits for.
        case ignored
        case failed(ATTBearerFailure)
    }

    private struct Indication: Sendable {
        var tag: ATTIndicationTag
        var pdu: [UInt8]
    }

    private struct Transaction: Sendable {
        var opcode: ATTOpcode
        var deadline: Instant

        init(_ opcode: ATTOpcode, _ now: Instant) {
            self.opcode = opcode
            deadline = now.advanced(byMilliseconds: ATTBound.transactionTimeoutMilliseconds)
        }
    }

    /// What an open bearer has under way.
    private struct Slots: Sendable {
        var request: Transaction?
        var peerRequest: Transaction?
        var indication: (tag: ATTIndicationTag, transaction: Transaction)?
        var waitingIndications: [Indication] = []
        var requestedMTU = false
        var peerRequestedMTU = false

        var deadline: Instant? {
            let requests = Instant.earliest(request?.deadline, peerRequest?.deadline)
            return Instant.earliest(requests, indication?.transaction.deadline)
        }
    }

    /// nil once closed: an ATT bearer never opens again.
    private var slots: Slots? = Slots() { didSet { deadline = slots?.deadline } }
    /// When the first transaction under way runs out.
    package private(set) var deadline: Instant?
    /// Where the values of arriving PDUs lie, as many as a host holds for its apps at once.
    private var values = RecycledOctets(places: 64)
    /// Octets of the largest PDU, either way.
    package private(set) var mtu = ATTBound.defaultMTUOctets
    /// What this side takes: its Client Rx MTU and its Server Rx MTU.
    package let maximumMTU: Int

    /// `maximumMTU` is brought between 23 and 517.
    package init(maximumMTU: Int = ATTBound.maximumMTUOctets) {
        self.maximumMTU = min(max(maximumMTU, ATTBound.defaultMTUOctets), ATTBound.maximumMTUOctets)
    }

    package var isOpen: Bool { slots != nil }
    package var hasRequestUnderWay: Bool { slots?.request != nil }
    package var hasIndicationUnderWay: Bool { slots?.indication != nil }
    /// Whether an app's indication is on its way, or waits for one that is.
    package var hasAppIndicationUnderWay: Bool {
        guard let slots else { return false }
        return slots.indication?.tag.isApp == true || slots.waitingIndications.contains { $0.tag.isApp }
    }
    /// The Exchange MTU Request has been sent: it is sent once.
    package var hasRequestedMTU: Bool { slots?.requestedMTU ?? false }

    /// The transaction that ran out, which ends the bearer.
    package func failure(at now: Instant) -> ATTBearerFailure? {
        guard let slots else { return nil }
        if let request = slots.request, request.deadline <= now { return .requestTimedOut }
        if let indication = slots.indication, indication.transaction.deadline <= now { return .indicationTimedOut }
        if let request = slots.peerRequest, request.deadline <= now { return .requestUnanswered }
        return nil
    }

    /// Ends every transaction and yields the indications that will not be confirmed.
    package mutating func close() -> [ATTIndicationTag] {
        guard let slots else { return [] }
        self.slots = nil
        return [slots.indication?.tag].compactMap { $0 } + slots.waitingIndications.map(\.tag)
    }
}

// MARK: - Sending

extension ATTBearer {
    /// Takes the slot of our request. False when it is taken, the bearer is closed, or a second MTU exchange is asked.
    package mutating func begin(_ opcode: ATTOpcode, now: Instant) -> Bool {
        guard slots != nil, slots?.request == nil else { return false }
        if opcode == .exchangeMTURequest {
            guard slots?.requestedMTU == false else { return false }
            slots?.requestedMTU = true
        }
        slots?.request = Transaction(opcode, now)
        return true
    }

    /// What became of an indication.
    package enum IndicationOutcome: Hashable, Sendable { case send, queued, queueFull, closed }

    /// Whether ``indicate(_:tag:now:)`` would find its queue full.
    package var isIndicationQueueFull: Bool {
        (slots?.waitingIndications.count ?? 0) >= ATTBound.indicationQueueCapacityCount
    }

    /// Takes the slot of our indication, or a place in the queue for it.
    package mutating func indicate(_ pdu: [UInt8], tag: ATTIndicationTag, now: Instant) -> IndicationOutcome {
        guard slots != nil else { return .closed }
        guard slots?.indication != nil else {
            slots?.indication = (tag, Transaction(.handleValueIndication, now))
            return .send
        }
        guard !isIndicationQueueFull else { return .queueFull }
        slots?.waitingIndications.append(Indication(tag: tag, pdu: pdu))
        return .queued
    }

    /// The peer's request is answered: it may send the next. False when there is none.
    package mutating func respond() -> Bool {
        guard slots?.peerRequest != nil else { return false }
        slots?.peerRequest = nil
        return true
    }

    /// The peer's Exchange MTU Request was answered: the smaller of the two from the next PDU on.
    ///
    /// Core 5.4, Vol 3, Part F, 3.4.2.2 (Exchange MTU Response)
    package mutating func agree(peerRxMTU: UInt16) {
        mtu = min(maximumMTU, max(Int(peerRxMTU), ATTBound.defaultMTUOctets))
    }
}

// MARK: - Receiving

extension ATTBearer {
    /// Says what an arriving PDU is, and moves the slots accordingly. After `failed` the bearer wants closing.
    package mutating func receive(_ bytes: [UInt8], now: Instant) -> Arrival {
        guard slots != nil, let first = bytes.first else { return .ignored }
        let opcode = ATTOpcode(rawValue: first)
        guard bytes.count <= mtu, let pdu = try? ATTPDU(bytes, values: &values) else {
            return receiveMalformed(opcode, now: now)
        }
        switch pdu {
        case .request(let request):
            if slots?.peerRequest != nil { return .failed(.requestOverlap) }
            if case .exchangeMTU = request {
                // Sent once by a client; its repetition must not move the MTU under transactions that follow.
                guard slots?.peerRequestedMTU == false else {
                    return .refused(refusal(of: opcode, .requestNotSupported))
                }
                slots?.peerRequestedMTU = true
            }
            slots?.peerRequest = Transaction(opcode, now)
            return .request(request)
        case .response(let response): return receive(response)
        case .command(let command): return .command(command)
        case .notification(let notification): return .notification(notification)
        case .indication(let indication): return .indication(indication)
        case .confirmation: return receiveConfirmation(now: now)
        case .unknown: return receiveUnknown(opcode)
        }
    }

    /// A response that nobody waits for is ignored. One that answers another request than ours says that the ends no
    /// longer agree on who asked what: every later answer would be taken for the wrong one.
    private mutating func receive(_ response: ATTResponse) -> Arrival {
        guard let request = slots?.request else { return .ignored }
        guard response.requestOpcode == request.opcode else { return .failed(.mismatchedResponse) }
        slots?.request = nil
        if case .exchangeMTU(let answer) = response { agree(peerRxMTU: answer.serverRxMTU) }
        return .response(response)
    }

    private mutating func receiveConfirmation(now: Instant) -> Arrival {
        guard let tag = slots?.indication?.tag else { return .ignored }
        guard let next = slots?.waitingIndications.first else {
            slots?.indication = nil
            return .confirmation(tag, next: nil)
        }
        slots?.waitingIndications.removeFirst()
        slots?.indication = (next.tag, Transaction(.handleValueIndication, now))
        return .confirmation(tag, next: next.pdu)
    }

    /// Core 5.4, Vol 3, Part F, 3.3 (Attribute PDU): what a server does not know it refuses, unless it is a command.
    private func receiveUnknown(_ opcode: ATTOpcode) -> Arrival {
        guard !opcode.isCommand else { return .ignored }
        if slots?.peerRequest != nil { return .failed(.requestOverlap) }
        return .refused(refusal(of: opcode, .requestNotSupported))
    }

    private mutating func receiveMalformed(_ opcode: ATTOpcode, now: Instant) -> Arrival {
        switch opcode.kind {
        case .request:
            if slots?.peerRequest != nil { return .failed(.requestOverlap) }
            return .refused(refusal(of: opcode, .invalidPDU))
        case .response:
            guard let request = slots?.request else { return .ignored }
            guard opcode == .errorResponse || opcode.answers == request.opcode else {
                return .failed(.mismatchedResponse)
            }
            slots?.request = nil
            return .malformedResponse
        case .unknown: return receiveUnknown(opcode)
        case .command, .notification, .indication, .confirmation: return .ignored
        }
    }

    private func refusal(of opcode: ATTOpcode, _ code: ATTErrorCode) -> ATTErrorResponse {
        ATTErrorResponse(requestOpcode: opcode, handle: AttributeHandle(0), code: code)
    }
}
