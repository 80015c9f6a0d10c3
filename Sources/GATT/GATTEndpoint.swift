import ATT
import BluetoothCore

/// GATT on one link: the bearer, the client and this link's share of the server, in one value.
///
/// In: ATT PDUs of the peer, operations of the client, answers and updates of the app, time. Out: ``GATTOutput``s: PDUs
/// to send, what the app is asked or told, facts for the store. The host owns it, and hands in the identity's
/// ``GATTServer``.
///
/// Outputs are appended to the caller's array, which it reuses from iteration to iteration.
package struct GATTEndpoint: Sendable {
    /// Stored where the host can see it: with every packet it looks at the bearer's MTU and deadline, and a call would copy
    /// the whole endpoint for each.
    package private(set) var bearer: ATTBearer
    private var client = GATTClient()
    private var link = GATTServerLink()
    private var pdus = RecycledOctets()

    /// `maximumMTU` is what this side takes, 23–517.
    package init(maximumMTU: Int = ATTBound.maximumMTUOctets) { bearer = ATTBearer(maximumMTU: maximumMTU) }

    /// Octets of the largest PDU, either way.
    package var mtu: Int { bearer.mtu }

    /// For a link whose bearer is another program's: what that one has agreed on with the peer.
    package mutating func agreed(mtu: Int) { bearer.agree(peerRxMTU: UInt16(clamping: mtu)) }

    /// Whether ``indicate(_:_:token:now:security:server:outputs:)`` would find its queue full.
    package var isIndicationQueueFull: Bool { bearer.isIndicationQueueFull }
    /// Whether an app's indication has yet to be confirmed.
    package var hasAppIndicationUnderWay: Bool { bearer.hasAppIndicationUnderWay }
    /// When ``timerFired(now:outputs:)`` wants to be called.
    package var deadline: Instant? { bearer.deadline }

    /// A PDU arrived on the fixed channel 0x0004.
    package mutating func receive(
        _ bytes: [UInt8], now: Instant, security: LinkSecurity, server: inout GATTServer, outputs: inout [GATTOutput]
    ) {
        let context = ServerContext(security: security, mtu: bearer.mtu)
        switch bearer.receive(bytes, now: now) {
        case .request(.exchangeMTU(let request)): exchangeMTU(request, &server, &outputs)
        case .request(let request): conclude(link.serve(request, context, &server, &outputs), &outputs)
        case .command(.write(let command)): link.serve(command, context, server, &outputs)
        case .command(.signedWrite(let command)): link.serve(command, pdu: bytes, context, server, &outputs)
        case .response(let response): client.receive(response, &bearer, now: now, &outputs)
        case .malformedResponse: client.receive(nil, &bearer, now: now, &outputs)
        case .notification(.handleValue(let notification)):
            outputs.append(.notification(notification.handle, notification.value))
        case .notification(.multipleHandleValue(let notification)):
            for part in notification.notifications { outputs.append(.notification(part.handle, part.value)) }
        case .indication(let indication):
            outputs.append(.indication(indication.handle, indication.value))
            outputs.append(.send(pdus.pdu(ATTHandleValueConfirmation())))
        case .confirmation(.app(let token), let next):
            if let next { outputs.append(.send(next)) }
            outputs.append(.indicationEnded(token: token, confirmed: true))
        case .confirmation(.server(let databaseHash), let next):
            link.confirmServiceChanged(databaseHash, &server, &outputs)
            if let next { outputs.append(.send(next)) }
        case .refused(let error):
            link.noteRequest(&server, &outputs)
            outputs.append(.send(error.pdu))
        case .ignored: break
        case .failed(let failure): fail(failure, &outputs)
        }
    }

    package mutating func timerFired(now: Instant, outputs: inout [GATTOutput]) {
        if let failure = bearer.failure(at: now) { fail(failure, &outputs) }
    }

    /// The link is gone: every operation that was asked ends, every request that waits for the app is dropped.
    package mutating func disconnected(outputs: inout [GATTOutput]) {
        for tag in bearer.close() {
            guard case .app(let token) = tag else { continue }
            outputs.append(.indicationEnded(token: token, confirmed: false))
        }
        client.close(&outputs)
        link.pending = nil
        link.prepared.removeAll()
    }

    private mutating func fail(_ failure: ATTBearerFailure, _ outputs: inout [GATTOutput]) {
        disconnected(outputs: &outputs)
        outputs.append(.bearerFailed(failure))
    }
}

