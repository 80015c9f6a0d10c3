import BluetoothCore
import HCI
import L2CAP

/// A link below L2CAP: what is known of it, what is asked of the peer's link layer, its parameters, and the readings that apps ask
/// the controller for.
///
/// - In: what the controller says of the link; what apps, the operator and the peer want of its parameters.
/// - Out: commands and requests, one change of the parameters at a time; who has an answer.
/// - Owner: the link. Readings end with it, whatever they wait for.
///
/// Core 5.4, Vol 6, Part B, 5.1 (Link Layer control procedures)
struct LinkLayer {
    enum Event {
        /// An app of this side, or the operator, would like these parameters. They are valid.
        case preferred(ConnectionParameters)
        /// The peer asked for these, and was told yes.
        case granted(ConnectionParameters)
        /// The peer is who it says. The link may be silent for as long as the operator has it, in units of 10 ms.
        case proven(supervisionTimeout: UInt16)
        /// What was asked for over L2CAP has its answer, or will have none.
        case l2capFinished
        /// The controller took the command, or did not.
        case updateAnswered(HCIErrorCode)
        case requestAnswered(HCIErrorCode)
        case inquiryAnswered(LinkInquiry.Step, HCIErrorCode)
        case parametersChanged(HCIErrorCode, LELinkParameters)
        case dataLengthChanged(tx: DataLength, rx: DataLength)
        case channelSelection(LEChannelSelectionAlgorithm)
        case phyChanged(HCIErrorCode, tx: LEPHY, rx: LEPHY)
        case featuresRead(HCIErrorCode, LEFeatures)
        case versionRead(HCIErrorCode, LinkFacts.Version)
        case readingAsked(LinkReading, ManagerID, OperationToken)
        case readingEnded(LinkReading, Result<OperationValue, HostError>)
        /// The manager has given its connection up: what it asked for ends before that.
        case readingsAbandoned(ManagerID)
        case timerFired
        case closed(HCIErrorCode)
    }

    enum Output {
        /// Of the controller, or the peer: not on a link that is ending.
        case ask(Request)
        case readingEnded(ManagerID, OperationToken, Result<OperationValue, HostError>)
    }

    enum Request: Equatable {
        /// A central's change of the parameters.
        ///
        /// Core 5.4, Vol 4, Part E, 7.8.18 (LE Connection Update command)
        case update(ConnectionParameters)
        /// A peripheral's wish for others.
        case negotiate(ConnectionParameterNegotiation.Output)
        case exchangeMTU
        case inquire(LinkInquiry.Step)
        case read(LinkReading)
    }

    /// What each end of a link asks for.
    private enum End {
        case central(inquiry: LinkInquiry, updates: ConnectionUpdates)
        case peripheral(ConnectionParameterNegotiation)
    }

    private struct Reader {
        let manager: ManagerID
        let token: OperationToken
    }

    /// How many may wait for one reading of one link.
    static let readingWaitingMaximum = 64

    private(set) var facts: LinkFacts
    /// As central: its supervision timeout is shorter than the operator's, in case that somebody else is there.
    private(set) var isBrief: Bool
    private var end: End
    /// One command answers them all.
    private var readers: [LinkReading: [Reader]] = [:]

    /// `supervisionTimeout`: what the operator has, in units of 10 ms. `usesLinkLayer`: a peripheral's controller can ask for
    /// other parameters by itself.
    init(
        _ role: LinkRole, _ facts: LinkFacts, connectedAt now: Instant, supervisionTimeout: UInt16, usesLinkLayer: Bool
    ) {
        self.facts = facts
        switch role {
        case .central:
            isBrief = facts.parameters.supervisionTimeout < supervisionTimeout
            end = .central(inquiry: LinkInquiry(now: now), updates: ConnectionUpdates())
        case .peripheral:
            isBrief = false
            end = .peripheral(ConnectionParameterNegotiation(connectedAt: now, usesLinkLayer: usesLinkLayer))
        }
    }

    var deadline: Instant? {
        switch end {
        case .central(let inquiry, _): inquiry.deadline
        case .peripheral(let negotiation): negotiation.deadline
        }
    }

