import DaemonControl

/// One kill, from the walk to where the victim is to be, to the first look at what it left and its next life.
extension Scenario {
    func carryOut(_ given: KillPlan) throws {
        var plan = given
        if plan.phase == .enrolment {
            // Once its keys are exchanged an enrolment goes on by itself, kills or not.
            try awaitEnrolmentLeft()
            if isEnrolled { plan = .sure(plan.role, neediestPhase) }
        }
        if plan.phase != .enrolment { try settle() }
        // Only a bolt that is shut can be opened.
        if plan.phase == .committed, try household.movements().last?.opens == true { try commandToItsEnd() }
        try household.setKeyNear(plan.phase == .enrolment)
        try awaitQuiet()
        let means = try prepare(plan)
        var asked: (exchange: DaemonExchange?, index: Int)?
        switch plan.phase {
        case .restoring: break
        case .idle:
            if case .moment(let permille) = plan.means { try sleep(permille, of: Self.idleMilliseconds) }
        case .enrolment: try openEnrolment()
        case .connecting, .connected, .committed: asked = try ask(plan.opens)
        }
        try approach(plan)
        try awaitDeath(plan)
        try bury(plan, means, asked)
    }

    /// Brings the victim to where the kill counts from; how the kill is told.
    func prepare(_ plan: KillPlan) throws -> String {
        let role = plan.role
        switch (plan.means, plan.phase) {
        case (.moment(let permille), .restoring):
            try household.stop(role)
            try launch(role)
            let usual = history.restarts.last { $0.role == role }?.restoreNanoseconds ?? 20_000_000
            try waiter.sleep(microseconds: usual / 1000 * UInt64(permille) / 1200)
            return "a moment"
        case (.moment, _): return "a moment"
        case (.systemCall(let name, let number), _):
            var aim = Aim(name: name, number: number, path: nil)
            if name == "flock" { aim.path = household.directory.database(role) + ".lock" }
            if plan.phase == .committed, role == .lock {
                aim.path = household.directory.boltJournal
            } else if plan.phase != .restoring {
                aim.number += launchCalls[role]?[name] ?? 0
            }
            try household.stop(role)
            try launch(role, aim: aim)
            if plan.phase != .restoring {
                // It may come sooner than it was meant to: then that is when it came.
                do { try awaitLife(role) } catch let error as DrillError where error.kind == .stuck {
                    if household.isAlive(role) { throw error }
                }
            }
            return "\(name) number \(aim.number)"
        }
    }

    /// Does what leads into the phase.
    func approach(_ plan: KillPlan) throws {
        switch (plan.phase, plan.means) {
        case (.connecting, .moment(let permille)):
            // Half of them while nobody is near, half on the way in.
            if permille % 2 == 0 { try household.setKeyNear(true) }
            try sleep(permille, of: Self.connectingMilliseconds)
        case (.connecting, .systemCall), (.committed, _): try household.setKeyNear(true)
        case (.connected, let means):
            try household.setKeyNear(true)
            if case .moment(let permille) = means {
                let deadline = Clock.now + Clock.milliseconds(Self.aimSeconds * 1000)
                while !observer.hasLink(plan.role), household.isAlive(plan.role), Clock.now < deadline {
                    try waiter.sleep(milliseconds: 1)
                    observer.poll()
                }
                try sleep(permille, of: Self.connectedMilliseconds)
            }
        case (.enrolment, .moment(let permille)): try sleep(permille, of: Self.enrolmentMilliseconds)
        case (.enrolment, .systemCall), (.idle, _), (.restoring, _): break
        }
    }

    func sleep(_ permille: Int, of milliseconds: UInt64) throws {
        try waiter.sleep(microseconds: UInt64(permille) * milliseconds)
    }

    func awaitDeath(_ plan: KillPlan) throws {
        isEnrolling = enrolment?.command.hasEnded == false
        guard case .systemCall = plan.means else { return household.kill(plan.role) }
        let deadline = Clock.now + Clock.milliseconds(Self.aimSeconds * 1000)
        while Clock.now < deadline {
            if try household.awaitEnd(plan.role, until: Clock.now + Clock.milliseconds(5)) { return }
            switch plan.phase {
            // Nothing happens by itself: somebody has to ask.
            case .idle:
                _ = try? household.ask(plan.role, PeripheralRequest.status)?
                    .finish(until: Clock.now + Clock.milliseconds(200))
            case .enrolment:
                if enrolment?.command.end == .exited(0) {
                    isEnrolling = false
                    return household.kill(plan.role)
                }
            case .connecting, .committed, .restoring, .connected: break
            }
        }
        household.kill(plan.role)
    }

