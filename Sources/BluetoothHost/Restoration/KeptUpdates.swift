import BluetoothCore
import SecurityManager

/// The updates that are kept for bonded centrals in one manager's name: by central, oldest first. What is asked of one central costs
/// what is kept for it, and nothing of what is kept for others.
struct KeptUpdates {
    private var byBond: [BondID: [QueuedUpdate]] = [:]
    /// By sequence.
    private var bonds: [UInt64: BondID] = [:]

    init(_ updates: [QueuedUpdate]) {
        for update in updates { append(update) }
    }

    var isEmpty: Bool { bonds.isEmpty }

    /// Oldest first.
    var all: [QueuedUpdate] { byBond.values.joined().sorted { $0.sequence < $1.sequence } }

    func waiting(for bond: BondID) -> [QueuedUpdate] { byBond[bond] ?? [] }

    func count(for bond: BondID) -> Int { byBond[bond]?.count ?? 0 }

    mutating func append(_ update: QueuedUpdate) {
        byBond[update.bond, default: []].append(update)
        bonds[update.sequence] = update.bond
    }

    /// False when there is none with this sequence.
    mutating func remove(_ sequence: UInt64) -> Bool {
        guard let bond = bonds.removeValue(forKey: sequence) else { return false }
        byBond[bond]?.removeAll { $0.sequence == sequence }
        if byBond[bond]?.isEmpty == true { byBond[bond] = nil }
        return true
    }
}