    /// Whether ``takeMTUExchange()`` would say yes.
    var owesMTUExchange: Bool {
        if case .central(let inquiry, _) = end { inquiry.owesMTUExchange } else { false }
    }

    /// Whether an operation, or this side's own rules, are to exchange the MTU now: once, and as central alone.
    mutating func takeMTUExchange() -> Bool {
        guard case .central(var inquiry, let updates) = end else { return false }
        defer { end = .central(inquiry: inquiry, updates: updates) }
        return inquiry.takeMTUExchange()
    }

    mutating func handle(
        _ event: Event, controller: ControllerFacts, now: Instant, into outputs: inout [Output]
    ) {
        switch event {
        case .preferred(let parameters):
            isBrief = false
            update(parameters, &outputs)
            negotiate(&outputs) { $0.want(parameters, now: now) }
        case .granted(let parameters): update(parameters, &outputs)
        case .proven(let supervisionTimeout): lengthen(supervisionTimeout, &outputs)
        case .l2capFinished: negotiate(&outputs) { $0.l2capFinished(now: now) }
        // What was accepted ends in an event of its own.
        case .updateAnswered(let status): if status != .success { updateEnded(&outputs) }
        case .requestAnswered(let status): negotiate(&outputs) { $0.linkLayerAnswered(status) }
        // Of the data length there is an event only if it changes.
        case .inquiryAnswered(let step, let status):
            if status != .success || step == .dataLength { inquiryEnded(step, controller, &outputs) }
        case .parametersChanged(let status, let parameters):
            if status == .success { facts.parameters = parameters }
            updateEnded(&outputs)
            negotiate(&outputs) { $0.linkLayerCompleted(status, now: now) }
        case .dataLengthChanged(let tx, let rx): (facts.txDataLength, facts.rxDataLength) = (tx, rx)
        case .channelSelection(let algorithm): facts.channelSelection = algorithm
        case .phyChanged(let status, let tx, let rx):
            if status == .success { (facts.txPHY, facts.rxPHY) = (tx, rx) }
            inquiryEnded(.phy, controller, &outputs)
        case .featuresRead(let status, let features):
            if status == .success { facts.features = features }
            inquiryEnded(.features, controller, &outputs)
        case .versionRead(let status, let version):
            if status == .success { facts.version = version }
            inquiryEnded(.version, controller, &outputs)
        case .readingAsked(let reading, let manager, let token):
            ask(reading, Reader(manager: manager, token: token), controller, &outputs)
        case .readingEnded(let reading, let result): readingEnded(reading, result, &outputs)
        case .readingsAbandoned(let manager): abandonReadings(of: manager, &outputs)
        case .timerFired:
            negotiate(&outputs) { $0.timerFired(now: now) }
            inquire(controller, now, &outputs)
        case .closed(let reason):
            for reading in LinkReading.allCases { readingEnded(reading, .failure(.disconnected(reason)), &outputs) }
        }
    }
}

// MARK: Connection parameters

extension LinkLayer {
    private mutating func update(_ parameters: ConnectionParameters, _ outputs: inout [Output]) {
        guard case .central(let inquiry, var updates) = end else { return }
        if let now = updates.want(parameters) { outputs.append(.ask(.update(now))) }
        end = .central(inquiry: inquiry, updates: updates)
    }

    private mutating func updateEnded(_ outputs: inout [Output]) {
        guard case .central(let inquiry, var updates) = end else { return }
        if let next = updates.ended() { outputs.append(.ask(.update(next))) }
        end = .central(inquiry: inquiry, updates: updates)
    }

    private mutating func negotiate(
        _ outputs: inout [Output],
        _ body: (inout ConnectionParameterNegotiation) -> ConnectionParameterNegotiation.Output?
    ) {
        guard case .peripheral(var negotiation) = end else { return }
        if let output = body(&negotiation) { outputs.append(.ask(.negotiate(output))) }
        end = .peripheral(negotiation)
    }

