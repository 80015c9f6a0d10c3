import BlueZ
import BluetoothCore
import GATT
import HCI
import L2CAP
import SecurityManager

// MARK: The transport's side

extension HostCore {
    mutating func transportOpened() {
        startOver()
        withRecovery(.transportOpened)
    }

    mutating func transportClosed() {
        startOver()
        withRecovery(.transportClosed)
    }

    mutating func transportUnavailable(_ state: HostState) { setState(state) }

    mutating func abandon() {
        // Whatever managers were told last may be among what is dropped: it is news again.
        setState(.resetting)
        tellings.removeAll()
        setState(.unsupported)
    }

    mutating func transportOutOfStep(indicator: UInt8?) { controllerFailed(.outOfStep(indicator: indicator)) }

    mutating func receivedPacket(_ type: HCIPacketType, _ octets: RawSpan) {
        guard recovery.isListening else { return }
        do {
            switch try HCIPacket(type: type, octets) {
            case .event(let event): receivedEvent(event)
            case .aclData(let header, let data): receivedData(header, data)
            // A controller sends no commands.
            case .command, .ignored: break
            }
        } catch {
            // Of an event that does not decode nothing can be believed; the flow goes on with the next.
            noteFault()
        }
    }

    mutating func submit(_ command: any HCICommand, for purpose: CommandPurpose) {
        withCommands { $0.submit(command, for: purpose, now: $1, into: &$2) }
    }

    mutating func withdrawCommands(of link: LinkID) {
        withCommands { $0.withdrawCommands(of: link, now: $1, into: &$2) }
    }

    private mutating func withCommands(_ body: (inout Controller, Instant, inout [CommandQueueOutput]) -> Void) {
        var outputs: [CommandQueueOutput] = []
        body(&controller, now, &outputs)
        for output in outputs {
            switch output {
            case .send(let packet): acts.append(command: packet)
            case .completed(let completion): work.append(.completed(completion))
            case .fault(.unresponsive(let opcode)): controllerFailed(.unresponsive(opcode))
            case .fault(.unexpectedAnswer): noteFault()
            }
        }
    }

    mutating func controllerTimerFired() {
        withCommands { $0.commands.timerFired(now: $1, into: &$2) }
    }

    /// The controller failed or lost its way: start over, and run again what was running.
    mutating func controllerFailed(_ failure: ControllerFailure) { work.append(.controllerFailed(failure)) }

    mutating func withRecovery(_ input: ControllerRecovery.Input) {
        var outputs: [ControllerRecovery.Output] = []
        recovery.handle(input, now: now, into: &outputs)
        for output in outputs {
            switch output {
            case .reset: startBringUp()
            case .startOver(let failure, let remedy):
                acts.append(failure, remedy)
                startOver()
            }
        }
    }

    private mutating func startBringUp() {
        let bringUp = BringUp()
        controller.bringUp = bringUp
        submit(bringUp.command, for: .bringUp)
    }

    /// Apps hear first that the adapter is away, so that what they ask for when they hear of their links waits for it. One that did not
    /// come up is none for them until it does.
    private mutating func startOver() {
        let wasOn = state == .poweredOn
        setState(recovery.isUnsupported ? .unsupported : .resetting)
        tellGAP(.controllerLost)
        for link in links.all { closed(link, reason: .hardwareFailure) }
        links.controllerLost()
        controller.startOver()
        if wasOn { endWithPower() }
    }
}

// MARK: Events

extension HostCore {
    private mutating func receivedEvent(_ event: HCIEvent) {
        if controller.commands.isResetting, !event.isAnswer { return }
        switch event {
        case .commandComplete(let answer): withCommands { $0.commands.receive(answer, now: $1, into: &$2) }
        case .commandStatus(let answer): withCommands { $0.commands.receive(answer, now: $1, into: &$2) }
        case .numberOfCompletedPackets(let packets): receivedCompleted(packets)
        case .disconnectionComplete(let event):
            happened(
                event.status == .success ? .disconnected : .notDisconnected, at: event.handle, reason: event.reason)
            wishesChanged()
        case .encryptionChange(let event):
            guard let link = openLink(at: event.handle) else { return }
            encryptionChanged(link, event.status, isOn: event.encryptionEnabled != .off)
        case .encryptionKeyRefreshComplete(let event):
            guard let link = openLink(at: event.handle) else { return }
            encryptionChanged(link, event.status, isOn: true)
        case .hardwareError(let code): controllerFailed(.hardwareError(code: code))
        case .le(let event): receivedLEEvent(event)
        case .readRemoteVersionInformationComplete(let event): learned(.init(event), at: event.handle)
        case .dataBufferOverflow: noteFault()
        case .unknown: break
        }
    }

