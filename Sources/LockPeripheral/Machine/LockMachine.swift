import BluetoothCore
import LockProtocol

/// The lock: decides what every command, question and movement of the bolt means.
///
/// In: ``LockInput``: links, commands, proofs, reports of the actuator, time, the operator. Out: what to
/// do, and before it the facts to keep. No clock, no randomness, no disk; ``LockDaemon`` owns it.
///
/// Everything that a command needs decided stands in one place, in one order: ``LockMachine+Commands``.
package struct LockMachine {
    let boot: BootID
    /// The Command Receipt value's handle: part of every receipt's nonce. nil until the service is published: nobody has asked for
    /// receipts before.
    package var receiptHandle: AttributeHandle?
    /// Those that were asked for: ``recall(_:_:)`` comes before the input that is about them.
    var credentials: [CredentialID: Credential]
    private var recalledBonds: Set<UInt64> = []
    var settings: LockSettings
    var bolt: BoltMachine
    var relock: BootDeadline?
    var doorway: Doorway
    var lastCommands: [UInt64: LastCommand]
    var counters: [UInt64: ReceiptCounters]
    var refusals: [UInt64: AuditMeter] = [:]
    /// Of commands that move nothing.
    var idleGrants: [UInt64: AuditMeter] = [:]
    /// Of keys that asked too often for what they may not do.
    var lockouts: [UInt64: Lockout]
    var auditHead: AuditHead
    /// Who asks at the machine, and whom the chain has named last.
    private var operators: (asking: UInt32?, told: UInt32?)
    /// Nothing is in the chain since this program's launch. Nothing is lost with it then, and an end in order is worth no record.
    var isFreshLaunch = false
    private var clockWatch = ClockWatch()
    /// Launches that the chain does not tell yet, this one among them.
    var untoldLaunches: UInt64 = 0
    private(set) var wallClockMark: WallClockMark
    /// Counts where the machine's own clock is not trusted.
    var toldTime: ToldTime?
    var links: [LockLink: LinkState] = [:]
    package internal(set) var alarms: AlarmBook
    /// Who is told of the end of the movement under way.
    var requester: Requester?

    struct Requester {
        var link: LockLink
        var challenge: ChallengeID
    }

    /// Takes up where the last process was cut off: `snapshot` is the disk's word, `reading` the bolt's. The outputs settle
    /// what was owed, and come before anything that the next input brings. `tellsLaunch`: false for one that only settles, and
    /// behind which the lock begins, and tells what an earlier program owed. `alarms`: those of this program before. `configured`: what the lock goes by from the beginning, where
    /// that is not what is kept; `keepsSettings`: whether it is kept from then on, which takes a store that can seal it.
    package init(
        restoring snapshot: LockSnapshot, reading: BoltReading, boot: BootID, receiptHandle: AttributeHandle? = nil,
        configured: LockSettings? = nil, rules: DoorRules = DoorRules(), tellsLaunch: Bool = true,
        keepsSettings: Bool = true, alarms: AlarmBook = AlarmBook(),
        at moment: LockMoment,
        into outputs: inout [LockOutput]
    ) {
        self.alarms = alarms
        self.boot = boot
        self.receiptHandle = receiptHandle
        credentials = snapshot.credentials
        settings = configured ?? snapshot.settings
        bolt = BoltMachine(BoltRecord(position: reading.position, door: reading.door))
        doorway = Doorway(rules, isFire: reading.isFire, hold: snapshot.hold, ajar: snapshot.ajar)
        relock = snapshot.relock
        lastCommands = snapshot.lastCommands
        counters = snapshot.receiptCounters.mapValues { ReceiptCounters(reservedBelow: $0) }
        lockouts = snapshot.lockouts.mapValues { $0.resumed(in: boot) }
        auditHead = snapshot.auditHead
        wallClockMark = WallClockMark(seconds: snapshot.auditTail.wallClockSeconds)
        toldTime = snapshot.toldTime
        var turn = LockTurn(moment, random: 0)
        self.alarms.debt.find(snapshot.owedAlarms)
        if tellsLaunch { raiseOwed(&turn) }
        if let doubt = snapshot.auditDoubt { raise(.tamper(.audit), on: audit(.auditDoubted(doubt), &turn), &turn) }
        if tellsLaunch {
            auditLaunch(snapshot.auditTail, &turn)
        } else {
            untoldLaunches = snapshot.auditTail.relaunches
        }
        launch(snapshot, reading: reading, &turn)
        reviewHold(&turn)
        secureIfDue(&turn)
        if keepsSettings, settings != snapshot.settings { administer(.settings(settings), &turn) }
        watchSteps(&turn)
        watchClock(&turn)
        settleAlarms(&turn)
        turn.flush(into: &outputs)
    }

    /// One input. `random` is fresh from the CSPRNG for each; its low 48 bits become a challenge if one is due.
    package mutating func handle(
        _ input: LockInput, at moment: LockMoment, random: UInt64, into outputs: inout [LockOutput]
    ) {
        var turn = LockTurn(moment, random: random)
        watchHours(&turn)
        switch input {
        case .connected(let link, let claim, let subscriptions): connect(link, claim, subscriptions, &turn)
        case .disconnected(let link): forget(link)
        case .encrypted(let link, let claim): prove(link, claim, &turn)
        case .pairing(let link, let isUnderWay): pair(link, isUnderWay, &turn)
        case .subscription(let link, let subscription, let isOn): subscribe(link, subscription, isOn, &turn)
        case .challengeRead(let link): readChallenge(link, &turn)
        case .command(let link, let path, let octets): command(link, path, octets, &turn)
        case .controlPoint(let link, let octets, let context): controlPoint(link, octets, context, &turn)
        case .recordAccess(let link, let octets): recordAccess(link, octets, &turn)
        case .actuator(let report): actuator(report, &turn)
        case .timerFired: timerFired(&turn)
        case .administration(let change): administer(change, &turn)
        case .alarm(let alarm): raise(alarm, &turn)
        }
        reviewHold(&turn)
        watchSteps(&turn)
        watchClock(&turn)
        settleAlarms(&turn)
        turn.flush(into: &outputs)
    }

    /// Takes what the store keeps for a bond, before the first input that is about it. What is known already counts.
    package mutating func recall(_ bond: UInt64, _ stored: @autoclosure () -> BondHolder) {
        guard recalledBonds.insert(bond).inserted else { return }
        let holder = stored()
        recall(holder.credentials + holder.otherDevices)
        if lastCommands[bond] == nil { lastCommands[bond] = holder.lastCommand }
        if lockouts[bond] == nil { lockouts[bond] = holder.lockout?.resumed(in: boot) }
        if counters[bond] == nil { counters[bond] = holder.receiptCounter.map { ReceiptCounters(reservedBelow: $0) } }
    }

    /// The same for credentials, as the store has them now.
    package mutating func recall(_ stored: [Credential]) {
        for credential in stored { credentials[credential.id] = credential }
    }

    /// When it wants ``LockInput/timerFired``. Still in the past after one: fire again, each renews one challenge.
    package var deadline: Instant? {
        var earliest = bolt.deadline
        func consider(_ instant: Instant?) {
            if let instant { earliest = min(earliest ?? instant, instant) }
        }
        if isFreeToSecure, let due = relock?.due(in: boot), due != .never { consider(due) }
        consider(doorDeadline)
        consider(alarms.debt.review)
        for lockout in lockouts.values { consider(lockout.end) }
        for state in links.values {
            consider(state.dropAt)
            consider(state.renewalDue)
        }
        return earliest
    }

    package var isMoving: Bool { bolt.isMoving }

    /// How bolt and door stand now.
    package var state: (bolt: BoltCode, door: DoorCode) { (bolt.code, bolt.door) }

    /// Writes `event` into the chain, on the account of whom it is about, and returns its sequence.
    @discardableResult
    mutating func audit(_ event: AuditEvent, of credential: CredentialID? = nil, _ turn: inout LockTurn) -> UInt64 {
        if untoldLaunches > 0 {
            _ = chain(.relaunched(times: untoldLaunches), .lock, &turn)
            untoldLaunches = 0
        }
        if event.isOperators, let user = operators.asking, user != operators.told {
            operators.told = user
            _ = chain(.operatorIs(user: user), .administration, &turn)
        }
        isFreshLaunch = event == .launched
        return chain(event, holder(of: event, credential), &turn)
    }

    /// Nothing is said of the first time that is seen: nobody knows what it should have been.
    private mutating func watchSteps(_ turn: inout LockTurn) {
        guard let step = clockWatch.look(at: turn.moment) else { return }
        audit(.clockStepped(expected: step.expected, found: step.found), &turn)
    }

    /// A credential that was not asked for yet, at a launch, may be an administrator's.
    private func holder(of event: AuditEvent, _ credential: CredentialID?) -> AuditHolder {
        guard let credential else { return event.isAdministration ? .administration : .lock }
        return AuditHolder(
            credential: credential,
            isProtected: credentials[credential]?.role.rights.contains(.manageCredentials) ?? true)
    }

    private mutating func chain(_ event: AuditEvent, _ holder: AuditHolder, _ turn: inout LockTurn) -> UInt64 {
        let record = auditHead.append(
            event, boot: boot, at: turn.now, wallClockSeconds: wallClockMark.stamp(clock(turn.moment)),
            holder: holder)
        turn.persist(.audit(record))
        return record.sequence
    }

    /// The time of day for rules; nil while the clock cannot be trusted.
    func timeOfDay(_ moment: LockMoment) -> Int64? { wallClockMark.trusted(clock(moment)) }

    func clockFault(_ moment: LockMoment) -> ClockFault? { wallClockMark.fault(clock(moment)) }

    private mutating func administer(_ change: LockAdministration, _ turn: inout LockTurn) {
        switch change {
        case .credential(let credential):
            credentials[credential.id] = credential
            turn.persist(.credential(credential))
            watchCredentials(&turn)
        case .credentialRemoved(let id):
            credentials[id] = nil
            turn.persist(.credentialRemoved(id))
            watchCredentials(&turn)
        case .settings(let settings):
            self.settings = settings
            turn.persist(.settings(settings))
            audit(.settingsChanged(settings), &turn)
        case .rules(let rules): fit(rules, &turn)
        case .asked(let user): operators.asking = user
        case .stopped:
            if !isFreshLaunch { audit(.stopped, &turn) }
            alarms.debt.reviewAtOnce(turn.now)
        case .reset: audit(.reset, &turn)
        case .mode(let mode): enter(mode, by: nil, &turn)
        case .operate(let operation): operate(operation, &turn)
        case .named(let name, let change): administer(.named(name), change, &turn)
        case .ofUser(let user, let change): administer(.ofUser(user), change, &turn)
        case .unreadableRemoved(let id, let name):
            turn.persist(.credentialRemoved(id))
            audit(.administered(id, name: name, .removed), &turn)
        case .bondForgotten(let bond): forgetBond(bond, &turn)
        case .bondEnded(let bond, let end):
            forgetBond(bond, &turn)
            audit(end == .deleted ? .bondDeleted(bond: bond) : .bondExpired(bond: bond), &turn)
        case .windowOpened(let name, let role, let manager):
            if let manager {
                audit(.windowManaged(by: manager, name: name, .opened), of: manager.credential, &turn)
            }
            audit(.windowOpened(name: name, role), of: manager?.credential, &turn)
        case .windowClosed(let name, let end, let opener): audit(.windowClosed(name: name, end), of: opener, &turn)
        case .enrolled(let credential, let opener):
            guard let bond = credential.bond else { return }
            // The bond had no credential when the store was asked for it. Now it has one, and openings concern its user's other devices too.
            recalledBonds.remove(bond)
            audit(.enrolled(credential.id, name: credential.name, credential.role, bond: bond), of: opener, &turn)
            if credential.user != nil || credential.kind != .ordinary {
                audit(
                    .userSet(credential.id, name: credential.name, user: credential.userName, credential.kind),
                    of: opener, &turn)
            }
        case .stateConfirmed(let doubt):
            // Whoever was asked for meanwhile was nobody.
            recalledBonds.removeAll()
            audit(.stateConfirmed(doubt), &turn)
        }
    }

    /// `manager`: nil for the terminal's operator.
    mutating func administer(
        _ scope: CredentialScope, _ change: CredentialChange, by manager: AuditedManager? = nil,
        _ turn: inout LockTurn
    ) {
        revise({ scope.covers($0) }, { change.applied(to: $0) }, of: manager?.credential, &turn) { credential in
            if let manager {
                .managed(by: manager, credential.id, name: credential.name, change.act)
            } else {
                .administered(credential.id, name: credential.name, change.act)
            }
        }
        watchCredentials(&turn)
    }

    /// Makes this of all credentials that are concerned, in the order of their numbers, each with its record on the holder's account. What
    /// is so already is neither written nor told. nil: it goes, with what is kept for its bond.
    mutating func revise(
        _ isConcerned: (Credential) -> Bool, _ change: (Credential) -> Credential?, of holder: CredentialID?,
        _ turn: inout LockTurn, event: (Credential) -> AuditEvent
    ) {
        for credential in credentials.values.filter(isConcerned).sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
            let changed = change(credential)
            guard changed != credential else { continue }
            credentials[credential.id] = changed
            if let changed {
                turn.persist(.credential(changed))
            } else {
                turn.persist(.credentialRemoved(credential.id))
                if let bond = credential.bond { forgetBond(bond, &turn) }
            }
            audit(event(credential), of: holder, &turn)
        }
    }

    private mutating func forgetBond(_ bond: UInt64, _ turn: inout LockTurn) {
        lastCommands[bond] = nil
        counters[bond] = nil
        refusals[bond] = nil
        idleGrants[bond] = nil
        lockouts[bond] = nil
        recalledBonds.remove(bond)
        turn.persist(.bondForgotten(bond))
        for link in sortedLinks(where: { $0.claim?.bond == bond && $0.posture != .leaving }) { leave(link, &turn) }
    }
}
