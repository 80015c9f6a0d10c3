import ATT
import BluetoothCore
import GATT

@Sendable func fuzzATTPDU(_ octets: [UInt8]) {
    guard let pdu = try? ATTPDU(octets) else { return }
    let encoded = pdu.pdu
    require(encoded.count <= octets.count, "an ATT PDU grew")
    require((try? ATTPDU(encoded)) == pdu, "an ATT PDU does not survive its encoding")
}

/// One request and one indication each way; every indication taken ends exactly once.
@Sendable func fuzzATTBearer(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var bearer = ATTBearer(maximumMTU: Int(input.uint16()))
    var now = Instant(nanoseconds: 0)
    var open: Set<ATTIndicationTag> = []
    var token: UInt64 = 0
    func ended(_ tag: ATTIndicationTag) { require(open.remove(tag) != nil, "an indication ended twice") }

    while let event = input.nextEvent() {
        switch event & 7 {
        case 0, 1, 2:
            let arrival = bearer.receive(input.chunk(), now: now)
            if case .confirmation(let tag, _) = arrival { ended(tag) }
            if case .failed = arrival { bearer.close().forEach(ended) }
        case 3: _ = bearer.begin(ATTOpcode(rawValue: input.octet()), now: now)
        case 4:
            token += 1
            switch bearer.indicate(input.chunk(), tag: .app(token: token), now: now) {
            case .send, .queued: open.insert(.app(token: token))
            case .queueFull: require(open.count > ATTBound.indicationQueueCapacityCount, "the queue is full too soon")
            case .closed: require(!bearer.isOpen, "an open bearer says that it is closed")
            }
        case 5: _ = bearer.respond()
        case 6: bearer.agree(peerRxMTU: input.uint16())
        default:
            now = now.advanced(byMilliseconds: input.milliseconds())
            let isLate = bearer.deadline.map { $0 <= now } ?? false
            require((bearer.failure(at: now) != nil) == isLate, "a deadline and its failure disagree")
            if isLate { bearer.close().forEach(ended) }
        }
        require((ATTBound.defaultMTUOctets...bearer.maximumMTU).contains(bearer.mtu), "the MTU is out of bounds")
        require(open.count <= ATTBound.indicationQueueCapacityCount + 1, "indications wait without bound")
    }
    bearer.close().forEach(ended)
    require(open.isEmpty, "indications were lost")
}

/// A client and a server on one bearer: whatever the peer says, every procedure ends once and no PDU exceeds the MTU.
@Sendable func fuzzGATTEndpoint(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var world = EndpointWorld(&input)
    while let event = input.nextEvent() { world.happen(event, &input) }
    world.finish()
}

private struct EndpointWorld {
    private var server = GATTServer(configuration: GATTServerConfiguration(deviceName: "fuzz"))
    private var endpoint: GATTEndpoint
    private var security = LinkSecurity.open
    private var now = Instant(nanoseconds: 0)
    private var outputs: [GATTOutput] = []
    private var token: UInt64 = 0
    private var procedures: Set<UInt64> = []
    private var indications: Set<UInt64> = []
    private var reads: [GATTRequestID] = []
    private var writes: [GATTRequestID] = []
    private var published: [PublishedService] = []

    init(_ input: inout FuzzInput) {
        endpoint = GATTEndpoint(maximumMTU: Int(input.uint16()))
        publish(input.octet())
    }

    private static let service: BluetoothUUID = 0xFFF0

    private mutating func publish(_ choice: UInt8) {
        let requirement = AttributeRequirement(rawValue: choice & 3) ?? .open
        let all: CharacteristicProperties = [
            .read, .write, .writeWithoutResponse, .notify, .indicate, .authenticatedSignedWrites, .extendedProperties,
        ]
        let access = AttributeAccess(
            read: requirement, writeRequest: requirement, writeCommand: requirement, signedWrite: true,
            subscribe: requirement, requiresAuthorization: choice & 4 != 0)
        let long = [UInt8](repeating: choice, count: Int(choice) * 2)
        let definition = ServiceDefinition(
            uuid: Self.service, isPrimary: choice & 8 == 0, includedServices: published.prefix(1).map(\.declaration),
            characteristics: [
                CharacteristicDefinition(
                    uuid: 0xFFF1, properties: all, access: access, extendedProperties: .reliableWrite,
                    descriptors: [.userDescription("fuzz")]),
                CharacteristicDefinition(
                    uuid: BluetoothUUID(bits: UInt128(choice)), properties: .read, access: .readOnly,
                    value: .static(long)),
            ])
        guard published.count < 8, let service = try? server.publish(definition) else { return }
        published.append(service)
        endpoint.databaseChanged(service.declaration...service.end, now: now, server: server, outputs: &outputs)
    }