    private mutating func receivedLEEvent(_ event: HCILEEvent) {
        switch event {
        case .connectionComplete(let event):
            connectionComplete(
                event.status, event.handle, event.role, event.peerAddress.address, LinkFacts(event.parameters))
        case .enhancedConnectionComplete(let event):
            connectionComplete(
                event.status, event.handle, event.role, event.peerAddressOnAir, LinkFacts(event.parameters))
        case .advertisingReport(let event): receivedReport(event)
        case .extendedAdvertisingReport(let event): receivedReport(event)
        case .advertisingSetTerminated(let event): advertisingSetTerminated(event)
        case .longTermKeyRequest(let event):
            guard let link = openLink(at: event.handle) else { return }
            longTermKeyRequested(link, event)
        case .remoteConnectionParameterRequest(let event): answer(event)
        // Asked for by no command of ours.
        case .scanTimeout, .scanRequestReceived: break
        case .connectionUpdateComplete(let event): learned(.init(event), at: event.handle)
        case .readRemoteFeaturesComplete(let event): learned(.init(event), at: event.handle)
        case .dataLengthChange(let event): learned(.init(event), at: event.handle)
        case .phyUpdateComplete(let event): learned(.init(event), at: event.handle)
        case .channelSelectionAlgorithm(let event): learned(.channelSelection(event.algorithm), at: event.handle)
        case .unknown: break
        }
    }

    private mutating func receivedCompleted(_ packets: HCINumberOfCompletedPackets) {
        var outputs: [ACLSendOutput] = []
        swap(&outputs, &spareSendOutputs)
        controller.acl?.receive(packets, now: now, into: &outputs)
        performSends(outputs)
        outputs.removeAll(keepingCapacity: true)
        swap(&outputs, &spareSendOutputs)
        flushACL()
        for link in links.all where server.hasWaitingUpdates(for: link.id) { deliverQueuedUpdates(to: link) }
        sendChannelFrames()
        announceRoom()
    }

    mutating func performSends(_ outputs: [ACLSendOutput]) {
        for output in outputs {
            switch output {
            case .completed(_, let token):
                if case .queuedUpdate(let owner, let sequence, let link) = controller.takeSendPurpose(of: token) {
                    tellServer(.sent(link, owner, sequence: sequence))
                }
            // A queued update stays queued, for the central's return.
            case .dropped(_, let token): _ = controller.takeSendPurpose(of: token)
            case .fault: noteFault()
            }
        }
    }

    /// A packet was to leave, and its time is over. The controller never hears of it, and whoever wrote it does: nothing of
    /// the write has been sent, and nothing will be.
    mutating func tooLate(_ late: ActQueue.Late) {
        switch late {
        case .packet(let packet): tooLate(packet)
        case .call(let call): tellBlueZ(.lapsed(call))
        }
    }

    private mutating func tooLate(_ packet: ACLPacket) {
        controller.acl?.recall(packet)
        if case .datedWrite(let manager, let token, let peer) = controller.takeSendPurpose(of: packet.token) {
            announce(.writeLapsed(token, peer), to: manager)
        }
        flushACL()
    }

    mutating func flushACL() {
        while acts.appendPacket(from: &controller, now: now) {}
    }

    /// Parameters that the specification allows are taken as the peer wants them.
    ///
    /// Core 5.4, Vol 4, Part E, 7.7.65.6 (LE Remote Connection Parameter Request event)
    private mutating func answer(_ event: HCILERemoteConnectionParameterRequest) {
        let asked = ConnectionParameters(
            intervalMin: event.intervalMin, intervalMax: event.intervalMax, latency: event.maxLatency,
            timeout: event.supervisionTimeout)
        guard let link = openLink(at: event.handle) else {
            return submit(refusal(of: event), for: .ignored)
        }
        let purpose = CommandPurpose.link(link.id, .connectionParametersReply)
        guard takes(asked, on: link) else { return submit(refusal(of: event), for: purpose) }
        let reply = HCILERemoteConnectionParameterRequestReply(handle: event.handle, connection: .init(asked))
        submit(reply, for: purpose)
    }

