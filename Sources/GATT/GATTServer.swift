import ATT
import BluetoothCore

/// What the GAP and GATT services of one local identity say.
package struct GATTServerConfiguration: Hashable, Sendable {
    package var deviceName: String
    /// Core 5.4, Vol 3, Part C, 12.2 (Appearance)
    package var appearance: UInt16

    package init(deviceName: String, appearance: UInt16 = 0) {
        self.deviceName = deviceName
        self.appearance = appearance
    }
}

/// What became of a notification or an indication.
package enum GATTSendOutcome: Hashable, Sendable {
    /// It is among the outputs.
    case sent
    /// An indication waits for the confirmation of the one before it.
    case queued
    /// This client has not subscribed to it on this link.
    case notSubscribed
    /// The link lacks the security that the characteristic's subscription wants.
    case insufficientSecurity
    /// The client is change-unaware, and may not be sent this until it knows the tree.
    case changeUnaware
    /// Local fault: no such characteristic, or it has not that property.
    case invalidCharacteristic
    /// Too many indications wait on this link.
    case queueFull
    case bearerClosed
}

/// One local identity's server: the published tree, and what is remembered of the bonded clients.
///
/// In: services to publish, what a store kept, changes of values. Out: handles, the Database Hash, and
/// ``GATTMutation``s for the store. The endpoints of all links share it and take it `inout`; they answer the requests.
package struct GATTServer: Sendable {
    package private(set) var database = AttributeDatabase()
    /// Of the tree as it stands.
    package private(set) var databaseHash: [UInt8] = []
    /// By bond: what the store has, or will have once the outputs so far are committed. Of bonds that were not recalled yet
    /// it has nothing.
    private(set) var clients: ClientRecords
    private var recalled: Set<UInt64> = []
    /// Value handle of Service Changed.
    let serviceChanged: AttributeHandle
    private var nextRequest: UInt64 = 1

    package init(configuration: GATTServerConfiguration, records: [GATTClientRecord] = []) {
        clients = ClientRecords(records)
        var database = AttributeDatabase()
        serviceChanged = Self.publishBuiltIn(configuration, in: &database)
        self.database = database
        databaseHash = database.hash
    }

    /// Adds a service: at `declaration` when it was published before, else at handles never used in this lifetime while
    /// such are left. Then call ``GATTEndpoint/databaseChanged(_:now:server:outputs:)`` for every link.
    package mutating func publish(
        _ definition: ServiceDefinition, at declaration: AttributeHandle? = nil
    ) throws(AttributeDatabaseError) -> PublishedService {
        let service = try database.publish(definition, at: declaration)
        databaseHash = database.hash
        return service
    }

    /// Keeps the handles of a service for its return.
    package mutating func reserve(_ definition: ServiceDefinition, at declaration: AttributeHandle) {
        database.reserve(definition, at: declaration)
    }

    /// Removes a service; its handles stay a hole until no others are left. The returned mutation is to be persisted, and
    /// ``GATTEndpoint/databaseChanged(_:now:server:outputs:)`` to be called for every link. nil when nothing was there, or
    /// when it is GAP's or GATT's own service. Services that include it keep pointing there: remove those first.
    package mutating func remove(serviceAt declaration: AttributeHandle) -> GATTMutation? {
        guard declaration > serviceChanged, let range = database.remove(serviceAt: declaration) else { return nil }
        databaseHash = database.hash
        let mutation = GATTMutation.handlesRemoved(range)
        clients.apply(mutation)
        return mutation
    }

    /// Of each client, by its bond.
    package var records: [UInt64: GATTClientRecord] { clients.byBond }

    /// The clients that have configured a descriptor, in the order of their bonds.
    package func configured(at descriptor: AttributeHandle) -> [(
        bond: UInt64, wanted: ClientCharacteristicConfiguration
    )] {
        clients.configured(at: descriptor)
    }

    /// Takes what the store remembers of a client: before its record is first looked at, and once.
    package mutating func recall(_ bond: UInt64, _ stored: @autoclosure () -> GATTClientRecord?) {
        guard recalled.insert(bond).inserted, clients[bond] == nil else { return }
        clients[bond] = stored()
    }

    /// The bond is gone, and with it what was remembered of the client.
    package mutating func forget(bond: UInt64) {
        clients[bond] = nil
        recalled.remove(bond)
    }

    /// What was remembered of a client is remembered under its next bond. The returned mutations are to be persisted.
    package mutating func inherit(_ record: GATTClientRecord, by bond: UInt64) -> [GATTMutation] {
        var mutations = record.configurations.sorted { $0.key < $1.key }.map {
            GATTMutation.clientCharacteristicConfiguration(bond: bond, handle: $0.key, value: $0.value)
        }
        if !record.supportedFeatures.isEmpty {
            mutations.append(.clientSupportedFeatures(bond: bond, value: record.supportedFeatures))
        }
        if let hash = record.awareDatabaseHash { mutations.append(.changeAware(bond: bond, databaseHash: hash)) }
        for mutation in mutations { clients.apply(mutation) }
        return mutations
    }

    mutating func remember(_ mutation: GATTMutation, _ outputs: inout [GATTOutput]) {
        clients.apply(mutation)
        outputs.append(.persist(mutation))
    }

    mutating func makeRequestID() -> GATTRequestID {
        defer { nextRequest &+= 1 }
        return GATTRequestID(nextRequest)
    }

    /// Core 5.4, Vol 3, Part C, 12 (GAP service); Vol 3, Part G, 7 (Defined Generic Attribute profile service). Their handles
    /// never change, for they come first and have a fixed shape. Returns the value handle of Service Changed.
    private static func publishBuiltIn(
        _ configuration: GATTServerConfiguration, in database: inout AttributeDatabase
    ) -> AttributeHandle {
        let name = Array(configuration.deviceName.utf8.prefix(deviceNameOctets))
        let appearance = [UInt8(truncatingIfNeeded: configuration.appearance), UInt8(configuration.appearance >> 8)]
        let gap = ServiceDefinition(
            uuid: .gapService,
            characteristics: [
                .init(uuid: .deviceName, properties: .read, access: .readOnly, value: .static(name)),
                .init(uuid: .appearance, properties: .read, access: .readOnly, value: .static(appearance)),
                // Nothing here resolves a private address of this side that somebody else has made.
                .init(uuid: .centralAddressResolution, properties: .read, access: .readOnly, value: .static([0])),
            ])
        let gatt = ServiceDefinition(
            uuid: .gattService,
            characteristics: [
                .init(uuid: .serviceChanged, properties: .indicate, access: .init(subscribe: .open)),
                .init(
                    uuid: .clientSupportedFeatures, properties: [.read, .write],
                    access: .init(read: .open, writeRequest: .open)),
                .init(uuid: .databaseHash, properties: .read, access: .readOnly),
            ])
        guard (try? database.publish(gap)) != nil, let service = try? database.publish(gatt),
            service.characteristics.count == 3
        else { preconditionFailure("an empty database has room for GAP and GATT") }
        database.setContent(.clientSupportedFeatures, at: service.characteristics[1].value)
        database.setContent(.databaseHash, at: service.characteristics[2].value)
        return service.characteristics[0].value
    }

    /// Core 5.4, Vol 3, Part C, 12.1 (Device Name)
    package static let deviceNameOctets = 248
}
