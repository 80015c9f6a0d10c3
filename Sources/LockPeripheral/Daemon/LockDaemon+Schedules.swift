import LockProtocol

/// When a credential may do what its role may, and whether that is now.
package struct CredentialRules: Hashable, Sendable {
    package let validity: Validity
    package let schedules: CredentialSchedules
    package let now: ScheduleVerdict
}

extension LockDaemon {
    /// The rules of everything that the scope covers, each once.
    package func rules(of scope: CredentialScope) throws(RevocationRefusal) -> [CredentialRules] {
        let concerned = credentials(in: scope).sorted { $0.id.rawValue < $1.id.rawValue }
        guard isStateReadable else { throw .stateUnreadable }
        guard !concerned.isEmpty else { throw refusal(of: scope, rows?.unreadableCredentials(in: scope) ?? []) }
        var rules: [CredentialRules] = []
        for credential in concerned {
            let verdict = machine.schedule(of: credential, machine.timeOfDay(moment))
            let own = CredentialRules(
                validity: credential.validity, schedules: credential.schedules, now: verdict)
            if !rules.contains(own) { rules.append(own) }
        }
        return rules
    }
}
