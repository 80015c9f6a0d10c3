import CommandInterface
import StatePersistence

/// What a daemon's process holds once, for as long as it lives and beyond its daemon's end: the claim to the identity, and
/// the journal of its events. The lock still needs both when it secures its door and nothing else works any more.
final class DaemonHoldings {
    let plan: DaemonPlan
    /// nil for a daemon that was started by hand.
    let manager: ServiceManager?
    private var claim: RestoreClaim?
    private var opened: EventJournal?

    init(_ plan: DaemonPlan, manager: ServiceManager?) { (self.plan, self.manager) = (plan, manager) }

    /// Before the database is opened: the process with the identity has the bolt, too. Throws `identityClaimed` when another
    /// process has it.
    func takeClaim() throws(StoreError) {
        guard claim == nil else { return }
        claim = try RestoreClaim(
            identity: plan.role.rawValue, beside: plan.database, components: DaemonPlan.components)
    }

    /// Its records are numbered without a gap.
    func journal() throws(Failure) -> EventJournal {
        if let opened { return opened }
        let journal = try EventJournal(log: plan.log, path: plan.journal)
        opened = journal
        return journal
    }
}
