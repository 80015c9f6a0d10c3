import BluetoothCore
import SecurityManager

// MARK: Names that nobody claims

extension RestorationLedger {
    /// Names that something is kept under. One more takes the place of one that nobody claims; where all are claimed, nothing is kept under it.
    package static let namesMaximum = 32

    package func isAtRest(_ owner: Owner) -> Bool { entries[owner]?.asked.rest != nil }

    /// Those with a name, in the order in which they would have to make room: the longest at rest first.
    package var named: [Owner] {
        let all = entries.filter { $0.value.key != nil }
        return all.keys.sorted { (all[$0]?.asked.rest ?? .max, $0) < (all[$1]?.asked.rest ?? .max, $1) }
    }

    package func key(of owner: Owner) -> RestoreKey? { entries[owner]?.key }

    /// What is kept runs no more.
    package mutating func putToRest(_ owner: Owner, _ facts: inout [HostMutation]) {
        let rest = nextRest
        nextRest += 1
        change(owner, &facts) {
            $0.rest = rest
        } fact: {
            .managerRested($0, rest)
        }
    }

    /// What is kept runs again.
    package mutating func wake(_ owner: Owner, _ facts: inout [HostMutation]) {
        guard isAtRest(owner) else { return }
        change(owner, &facts) {
            $0.rest = nil
        } fact: {
            .managerRested($0, nil)
        }
    }

    package mutating func forget(_ owner: Owner, _ facts: inout [HostMutation]) {
        guard let key = entries[owner]?.key else { return }
        remove(owner)
        facts.append(.managerForgotten(key))
    }
}
