/// Something whose durable facts go to disk with a loop iteration: the host's store, the lock's, the key's. All that
/// share a loop share one transaction, and so one fsync.
///
/// Facts are handed over as values during the iteration (each store has its own `append`) and reach the disk only when
/// the iteration ends: killed before that, they were never asked.
package protocol CommitParticipant: AnyObject {
    /// Whether anything was handed over since the last commit.
    var hasPending: Bool { get }
    /// Writes everything that is pending, in order, inside the transaction that the coordinator has open, and keeps it
    /// pending until `didCommit`.
    func writePending() throws
    /// The transaction is on disk.
    func didCommit()
}

/// Opens, fills and durably commits the one transaction of an iteration.
package protocol TransactionCoordinator: AnyObject {
    /// Returns once everything is on disk; does nothing when nothing is pending. Throws without having written
    /// anything: the caller releases no output then.
    func commit(_ participants: [any CommitParticipant]) throws
}
