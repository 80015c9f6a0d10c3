import BluetoothCrypto
import LockPeripheral
import StatePersistence

/// The audit's key: derived from the machine key, so that nobody can take it out of the file, or put another one in its place, and
/// the same for as long as the machine key is.
package struct AuditSigner {
    private let key: Ed25519SigningKey

    private static let purpose = "latch audit signing 1"

    package init(_ keys: KeyWrap) { key = keys.signingKey(Self.purpose) }

    package init(_ key: MachineKey) { self.key = key.signingKey(Self.purpose) }

    package var publicKey: Ed25519PublicKey { key.publicKey }

    package func checkpoint(_ head: AuditHead) -> AuditCheckpoint {
        AuditCheckpoint(head: head, signature: key.sign(AuditCheckpoint.message(head)))
    }

    func signed(_ cut: AuditCut) -> AuditCut {
        AuditCut(
            first: cut.first, last: cut.last, hash: cut.hash,
            signature: key.sign(AuditCut.message(cut.first, cut.last, cut.hash)))
    }
}
