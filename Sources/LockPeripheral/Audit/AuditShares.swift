/// How many records each holder has, and whose oldest one goes when the audit is full.
///
/// Protected holders and all others have half of the room each for good. What one half leaves over the other one may use. Within a
/// half the holder with the most records gives way: a key that opens and locks a door all day displaces its own records, and
/// nobody else's.
///
/// In: each record that is kept or forgotten, by its holder. Out: ``victim``. Each costs the same however many holders there are, but
/// for a step within a sorted array.
package struct AuditShares: Sendable {
    private let maximum: UInt64
    private var protected = Half()
    private var others = Half()

    package init(maximum: UInt64) { self.maximum = maximum }

    package var total: UInt64 { protected.total + others.total }

    package mutating func add(_ holder: AuditHolder, _ count: UInt64 = 1) {
        if holder.isProtected { protected.add(holder, count) } else { others.add(holder, count) }
    }

    /// One of its records is forgotten.
    package mutating func remove(_ holder: AuditHolder) {
        if holder.isProtected { protected.remove(holder) } else { others.remove(holder) }
    }

    /// Whose oldest record makes room for one more; nil while there is room.
    package var victim: AuditHolder? { victim(leaving: 1) }

    /// Whose oldest record goes next; nil while there is room for so many more.
    package func victim(leaving room: UInt64) -> AuditHolder? {
        guard total + room > maximum else { return nil }
        let half = maximum / 2
        if others.total > half { return others.heaviest }
        return protected.total > half ? protected.heaviest : others.heaviest ?? protected.heaviest
    }

    private struct Half {
        private(set) var total: UInt64 = 0
        private var counts: [AuditHolder: UInt64] = [:]
        /// By their number of records, sorted.
        private var holders: [UInt64: [AuditHolder]] = [:]
        private var most: UInt64 = 0

        /// Of several, always the same one.
        var heaviest: AuditHolder? { holders[most]?.first }

        mutating func add(_ holder: AuditHolder, _ count: UInt64) {
            guard count > 0 else { return }
            move(holder, from: counts[holder] ?? 0, to: (counts[holder] ?? 0) + count)
            total += count
        }

        mutating func remove(_ holder: AuditHolder) {
            guard let count = counts[holder] else { return }
            move(holder, from: count, to: count - 1)
            total -= 1
        }

        private mutating func move(_ holder: AuditHolder, from old: UInt64, to new: UInt64) {
            if old > 0 {
                let index = holders[old, default: []].place(of: holder)
                holders[old]?.remove(at: index)
                if holders[old]?.isEmpty == true { holders[old] = nil }
            }
            counts[holder] = new == 0 ? nil : new
            if new > 0 {
                let index = holders[new, default: []].place(of: holder)
                holders[new, default: []].insert(holder, at: index)
            }
            // Whoever was alone with the most has one less now, and nobody has more.
            most = max(new, holders[most] == nil ? new : most)
        }
    }
}

extension [AuditHolder] {
    /// Where it is in a sorted array, or where it belongs.
    fileprivate func place(of holder: AuditHolder) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < holder { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