    /// A link that a stranger may have is given up soon after it falls silent; the peer's own has the time that the operator
    /// gives it.
    private mutating func lengthen(_ supervisionTimeout: UInt16, _ outputs: inout [Output]) {
        guard isBrief else { return }
        isBrief = false
        let parameters = ConnectionParameters(
            intervalMin: facts.parameters.connectionInterval, intervalMax: facts.parameters.connectionInterval,
            latency: facts.parameters.peripheralLatency, timeout: supervisionTimeout)
        update(parameters, &outputs)
    }
}

// MARK: The peer's link layer

extension LinkLayer {
    /// The link has done what it was made for, as far as that can be told.
    private mutating func inquire(_ controller: ControllerFacts, _ now: Instant, _ outputs: inout [Output]) {
        guard case .central(var inquiry, let updates) = end, inquiry.isDue(now) else { return }
        // One procedure of the link layer at a time.
        if updates.isUnderWay {
            inquiry.postpone(now: now)
        } else {
            if inquiry.takeMTUExchange() { outputs.append(.ask(.exchangeMTU)) }
            if let step = inquiry.begin(controller, facts) { outputs.append(.ask(.inquire(step))) }
        }
        end = .central(inquiry: inquiry, updates: updates)
    }

    private mutating func inquiryEnded(
        _ step: LinkInquiry.Step, _ controller: ControllerFacts, _ outputs: inout [Output]
    ) {
        guard case .central(var inquiry, let updates) = end else { return }
        if let next = inquiry.ended(step, controller, facts) { outputs.append(.ask(.inquire(next))) }
        end = .central(inquiry: inquiry, updates: updates)
    }
}

// MARK: Readings

extension LinkLayer {
    private mutating func ask(
        _ reading: LinkReading, _ reader: Reader, _ controller: ControllerFacts, _ outputs: inout [Output]
    ) {
        func refuse(_ error: HostError) {
            outputs.append(.readingEnded(reader.manager, reader.token, .failure(error)))
        }
        let waiting = readers[reading, default: []].count
        guard controller.supports(reading.command) else { return refuse(.unsupportedByController) }
        guard waiting < Self.readingWaitingMaximum else { return refuse(.noResources) }
        readers[reading, default: []].append(reader)
        if waiting == 0 { outputs.append(.ask(.read(reading))) }
    }

    private mutating func abandonReadings(of manager: ManagerID, _ outputs: inout [Output]) {
        for reading in LinkReading.allCases {
            for reader in readers[reading, default: []] where reader.manager == manager {
                outputs.append(.readingEnded(manager, reader.token, .failure(.abandoned)))
            }
            readers[reading]?.removeAll { $0.manager == manager }
        }
    }

    private mutating func readingEnded(
        _ reading: LinkReading, _ result: Result<OperationValue, HostError>, _ outputs: inout [Output]
    ) {
        if case .success(.channelMap(let map)) = result { facts.channelMap = map }
        for reader in readers.removeValue(forKey: reading) ?? [] {
            outputs.append(.readingEnded(reader.manager, reader.token, result))
        }
    }
}

extension LinkReading {
    fileprivate var command: SupportedCommands.Position {
        switch self {
        case .rssi: .readRSSI
        case .channelMap: .leReadChannelMap
        }
    }
}

/// As central, changes of a link's parameters. The controller is asked for one at a time, so that a peer that asks without end
/// cannot fill the command queue; of those that wait the newest is what counts.
struct ConnectionUpdates: Equatable {
    private enum State: Equatable {
        case idle
        case underWay(next: ConnectionParameters?)
    }

    private var state = State.idle

    var isUnderWay: Bool { state != .idle }

    /// What to ask the controller for now, if anything.
    mutating func want(_ parameters: ConnectionParameters) -> ConnectionParameters? {
        switch state {
        case .idle:
            state = .underWay(next: nil)
            return parameters
        case .underWay:
            state = .underWay(next: parameters)
            return nil
        }
    }

    mutating func ended() -> ConnectionParameters? {
        guard case .underWay(let next?) = state else {
            state = .idle
            return nil
        }
        state = .underWay(next: nil)
        return next
    }
}
