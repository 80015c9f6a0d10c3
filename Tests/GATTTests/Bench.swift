import ATT
import BluetoothCore

@testable import GATT

/// One endpoint and its server, driven by octets. No mock: it only holds the values and gathers the outputs.
struct Bench {
    var server: GATTServer
    var endpoint: GATTEndpoint
    var security = LinkSecurity.open
    var now = Instant(nanoseconds: 1_000_000_000)

    init(records: [GATTClientRecord] = [], maximumMTU: Int = 517) {
        server = GATTServer(configuration: .init(deviceName: "Latch", appearance: 0x0708), records: records)
        endpoint = GATTEndpoint(maximumMTU: maximumMTU)
    }

    /// Another link to the same server.
    init(server: GATTServer, endpoint: GATTEndpoint) {
        self.server = server
        self.endpoint = endpoint
    }

    mutating func receive(_ bytes: [UInt8]) -> [GATTOutput] {
        var outputs: [GATTOutput] = []
        endpoint.receive(bytes, now: now, security: security, server: &server, outputs: &outputs)
        return outputs
    }

    mutating func receive(_ hex: String) -> [GATTOutput] { receive(HexText.decode(hex) ?? []) }

    /// The octets sent in answer to `hex`, with nothing else among the outputs.
    mutating func reply(_ hex: String) -> String { Self.text(receive(hex)) }

    mutating func perform(_ operation: GATTClientOperation, token: UInt64 = 1) -> [GATTOutput] {
        var outputs: [GATTOutput] = []
        endpoint.perform(operation, token: token, now: now, outputs: &outputs)
        return outputs
    }

    mutating func identify(bond: UInt64, proven: Bool) -> [GATTOutput] {
        var outputs: [GATTOutput] = []
        endpoint.identify(bond: bond, proven: proven, now: now, server: &server, outputs: &outputs)
        return outputs
    }

    mutating func respond(toRead id: GATTRequestID, _ result: Result<[UInt8], ATTErrorCode>) -> [GATTOutput] {
        var outputs: [GATTOutput] = []
        endpoint.respond(toRead: id, with: result, security: security, server: &server, outputs: &outputs)
        return outputs
    }

    mutating func respond(toWrite id: GATTRequestID, _ error: ATTErrorCode? = nil) -> [GATTOutput] {
        var outputs: [GATTOutput] = []
        endpoint.respond(toWrite: id, with: error, outputs: &outputs)
        return outputs
    }

    mutating func notify(_ handle: AttributeHandle, _ value: [UInt8]) -> (GATTSendOutcome, [GATTOutput]) {
        var outputs: [GATTOutput] = []
        let outcome = endpoint.notify(handle, value, security: security, server: server, outputs: &outputs)
        return (outcome, outputs)
    }

    mutating func indicate(
        _ handle: AttributeHandle, _ value: [UInt8], token: UInt64 = 1
    ) -> (GATTSendOutcome, [GATTOutput]) {
        var outputs: [GATTOutput] = []
        let outcome = endpoint.indicate(
            handle, value, token: token, now: now, security: security, server: server, outputs: &outputs)
        return (outcome, outputs)
    }

    mutating func databaseChanged(_ range: ClosedRange<AttributeHandle>) -> [GATTOutput] {
        var outputs: [GATTOutput] = []
        endpoint.databaseChanged(range, now: now, server: server, outputs: &outputs)
        return outputs
    }

    /// Outputs as a transcript reads: sent octets in hexadecimal, the rest by its kind.
    static func text(_ outputs: [GATTOutput]) -> String {
        outputs.map { output in
            switch output {
            case .send(let pdu): HexText.encode(pdu)
            case .persist(.clientCharacteristicConfiguration(let bond, let handle, let value)):
                "persist ccc \(bond) \(handle) \(value.rawValue)"
            case .persist(.clientSupportedFeatures(let bond, let value)):
                "persist features \(bond) \(HexText.encode(value))"
            case .persist(.changeAware(let bond, _)): "persist aware \(bond)"
            case .persist(.handlesRemoved(let range)): "persist removed \(range)"
            case .serverRead(_, let handle, let offset): "read \(handle)+\(offset)"
            case .serverWrite(_, let writes): "write " + writes.map(text).joined(separator: " ")
            case .serverWriteCommand(let write): "command " + text(write)
            case .signedWrite(let handle, let value, let pdu, _):
                "signed \(handle)=\(HexText.encode(value)) of \(HexText.encode(pdu))"
            case .subscriptionChanged(let handle, let value): "subscribed \(handle) \(value.rawValue)"
            case .indicationEnded(let token, let confirmed): "indication \(token) \(confirmed)"
            case .clientCompleted(let token, let result): "completed \(token) \(text(result))"
            case .sign(let token, let message): "sign \(token) \(HexText.encode(message))"
            case .notification(let handle, let value): "notified \(handle)=\(HexText.encode(value))"
            case .indication(let handle, let value): "indicated \(handle)=\(HexText.encode(value))"
            case .bearerFailed(let failure): "failed \(failure)"
            }
        }
        .joined(separator: ", ")
    }

