import ATT
import BluetoothCore

/// What the GAP and GATT services of one local identity say.
package struct GATTServerConfiguration: Hashable, Sendable {
    package var deviceName: String
    /// Core 5.4, Vol 3, Part C, 12.2 (Appearance)
    package var appearance: UInt16
    /// The largest ATT_MTU that this side takes, 23–517.
    package var mtu: Int

    package init(deviceName: String, appearance: UInt16 = 0, mtu: Int = 517) {
        self.deviceName = deviceName
        self.appearance = appearance
        self.mtu = mtu
    }
}

/// AES-CMAC under the all-zero key, most significant octet first: what the Database Hash is made with.
package typealias DatabaseHashFunction = @Sendable (_ message: [UInt8]) -> [UInt8]

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

/// One local identity's server: the tree and what is remembered of the bonded clients. Shared by the endpoints of all
/// links, which take it `inout`.
package struct GATTServer: Sendable {
    package let configuration: GATTServerConfiguration
    /// By bond.
    package private(set) var records: [UInt64: GATTClientRecord]
    package private(set) var databaseHash: [UInt8] = []

    package init(
        configuration: GATTServerConfiguration, records: [GATTClientRecord] = [], cmac: @escaping DatabaseHashFunction
    ) {
        self.configuration = configuration
        self.records = Dictionary(records.map { ($0.bond, $0) }) { _, last in last }
    }

    /// Adds a service: at `declaration` when it was published before, else at handles never used in this lifetime while
    /// such are left. Then call ``GATTEndpoint/databaseChanged(_:now:server:outputs:)`` for every link.
    package mutating func publish(
        _ definition: ServiceDefinition, at declaration: AttributeHandle? = nil
    ) throws(AttributeDatabaseError) -> PublishedService { throw .outOfHandles }

    /// Removes a service; its handles stay a hole until no others are left. The returned mutation is to be persisted.
    package mutating func remove(serviceAt declaration: AttributeHandle) -> GATTMutation? { nil }

    /// The bond is gone, and with it what was remembered of the client.
    package mutating func forget(bond: UInt64) { records[bond] = nil }
}

/// A local fault: why a definition cannot be published.
package enum AttributeDatabaseError: Error, Hashable, Sendable {
    case outOfHandles
    /// The explicit handles are taken.
    case handlesInUse
    case unknownIncludedService
    /// A static value is longer than 512 octets.
    case valueTooLong
}
