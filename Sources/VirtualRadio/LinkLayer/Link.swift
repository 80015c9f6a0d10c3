/// Names a link; a later one in the same slot has another number.
struct LinkID: Hashable, Sendable {
    let slot: Int
    let number: UInt64
}

/// A connection on the air: both sides of it, its timing and its encryption.
struct Link: Sendable {
    /// 0 for a slot without a link.
    var number: UInt64
    var central: LinkSide
    var peripheral: LinkSide
    var parameters: ConnectionParameters
    /// A connection event's instant; the others are whole intervals away.
    var anchor: UInt64
    /// Before this the connection counts as not established.
    let establishedAt: UInt64
    var path: Path
    var encryption = EncryptionPhase.off
    /// New parameters on their way to their instant.
    var pendingUpdate: ConnectionParameters?
    /// From the host's command until then.
    var updateIsRequested = false
    var parameterRequest: ParameterRequest?
    var phyProcedure: PHYProcedure?
    /// Of 37 channels, the lowest first.
    var channelMap: UInt64
    /// The connection event that is on the agenda.
    var scheduledEvent: UInt64?
    /// Guards against delivering from within a delivery.
    var isPumping = false
    /// Counts the procedures that a response timeout guards.
    var procedure: UInt64 = 0

    subscript(role: Role) -> LinkSide {
        _read {
            switch role {
            case .central: yield central
            case .peripheral: yield peripheral
            }
        }
        _modify {
            switch role {
            case .central: yield &central
            case .peripheral: yield &peripheral
            }
        }
    }

    /// Whether packets can pass.
    var isConnected: Bool { central.isAlive && peripheral.isAlive && path.isReachable }

    var hasTransmittable: Bool { central.hasTransmittable || peripheral.hasTransmittable }

    /// The first anchor after `now`, or at it; of those that the peripheral listens to, if it need not hear every one.
    ///
    /// Core 5.4, Vol 6, Part B, 4.5.1 (Connection events): a peripheral with something to send does not sleep.
    func nextAnchor(after now: UInt64) -> UInt64 {
        let interval = parameters.intervalNanoseconds
        guard now >= anchor else { return anchor }
        var count = (now - anchor) / interval + 1
        if !peripheral.hasTransmittable {
            let stride = UInt64(parameters.latency) + 1
            count = (count + stride - 1) / stride * stride
        }
        return anchor + count * interval
    }

    /// When what a central announces now takes effect: six events on.
    ///
    /// Core 5.4, Vol 6, Part B, 5.1.1 (Connection Update procedure) and 5.5 (Procedures with Instants)
    func updateInstant(after now: UInt64) -> UInt64 { nextAnchor(after: now) + 5 * parameters.intervalNanoseconds }

    /// The last anchor that is not later than `now`: when the sides last heard each other.
    func lastAnchor(until now: UInt64) -> UInt64 {
        now <= anchor ? now : now - (now - anchor) % parameters.intervalNanoseconds
    }
}

/// One side of a link.
struct LinkSide: Sendable {
    /// Counting down to the supervision timeout.
    struct Silence: Sendable {
        let epoch: UInt64
        let reason: Status
    }

    let controller: ControllerID
    /// The address that it used to connect.
    let address: RadioAddress
    /// The other side as this one knows it: its identity, if its address could be resolved.
    let peer: RadioAddress
    var handle: UInt16
    /// False once this side has given the connection up, which the other finds out by its silence.
    var isAlive: Bool
    var isTerminating = false
    /// In order: data, and control that waits for the data before it.
    private var queue = FIFO<LinkPDU>()
    /// Control that overtakes data.
    private var urgent = FIFO<LinkPDU>()
    /// Only urgent control passes while encryption starts.
    private(set) var isPaused = false
    /// The host's packets still in the controller's buffers.
    var packetsInBuffers = 0
    /// Packets gone that the host has not been told of.
    var completed: UInt16 = 0
    /// connMaxTxOctets that the host asked for, and what both have agreed on.
    var wantedTxOctets: UInt16
    var txOctets = DataLength.minimumOctets
    var rxOctets = DataLength.minimumOctets
    /// What it transmits on, what its host would have, and whether that has been asked for and not answered.
    var phy: PHY
    var phyPreferences: PHYPreferences
    var wantsPHYUpdate = false
    var silence: Silence?

    init(
        controller: ControllerID, address: RadioAddress, peer: RadioAddress, handle: UInt16, isAlive: Bool,
        wantedTxOctets: UInt16,
        phy: PHY, phyPreferences: PHYPreferences
    ) {
        self.controller = controller
        self.address = address
        self.peer = peer
        self.handle = handle
        self.isAlive = isAlive
        self.wantedTxOctets = wantedTxOctets
        self.phy = phy
        self.phyPreferences = phyPreferences
    }