    private func refusal(
        of event: HCILERemoteConnectionParameterRequest
    ) -> HCILERemoteConnectionParameterRequestNegativeReply {
        HCILERemoteConnectionParameterRequestNegativeReply(
            handle: event.handle, reason: .unacceptableConnectionParameters)
    }
}

extension HCIEvent {
    /// Whether it answers a command.
    fileprivate var isAnswer: Bool {
        switch self {
        case .commandComplete, .commandStatus: true
        default: false
        }
    }
}

extension LEConnectionIntervals {
    init(_ parameters: ConnectionParameters) {
        self.init(
            intervalMin: parameters.intervalMin, intervalMax: parameters.intervalMax, maxLatency: parameters.latency,
            supervisionTimeout: parameters.timeout)
    }
}

// MARK: Answers

extension HostCore {
    mutating func completed(_ completion: HCICommandCompletion) {
        let purpose = controller.takePurpose(of: completion.token)
        guard let status = completion.status else { return unanswered(completion.outcome, purpose) }
        switch purpose {
        case .bringUp: bringUpAnswered(completion, status)
        case .gap(let machine): tellGAP(.answered(machine, status))
        case .link(let id, let command):
            if let link = links[id] { answered(link, command, status, completion) }
        case .rejectLink(let handle): disconnectAnswered(status, at: handle)
        case .ignored: break
        }
    }

    /// Commands that were abandoned are asked again, or not, by whoever starts over. One that found no room in a queue that
    /// nothing a peer does can fill leaves the controller in a state that nobody knows.
    private mutating func unanswered(_ outcome: HCICommandCompletion.Outcome, _ purpose: CommandPurpose) {
        guard outcome == .queueFull else { return }
        noteFault()
        if case .ignored = purpose { return }
        controllerFailed(.commandQueueFull)
    }

    private mutating func answered(
        _ link: Link, _ command: LinkCommand, _ status: HCIErrorCode, _ completion: HCICommandCompletion
    ) {
        switch command {
        case .reading(let reading): linkLayer(link, .readingEnded(reading, completion.value(of: reading)))
        case .connectionUpdate: linkLayer(link, .updateAnswered(status))
        case .connectionParametersRequest: linkLayer(link, .requestAnswered(status))
        case .inquiry(let step): linkLayer(link, .inquiryAnswered(step, status))
        case .disconnect: disconnectAnswered(status, at: link.handle)
        // Refused for a link that has gone, or is going: its Disconnection Complete tells.
        case .longTermKeyReply, .connectionParametersReply: break
        case .enableEncryption:
            if status != .success { encryptionChanged(link, status, isOn: false) }
        }
    }

    private mutating func bringUpAnswered(_ completion: HCICommandCompletion, _ status: HCIErrorCode) {
        guard var bringUp = controller.bringUp else { return }
        var parameters: [UInt8] = []
        if case .returned(let octets) = completion.outcome { parameters = Array(octets.dropFirst()) }
        let outcome = bringUp.completed(status, parameters)
        controller.bringUp = bringUp
        switch outcome {
        case .next: submit(bringUp.command, for: .bringUp)
        // A command that failed once may succeed next time.
        case .unsupported(_, let failure): controllerFailed(.bringUpFailed(type(of: bringUp.command).opcode, failure))
        case .ready(let facts): poweredOn(facts)
        }
    }

    private mutating func poweredOn(_ facts: ControllerFacts) {
        controller.bringUp = nil
        controller.facts = facts
        guard
            let buffers = ACLBuffers(packetOctets: facts.aclDataPacketLength, packetCount: facts.aclDataPacketCount)
        else {
            let failure = HCICommandFailure.malformed(.invalidValue(field: "LE_ACL_Data_Packet_Length"))
            return controllerFailed(.bringUpFailed(HCILEReadBufferSize.opcode, failure))
        }
        controller.acl = ACLSendQueue(buffers)
        tellGAP(.controllerReady(facts))
        withRecovery(.cameUp)
        // What is restored runs before an app hears that it may ask for anything.
        settleAir()
        setState(.poweredOn)
    }
}