// MARK: - Client

extension GATTEndpoint {
    /// Starts or queues a client procedure; it ends in exactly one `clientCompleted` with this token. The two writes
    /// without response do not wait for what was asked before them.
    package mutating func perform(
        _ operation: GATTClientOperation, token: UInt64, now: Instant, outputs: inout [GATTOutput]
    ) {
        guard bearer.isOpen else {
            outputs.append(.clientCompleted(token: token, .failure(.bearerClosed)))
            return
        }
        switch operation {
        case .writeWithoutResponse(let handle, let value):
            let pdu = pdus.pdu(ATTWriteCommand(handle: handle, value: value))
            Self.finish(token, pdu.count <= bearer.mtu ? .send(pdu) : nil, &outputs)
        case .signedWriteWithoutResponse(let handle, let value):
            let message = ATTSignedWriteCommand(handle: handle, value: value, authenticationSignature: []).pdu
            let octets = message.count + ATTSignedWriteCommand.authenticationSignatureOctets
            Self.finish(token, octets <= bearer.mtu ? .sign(token: token, message: message) : nil, &outputs)
        default:
            if let error = client.enqueue(operation, token: token, mtu: bearer.mtu) {
                outputs.append(.clientCompleted(token: token, .failure(error)))
                return
            }
            client.advance(&bearer, now: now, &outputs)
        }
    }

    private static func finish(_ token: UInt64, _ output: GATTOutput?, _ outputs: inout [GATTOutput]) {
        if let output { outputs.append(output) }
        outputs.append(
            .clientCompleted(token: token, output == nil ? .failure(.invalidOperation) : .success(.done)))
    }
}

// MARK: - Server

extension GATTEndpoint {
    /// Says who the client is: resolved from its address (`proven` false: what it writes stays in memory for this link) or
    /// proven by encryption with the bond's key.
    package mutating func identify(
        bond: UInt64, proven: Bool, now: Instant, server: inout GATTServer, outputs: inout [GATTOutput]
    ) {
        if link.identify(bond: bond, proven: proven, server: &server, outputs: &outputs) {
            indicateServiceChanged(.first ... .last, now, server, &outputs)
        }
    }

    /// Answers a `serverRead` with the value from the asked offset on. False when the request is no longer there.
    @discardableResult
    package mutating func respond(
        toRead id: GATTRequestID, with result: Result<[UInt8], ATTErrorCode>, security: LinkSecurity,
        server: inout GATTServer, outputs: inout [GATTOutput]
    ) -> Bool {
        let context = ServerContext(security: security, mtu: bearer.mtu)
        guard let answer = link.answer(read: id, result, context, &server, &outputs) else { return false }
        conclude(answer, &outputs)
        return true
    }

    /// Answers a `serverWrite`: nil says that all of it was taken, an error that none was, and at which handle it failed.
    /// False when the request is no longer there.
    @discardableResult
    package mutating func respond(
        toWrite id: GATTRequestID, with error: ATTErrorCode?, at handle: AttributeHandle? = nil,
        outputs: inout [GATTOutput]
    ) -> Bool {
        guard let answer = link.answer(write: id, error, at: handle) else { return false }
        conclude(answer, &outputs)
        return true
    }

    /// Sends a Handle Value Notification of the characteristic with this value handle to a client that wants one. A value
    /// longer than the MTU takes is cut.
    package mutating func notify(
        _ handle: AttributeHandle, _ value: [UInt8], security: LinkSecurity, server: GATTServer,
        outputs: inout [GATTOutput]
    ) -> GATTSendOutcome {
        if let obstacle = obstacle(to: handle, .notify, .notification, security, server) { return obstacle }
        outputs.append(.send(handleValue(ATTHandleValueNotification.opcode, handle, value)))
        return .sent
    }

    /// Sends or queues a Handle Value Indication, which ends in exactly one `indicationEnded` with this token if the
    /// outcome is `sent` or `queued`.
    package mutating func indicate(
        _ handle: AttributeHandle, _ value: [UInt8], token: UInt64, now: Instant, security: LinkSecurity,
        server: GATTServer, outputs: inout [GATTOutput]
    ) -> GATTSendOutcome {
        if let obstacle = obstacle(to: handle, .indicate, .indication, security, server) { return obstacle }
        let pdu = handleValue(ATTHandleValueIndication.opcode, handle, value)
        return indicate(pdu, .app(token: token), now, &outputs)
    }

