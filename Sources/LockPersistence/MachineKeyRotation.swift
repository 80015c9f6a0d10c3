import BluetoothCrypto
import LockPeripheral
import StatePersistence

/// Another machine key for a database whose daemons are stopped.
///
/// **The order.** The new key is in `KEY.new`, on disk. The lock's anchor for it is in `ANCHOR.new-key`. The transaction commits. The anchor takes its
/// place, and then the key does; the old one stays beside it. Before the commit the database opens with the old key, behind it with the
/// new one, and never with both. A launch that is refused by the key in its place looks at `KEY.new`, and at the anchor beside the anchor's place: so a
/// power cut anywhere in between leaves a lock that starts. The command goes on where it was cut off.
package enum MachineKeyRotation {
    package struct Outcome: Equatable, Sendable {
        /// The old key's file now: backups from before need it.
        package var oldKey: String
        /// Of the audit, before and from now on; nil where there is no lock in the database.
        package var auditKeys: (old: Ed25519PublicKey, new: Ed25519PublicKey)?

        package static func == (one: Self, other: Self) -> Bool {
            one.oldKey == other.oldKey && one.auditKeys?.old == other.auditKeys?.old
                && one.auditKeys?.new == other.auditKeys?.new
        }
    }

    package enum Refusal: Error, Equatable, Sendable {
        /// What is in doubt would be believed under the new key.
        case inDoubt(StateDoubt)
    }

    /// `anchor`: the lock's. `identities`: whose daemons use the database.
    ///
    /// - Throws: ``StoreError``, ``Refusal``. Then the database has the key that it had.
    package static func perform(
        _ path: String, keyFile: String, anchor: String, identities: [String], components: [SchemaComponent]
    ) throws -> Outcome {
        guard try StateFiles.exists(path) else { throw StoreError.unreadable(path: path, reason: "no such file") }
        var claims: [RestoreClaim] = []
        for identity in identities {
            claims.append(try RestoreClaim(identity: identity, beside: path, components: components))
        }
        defer { withExtendedLifetime(claims) {} }
        let old = try MachineKey.load(credentialsDirectory: nil, file: keyFile, mayCreate: false)
        let new = try MachineKey.makeNext(of: keyFile)
        let isLock: Bool
        do {
            isLock = try rotate(path, old, new, anchor, components)
        } catch StoreError.wrongMachineKey(let wrong) {
            // Cut off behind its commit; or neither of them is the database's.
            do {
                let state = try StateStore(path: path, key: new, components: components)
                isLock = try LockSeal.kept(in: state.database) != nil
            } catch StoreError.wrongMachineKey {
                throw StoreError.wrongMachineKey(path: wrong)
            }
        }
        if isLock { try FileAnchor(path: anchor, machineKey: new).takePlace() }
        let kept = try MachineKey.putInPlace(of: keyFile)
        return Outcome(
            oldKey: kept,
            auditKeys: isLock ? (AuditSigner(old).publicKey, AuditSigner(new).publicKey) : nil)
    }

    /// Whether there is a lock in the database.
    private static func rotate(
        _ path: String, _ old: MachineKey, _ new: MachineKey, _ anchor: String, _ components: [SchemaComponent]
    ) throws -> Bool {
        let state = try StateStore(path: path, key: old, components: components)
        let rotation = KeyRotation(database: state.database, from: state.keys, to: new)
        let isSealed = try LockSeal.kept(in: state.database) != nil
        guard try isSealed || FileAnchor.exists(anchor) else {
            try state.database.transaction { try rotation.perform() }
            return false
        }
        let seal = try LockSeal(state, anchor: FileAnchor(path: anchor, keys: state.keys))
        guard seal.isTrusted else { throw Refusal.inDoubt(seal.doubt ?? .rowsDiffer) }
        let generation = max(seal.generations.file ?? 0, seal.generations.anchor ?? 0)
        try state.database.transaction {
            let name = try LockKeyRotation(rotation: rotation).perform(behind: generation)
            try rotation.perform()
            try FileAnchor(path: anchor, machineKey: new).writeBeside(AnchorRecord(current: name))
        }
        return true
    }
}
