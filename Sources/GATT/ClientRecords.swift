import BluetoothCore

/// What is remembered of bonded clients, and who of them has configured which descriptor: an update is looked up by its descriptor, and
/// costs nothing for clients that it does not concern.
struct ClientRecords: Sendable {
    private(set) var byBond: [UInt64: GATTClientRecord] = [:]
    private var subscribers: [AttributeHandle: Set<UInt64>] = [:]

    init(_ records: [GATTClientRecord]) {
        for record in records { self[record.bond] = record }
    }

    subscript(bond: UInt64) -> GATTClientRecord? {
        get { byBond[bond] }
        set {
            for handle in byBond[bond]?.configurations.keys ?? [:].keys { note(bond, at: handle, isThere: false) }
            for handle in newValue?.configurations.keys ?? [:].keys { note(bond, at: handle, isThere: true) }
            byBond[bond] = newValue
        }
    }

    /// Those whose configuration at a descriptor is not empty, in their order.
    func configured(at descriptor: AttributeHandle) -> [(bond: UInt64, wanted: ClientCharacteristicConfiguration)] {
        (subscribers[descriptor] ?? []).sorted().compactMap { bond in
            byBond[bond]?.configurations[descriptor].flatMap { $0.isEmpty ? nil : (bond, $0) }
        }
    }

    mutating func apply(_ mutation: GATTMutation) {
        switch mutation {
        case .clientCharacteristicConfiguration(let bond, let handle, let value):
            note(bond, at: handle, isThere: !value.isEmpty)
            mutation.apply(to: &byBond)
        case .clientSupportedFeatures, .changeAware: mutation.apply(to: &byBond)
        case .handlesRemoved(let range):
            for handle in subscribers.keys where range.contains(handle) { subscribers[handle] = nil }
            mutation.apply(to: &byBond)
        }
    }

    private mutating func note(_ bond: UInt64, at handle: AttributeHandle, isThere: Bool) {
        if isThere {
            subscribers[handle, default: []].insert(bond)
        } else {
            subscribers[handle]?.remove(bond)
            if subscribers[handle]?.isEmpty == true { subscribers[handle] = nil }
        }
    }
}
