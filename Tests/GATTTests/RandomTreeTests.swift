import ATT
import BluetoothCore
import TestSupport
import Testing

@testable import GATT

/// Our client against our server: whatever tree an app publishes, discovery finds it whole, and every value comes across
/// as it is, at any MTU.
@Suite("random trees")
struct RandomTreeTests {
    private static func uuid(_ generator: inout SeededGenerator) -> BluetoothUUID {
        Bool.random(using: &generator)
            ? BluetoothUUID(UInt16.random(in: 0xA000...0xAFFF, using: &generator))
            : BluetoothUUID(bits: UInt128(generator.next()) << 64 | UInt128(generator.next()))
    }

    private static func value(_ generator: inout SeededGenerator) -> [UInt8] {
        let count = [0, 1, 20, 21, 22, 23, 44, 100, 512].randomElement(using: &generator) ?? 0
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    private static func characteristic(_ generator: inout SeededGenerator) -> CharacteristicDefinition {
        let properties = CharacteristicProperties(rawValue: UInt8.random(in: .min ... .max, using: &generator))
        let descriptors = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
            DescriptorDefinition(uuid: uuid(&generator), value: .static(value(&generator)))
        }
        return CharacteristicDefinition(
            uuid: uuid(&generator), properties: properties,
            access: AttributeAccess(read: .open, subscribe: .open), value: .static(value(&generator)),
            extendedProperties: .reliableWrite, descriptors: descriptors)
    }

    private static func server(_ generator: inout SeededGenerator) throws -> GATTServer {
        var server = GATTServer(configuration: .init(deviceName: "random"))
        for _ in 0..<Int.random(in: 0...6, using: &generator) {
            let included = server.database.services.map(\.declaration).filter { _ in
                UInt8.random(in: 0...3, using: &generator) == 0
            }
            let definition = ServiceDefinition(
                uuid: uuid(&generator), isPrimary: Bool.random(using: &generator), includedServices: included,
                characteristics: (0..<Int.random(in: 0...5, using: &generator)).map { _ in characteristic(&generator) })
            let service = try server.publish(definition)
            if UInt8.random(in: 0...4, using: &generator) == 0 { _ = server.remove(serviceAt: service.declaration) }
        }
        return server
    }

    /// What discovery must find, told from the definitions and not from the attributes.
    private static func expected(_ server: GATTServer) -> RemoteDatabase {
        let services = server.database.services.map { service in
            let included = service.definition.includedServices.enumerated().compactMap { place, declaration in
                server.database.services.first { $0.declaration == declaration }.map { target in
                    RemoteIncludedService(
                        handle: AttributeHandle(service.declaration.rawValue + 1 + UInt16(place)),
                        uuid: target.definition.uuid, declaration: target.declaration, end: target.end)
                }
            }
            let next = service.characteristics.dropFirst().map(\.declaration)
            let ends = next.map { AttributeHandle($0.rawValue - 1) } + [service.end]
            let parts = zip(zip(service.definition.characteristics, service.characteristics), ends)
            return RemoteService(
                uuid: service.definition.uuid, isPrimary: service.definition.isPrimary,
                declaration: service.declaration, end: service.end, includedServices: included,
                characteristics: parts.map { characteristic($0.0, $0.1, end: $1) })
        }
        return RemoteDatabase(hash: server.databaseHash, services: services)
    }

    private static func characteristic(
        _ definition: CharacteristicDefinition, _ published: PublishedCharacteristic, end: AttributeHandle
    ) -> RemoteCharacteristic {
        var descriptors: [RemoteDescriptor] = []
        if let handle = published.configuration { descriptors.append(.init(uuid: 0x2902, handle: handle)) }
        if definition.properties.contains(.extendedProperties) {
            let before = published.configuration ?? published.value
            descriptors.append(.init(uuid: 0x2900, handle: AttributeHandle(before.rawValue + 1)))
        }
        descriptors += zip(definition.descriptors, published.descriptors).map { .init(uuid: $0.uuid, handle: $1) }
        return RemoteCharacteristic(
            uuid: definition.uuid, properties: definition.properties, declaration: published.declaration,
            value: published.value, end: end, descriptors: descriptors)
    }

    /// Two endpoints, each other's air.
    private struct Pair {
        let now = Instant(nanoseconds: 1)
        var client: GATTEndpoint
        var clientServer = GATTServer(configuration: .init(deviceName: "client"))
        var peer = GATTEndpoint()
        var server: GATTServer

        /// Runs one operation to its end.
        mutating func run(_ operation: GATTClientOperation) throws -> Result<GATTClientResult, GATTClientError> {
            var outputs: [GATTOutput] = []
            client.perform(operation, token: 1, now: now, outputs: &outputs)
            for _ in 0..<100_000 {
                guard case .send(let request)? = outputs.first else { break }
                var answers: [GATTOutput] = []
                peer.receive(request, now: now, security: .open, server: &server, outputs: &answers)
                outputs = []
                guard case .send(let response)? = answers.first else { throw Tree.Surprise() }
                client.receive(response, now: now, security: .open, server: &clientServer, outputs: &outputs)
            }
            guard case .clientCompleted(_, let result)? = outputs.first else { throw Tree.Surprise() }
            return result
        }
    }

    @Test("discovery finds the tree that was published, and reads what is in it", arguments: 0..<25)
    func discovery(_ round: Int) throws {
        var generator = SeededGenerator(seed: SeededGenerator.runSeed &+ UInt64(round))
        let seed = "LATCH_TEST_SEED=\(generator.seed)"
        let server = try Self.server(&generator)
        let mtu = [23, 24, 40, 64, 185, 517].randomElement(using: &generator) ?? 23
        var pair = Pair(client: GATTEndpoint(maximumMTU: mtu), server: server)
        #expect(try pair.run(.exchangeMTU) == .success(.mtu(mtu)), "\(seed)")
        #expect(try pair.run(.discoverDatabase) == .success(.database(Self.expected(server))), "\(seed)")
        for service in server.database.services {
            let parts = zip(service.definition.characteristics, service.characteristics)
            for (definition, published) in parts where !Self.isBuiltIn(definition.uuid) {
                guard case .static(let value) = definition.value else { continue }
                let read = try pair.run(.read(published.value))
                #expect(read == .success(.value(value)), "\(seed) \(published.value)")
            }
        }
    }

    private static func isBuiltIn(_ uuid: BluetoothUUID) -> Bool {
        [.serviceChanged, .clientSupportedFeatures, .databaseHash].contains(uuid)
    }

    @Test("the same services, published again where they were, have the same hash", arguments: 0..<20)
    func republished(_ round: Int) throws {
        var generator = SeededGenerator(seed: SeededGenerator.runSeed &+ UInt64(round))
        let first = try Self.server(&generator)
        var second = GATTServer(configuration: .init(deviceName: "random"))
        for service in first.database.services.dropFirst(2) {
            #expect(try second.publish(service.definition, at: service.declaration) == service)
        }
        #expect(second.databaseHash == first.databaseHash, "LATCH_TEST_SEED=\(generator.seed)")
    }
}
