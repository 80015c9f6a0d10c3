import BluetoothCore
import BluetoothCrypto

/// The bonds of one local identity, in memory.
///
/// In: the bonds that a store kept, new bonds, signed writes, addresses to resolve. Out: which bond an address or a
/// signature belongs to, and every change as a ``BondMutation`` for the disk. Confined to the host's loop.
///
/// Core 5.4, Vol 3, Part C, 9.4 (Bonding modes and procedures)
package final class BondBook {
    package let localIdentity: LocalIdentity
    /// Bonds without a credential: whoever comes by may make them, under another name each time. Those that are there stay,
    /// and one more is refused.
    package static let unnamedBondsMaximum = 256
    /// Bonds of one peer that have yet to prove themselves.
    package static let unprovenBondsOfPeerMaximum = 2

    private struct Entry {
        var bond: Bond
        var signing: SigningState
    }

    private var entries: [BondID: Entry] = [:]
    /// Bonds that are not provisional, the newest last; two while a renewed bond waits for its confirmation beside the old
    /// one.
    private var byIdentity: [IdentityAddress: [BondID]] = [:]
    private var resolver = AddressResolver()
    /// Bonds that did not encrypt a link when they were last tried, of peers that have more than one.
    private var doubted: Set<BondID> = []

    /// Takes what the host's store loaded. Begin with ``discardUnfinished()``.
    package init(localIdentity: LocalIdentity, bonds: [Bond] = []) {
        self.localIdentity = localIdentity
        for bond in bonds { insert(bond) }
    }

    /// Drops the bonds whose pairing the last process did not finish.
    package func discardUnfinished() -> [BondMutation] {
        entries.values.filter { $0.bond.state == .provisional }.map(\.bond.id)
            .sorted { $0.rawValue < $1.rawValue }
            .flatMap { delete($0) }
    }

    /// Every bond that is not provisional, in a stable order.
    package var bonds: [Bond] {
        entries.values.map(\.bond).filter { $0.state != .provisional }.sorted { $0.id.rawValue < $1.id.rawValue }
    }

    /// Those that have yet to prove themselves, in no order: for one who asks often, and does not want all of them sorted.
    package var unconfirmed: [BondID] {
        entries.filter { $0.value.bond.state == .unconfirmed }.map(\.key)
    }

    /// Whether there is anybody whom this side knows.
    package var hasBonds: Bool { !byIdentity.isEmpty }

    package func bond(_ id: BondID) -> Bond? { entries[id]?.bond }

    // MARK: Who is who

    /// Whom an address stands for: an identity address for itself, a resolvable one for whose key made it.
    package func resolve(_ address: DeviceAddress) -> AddressResolution {
        if let identity = IdentityAddress(address) {
            return byIdentity[identity] == nil ? .unknown : .bonded(identity)
        }
        return address.isResolvable ? resolver.resolve(address) : .unknown
    }

    /// The bond to encrypt a link with: the newest that waits for its confirmation before those it is to replace, unless it
    /// was tried last, in vain.
    package func bondForEncryption(with identity: IdentityAddress) -> Bond? {
        let candidates = candidates(with: identity)
        return candidates.first { !doubted.contains($0.id) } ?? candidates.first
    }

    /// A link was not encrypted with this bond, or lost over it. Either side may have kept what the other did not: the next
    /// attempt is another bond's turn, where there is one.
    package func encryptionLost(_ id: BondID) {
        guard let identity = entries[id]?.bond.identity else { return }
        let candidates = candidates(with: identity).map(\.id)
        guard candidates.count > 1 else { return }
        doubted.insert(id)
        if doubted.isSuperset(of: candidates) { doubted.subtract(candidates.filter { $0 != id }) }
    }

    private func candidates(with identity: IdentityAddress) -> [Bond] {
        let bonds = bonds(with: identity)
        return bonds.reversed().filter { $0.state == .unconfirmed } + bonds.filter { $0.state == .confirmed }
    }

    /// Every bond with an identity: a renewed one stands beside its predecessor until it is confirmed.
    package func bonds(with identity: IdentityAddress) -> [Bond] {
        (byIdentity[identity] ?? []).compactMap { entries[$0]?.bond }
    }

    /// The bond that signed commands may rest on.
    package func confirmedBond(with identity: IdentityAddress) -> Bond? { bond(with: identity, in: .confirmed) }

    private func bond(with identity: IdentityAddress, in state: BondState) -> Bond? {
        for id in byIdentity[identity] ?? [] {
            if let bond = entries[id]?.bond, bond.state == state { return bond }
        }
        return nil
    }

    // MARK: Signed commands

    /// Appends counter and signature to `message`, which is a whole signed command before them.
    ///
    /// Core 5.4, Vol 3, Part C, 10.4.1 (Connection data signing procedure)
    package func sign(_ message: [UInt8], with id: BondID) -> SigningOutcome {
        update(id, else: .notPossible) { $0.signing.sign(message, with: &$0.bond) }
    }

    /// Verifies a whole signed command, in constant time, and then its counter.
    ///
    /// Core 5.4, Vol 3, Part C, 10.4.2 (Authenticate signed data procedure)
    package func verifySigned(_ octets: [UInt8], from id: BondID) -> SignedWriteVerdict {
        update(id, else: .notVerifiable) { $0.signing.verify(octets, from: &$0.bond) }
    }

    private func update<R>(_ id: BondID, else missing: R, _ body: (inout Entry) -> R) -> R {
        guard let index = entries.index(forKey: id) else { return missing }
        return body(&entries.values[index])
    }

    // MARK: Pairing

    /// Which bonds a pairing with this peer would replace; nil when it may not, because one of them was not enrolled
    /// for `credential` or is stronger in anything, or because the peer claims what is ours.
    ///
    /// `address` is the connection's. Rights belong to credentials: neither an address nor a key that turns up in a
    /// pairing may take a bond over. Bonds without a credential give way only if they are among `renewable`.
    package func replaceable(
        by address: DeviceAddress, identity: IdentityAddress? = nil, irk: Secret? = nil, credential: String?,
        renewable: Set<BondID> = [], strength: BondStrength
    ) -> [BondID]? {
        guard identity != localIdentity.address, irk != localIdentity.irk else { return nil }
        var resolved: IdentityAddress?
        switch resolve(address) {
        case .unknown: break
        case .bonded(let known): resolved = known
        case .ambiguous: return nil
        }
        let matching = bonds.filter { bond in
            bond.identity == identity && identity != nil || bond.identity == resolved && resolved != nil
                || bond.peerIRK == irk && irk != nil
        }
        let mayReplace = matching.allSatisfy { bond in
            bond.credential == credential && (credential != nil || renewable.contains(bond.id))
                && strength.isAtLeast(bond.strength)
        }
        guard mayReplace else { return nil }
        if credential == nil, matching.isEmpty, bonds.count(where: { $0.credential == nil }) >= Self.unnamedBondsMaximum
        {
            return nil
        }
        return matching.map(\.id)
    }

    /// Of those that a new bond with `identity` would replace, the bonds that never proved themselves and that it has no room
    /// beside. The newest stays: the peer may have come to the end of that pairing and not of this one.
    package func surplus(with identity: IdentityAddress, among ids: [BondID]) -> [BondID] {
        bonds(with: identity).filter { $0.state == .unconfirmed && ids.contains($0.id) }.map(\.id)
            .dropLast(Self.unprovenBondsOfPeerMaximum - 1)
    }

    /// Whether a bond of another identity has the same identity resolving key, and stays: `gone` do not. The addresses that
    /// the key makes would be nobody's then, and neither peer would be known by them.
    package func isKeyTaken(of bond: Bond, besides gone: [BondID]) -> Bool {
        guard let irk = bond.peerIRK else { return false }
        return bonds.contains { $0.peerIRK == irk && $0.identity != bond.identity && !gone.contains($0.id) }
    }

    /// Keeps a provisional bond: on disk before the first key leaves, of no use until it is admitted.
    package func begin(_ bond: Bond) -> [BondMutation] {
        insert(bond)
        return [.upsert(bond)]
    }

    /// Takes a paired bond in place of `replaced`, in one transaction.
    package func admit(_ bond: Bond, replacing replaced: [BondID]) -> [BondMutation] {
        var mutations = replaced.filter { $0 != bond.id }.flatMap { delete($0) }
        if entries[bond.id] != nil { _ = delete(bond.id) }
        insert(bond)
        mutations.append(.upsert(bond))
        return mutations
    }

    /// The first reconnection was encrypted with this bond: it is confirmed, and what it renews is gone.
    package func promote(_ id: BondID) -> [BondMutation] {
        guard let bond = entries[id]?.bond, bond.state == .unconfirmed, let identity = bond.identity else { return [] }
        let renewed = bonds.filter { other in
            other.id != id && (other.identity == identity || bond.peerIRK != nil && other.peerIRK == bond.peerIRK)
        }
        let mutations = renewed.flatMap { delete($0.id) }
        entries[id]?.bond.state = .confirmed
        return mutations + [.promoted(id)]
    }

    package func delete(_ id: BondID) -> [BondMutation] {
        guard let bond = entries.removeValue(forKey: id)?.bond else { return [] }
        doubted.remove(id)
        if let identity = bond.identity {
            byIdentity[identity]?.removeAll { $0 == id }
            if byIdentity[identity]?.isEmpty == true { byIdentity[identity] = nil }
        }
        resolver.remove(bond: id)
        return [.delete(id)]
    }

    private func insert(_ bond: Bond) {
        entries[bond.id] = Entry(bond: bond, signing: SigningState(bond))
        guard bond.state != .provisional, let identity = bond.identity else { return }
        byIdentity[identity, default: []].append(bond.id)
        if let irk = bond.peerIRK { resolver.insert(irk, of: identity, bond: bond.id) }
    }
}
