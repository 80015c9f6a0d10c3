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
    private var next = 1

    mutating func add(_ slot: Slot) -> ManagerID {
        let id = ManagerID(rawValue: next)
        next += 1
        slots[id] = slot
        byOwner[slot.owner] = id
        return id
    }

    mutating func remove(_ id: ManagerID) -> Slot? {
        guard let slot = slots.removeValue(forKey: id) else { return nil }
        if byOwner[slot.owner] == id { byOwner[slot.owner] = nil }
        return slot
    }

    subscript(id: ManagerID) -> Slot? { slots[id] }

    func slot(of owner: RestorationLedger.Owner) -> Slot? { byOwner[owner].flatMap { slots[$0] } }

    /// In the order of registration.
    var centrals: [any CentralRoleDelegate] { inOrder.compactMap(\.central) }
    var peripherals: [any PeripheralRoleDelegate] { inOrder.compactMap(\.peripheral) }

    private var inOrder: [Slot] { slots.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value) }
}