    private static func text(_ write: AttributeWrite) -> String {
        "\(write.handle)+\(write.offset)=\(HexText.encode(write.value))"
    }

    private static func text(_ result: Result<GATTClientResult, GATTClientError>) -> String {
        switch result {
        case .success(.value(let value)): "value \(HexText.encode(value))"
        case .success(.done): "done"
        case .success(.mtu(let mtu)): "mtu \(mtu)"
        case .success(.services(let all)):
            all.map { "\($0.uuid)@\($0.declaration)-\($0.end)" }.joined(separator: " ")
        case .success(.includedServices(let all)):
            all.map { "\($0.handle):\($0.uuid)@\($0.declaration)-\($0.end)" }.joined(separator: " ")
        case .success(.characteristics(let all)):
            all.map { "\($0.uuid)@\($0.declaration),\($0.value)-\($0.end)" }.joined(separator: " ")
        case .success(.descriptors(let all)): all.map { "\($0.uuid)@\($0.handle)" }.joined(separator: " ")
        case .success(.values(let all)):
            all.map { "\($0.handle)=\(HexText.encode($0.value))" }.joined(separator: " ")
        case .success(.database(let database)): "\(database.services.count) services"
        case .failure(.refused(let code, let handle)): "refused \(code) \(handle)"
        case .failure(.malformedAnswer(let fault)): "malformed \(fault)"
        case .failure(let error): "\(error)"
        }
    }
}

extension LinkSecurity {
    static let encrypted = Self(encrypted: true, keySize: 16, bonded: true)
    static let authenticated = Self(encrypted: true, authenticated: true, keySize: 16, bonded: true)
    static let level4 = Self(
        encrypted: true, authenticated: true, secureConnections: true, keySize: 16, bonded: true)
}

/// The tree of the tests: GAP at 0x1–0x7, GATT at 0x8–0xF, then this service from 0x10 on.
enum Tree {
    static let service = ServiceDefinition(
        uuid: 0xAA00,
        characteristics: [
            // 0x11, 0x12, CCC 0x13, CUD 0x14
            CharacteristicDefinition(
                uuid: 0xAA01, properties: [.read, .write, .writeWithoutResponse, .notify, .indicate],
                access: AttributeAccess(read: .open, writeRequest: .open, writeCommand: .open, subscribe: .open),
                descriptors: [.userDescription("one")]),
            // 0x15, 0x16
            CharacteristicDefinition(
                uuid: 0xAA02, properties: .read, access: .readOnly, value: .static(Array(0..<60))),
            // 0x17, 0x18, CCC 0x19
            CharacteristicDefinition(
                uuid: 0xAA03, properties: [.read, .write, .authenticatedSignedWrites, .notify],
                access: AttributeAccess(
                    read: .encrypted, writeRequest: .encrypted, signedWrite: true, subscribe: .encrypted)),
            // 0x1A, 0x1B
            CharacteristicDefinition(
                uuid: 0xAA04, properties: .read, access: .readOnly, value: .static([0xAB, 0xCD])),
        ])
    static let open = AttributeHandle(0x12)
    static let openConfiguration = AttributeHandle(0x13)
    static let secret = AttributeHandle(0x18)
    static let secretConfiguration = AttributeHandle(0x19)

    static func bench(records: [GATTClientRecord] = []) throws -> Bench {
        var bench = Bench(records: records)
        let published = try bench.server.publish(service)
        guard published.declaration == AttributeHandle(0x10), published.end == AttributeHandle(0x1B) else {
            throw Surprise()
        }
        return bench
    }

    struct Surprise: Error {}
}