    /// What this client subscribed to at the characteristic with this value handle, as it counts on this link now.
    package func subscription(to handle: AttributeHandle, server: GATTServer) -> ClientCharacteristicConfiguration {
        guard let descriptor = server.database[handle]?.configuration else { return [] }
        return link.configuration(at: descriptor, server)
    }

    /// The tree changed in this range of handles: call for every link after ``GATTServer/publish(_:at:)`` or
    /// ``GATTServer/remove(serviceAt:)``.
    package mutating func databaseChanged(
        _ range: ClosedRange<AttributeHandle>, now: Instant, server: GATTServer, outputs: inout [GATTOutput]
    ) {
        link.databaseChanged(range)
        if !link.isUnproven { indicateServiceChanged(range, now, server, &outputs) }
    }
}

extension GATTEndpoint {
    private mutating func conclude(_ answer: ServerAnswer, _ outputs: inout [GATTOutput]) {
        switch answer {
        case .pending: break
        case .pdu(let pdu):
            if bearer.respond() { outputs.append(.send(pdu)) }
        case .pduThen(let pdu, let output):
            if bearer.respond() { outputs.append(.send(pdu)) }
            outputs.append(output)
        }
    }

    /// Core 5.4, Vol 3, Part F, 3.4.2.2 (Exchange MTU Response)
    private mutating func exchangeMTU(
        _ request: ATTExchangeMTURequest, _ server: inout GATTServer, _ outputs: inout [GATTOutput]
    ) {
        link.noteRequest(&server, &outputs)
        let response = ATTExchangeMTUResponse(serverRxMTU: UInt16(truncatingIfNeeded: bearer.maximumMTU))
        conclude(.pdu(response.pdu), &outputs)
        bearer.agree(peerRxMTU: request.clientRxMTU)
    }

    /// What keeps a value from going to this client.
    private func obstacle(
        to handle: AttributeHandle, _ property: CharacteristicProperties, _ kind: ClientCharacteristicConfiguration,
        _ security: LinkSecurity, _ server: GATTServer
    ) -> GATTSendOutcome? {
        guard bearer.isOpen else { return .bearerClosed }
        guard let attribute = server.database[handle], attribute.properties.contains(property),
            let descriptor = attribute.configuration
        else { return .invalidCharacteristic }
        guard link.configuration(at: descriptor, server).contains(kind) else { return .notSubscribed }
        guard attribute.access.refusal(on: .subscribe, security) == nil else { return .insufficientSecurity }
        return link.isOutOfSync(server) ? .changeUnaware : nil
    }

    /// Core 5.4, Vol 3, Part F, 3.4.7.1 (Handle Value Notification), 3.4.7.2 (Handle Value Indication)
    private mutating func handleValue(
        _ opcode: ATTOpcode, _ handle: AttributeHandle, _ value: [UInt8]
    ) -> [UInt8] {
        let longest = bearer.mtu - 3
        return pdus.make {
            $0.write(opcode.rawValue)
            $0.write(handle.rawValue)
            $0.write(value.prefix(longest))
        }
    }

    private mutating func indicate(
        _ pdu: [UInt8], _ tag: ATTIndicationTag, _ now: Instant, _ outputs: inout [GATTOutput]
    ) -> GATTSendOutcome {
        switch bearer.indicate(pdu, tag: tag, now: now) {
        case .closed: return .bearerClosed
        case .queueFull: return .queueFull
        case .queued: return .queued
        case .send:
            outputs.append(.send(pdu))
            return .sent
        }
    }

    /// Core 5.4, Vol 3, Part G, 7.1 (Service Changed). A client that it cannot be told to stays change-unaware, and is told
    /// when it next proves itself.
    private mutating func indicateServiceChanged(
        _ range: ClosedRange<AttributeHandle>, _ now: Instant, _ server: GATTServer, _ outputs: inout [GATTOutput]
    ) {
        guard subscription(to: server.serviceChanged, server: server).contains(.indication) else { return }
        let value = ATTHandleRange(range).encoded
        let pdu = handleValue(ATTHandleValueIndication.opcode, server.serviceChanged, value)
        // Confirmed is the tree that stood when it was told.
        _ = indicate(pdu, .server(note: server.databaseHash), now, &outputs)
    }
}
