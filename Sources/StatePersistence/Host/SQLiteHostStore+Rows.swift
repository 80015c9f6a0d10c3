import BluetoothCore
import BluetoothHost
import GATT
import SecurityManager

/// What is on disk, and on top of it the facts that are still to be committed, in their order.
extension SQLiteHostStore: HostRows {
    private func reading<T>(_ nothing: T, _ body: (HostReader) throws(StoreError) -> T) -> T {
        guard let reader else { return nothing }
        return database.reading(nothing) { () throws(StoreError) in try body(reader) }
    }

    private func overlaid(_ bonds: [Bond]) -> [BondID: Bond] {
        var found = Dictionary(bonds.map { ($0.id, $0) }) { _, last in last }
        for case .bond(let mutation) in pending { mutation.apply(to: &found) }
        return found
    }

    private func sorted(_ bonds: [BondID: Bond], where isIncluded: (Bond) -> Bool) -> [Bond] {
        bonds.values.filter(isIncluded).sorted { $0.id.rawValue < $1.id.rawValue }
    }

    package func bond(_ id: BondID) -> Bond? {
        overlaid(reading(nil) { (reader) throws(StoreError) in try reader.bond(id) }.map { [$0] } ?? [])[id]
    }

    package func bondState(_ id: BondID) -> BondState? {
        guard !isPending(id) else { return bond(id)?.state }
        return reading(nil) { (reader) throws(StoreError) in try reader.bondState(id) }
    }

    package func isKept(_ id: BondID) -> Bool {
        guard !isPending(id) else { return bond(id) != nil }
        return reading(false) { (reader) throws(StoreError) in try reader.isKept(id) }
    }

    private func isPending(_ id: BondID) -> Bool {
        pending.contains { if case .bond(let mutation) = $0 { mutation.bond == id } else { false } }
    }

    package var hasBonds: Bool {
        guard pending.contains(where: { if case .bond = $0 { true } else { false } }) else {
            return reading(false) { (reader) throws(StoreError) in try reader.hasBonds() }
        }
        var cursor: BondCursor?
        repeat {
            let page = bonds(after: cursor, limit: 64)
            if page.rows.contains(where: { $0.state != .provisional }) { return true }
            cursor = page.next
        } while cursor != nil
        return false
    }

    package func bonds(with identity: IdentityAddress) -> [Bond] {
        let kept = reading([]) { (reader) throws(StoreError) in try reader.bonds(with: identity) }
        return sorted(overlaid(kept)) { $0.identity == identity && $0.state != .provisional }
    }

    package func bonds(after cursor: BondCursor?, limit: Int) -> BondPage<Bond> {
        let page = reading(BondPage<Bond>()) { (reader) throws(StoreError) in
            try reader.bonds(after: cursor, limit: limit)
        }
        return overlaid(page, addsChanged: cursor == nil, \.id) { $0 }
    }

    package func marks(after cursor: BondCursor?, limit: Int) -> BondPage<BondMark> {
        let page = reading(BondPage<BondMark>()) { (reader) throws(StoreError) in
            try reader.marks(after: cursor, limit: limit)
        }
        return overlaid(page, addsChanged: cursor == nil, \.id) { $0.state == .provisional ? nil : BondMark($0) }
    }

    package func confirmedBonds(after cursor: BondCursor?, limit: Int) -> BondPage<BondID> {
        let page = reading(BondPage<BondID>()) { (reader) throws(StoreError) in
            try reader.confirmedBonds(after: cursor, limit: limit)
        }
        return overlaid(page, addsChanged: true, \.self) { $0.state == .confirmed ? $0.id : nil }
    }

    /// What is not on disk yet counts as it is. It comes with the first slice of several, which say nothing of it later.
    private func overlaid<Row>(
        _ page: BondPage<Row>, addsChanged: Bool, _ id: (Row) -> BondID, _ row: (Bond) -> Row?
    ) -> BondPage<Row> {
        let changed = pendingBonds
        guard !changed.isEmpty else { return page }
        var page = page
        page.rows.removeAll { changed.contains(id($0)) }
        if addsChanged { page.rows += changed.compactMap { bond($0) }.compactMap(row) }
        return page
    }

