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
        var outputs: [GATTOutput] = []
        swap(&outputs, &spareEndpointOutputs)
        let result = body(&link.endpoint, &server.gatt, now, &outputs)
        outputs.drain { performGATT($0, on: link) }
        swap(&outputs, &spareEndpointOutputs)
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

    private mutating func performGATT(_ output: GATTOutput, on link: Link) {
        switch output {
        case .send(let pdu): sendPDU(pdu, on: .attributeProtocol, link)
        case .persist(let mutation): persist(.gatt(mutation))
        case .serverRead(let id, let handle, let offset):
            work.append(.server(.read(link.id, id, handle, offset: offset)))
        case .serverWrite(let id, let writes): work.append(.server(.write(link.id, id, writes, .request)))
        case .serverWriteCommand(let write): work.append(.server(.write(link.id, nil, [write], .command)))
        case .signedWrite(let handle, let value, let pdu, let needsAuthentication):
            signedWrite(link, handle, value, pdu, needsAuthentication)
        case .subscriptionChanged(let handle, let configuration):
            work.append(.server(.subscriptionChanged(link.id, handle, configuration)))
        case .indicationEnded(let token, let confirmed):
            work.append(.server(.indicationEnded(link.id, token: token, confirmed: confirmed)))
            work.append(.roomChanged)
        case .clientCompleted(let token, let result): clientCompleted(link, token, result)
        case .sign(let token, let message): sign(link, token, message)
        case .notification(let handle, let value): valueUpdated(link, handle, value, isIndication: false)
        case .indication(let handle, let value): valueUpdated(link, handle, value, isIndication: true)
        case .bearerFailed: disconnect(link, reason: .remoteUserTerminatedConnection)
        }
    }
}

// MARK: Signed writes

extension HostCore {
    /// MAC first, in constant time, and then the counter: a forged write moves nothing, and ends the link that it came on.
    private mutating func signedWrite(
        _ link: Link, _ handle: AttributeHandle, _ value: [UInt8], _ pdu: [UInt8], _ needsAuthentication: Bool
    ) {
        guard let bond = link.bond, !link.security.encrypted else { return }
        guard !needsAuthentication || bondBook.bond(bond)?.isAuthenticated == true else { return }
        switch bondBook.verifySigned(pdu, from: bond) {
        case .accepted(let counter, let mutation):
            persist(mutation)
            let write = AttributeWrite(handle: handle, value: value)
            work.append(.server(.write(link.id, nil, [write], .signed(counter: counter))))
        case .replayed, .malformed, .notVerifiable: break
        case .badSignature: disconnect(link, reason: .authenticationFailure)
        }
    }
}
