import BluetoothCore
import BluetoothCrypto

/// Records that were forgotten: all from `first` to `last`. The chain goes on behind them from the hash that is left.
package struct AuditCut: Hashable, Sendable {
    package let first: UInt64
    package let last: UInt64
    /// The last one's.
    package let hash: [UInt8]
    /// 64 octets, by ``message(_:_:_:)``: the lock itself forgot these. nil where nothing signs.
    package let signature: [UInt8]?

    package init(first: UInt64, last: UInt64, hash: [UInt8], signature: [UInt8]? = nil) {
        self.first = first
        self.last = last
        self.hash = hash
        self.signature = signature
    }

    package var head: AuditHead { AuditHead(sequence: last, hash: hash) }

    /// `latch audit cut 1`, first, last, the hash.
    package static func message(_ first: UInt64, _ last: UInt64, _ hash: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(capacity: 72)
        writer.write(Array("latch audit cut 1".utf8))
        writer.write(first)
        writer.write(last)
        writer.write(hash)
        return writer.bytes
    }

    /// Whether the lock itself forgot these, of each. One without a signature is not signed.
    package static func areSigned(_ cuts: [AuditCut], by key: Ed25519PublicKey) -> [Bool] {
        key.areSigned(cuts.map { (message($0.first, $0.last, $0.hash), $0.signature ?? []) })
    }
}
