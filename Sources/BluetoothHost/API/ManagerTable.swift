import BluetoothCore

/// The managers that are registered now. A manager that kept something under its restore identifier and has not
/// registered again is in the ledger alone.
struct ManagerTable {
    struct Slot {
        let owner: RestorationLedger.Owner
        let role: RestoreKey.Role
        var options: ManagerOptions = []
    }

    private var slots: [ManagerID: Slot] = [:]
    private var byOwner: [RestorationLedger.Owner: ManagerID] = [:]
    /// In the order of registration.
    private(set) var centrals: [ManagerID] = []
    private(set) var peripherals: [ManagerID] = []
    private var next = 1

    mutating func add(_ slot: Slot) -> ManagerID {
        let id = ManagerID(rawValue: next)
        next += 1
        slots[id] = slot
        byOwner[slot.owner] = id
        switch slot.role {
        case .central: centrals.append(id)
        case .peripheral: peripherals.append(id)
        }
        return id
    }

    mutating func remove(_ id: ManagerID) -> Slot? {
        guard let slot = slots.removeValue(forKey: id) else { return nil }
        centrals.removeAll { $0 == id }
        peripherals.removeAll { $0 == id }
        if byOwner[slot.owner] == id {
            byOwner[slot.owner] = slots.filter { $0.value.owner == slot.owner }.keys.max { $0.rawValue < $1.rawValue }
        }
        return slot
    }

    subscript(id: ManagerID) -> Slot? { slots[id] }

    func isClaimed(_ owner: RestorationLedger.Owner) -> Bool { byOwner[owner] != nil }

    /// The manager that an owner has registered; of several under one name the last.
    func manager(of owner: RestorationLedger.Owner) -> ManagerID? { byOwner[owner] }

    /// What the manager that an owner has registered wants.
    func options(of owner: RestorationLedger.Owner) -> ManagerOptions {
        byOwner[owner].flatMap { slots[$0] }?.options ?? []
    }
}
