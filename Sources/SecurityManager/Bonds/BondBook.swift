import BluetoothCore
import BluetoothCrypto

/// The bonds of one local identity, in memory.
///
/// In: the bonds that a store kept, new bonds, signed writes, addresses to resolve. Out: which bond an address or a
/// signature belongs to, and every change as a ``BondMutation`` for the disk. Confined to the host's loop.
///
/// A launch does not wait for thousands of bonds: the book begins with those that have yet to prove themselves, and reads the
/// others (``BondRows``) when somebody asks for them. Of a bond that nobody has asked for it keeps who it is and its identity
/// resolving key, read in slices (``readOn(limit:)``). A question about all of them reads what is left of those at once.
///
/// Core 5.4, Vol 3, Part C, 9.4 (Bonding modes and procedures)
package final class BondBook {
    package let localIdentity: LocalIdentity
    /// Bonds without a credential: whoever comes by may make them, under another name each time. Those that are there stay,
    /// and one more is refused.
    package static let unnamedBondsMaximum = 256
    /// Peers that are known to have no bond. Anybody may come under any number of addresses: beyond this all of them are asked after
    /// anew.
    package static let strangersMaximum = 1_024
    /// Bonds of one peer that have yet to prove themselves.
    package static let unprovenBondsOfPeerMaximum = 2

    private struct Entry {
        var bond: Bond
        var signing: SigningState
    }

    /// How far the identity resolving keys of the store's bonds have been read.
    private enum Reading {
        case behind(BondCursor?)
        case complete
    }

    /// Those that were asked for, and every one that is not confirmed.
    private var entries: [BondID: Entry] = [:]
    /// Bonds that are not provisional, the newest last; two while a renewed bond waits for its confirmation beside the old
    /// one. An identity that is in here is in here with all of its bonds, also when it has none left.
    private var byIdentity: [IdentityAddress: [BondID]] = [:]
    /// Who had no bond when `rest` was asked. A bond that such a peer gets is in memory.
    private var strangers: Set<IdentityAddress> = []
    private var resolver = AddressResolver()
    /// Of the bonds that were read, those without a credential.
    private var unnamed: Set<BondID> = []
    /// Of `entries`, those that are unconfirmed, and how many are not provisional.
    private var unproven: Set<BondID> = []
    private var standing = 0
    /// Bonds that did not encrypt a link when they were last tried, of peers that have more than one.
    private var doubted: Set<BondID> = []
    /// What is not in memory yet; nil when nothing is left there.
    private let rest: (any BondRows)?
    private var reading: Reading
    /// What `rest` said last of ``hasBonds``.
    private var restHasBonds: Bool?

    /// Takes what the host's store loaded: all bonds, or, with `rest`, at least those that are not confirmed. Begin with
    /// ``discardUnfinished()``.
    package init(localIdentity: LocalIdentity, bonds: [Bond] = [], rest: (any BondRows)? = nil) {
        self.localIdentity = localIdentity
        self.rest = rest
        reading = rest == nil ? .complete : .behind(nil)
        // The first of a peer's reads the others.
        for bond in bonds where entries[bond.id] == nil { insert(bond) }
    }

    /// Drops the bonds whose pairing the last process did not finish.
    package func discardUnfinished() -> [BondMutation] {
        entries.values.filter { $0.bond.state == .provisional }.map(\.bond.id)
            .sorted { $0.rawValue < $1.rawValue }
            .flatMap { delete($0) }
    }

    /// Every bond that is not provisional, in a stable order. Reads them all, and keeps none of them in memory for it.
    package var bonds: [Bond] {
        guard let rest else { return Self.listed(entries.values.map(\.bond)) }
        var all: [Bond] = []
        var cursor: BondCursor?
        repeat {
            let page = rest.bonds(after: cursor, limit: Self.readAtOnceMaximum)
            all += page.rows.map { entries[$0.id]?.bond ?? $0 }
            cursor = page.next
        } while cursor != nil
        return Self.listed(all)
    }

    private static func listed(_ bonds: [Bond]) -> [Bond] {
        bonds.filter { $0.state != .provisional }.sorted { $0.id.rawValue < $1.id.rawValue }
    }

    /// Those that have yet to prove themselves, in no order: for one who asks often, and does not want all of them sorted.
    package var unconfirmed: [BondID] { Array(unproven) }

    /// Whether there is anybody whom this side knows.
    package var hasBonds: Bool {
        if standing > 0 { return true }
        guard let rest else { return false }
        let answer = restHasBonds ?? rest.hasBonds
        restHasBonds = answer
        return answer
    }

    package func bond(_ id: BondID) -> Bond? {
        if let known = entries[id] { return known.bond }
        guard let found = rest?.bond(id) else { return nil }
        if found.state != .provisional, let identity = found.identity { readIdentity(identity) }
        if entries[id] == nil { take(found) }
        return entries[id]?.bond
    }

    /// The same of the state alone, without keeping the bond in memory.
    package func state(of id: BondID) -> BondState? { entries[id]?.bond.state ?? rest?.bondState(id) }

    /// Those that were enrolled for this credential and are not provisional.
    package func bonds(enrolledFor credential: String) -> [BondID] {
        rest?.bonds(enrolledFor: credential)
            ?? entries.values.map(\.bond).filter { $0.credential == credential && $0.state != .provisional }
            .map(\.id).sorted { $0.rawValue < $1.rawValue }
    }

    /// The next confirmed bonds behind `cursor`.
    package func confirmedBonds(after cursor: BondCursor?, limit: Int) -> BondPage<BondID> {
        if let rest { return rest.confirmedBonds(after: cursor, limit: limit) }
        let first = cursor?.position ?? .min
        let page = entries.values.lazy.map(\.bond).filter { $0.state == .confirmed && $0.id.rawValue > first }
            .map(\.id.rawValue).smallest(limit)
        let next = page.count < limit ? nil : page.last.map { BondCursor(position: $0) }
        return BondPage(rows: page.map { BondID($0) }, next: next)
    }

    /// Whether there is a bond of this name, one whose row cannot be read among them.
    package func isKept(_ id: BondID) -> Bool { entries[id] != nil || rest?.isKept(id) == true }

    // MARK: What the store has

    /// Rows of one slice where all of them are read: between slices nothing else happens.
    private static let readAtOnceMaximum = 512

    /// Reads who the next bonds are, and their identity resolving keys; at most `limit` rows. False once there are no more.
    package func readOn(limit: Int) -> Bool {
        guard let rest, case .behind(let cursor) = reading else { return false }
        let page = rest.marks(after: cursor, limit: limit)
        for mark in page.rows where entries[mark.id] == nil { note(mark) }
        reading = page.next.map { .behind($0) } ?? .complete
        return page.next != nil
    }

    /// What is left of the keys, now: no peer is a stranger because it was not read yet.
    private func readAll() { while readOn(limit: Self.readAtOnceMaximum) {} }

    private func note(_ mark: BondMark) {
        if !mark.isNamed { unnamed.insert(mark.id) }
        if let identity = mark.identity, let irk = mark.peerIRK { resolver.insert(irk, of: identity, bond: mark.id) }
    }

    private func readIdentity(_ identity: IdentityAddress) {
        guard let rest, byIdentity[identity] == nil, !strangers.contains(identity) else { return }
        let found = rest.bonds(with: identity)
        guard !found.isEmpty else {
            if strangers.count >= Self.strangersMaximum { strangers.removeAll(keepingCapacity: true) }
            strangers.insert(identity)
            return
        }
        byIdentity[identity] = []
        for bond in found {
            if entries[bond.id] == nil { take(bond) } else { list(bond.id, identity) }
        }
    }

    private func list(_ id: BondID, _ identity: IdentityAddress) {
        if byIdentity[identity]?.contains(id) != true { byIdentity[identity, default: []].append(id) }
    }

    /// Takes a bond from the store into memory.
    private func take(_ bond: Bond) { insert(bond, isNoted: resolver.has(bond.id)) }

    // MARK: Who is who

    /// Whom an address stands for: an identity address for itself, a resolvable one for whose key made it.
    package func resolve(_ address: DeviceAddress) -> AddressResolution {
        if let identity = IdentityAddress(address) {
            readIdentity(identity)
            return byIdentity[identity]?.isEmpty == false ? .bonded(identity) : .unknown
        }
        guard address.isResolvable else { return .unknown }
        readAll()
        return resolver.resolve(address)
    }

    /// The bond to encrypt a link with: the newest that waits for its confirmation before those it is to replace, unless it
    /// was tried last, in vain. Of those whose keys are here.
    package func bondForEncryption(with identity: IdentityAddress) -> Bond? {
        let candidates = candidates(with: identity)
        return candidates.first { !doubted.contains($0.id) } ?? candidates.first
    }

    /// A link was not encrypted with this bond, or lost over it. Either side may have kept what the other did not: the next
    /// attempt is another bond's turn, where there is one.
    package func encryptionLost(_ id: BondID) {
        guard let identity = bond(id)?.identity else { return }
        let candidates = candidates(with: identity).map(\.id)
        guard candidates.count > 1 else { return }
        doubted.insert(id)
        if doubted.isSuperset(of: candidates) { doubted.subtract(candidates.filter { $0 != id }) }
    }

    /// The bond that another host of this machine encrypts its links with. It has one with a peer, the last that it made.
    package func bondKeptElsewhere(with identity: IdentityAddress) -> Bond? {
        candidates(with: identity, keptElsewhere: true).first
    }

    private func candidates(with identity: IdentityAddress, keptElsewhere: Bool = false) -> [Bond] {
        let bonds = bonds(with: identity).filter { $0.isKeptElsewhere == keptElsewhere }
        return bonds.reversed().filter { $0.state == .unconfirmed } + bonds.filter { $0.state == .confirmed }
    }

    /// Every bond with an identity: a renewed one stands beside its predecessor until it is confirmed.
    package func bonds(with identity: IdentityAddress) -> [Bond] {
        readIdentity(identity)
        return (byIdentity[identity] ?? []).compactMap { entries[$0]?.bond }
    }

    /// The keys that a peer has given with its bonds.
    package func identityResolvingKeys(of identity: IdentityAddress) -> [Secret] {
        readIdentity(identity)
        return (byIdentity[identity] ?? []).compactMap { entries[$0]?.bond.peerIRK }
    }

    /// The bond that signed commands may rest on.
    package func confirmedBond(with identity: IdentityAddress) -> Bond? {
        candidates(with: identity).first { $0.state == .confirmed }
    }

    // MARK: Signed commands

    /// Appends counter and signature to `message`, which is a whole signed command before them.
    ///
    /// Core 5.4, Vol 3, Part C, 10.4.1 (Connection data signing procedure)
    package func sign(_ message: [UInt8], with id: BondID) -> SigningOutcome {
        update(id, else: .notPossible) { $0.signing.sign(message, with: &$0.bond) }
    }

    /// A counter of a confirmed bond for what its application authenticates by a key of its own: each of these counters goes with one
    /// message, whoever signs it. nil: there is no such bond, or its counters are spent.
    package func takeSignCounter(_ id: BondID) -> (counter: UInt32, reserving: BondMutation?)? {
        update(id, else: nil) { $0.bond.state == .confirmed ? $0.signing.takeCounter(&$0.bond) : nil }
    }

    /// Signs nothing more with counters up to this one, or, with nil, with some more than those that were used.
    package func advanceSignCounter(_ id: BondID, beyond counter: UInt32?) -> BondMutation? {
        update(id, else: nil) { $0.signing.advance(beyond: counter, with: &$0.bond) }
    }

    /// Verifies a whole signed command, in constant time, and then its counter.
    ///
    /// Core 5.4, Vol 3, Part C, 10.4.2 (Authenticate signed data procedure)
    package func verifySigned(_ octets: [UInt8], from id: BondID) -> SignedWriteVerdict {
        update(id, else: .notVerifiable) { $0.signing.verify(octets, from: &$0.bond) }
    }

    private func update<R>(_ id: BondID, else missing: R, _ body: (inout Entry) -> R) -> R {
        guard bond(id) != nil, let index = entries.index(forKey: id) else { return missing }
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
        let matching = bonds(with: [identity, resolved].compactMap { $0 }, orOf: irk)
        let mayReplace = matching.allSatisfy { bond in
            bond.credential == credential && (credential != nil || renewable.contains(bond.id))
                && strength.isAtLeast(bond.strength)
        }
        guard mayReplace else { return nil }
        if credential == nil, matching.isEmpty {
            readAll()
            guard unnamed.count < Self.unnamedBondsMaximum else { return nil }
        }
        return matching.map(\.id)
    }

    /// Those that one of these identities has, or that have this key, each once and in a stable order.
    private func bonds(with identities: [IdentityAddress], orOf irk: Secret?) -> [Bond] {
        var found: [BondID: Bond] = [:]
        for bond in identities.flatMap({ bonds(with: $0) }) + holders(of: irk) { found[bond.id] = bond }
        return Self.listed(Array(found.values))
    }

    /// The bonds of this identity resolving key.
    private func holders(of irk: Secret?) -> [Bond] {
        guard let irk else { return [] }
        readAll()
        return resolver.bonds(of: irk).compactMap { bond($0) }.filter { $0.peerIRK == irk }
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
        return holders(of: irk).contains { $0.identity != bond.identity && !gone.contains($0.id) }
    }

    /// Keeps a provisional bond: on disk before the first key leaves, of no use until it is admitted.
    package func begin(_ bond: Bond) -> [BondMutation] {
        insert(bond)
        return [.upsert(bond)]
    }

    /// Takes a paired bond in place of `replaced`, in one transaction.
    package func admit(_ bond: Bond, replacing replaced: [BondID]) -> [BondMutation] {
        if let identity = bond.identity { readIdentity(identity) }
        var mutations = replaced.filter { $0 != bond.id }.flatMap { delete($0) }
        if entries[bond.id] != nil { _ = delete(bond.id) }
        insert(bond)
        mutations.append(.upsert(bond))
        return mutations
    }

    /// The first reconnection was encrypted with this bond: it is confirmed, and what it renews is gone.
    package func promote(_ id: BondID) -> [BondMutation] {
        guard let bond = bond(id), bond.state == .unconfirmed, let identity = bond.identity else { return [] }
        let renewed = bonds(with: [identity], orOf: bond.peerIRK).filter { $0.id != id }
        let mutations = renewed.flatMap { delete($0.id) }
        entries[id]?.bond.state = .confirmed
        unproven.remove(id)
        return mutations + [.promoted(id)]
    }

    /// nil where there is no such bond, or the secret is too long to be kept.
    package func keep(_ secret: Secret?, with id: BondID) -> BondMutation? {
        guard secret?.count ?? 0 <= Self.applicationSecretOctetsMaximum else { return nil }
        return update(id, else: nil) { entry in
            entry.bond.applicationSecret = secret
            return .upsert(entry.bond)
        }
    }

    package static let applicationSecretOctetsMaximum = 255

    /// A bond whose row cannot be read is none, and can be deleted all the same.
    package func delete(_ id: BondID) -> [BondMutation] {
        guard let bond = bond(id) else { return rest?.isKept(id) == true ? [.delete(id)] : [] }
        entries[id] = nil
        doubted.remove(id)
        unproven.remove(id)
        unnamed.remove(id)
        if bond.state != .provisional { standing -= 1 }
        restHasBonds = nil
        if let identity = bond.identity {
            byIdentity[identity]?.removeAll { $0 == id }
            // Else it stays, empty: until the deletion has reached the store, that still has the bond.
            if rest == nil, byIdentity[identity]?.isEmpty == true { byIdentity[identity] = nil }
        }
        resolver.remove(bond: id)
        return [.delete(id)]
    }

    /// `isNoted`: its key has been read already, in a slice.
    private func insert(_ bond: Bond, isNoted: Bool = false) {
        entries[bond.id] = Entry(bond: bond, signing: SigningState(bond))
        guard bond.state != .provisional else { return }
        standing += 1
        if bond.state == .unconfirmed { unproven.insert(bond.id) }
        if !isNoted { note(BondMark(bond)) }
        guard let identity = bond.identity else { return }
        readIdentity(identity)
        list(bond.id, identity)
    }
}