    /// Those of which a fact is pending.
    private var pendingBonds: Set<BondID> {
        Set(pending.compactMap { if case .bond(let mutation) = $0 { mutation.bond } else { nil } })
    }

    package func bonds(enrolledFor credential: String) -> [BondID] {
        let kept = reading([]) { (reader) throws(StoreError) in try reader.bonds(enrolledFor: credential) }
        let changed = pendingBonds
        let standing = changed.filter { id in
            bond(id).map { $0.credential == credential && $0.state != .provisional } ?? false
        }
        return (kept.filter { !changed.contains($0) } + standing).sorted { $0.rawValue < $1.rawValue }
    }

    package func client(_ bond: UInt64) -> GATTClientRecord? {
        var found: [UInt64: GATTClientRecord] = [:]
        found[bond] = reading(nil) { (reader) throws(StoreError) in try reader.client(bond) }
        // As on the disk, a fact about a bond that is not kept is none.
        var isKept =
            pending.isEmpty
            || reading(false) { (reader) throws(StoreError) in
                try reader.isKept(BondID(Int64(bitPattern: bond)))
            }
        for mutation in pending {
            switch mutation {
            case .bond(.upsert(let kept)) where kept.id.rawValue == Int64(bitPattern: bond): isKept = true
            case .bond(.delete(let id)) where id.rawValue == Int64(bitPattern: bond):
                found[bond] = nil
                isKept = false
            case .gatt(let mutation) where isKept && mutation.bond ?? bond == bond: mutation.apply(to: &found)
            default: break
            }
        }
        return found[bond].flatMap { $0 == GATTClientRecord(bond: bond) ? nil : $0 }
    }

    package func clients() -> [GATTClientRecord] {
        let kept = reading([]) { (reader) throws(StoreError) in try reader.clients() }
        let changed = pending.compactMap { if case .gatt(let mutation) = $0 { mutation.bond } else { nil } }
        return Set(kept).union(changed).sorted().compactMap { client($0) }
    }

    package func peer(_ identifier: PeerIdentifier) -> PeerRecord? {
        switch change(of: identifier) {
        case .some(let record): record
        case nil: reading(nil) { (reader) throws(StoreError) in try reader.peer(identifier) }
        }
    }

    package func peer(at address: DeviceAddress) -> PeerRecord? {
        let kept = reading([]) { (reader) throws(StoreError) in try reader.peers(at: address) }
        let new = pending.compactMap { if case .peer(let record) = $0 { record.identifier } else { nil } }
        return (kept.map(\.identifier) + new).compactMap { peer($0) }.filter { $0.address == address }
            .max { $0.identifier.bits < $1.identifier.bits }
    }

    package func peerNames() -> [PeerName] {
        var names: [PeerIdentifier: String?] = [:]
        for peer in reading([], { (reader) throws(StoreError) in try reader.peerNames() }) {
            names[peer.identifier] = .some(peer.name)
        }
        for mutation in pending {
            switch mutation {
            case .peer(let record): names[record.identifier] = .some(record.name)
            case .peerForgotten(let peer): names[peer] = nil
            default: break
            }
        }
        return names.map { PeerName(identifier: $0.key, name: $0.value) }.sorted {
            $0.identifier.bits < $1.identifier.bits
        }
    }

    package func peersWithoutBond(after cursor: PeerIdentifier?, limit: Int) -> PeerPage {
        reading(PeerPage()) { (reader) throws(StoreError) in try reader.peersWithoutBond(after: cursor, limit: limit) }
    }

    /// What the last pending fact makes of a peer: nil for no fact.
    private func change(of identifier: PeerIdentifier) -> PeerRecord?? {
        for mutation in pending.reversed() {
            switch mutation {
            case .peer(let record) where record.identifier == identifier: return .some(record)
            case .peerForgotten(identifier): return .some(nil)
            default: break
            }
        }
        return nil
    }
}
