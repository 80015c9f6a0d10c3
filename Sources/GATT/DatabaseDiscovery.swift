import ATT
import BluetoothCore

/// The whole tree, by the procedures for its parts. The Database Hash is read first: if the tree changes on the way, the
/// hash kept is the old one's, and the cache is found stale rather than trusted.
struct DatabaseDiscovery: ClientProcedure {
    private enum Stage: Sendable {
        case hash
        case primaryServices
        case secondaryServices
        case includedServices(Int)
        case characteristics(Int)
        case descriptors(service: Int, characteristic: Int)

        var isHash: Bool {
            if case .hash = self { return true }
            return false
        }
    }

    private var stage = Stage.hash
    private var part: any ClientProcedure = ReadByUUID(uuid: .databaseHash, range: .first ... .last)
    private var database = RemoteDatabase()
    private var discovered = 0

    mutating func start(mtu: Int) -> ClientStep { proceed(part.start(mtu: mtu), mtu) }

    mutating func receive(_ response: ATTResponse, mtu: Int) -> ClientStep {
        proceed(part.receive(response, mtu: mtu), mtu)
    }

    private mutating func proceed(_ first: ClientStep, _ mtu: Int) -> ClientStep {
        var step = first
        while true {
            switch step {
            case .request: return step
            case .finished(.failure(.refused)) where stage.isHash: break
            case .finished(.failure): return step
            case .finished(.success(let result)): store(result)
            }
            guard discovered <= ClientBound.discoveredCapacityCount else { return .failed(.tooMuch) }
            guard let next = advance() else { return .finished(.success(.database(database))) }
            part = next
            step = part.start(mtu: mtu)
        }
    }

    private mutating func store(_ result: GATTClientResult) {
        switch (stage, result) {
        case (.hash, .values(let values)): database.hash = values.first?.value
        case (.primaryServices, .services(let services)), (.secondaryServices, .services(let services)):
            discovered += services.count
            database.services.append(contentsOf: services)
            database.services.sort { $0.declaration < $1.declaration }
        case (.includedServices(let place), .includedServices(let services)):
            discovered += services.count
            database.services[place].includedServices = services
        case (.characteristics(let place), .characteristics(let characteristics)):
            discovered += characteristics.count
            database.services[place].characteristics = characteristics
        case (.descriptors(let service, let characteristic), .descriptors(let descriptors)):
            discovered += descriptors.count
            database.services[service].characteristics[characteristic].descriptors = descriptors
        default: break
        }
    }

    /// The procedure for the next part that can have anything in it.
    private mutating func advance() -> (any ClientProcedure)? {
        switch stage {
        case .hash:
            stage = .primaryServices
            return ServiceDiscovery(isPrimary: true)
        case .primaryServices:
            stage = .secondaryServices
            return ServiceDiscovery(isPrimary: false)
        case .secondaryServices: return enter(service: 0)
        case .includedServices(let place):
            stage = .characteristics(place)
            return interior(of: place).map { CharacteristicDiscovery(range: $0, uuid: nil) }
                ?? enter(service: place + 1)
        case .characteristics(let place): return enter(characteristic: 0, of: place)
        case .descriptors(let service, let characteristic):
            return enter(characteristic: characteristic + 1, of: service)
        }
    }

    private func interior(of place: Int) -> ClosedRange<AttributeHandle>? {
        let service = database.services[place]
        return service.declaration < service.end ? service.declaration.next...service.end : nil
    }

    private mutating func enter(service first: Int) -> (any ClientProcedure)? {
        for place in database.services.indices.dropFirst(first) {
            guard let range = interior(of: place) else { continue }
            stage = .includedServices(place)
            return IncludedServiceDiscovery(range: range)
        }
        return nil
    }

    private mutating func enter(characteristic first: Int, of service: Int) -> (any ClientProcedure)? {
        let characteristics = database.services[service].characteristics
        for (place, characteristic) in characteristics.enumerated().dropFirst(first)
        where characteristic.value < characteristic.end {
            stage = .descriptors(service: service, characteristic: place)
            return DescriptorDiscovery(range: characteristic.value.next...characteristic.end)
        }
        return enter(service: service + 1)
    }
}