    mutating func happen(_ event: UInt8, _ input: inout FuzzInput) {
        // A response may still be as long as the MTU was before it changed.
        let mtu = endpoint.mtu
        switch event & 15 {
        case 0...5:
            endpoint.receive(input.chunk(), now: now, security: security, server: &server, outputs: &outputs)
        case 6: perform(&input)
        case 7:
            guard let id = reads.popLast() else { break }
            let value = input.chunk()
            let result: Result<[UInt8], ATTErrorCode> = value.isEmpty ? .failure(.invalidOffset) : .success(value)
            endpoint.respond(toRead: id, with: result, security: security, server: &server, outputs: &outputs)
        case 8:
            guard let id = writes.popLast() else { break }
            endpoint.respond(toWrite: id, with: input.bool() ? nil : .writeNotPermitted, outputs: &outputs)
        case 9, 10: update(&input)
        case 11:
            if input.bool() { publish(input.octet()) } else { remove() }
        case 12:
            now = now.advanced(byMilliseconds: input.milliseconds())
            endpoint.timerFired(now: now, outputs: &outputs)
        case 13:
            endpoint.identify(
                bond: UInt64(input.octet() & 3), proven: input.bool(), now: now, server: &server, outputs: &outputs)
        case 14:
            let bits = input.octet()
            security = LinkSecurity(
                encrypted: bits & 1 != 0, authenticated: bits & 2 != 0, secureConnections: bits & 4 != 0,
                keySize: bits & 1 == 0 ? 0 : 7 + bits >> 4 % 10, bonded: bits & 8 != 0, authorized: bits & 16 != 0)
        default: server.forget(bond: UInt64(input.octet() & 3))
        }
        settle(max(mtu, endpoint.mtu))
    }

    private mutating func remove() {
        guard let service = published.popLast(), server.remove(serviceAt: service.declaration) != nil else { return }
        endpoint.databaseChanged(service.declaration...service.end, now: now, server: server, outputs: &outputs)
    }

    private mutating func update(_ input: inout FuzzInput) {
        let handle = published.last?.characteristics.first?.value ?? AttributeHandle(UInt16(input.octet()))
        let value = input.chunk()
        guard input.bool() else {
            _ = endpoint.notify(handle, value, security: security, server: server, outputs: &outputs)
            return
        }
        token += 1
        let outcome = endpoint.indicate(
            handle, value, token: token, now: now, security: security, server: server, outputs: &outputs)
        if outcome == .sent || outcome == .queued { indications.insert(token) }
    }

    private mutating func perform(_ input: inout FuzzInput) {
        token += 1
        procedures.insert(token)
        endpoint.perform(Self.operation(&input), token: token, now: now, outputs: &outputs)
    }

    private static func operation(_ input: inout FuzzInput) -> GATTClientOperation {
        let choice = input.octet()
        let (a, b) = (AttributeHandle(input.uint16()), AttributeHandle(input.uint16()))
        let range = ATTHandleRange(start: a, end: b)
        switch choice % 18 {
        case 0: return .exchangeMTU
        case 1: return .discoverDatabase
        case 2: return .discoverPrimaryServices
        case 3: return .discoverPrimaryServicesByUUID(service)
        case 4: return .findIncludedServices(range)
        case 5: return .discoverCharacteristics(range, uuid: nil)
        case 6: return .discoverCharacteristics(range, uuid: 0xFFF1)
        case 7: return .discoverDescriptors(range)
        case 8: return .read(a)
        case 9: return .read(a, offset: Int(b.rawValue))
        case 10: return .readByUUID(service, range)
        case 11: return .readMultiple([a, b])
        case 12: return .readMultipleVariable([a, b])
        case 13: return .write(a, input.chunk())
        case 14: return .writeLong(a, offset: Int(b.rawValue), input.chunk() + input.chunk() + input.chunk())
        case 15: return .reliableWrites([AttributeWrite(handle: a, value: input.chunk())])
        case 16: return .writeWithoutResponse(a, input.chunk())
        default: return .signedWriteWithoutResponse(a, input.chunk())
        }
    }

    private mutating func settle(_ mtu: Int) {
        for output in outputs {
            switch output {
            case .send(let pdu):
                require((1...mtu).contains(pdu.count), "a PDU of \(pdu.count) octets leaves, the MTU is \(mtu)")
            case .serverRead(let id, _, let offset):
                require(offset <= 0xFFFF, "an offset is longer than its field")
                reads.append(id)
            case .serverWrite(let id, let parts):
                require(
                    parts.allSatisfy { $0.offset + $0.value.count <= ATTBound.attributeValueOctets },
                    "a write is longer than a value can be")
                writes.append(id)
            case .clientCompleted(let token, _):
                require(procedures.remove(token) != nil, "a procedure ended twice")
            case .indicationEnded(let token, _):
                require(indications.remove(token) != nil, "an indication ended twice")
            case .persist, .serverWriteCommand, .signedWrite, .subscriptionChanged, .sign, .notification, .indication,
                .bearerFailed:
                break
            }
        }
        outputs.removeAll()
    }

    mutating func finish() {
        endpoint.disconnected(outputs: &outputs)
        settle(endpoint.mtu)
        require(procedures.isEmpty, "\(procedures.count) procedures never ended")
        require(indications.isEmpty, "\(indications.count) indications never ended")
    }
}
