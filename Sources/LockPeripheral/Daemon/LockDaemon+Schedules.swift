import LockProtocol

/// When a credential may do what its role may, and whether that is now.
package struct CredentialRules: Hashable, Sendable {
    package let validity: Validity
    package let schedules: CredentialSchedules
    package let now: ScheduleVerdict
}

extension LockDaemon {
    /// The rules of everything of this name, each once: a window that is open may offer a second credential of a name.
    package func rules(of name: String) throws(RevocationRefusal) -> [CredentialRules] {
        let named = credentials(named: name).sorted { $0.id.rawValue < $1.id.rawValue }
        guard let machine else { throw .notBegun }
        guard !named.isEmpty else {
            let isThere = rows?.unreadableCredentials(named: name).isEmpty == false
            throw isThere ? .unreadable(name) : .unknown(name, known: credentialNames)
        }
        var rules: [CredentialRules] = []
        for credential in named {
            let verdict = machine.schedule(of: credential, machine.timeOfDay(moment))
            let own = CredentialRules(
                validity: credential.validity, schedules: credential.schedules, now: verdict)
            if !rules.contains(own) { rules.append(own) }
        }
        return rules
    }
}
