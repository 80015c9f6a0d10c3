/// Records that were forgotten: all from `first` to `last`. The chain goes on behind them from the hash that is left.
package struct AuditCut: Hashable, Sendable {
    package let first: UInt64
    package let last: UInt64
    /// The last one's.
    package let hash: [UInt8]

    package init(first: UInt64, last: UInt64, hash: [UInt8]) {
        self.first = first
        self.last = last
        self.hash = hash
    }

    package var head: AuditHead { AuditHead(sequence: last, hash: hash) }
}
