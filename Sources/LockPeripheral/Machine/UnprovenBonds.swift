import BluetoothCore

/// How long a bond may wait to prove itself, in one run of the machine's kernel.
package struct BondLife: Hashable, Sendable {
    /// From the pairing on.
    package static let maximumMilliseconds: UInt64 = 86_400_000

    package var boot: BootID
    package var until: Instant
    /// What it was given in this boot.
    package var milliseconds: UInt64

    package init(boot: BootID, until: Instant, milliseconds: UInt64) {
        self.boot = boot
        self.until = until
        self.milliseconds = milliseconds
    }

    /// From now on.
    init(_ milliseconds: UInt64, boot: BootID, now: Instant) {
        self.init(boot: boot, until: now.advanced(byMilliseconds: milliseconds), milliseconds: milliseconds)
    }
}

/// The bonds that have yet to prove themselves, and until when they may: decides which of them end.
///
/// - For: a bond that was made in a window and never came back is a key to the next proof, which the operator has forgotten.
/// - In: which bonds are unproven, time. Out: facts, and which bonds end.
/// - Owner: `LockDaemon`, which deletes them.
///
/// A life counts in boot time, which no clock on the wall can shorten or stretch, and which the lock's program has in every
/// process. Another boot knows nothing of the time before it: a bond that it finds gets half of what the boot before had given it.
/// So a power cut between a pairing and its proof costs no key, and however often the machine starts, no bond waits for more than
/// twice the first life. Time without power does not count: nobody can use a bond in it.
package struct UnprovenBonds: Equatable, Sendable {
    private var lives: [UInt64: BondLife]

    /// As the store has them.
    package init(_ kept: [UInt64: BondLife]) { lives = kept }

    /// Takes which bonds are unproven now. What has changed goes into `facts`; the bonds whose time is over come back, in order.
    package mutating func review(
        _ bonds: some Sequence<UInt64>, boot: BootID, now: Instant, facts: inout [LockMutation]
    ) -> [UInt64] {
        let unproven = Set(bonds)
        for bond in lives.keys.sorted() where !unproven.contains(bond) { end(bond, &facts) }
        var ended: [UInt64] = []
        for bond in unproven.sorted() {
            switch lives[bond] {
            case nil: begin(bond, BondLife(BondLife.maximumMilliseconds, boot: boot, now: now), &facts)
            case let life? where life.boot != boot:
                let rest = min(life.milliseconds, BondLife.maximumMilliseconds) / 2
                begin(bond, BondLife(rest, boot: boot, now: now), &facts)
            case .some: break
            }
            guard let life = lives[bond], now >= life.until else { continue }
            end(bond, &facts)
            ended.append(bond)
        }
        return ended
    }

    private mutating func begin(_ bond: UInt64, _ life: BondLife, _ facts: inout [LockMutation]) {
        lives[bond] = life
        facts.append(.unproven(bond: bond, life))
    }

    private mutating func end(_ bond: UInt64, _ facts: inout [LockMutation]) {
        lives[bond] = nil
        facts.append(.unproven(bond: bond, nil))
    }

    /// When the next one ends.
    package var deadline: Instant? { lives.values.map(\.until).min() }

    /// What is left to a bond; nil for one that is not known to wait.
    package func milliseconds(leftTo bond: UInt64, now: Instant) -> UInt64? {
        lives[bond].map { $0.until.milliseconds(since: now) }
    }
}
