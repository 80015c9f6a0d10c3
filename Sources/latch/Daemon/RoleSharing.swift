import DaemonControl
import Glibc
import StatePersistence

/// What this daemon keeps together with the other role's. That is for drills: one of the two that is compromised has the other
/// one's keys, and commands it.
///
/// It says what it can see: another user's directory it does not look into, and a machine key that was copied looks like any.
struct RoleSharing {
    private let plan: DaemonPlan
    private let sharesDatabase: Bool
    private let sharesDirectory: Bool

    /// nil where nothing is shared.
    ///
    /// - Throws: A ``StoreError`` when the database cannot be read.
    init?(_ plan: DaemonPlan, _ store: SQLiteHostStore) throws(StoreError) {
        self.plan = plan
        sharesDatabase = try store.hasIdentity(named: plan.role.other.rawValue)
        // The socket goes with its daemon, and its lock file stays.
        sharesDirectory = access(plan.directory.controlSocket(plan.role.other) + ".lock", F_OK) == 0
        guard sharesDatabase || sharesDirectory else { return nil }
    }

    var fields: JSONObject {
        var fields: JSONObject = ["with": .string(plan.role.other.rawValue)]
        if sharesDatabase { fields["database"] = .string(plan.database) }
        if sharesDirectory { fields["directory"] = .string(plan.directory.path) }
        let remedy =
            "this is for drills, since one compromised daemon has the other one's keys: give each a user, "
            + "a state directory and a machine key of its own"
        fields["remedy"] = .string(remedy)
        return fields
    }
}
