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

    /// The manager that an owner has registered, if somebody hears what it is told.
    func central(of owner: RestorationLedger.Owner) -> ManagerID? {
        byOwner[owner].flatMap { slots[$0]?.central == nil ? nil : $0 }
    }

    func peripheral(of owner: RestorationLedger.Owner) -> ManagerID? {
        byOwner[owner].flatMap { slots[$0]?.peripheral == nil ? nil : $0 }
    }

    /// In the order of registration. No list is made of them for what comes with every packet.
    func forEachCentral(_ body: (ManagerID) -> Void) {
        for id in ids where slots[id]?.central != nil { body(id) }
    }

    func forEachPeripheral(_ body: (ManagerID) -> Void) {
        for id in ids where slots[id]?.peripheral != nil { body(id) }
    }
}