    var hasTransmittable: Bool { !urgent.isEmpty || !isPaused && !queue.isEmpty }
    /// Whether its host has suggested more than there is, for new connections.
    var wantsLongerData: Bool { wantedTxOctets > txOctets }
    /// Whether a packet of data would be the next to go.
    var isIdle: Bool { urgent.isEmpty && queue.isEmpty && !isPaused }

    /// Whether it is data that would go next.
    var nextIsData: Bool {
        urgent.isEmpty && !isPaused && queue.first?.isData == true
    }

    /// The next PDU's time on the air in nanoseconds, an empty one's if there is none.
    ///
    /// Core 5.4, Vol 6, Part B, 2.1 (Packet format for the LE Uncoded PHYs)
    func nextAirtime(isEncrypted: Bool) -> UInt64 {
        let payload = (urgent.first ?? (isPaused ? nil : queue.first))?.payloadOctets ?? 0
        let octets = UInt64(10 + payload + (isEncrypted && payload > 0 ? 4 : 0))
        // The LE 2M PHY is twice as fast, but for one octet more of preamble.
        return phy == .le2M ? (octets + 1) * 4_000 : octets * 8_000
    }

    /// Behind everything that is waiting.
    mutating func enqueue(_ pdu: LinkPDU) { queue.append(pdu) }

    /// Behind what is waiting, unless that may not pass.
    mutating func enqueueControl(_ pdu: LinkPDU) { isPaused ? urgent.append(pdu) : queue.append(pdu) }

    /// Before all data.
    mutating func enqueueUrgent(_ pdu: LinkPDU) { urgent.append(pdu) }

    /// From now on data waits. Control that was behind it no longer does.
    mutating func pause() {
        isPaused = true
        var data = FIFO<LinkPDU>()
        while let pdu = queue.popFirst() { pdu.isData ? data.append(pdu) : urgent.append(pdu) }
        queue = data
    }

    mutating func resume() { isPaused = false }

    mutating func takeNext() -> LinkPDU? {
        if let pdu = urgent.popFirst() { return pdu }
        return isPaused ? nil : queue.popFirst()
    }
}

/// What passes between link layers, as far as hosts can tell.
///
/// Core 5.4, Vol 6, Part B, 2.4 (Data Physical Channel PDU)
enum LinkPDU: Sendable {
    /// A fragment; `completes` the host's packet that it came from.
    case data(isFirst: Bool, octets: [UInt8], completes: Bool)
    case encryptionRequest(random: UInt64, diversifier: UInt16)
    case encryptionResponse
    case startEncryptionRequest
    case startEncryptionResponse
    case rejectEncryption
    case connectionUpdate(ConnectionParameters)
    case parameterRequest
    case parameterReject(Status)
    case channelMapUpdate(UInt64)
    case phyRequest
    case phyResponse
    case phyUpdate(central: PHY, peripheral: PHY)
    case phyUnknown
    case featureRequest
    case featureResponse
    case versionRequest
    case versionResponse
    case lengthRequest(txOctets: UInt16)
    case lengthResponse(txOctets: UInt16)
    /// Each side's reason for its Disconnection Complete.
    case terminate(remote: Status, local: Status)

    var isData: Bool {
        if case .data = self { true } else { false }
    }

    var payloadOctets: Int {
        switch self {
        case .data(_, let octets, _): octets.count
        case .encryptionRequest: 23
        case .encryptionResponse: 13
        case .startEncryptionRequest, .startEncryptionResponse: 1
        case .rejectEncryption, .terminate: 2
        case .connectionUpdate: 12
        case .parameterRequest: 24
        case .parameterReject: 3
        case .channelMapUpdate: 8
        case .phyRequest, .phyResponse: 3
        case .phyUpdate: 5
        case .phyUnknown: 2
        case .featureRequest, .featureResponse, .lengthRequest, .lengthResponse: 9
        case .versionRequest, .versionResponse: 6
        }
    }
}

/// How far the encryption of a link is. `isRefresh`: the link was encrypted when this began.
///
/// Core 5.4, Vol 6, Part B, 5.1.3 (Encryption procedures)
enum EncryptionPhase: Sendable {
    case off
    /// The central's host has asked for it.
    case requested(LongTermKey, isRefresh: Bool)
    /// The peripheral's host is asked for the key.
    case keyRequested(LongTermKey, isRefresh: Bool)
    /// Both keys are there; they start to be used.
    case starting(central: LongTermKey, peripheral: LongTermKey, isRefresh: Bool)
    /// The peripheral has no key and says so.
    case rejecting(isRefresh: Bool)
    case on

    var isOn: Bool {
        if case .on = self { true } else { false }
    }
    var isOff: Bool {
        if case .off = self { true } else { false }
    }
}

/// A key that a host gave; comparable, and nothing else.
struct LongTermKey: Equatable, Sendable {
    private let low: UInt64
    private let high: UInt64

    init(_ parameters: borrowing CommandParameters, at offset: Int) {
        low = parameters.u64(offset)
        high = parameters.u64(offset + 8)
    }
}

/// A queue whose storage is reused.
struct FIFO<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }
    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[head]
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 32 {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}
