import ATT
import BluetoothCore
import GATT
import HCI
import L2CAP
import SecurityManager

// MARK: What a link's GATT endpoint wants done

extension HostCore {
    /// Runs `body` on a link's endpoint, then everything that it wants.
    mutating func withEndpoint<R>(
        _ link: Link, _ body: (inout GATTEndpoint, inout GATTServer, Instant, inout [GATTOutput]) -> R
    ) -> R {
        // An output may reach for an endpoint in turn: each call under way has a list of its own.
        var outputs = spareEndpointOutputs.popLast() ?? []
        let result = body(&link.endpoint, &server, now, &outputs)
        perform(outputs, on: link)
        outputs.removeAll(keepingCapacity: true)
        spareEndpointOutputs.append(outputs)
        return result
    }

    mutating func receivedATT(_ pdu: [UInt8], on link: Link) {
        let mtu = link.endpoint.bearer.mtu
        withEndpoint(link) { endpoint, server, now, outputs in
            endpoint.receive(pdu, now: now, security: link.security, server: &server, outputs: &outputs)
        }
        if link.endpoint.bearer.mtu != mtu { mtuChanged(link) }
    }

    private mutating func mtuChanged(_ link: Link) {
        tell(.mtu(link.id, link.endpoint.bearer.mtu))
        if link.role == .peripheral { announce(.mtuChanged(link.info)) }
        announce(.mtuChanged(link.info), toClientsOf: link)
    }

    private mutating func perform(_ outputs: [GATTOutput], on link: Link) {
        for output in outputs {
            switch output {
            case .send(let pdu): send(pdu, on: .attributeProtocol, link)
            case .persist(let mutation): persist(.gatt(mutation))
            case .serverRead(let id, let handle, let offset): serverRead(link, id, handle, offset)
            case .serverWrite(let id, let writes): serverWrite(link, id, writes)
            case .serverWriteCommand(let write): deliver(writes: [write], path: .command, id: nil, on: link)
            case .signedWrite(let handle, let value, let pdu, let needsAuthentication):
                signedWrite(link, handle, value, pdu, needsAuthentication)
            case .subscriptionChanged(let handle, let configuration):
                if let manager = publisher(of: handle) {
                    announce(.subscriptionChanged(link.info, handle, configuration), to: manager)
                }
            case .indicationEnded(let token, let confirmed): indicationEnded(link, token, confirmed)
            case .clientCompleted(let token, let result): clientCompleted(link, token, result)
            case .sign(let token, let message): sign(link, token, message)
            case .notification(let handle, let value): valueUpdated(link, handle, value, isIndication: false)
            case .indication(let handle, let value): valueUpdated(link, handle, value, isIndication: true)
            case .bearerFailed: disconnect(link, reason: .remoteUserTerminatedConnection)
            }
        }
    }
}

// MARK: Server

extension HostCore {
    private mutating func serverRead(_ link: Link, _ id: GATTRequestID, _ handle: AttributeHandle, _ offset: Int) {
        link.requests[id.rawValue] = .read
        let request = ServerReadRequest(
            id: ServerRequestID(link: link.id, number: id.rawValue), link: link.info, handle: handle, offset: offset)
        tellings.append(.read(publisher(of: handle), request))
    }

    private mutating func serverWrite(_ link: Link, _ id: GATTRequestID, _ writes: [AttributeWrite]) {
        link.requests[id.rawValue] = .write
        deliver(writes: writes, path: .request, id: ServerRequestID(link: link.id, number: id.rawValue), on: link)
    }

    mutating func deliver(writes: [AttributeWrite], path: WritePath, id: ServerRequestID?, on link: Link) {
        let request = ServerWriteRequest(
            id: id, link: link.info, path: path,
            writes: writes.map { .init(handle: $0.handle, offset: $0.offset, value: $0.value) })
        // A write of several values is one app's to accept as a whole, or nobody's.
        let publishers = Set(writes.map { publisher(of: $0.handle) })
        tellings.append(.write(publishers.count == 1 ? publishers.first ?? nil : nil, request))
    }

    /// MAC first, in constant time, and then the counter: a forged write moves nothing, and ends the link that it came on.
    private mutating func signedWrite(
        _ link: Link, _ handle: AttributeHandle, _ value: [UInt8], _ pdu: [UInt8], _ needsAuthentication: Bool
    ) {
        guard let bond = link.bond, !link.security.encrypted else { return }
        guard !needsAuthentication || bondBook.bond(bond)?.isAuthenticated == true else { return }
        switch bondBook.verifySigned(pdu, from: bond) {
        case .accepted(let counter, let mutation):
            persist(mutation)
            deliver(
                writes: [AttributeWrite(handle: handle, value: value)], path: .signed(counter: counter), id: nil,
                on: link)
        case .replayed, .malformed, .notVerifiable: break
        case .badSignature: disconnect(link, reason: .authenticationFailure)
        }
    }

    mutating func respond(to request: ServerRequestID, value: [UInt8]) { answer(request, .success(value)) }

    mutating func refuse(_ request: ServerRequestID, error: ATTErrorCode) { answer(request, .failure(error)) }

    private mutating func answer(_ request: ServerRequestID, _ result: Result<[UInt8], ATTErrorCode>) {
        guard let link = links[request.link], let kind = link.requests.removeValue(forKey: request.number) else {
            return
        }
        let id = GATTRequestID(request.number)
        withEndpoint(link) { endpoint, server, _, outputs in
            switch kind {
            case .read:
                endpoint.respond(
                    toRead: id, with: result, security: link.security, server: &server, outputs: &outputs)
            case .write:
                var error: ATTErrorCode?
                if case .failure(let code) = result { error = code }
                endpoint.respond(toWrite: id, with: error, outputs: &outputs)
            }
        }
    }
}
