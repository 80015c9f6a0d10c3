import BluetoothCore

/// The managers that are registered now. A manager that kept something under its restore identifier and has not
/// registered again is in the ledger alone.
struct ManagerTable {
    struct Slot {
        let owner: RestorationLedger.Owner
        weak var central: (any CentralRoleDelegate)?
        weak var peripheral: (any PeripheralRoleDelegate)?
    }

    private(set) var slots: [ManagerID: Slot] = [:]
    private var byOwner: [RestorationLedger.Owner: ManagerID] = [:]
    /// In the order of registration.
    private var ids: [ManagerID] = []
    private var next = 1

    mutating func add(_ slot: Slot) -> ManagerID {
        let id = ManagerID(rawValue: next)
        next += 1
        slots[id] = slot
        ids.append(id)
        byOwner[slot.owner] = id
        return id
    }

    mutating func remove(_ id: ManagerID) -> Slot? {
        guard let slot = slots.removeValue(forKey: id) else { return nil }
        ids.removeAll { $0 == id }
        if byOwner[slot.owner] == id { byOwner[slot.owner] = nil }
        return slot
    }

    subscript(id: ManagerID) -> Slot? { slots[id] }

    func slot(of owner: RestorationLedger.Owner) -> Slot? { byOwner[owner].flatMap { slots[$0] } }

    /// In the order of registration.
    var centrals: [any CentralRoleDelegate] { inOrder.compactMap(\.central) }
    var peripherals: [any PeripheralRoleDelegate] { inOrder.compactMap(\.peripheral) }

    private var inOrder: [Slot] { ids.compactMap { slots[$0] } }

    /// For what comes with every packet: no list is made of them.
    func forEachPeripheral(_ body: (any PeripheralRoleDelegate) -> Void) {
        for id in ids {
            if let delegate = slots[id]?.peripheral { body(delegate) }
        }
    }
}
