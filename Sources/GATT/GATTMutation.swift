import BluetoothCore

/// What a client wants to be told of: the value of a Client Characteristic Configuration descriptor.
///
/// Core 5.4, Vol 3, Part G, 3.3.3.3 (Client Characteristic Configuration)
package struct ClientCharacteristicConfiguration: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    package static let notification = Self(rawValue: 0x0001)
    package static let indication = Self(rawValue: 0x0002)
}

/// What the server remembers of one bonded client. A store keeps it row by row as ``GATTMutation``s come, and hands
/// all of them to the server at start.
package struct GATTClientRecord: Hashable, Sendable {
    /// The host's number for the bond.
    package let bond: UInt64
    /// By the handle of the CCC descriptor; absent means 0.
    package var configurations: [AttributeHandle: ClientCharacteristicConfiguration]
    /// The value of Client Supported Features; empty means none.
    package var supportedFeatures: [UInt8]
    /// The Database Hash of the tree that the client is known to know; nil until it has been told of one.
    package var awareDatabaseHash: [UInt8]?

    package init(
        bond: UInt64, configurations: [AttributeHandle: ClientCharacteristicConfiguration] = [:],
        supportedFeatures: [UInt8] = [], awareDatabaseHash: [UInt8]? = nil
    ) {
        self.bond = bond
        self.configurations = configurations
        self.supportedFeatures = supportedFeatures
        self.awareDatabaseHash = awareDatabaseHash
    }
}

/// A durable change of what the server remembers of its clients. A machine emits it before the send that depends on it.
package enum GATTMutation: Hashable, Sendable {
    /// `handle` is the CCC descriptor's. An empty value may be kept as no row.
    case clientCharacteristicConfiguration(
        bond: UInt64, handle: AttributeHandle, value: ClientCharacteristicConfiguration)
    /// The whole value of Client Supported Features.
    case clientSupportedFeatures(bond: UInt64, value: [UInt8])
    /// The client knows the tree that has this Database Hash.
    case changeAware(bond: UInt64, databaseHash: [UInt8])
    /// These handles no longer exist: no client's configuration of them may outlive them, or the next service that is
    /// given the handle would inherit its subscribers.
    case handlesRemoved(ClosedRange<AttributeHandle>)
}

extension GATTMutation {
    /// Applies the mutation to the records of all bonds, as every store must.
    package func apply(to records: inout [UInt64: GATTClientRecord]) {
        switch self {
        case .clientCharacteristicConfiguration(let bond, let handle, let value):
            records[bond, default: GATTClientRecord(bond: bond)].configurations[handle] = value.isEmpty ? nil : value
        case .clientSupportedFeatures(let bond, let value):
            records[bond, default: GATTClientRecord(bond: bond)].supportedFeatures = value
        case .changeAware(let bond, let hash):
            records[bond, default: GATTClientRecord(bond: bond)].awareDatabaseHash = hash
        case .handlesRemoved(let range):
            for (bond, record) in records {
                for handle in record.configurations.keys where range.contains(handle) {
                    records[bond]?.configurations[handle] = nil
                }
            }
        }
    }
}
