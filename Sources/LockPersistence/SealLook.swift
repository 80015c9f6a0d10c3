import LockPeripheral
import StatePersistence

/// What can be said of a lock's database and its anchor without the machine key: whether they name the same state. Who wrote
/// them is not known then, and a launch may find more.
package struct SealLook: Equatable, Sendable {
    /// nil: no lock has sealed this database.
    package let generation: UInt64?
    /// What the names alone say against it.
    package let doubt: StateDoubt?

    package init(_ database: some StatementSource, anchor: AnchorReading) throws(StoreError) {
        let table = try database.statement("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'lock_seal'")
        let isSealable = try table.firstRow { (_) throws(StoreError) in true } ?? false
        let kept = isSealable ? try LockSeal.kept(in: database) : nil
        generation = kept?.generation
        doubt = LockSeal.doubt(of: kept.map { LockSeal.name($0.generation, $0.seal) }, anchor)
    }
}