    /// Writes the kill down with its evidence, and brings the dead back.
    func bury(_ plan: KillPlan, _ means: String, _ asked: (exchange: DaemonExchange?, index: Int)?) throws {
        let role = plan.role
        let at = Clock.now
        observer.poll()
        let finding = try household.look(role, checkingIntegrity: true)
        history.damage += finding.faults.map { "database of the \(role.rawValue): \($0)" }
        let (phase, evidence) = try classify(role, finding, isCommandOut: asked != nil)
        observer.ended(role, at: at)
        history.kills.append(History.Kill(role: role, at: at, phase: phase, means: means, evidence: evidence))
        endEnrolmentAttempt()
        try household.setKeyNear(false)
        if plan.downMilliseconds > 0, phase == .committed { try waiter.sleep(milliseconds: plan.downMilliseconds) }
        try restart(role, finding)
        if let asked { try hear(asked) }
        if isEnrolled { try settle() }
    }

    /// Where the kill came, from what it left.
    func classify(_ role: Role, _ finding: DatabaseAuditor.Finding, isCommandOut: Bool) throws -> (
        Phase, String
    ) {
        // A life that ended before its controller heard of it has no station of its own.
        let station = presentStation(role)
        guard role == .lock ? station?.advertisedAt != nil : station?.broughtUpAt != nil else {
            return (.restoring, "it had not got its controller to where it was")
        }
        if isEnrolling, enrolment?.command.end != .exited(0) { return (.enrolment, "the enrolment window was open") }
        if role == .lock, let intent = finding.intent,
            try !household.movements().contains(where: { $0.intent == intent })
        {
            return (.committed, "intent \(intent) was on disk, and no movement in the journal")
        }
        if role == .key {
            if let challenge = finding.sent.first(where: { !observer.hasSent($0) }) {
                return (.committed, "the command for challenge \(challenge) was on disk, and not on the air")
            }
            if finding.hasRequest, !finding.kept.pendingConnections.isEmpty, station?.createConnectionAt == nil {
                return (.committed, "a pending connection was on disk, and the controller had not heard of it")
            }
        }
        if station?.links.isEmpty == false { return (.connected, "its controller had a link") }
        if isCommandOut { return (.connecting, "a command was asked for, and there was no link") }
        return (.idle, "no link, no command")
    }

    func restart(_ role: Role, _ finding: DatabaseAuditor.Finding) throws {
        var promised = finding.kept
        if !finding.hasRequest { promised.pendingConnections = [] }
        if isEnrolled, role == .lock {
            for (handle, value) in observer.confirmedSubscriptions where value != 0 {
                promised.subscriptions.insert("confirmed subscription by \(handle)")
            }
        }
        let process = try launch(role)
        var restart = History.Restart(role: role, at: process.startedAt, promised: promised, found: History.Kept())
        unfollowed.append(history.restarts.count)
        do {
            let station = try awaitLife(role)
            let upAt = role == .lock ? station.advertisedAt : station.broughtUpAt
            restart.restoreNanoseconds = upAt.map { $0 > process.startedAt ? $0 - process.startedAt : 0 }
            restart.advertisesAgain = role == .lock ? station.advertisedAt != nil : nil
            if role == .key, !promised.pendingConnections.isEmpty {
                restart.connectsAgain = try awaitReconnection(role)
            }
        } catch let error as DrillError where error.kind == .stuck {
            history.restarts.append(restart)
            throw error
        }
        let found = try household.look(role)
        restart.found = found.kept
        for (handle, value) in found.configurations where value != 0 {
            restart.found.subscriptions.insert("confirmed subscription by \(handle)")
        }
        // What was asked for came to its end meanwhile.
        if !found.hasRequest { restart.promised.pendingConnections = [] }
        history.restarts.append(restart)
    }

    func awaitReconnection(_ role: Role) throws -> Bool {
        let deadline = Clock.now + Clock.milliseconds(2000)
        while Clock.now < deadline {
            observer.poll()
            if presentStation(role)?.createConnectionAt != nil { return true }
            try waiter.sleep(milliseconds: 2)
        }
        return false
    }
}
