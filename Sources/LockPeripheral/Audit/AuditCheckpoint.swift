import BluetoothCore
import BluetoothCrypto

/// How far the audit goes, in the words that its key signs. Whoever cuts records off its end has no signature of the end that is left.
package struct AuditCheckpoint: Hashable, Sendable {
    package let head: AuditHead
    /// 64 octets, by ``message(_:)``.
    package let signature: [UInt8]

    package init(head: AuditHead, signature: [UInt8]) {
        self.head = head
        self.signature = signature
    }

    /// `latch audit checkpoint 1`, the sequence, the hash.
    package static func message(_ head: AuditHead) -> [UInt8] {
        var writer = ByteWriter(capacity: 64)
        writer.write(Array("latch audit checkpoint 1".utf8))
        writer.write(head.sequence)
        writer.write(head.hash)
        return writer.bytes
    }

    package func isSigned(by key: Ed25519PublicKey) -> Bool { key.isSigned(Self.message(head), signature) }
}

/// The signed end as a reader needs it: with the key that it is to be of. The key is believed for the link that it came on, or because it
/// is known from elsewhere.
package struct SignedAuditEnd: Hashable, Sendable {
    package let checkpoint: AuditCheckpoint
    package let publicKey: Ed25519PublicKey

    package init(checkpoint: AuditCheckpoint, publicKey: Ed25519PublicKey) {
        self.checkpoint = checkpoint
        self.publicKey = publicKey
    }
}

/// What a launch finds that the audit's signature does not answer for. Kept by its number.
package enum AuditDoubt: UInt8, Sendable, CaseIterable {
    /// No signature is there: an earlier version wrote the records, or somebody took it away.
    case unsigned = 1
    /// The signature is damaged, or of another machine key.
    case signatureDamaged = 2
    /// Records that were signed are gone from the end.
    case shortened = 3
    /// The last signed record is another one.
    case altered = 4
    /// There are records behind the signed ones.
    case lengthened = 5

    package var name: String {
        switch self {
        case .unsigned: "unsigned"
        case .signatureDamaged: "signature_damaged"
        case .shortened: "shortened"
        case .altered: "altered"
        case .lengthened: "lengthened"
        }
    }
}
