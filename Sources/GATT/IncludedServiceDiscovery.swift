import ATT
import BluetoothCore

/// Core 5.4, Vol 3, Part G, 4.5.1 (Find Included Services): an included service whose UUID has 128 bits is declared
/// without it, and is read where it stands.
struct IncludedServiceDiscovery: ClientProcedure {
    private let range: ClosedRange<AttributeHandle>
    private var cursor: DiscoveryCursor
    private var services: [RemoteIncludedService] = []
    /// Places in `services` whose UUID is still to be read.
    private var unnamed: [Int] = []

    init(range: ClosedRange<AttributeHandle>) {
        self.range = range
        cursor = DiscoveryCursor(range)
    }

    mutating func start(mtu: Int) -> ClientStep { next() }

    private func next() -> ClientStep {
        if let place = unnamed.first { return .request(.read(.init(handle: services[place].declaration))) }
        guard let rest = cursor.rest else { return .finished(.success(.includedServices(services))) }
        return .request(.readByType(.init(range: .init(rest), type: .include)))
    }

    mutating func receive(_ response: ATTResponse, mtu: Int) -> ClientStep {
        switch response {
        case .readByType(let answer):
            for entry in answer.entries {
                guard cursor.take(entry.handle, through: entry.handle) else { return .failed(.handleOutOfOrder) }
                guard let service = decode(entry) else { return .failed(.wrongLength) }
                if entry.value.count == 4 { unnamed.append(services.count) }
                services.append(service)
            }
            return services.count > ClientBound.discoveredCapacityCount ? .failed(.tooMuch) : next()
        case .read(let answer):
            guard let place = unnamed.first, let uuid = BluetoothUUID(value: answer.value) else {
                return .failed(.wrongLength)
            }
            unnamed.removeFirst()
            services[place].uuid = uuid
            return next()
        case .error(let error):
            return unnamed.isEmpty ? .end(error, with: .includedServices(services)) : .refused(error)
        default: return .failed(.undecodable)
        }
    }

    private func decode(_ entry: ATTReadByTypeResponse.Entry) -> RemoteIncludedService? {
        var reader = ByteReader(entry.value.span.bytes)
        guard let range = try? ATTHandleRange(decoding: &reader) else { return nil }
        switch reader.remaining {
        case 0:
            return RemoteIncludedService(
                handle: entry.handle, uuid: BluetoothUUID(bits: 0), declaration: range.start, end: range.end)
        case 2:
            guard let uuid = try? BluetoothUUID(decoding: &reader, length: 2) else { return nil }
            return RemoteIncludedService(
                handle: entry.handle, uuid: uuid, declaration: range.start, end: range.end)
        default: return nil
        }
    }
}
