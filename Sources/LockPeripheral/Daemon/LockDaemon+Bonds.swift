import BluetoothCore
import BluetoothHost
import LockProtocol
import SecurityManager

/// A page of a lock's bonds: what paired, and whom it is for.
package struct BondList: Sendable {
    /// Where a page begins. Confirmed bonds come first, in the store's order; behind them those that wait for their proof, by their
    /// numbers.
    package enum Cursor: Equatable, Sendable, CustomStringConvertible {
        case confirmed(BondCursor)
        /// nil: with the first of them.
        case unconfirmed(BondID?)

        package var description: String {
            switch self {
            case .confirmed(let cursor): "p\(String(UInt64(bitPattern: cursor.position), radix: 16))"
            case .unconfirmed(let id): "b\(id.map { "\($0)" } ?? "")"
            }
        }

        /// nil for what ``description`` never says.
        package init?(_ text: String) {
            let number = UInt64(text.dropFirst(), radix: 16).map { Int64(bitPattern: $0) }
            switch (text.first, number) {
            case ("p", let position?): self = .confirmed(BondCursor(position: position))
            case ("b", let id?): self = .unconfirmed(BondID(id))
            case ("b", nil): self = .unconfirmed(nil)
            default: return nil
            }
            guard description == text else { return nil }
        }
    }

    package struct Row: Equatable, Sendable {
        package var bond: BondID
        package var state: BondState
        /// Of a confirmed bond, the credential that names it, if one is believed to; of another, whom its window was open for.
        package var credential: String?
        /// Until an unconfirmed bond ends by itself.
        package var millisecondsLeft: UInt64?
    }

    package var rows: [Row] = []
    /// Where the next page begins; nil when this is the last.
    package var next: Cursor?
}

/// Why a bond is not deleted.
package enum BondRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    case unknown(BondID)
    /// It has a credential. nil: one whose row cannot be read, or is not believed.
    case named(BondID, credential: String?)
    /// The disk failed while it was read: what the bond is for is not known. The program ends.
    case stateUnreadable

    package var description: String {
        switch self {
        case .unknown(let id): "there is no bond \(id): `latch peripheral bonds` lists them"
        case .named(let id, let name?):
            "bond \(id) is the key of credential \"\(name)\": `latch peripheral remove --credential \(name)` removes both"
        case .named(let id, nil):
            "bond \(id) is the key of a credential that cannot be read: `latch peripheral status` says which to remove"
        case .stateUnreadable: RevocationRefusal.stateUnreadable.description
        }
    }
}

extension LockDaemon {
    /// The next `limit` bonds behind `cursor`; nobody hears of one whose pairing is still under way.
    package func bondPage(after cursor: BondList.Cursor?, limit: Int) -> BondList {
        var list = BondList()
        var last: BondID?
        switch cursor {
        case .unconfirmed(let id): last = id
        case nil, .confirmed:
            let position: BondCursor? = if case .confirmed(let position) = cursor { position } else { nil }
            let page = host.confirmedBonds(after: position, limit: limit)
            list.rows = page.rows.map { BondList.Row(bond: $0, state: .confirmed, credential: credential(of: $0)) }
            list.next = page.next.map { .confirmed($0) }
            if list.next != nil { return list }
        }
        let room = limit - list.rows.count
        let waiting = host.unconfirmedBonds.lazy.map(\.rawValue).filter { id in last.map { id > $0.rawValue } ?? true }
            .smallest(room + 1)
        for id in waiting.prefix(room).map({ BondID($0) }) {
            list.rows.append(
                BondList.Row(
                    bond: id, state: .unconfirmed, credential: host.bond(id)?.credential,
                    millisecondsLeft: unproven.milliseconds(leftTo: UInt64(bitPattern: id.rawValue), now: host.now)))
            last = id
        }
        if waiting.count > room { list.next = .unconfirmed(last) }
        return list
    }

    private func credential(of id: BondID) -> String? {
        let bond = UInt64(bitPattern: id.rawValue)
        if let rows { return rows.listed(of: bond).first?.name }
        return machine.credentials.values.first { $0.bond == bond }?.name
    }

    /// Deletes a bond that no credential names, with its links, on the audit's record.
    package func deleteBond(_ id: BondID) throws(BondRefusal) {
        let isKnown = host.isBondKept(id) && host.bondState(id) != .provisional
        let isNamed = isKnown && isNamed(id)
        let name = isNamed ? credential(of: id) : nil
        guard isStateReadable else { throw .stateUnreadable }
        guard isKnown else { throw .unknown(id) }
        guard !isNamed else { throw .named(id, credential: name) }
        end(id, .deleted)
        reviewUnprovenBonds()
    }

    /// Those that nothing names, and no credential is left to name any.
    func deleteAllBonds() {
        var cursor: BondCursor?
        repeat {
            let page = host.confirmedBonds(after: cursor, limit: Self.orphanSliceBonds)
            for id in page.rows where !isNamed(id) { end(id, .deleted) }
            cursor = page.next
        } while cursor != nil
        for id in host.unconfirmedBonds.sorted(by: { $0.rawValue < $1.rawValue }) { end(id, .deleted) }
        reviewUnprovenBonds()
    }

    private func end(_ id: BondID, _ end: BondEnd) {
        let bond = host.bond(id)
        // The host ends its links.
        host.deleteBond(id)
        feed(.administration(.bondEnded(UInt64(bitPattern: id.rawValue), end)))
        guard let bond, bond.state == .unconfirmed else { return }
        feedEnrolment(.bondGone(id, credential: bond.credential, register(about: bond.credential)))
    }
}

// MARK: Bonds that have yet to prove themselves

extension LockDaemon {
    /// Looks at who waits now, and ends what has waited too long. While the rows are in doubt no bond is deleted.
    func reviewUnprovenBonds() {
        guard rows?.isInDoubt != true else { return }
        var facts: [LockMutation] = []
        let ended = unproven.review(
            host.unconfirmedBonds.map { UInt64(bitPattern: $0.rawValue) }, boot: configuration.boot, now: host.now,
            facts: &facts)
        keep(facts)
        for bond in ended { end(BondID(Int64(bitPattern: bond)), .expired) }
        setUnprovenTimer()
    }

    private func setUnprovenTimer() {
        host.setTimer(unprovenTimer, at: unproven.deadline) { [weak self] _ in self?.reviewUnprovenBonds() }
    }
}
