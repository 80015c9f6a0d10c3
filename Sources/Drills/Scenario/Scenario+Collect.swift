extension Scenario {
    /// Brings everything together that was left behind.
    func collect() throws {
        observer.poll()
        history.ended = Clock.now
        history.links = observer.spans
        history.signedWrites = observer.signedWrites
        history.damage += observer.damage
        do {
            history.movements = try household.movements()
        } catch let error as DrillError where error.kind == .stuck {
            history.damage.append(error.description)
        }
        var roles = [Role.lock]
        if household.directory.isSeparate { roles.append(.key) }
        for role in roles {
            let finding = try household.look(role, checkingIntegrity: true)
            history.damage += finding.faults.map { "database of the \(role.rawValue), at the end: \($0)" }
            guard role == .lock else { continue }
            history.audit = finding.auditRows.compactMap(AuditReader.entry)
            history.auditBreak = AuditReader.firstBreak(finding.auditRows)
            let unread = finding.auditRows.count - history.audit.count
            if unread > 0 { history.damage.append("\(unread) records of the audit cannot be read") }
        }
    }
}
