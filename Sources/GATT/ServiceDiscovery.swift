import ATT
import BluetoothCore

/// Core 5.4, Vol 3, Part G, 4.4.1 (Discover All Primary Services), and the same for secondary ones.
struct ServiceDiscovery: ClientProcedure {
    private let isPrimary: Bool
    private var cursor = DiscoveryCursor(.first ... .last)
    private var services: [RemoteService] = []

    init(isPrimary: Bool) { self.isPrimary = isPrimary }

    mutating func start(mtu: Int) -> ClientStep { next() }

    private func next() -> ClientStep {
        guard let rest = cursor.rest else { return .finished(.success(.services(services))) }
        let type: BluetoothUUID = isPrimary ? .primaryService : .secondaryService
        return .request(.readByGroupType(.init(range: .init(rest), type: type)))
    }

    mutating func receive(_ response: ATTResponse, mtu: Int) -> ClientStep {
        switch response {
        case .readByGroupType(let answer):
            for entry in answer.entries {
                guard let uuid = BluetoothUUID(value: entry.value) else { return .failed(.wrongLength) }
                guard cursor.take(entry.group.start, through: entry.group.end) else {
                    return .failed(.handleOutOfOrder)
                }
                services.append(
                    RemoteService(
                        uuid: uuid, isPrimary: isPrimary, declaration: entry.group.start, end: entry.group.end))
            }
            return services.count > ClientBound.discoveredCapacityCount ? .failed(.tooMuch) : next()
        case .error(let error): return .end(error, with: .services(services))
        default: return .failed(.undecodable)
        }
    }
}

/// Core 5.4, Vol 3, Part G, 4.4.2 (Discover Primary Service by Service UUID)
struct ServiceDiscoveryByUUID: ClientProcedure {
    private let uuid: BluetoothUUID
    private var cursor = DiscoveryCursor(.first ... .last)
    private var services: [RemoteService] = []

    init(uuid: BluetoothUUID) { self.uuid = uuid }

    mutating func start(mtu: Int) -> ClientStep { next() }

    private func next() -> ClientStep {
        guard let rest = cursor.rest else { return .finished(.success(.services(services))) }
        var writer = ByteWriter(capacity: 16)
        uuid.encode(into: &writer)
        return .request(.findByTypeValue(.init(range: .init(rest), type: 0x2800, value: writer.bytes)))
    }

    mutating func receive(_ response: ATTResponse, mtu: Int) -> ClientStep {
        switch response {
        case .findByTypeValue(let answer):
            for group in answer.groups {
                guard cursor.take(group.start, through: group.end) else { return .failed(.handleOutOfOrder) }
                services.append(RemoteService(uuid: uuid, declaration: group.start, end: group.end))
            }
            return services.count > ClientBound.discoveredCapacityCount ? .failed(.tooMuch) : next()
        case .error(let error): return .end(error, with: .services(services))
        default: return .failed(.undecodable)
        }
    }
}

extension ClientStep {
    /// Attribute Not Found is how a discovery ends; everything else is a refusal.
    static func end(_ error: ATTErrorResponse, with result: GATTClientResult) -> Self {
        error.code == .attributeNotFound ? .finished(.success(result)) : refused(error)
    }

    static func refused(_ error: ATTErrorResponse) -> Self {
        .finished(.failure(.refused(error.code, handle: error.handle)))
    }
}

extension BluetoothUUID {
    /// nil unless the value is a UUID and nothing else.
    init?(value: [UInt8]) {
        var reader = ByteReader(value.span.bytes)
        guard let uuid = try? Self(decoding: &reader, length: value.count) else { return nil }
        self = uuid
    }
}
