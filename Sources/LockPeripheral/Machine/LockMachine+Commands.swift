import BluetoothCore
import LockProtocol

/// What the lock does with a command whose sender is known: decide, commit, then act (docs/PROTOCOL.md, steps 4 to 6).
extension LockMachine {
    mutating func command(_ link: LockLink, _ path: CommandPath, _ octets: [UInt8], _ turn: inout LockTurn) {
        guard let state = links[link], state.admits(path), let claim = state.claim,
            let (command, counter) = read(octets, path, of: claim, on: link, &turn)
        else { return }
        let use = links[link]?.challenges.use(command.challenge, command.bound, now: turn.now) ?? .dead
        voidChallenges(of: claim.bond, besides: link)
        #if LATCH_PLANTS
        let isLive = use.isLive || Plant.active == .replay
        #else
        let isLive = use.isLive
        #endif
        let credential = credential(of: claim.bond)
        let result = verdict(
            on: command, isChallengeLive: isLive && isTaken(path),
            subject: credential.map { subject($0, timeOfDay(turn.moment), now: turn.now) }, at: turn.now)
        let audited = AuditedCommand(
            bond: claim.bond, credential: credential?.id, command: command, signCounter: counter)
        if result == .accepted, let credential {
            grant(audited, credential.id, on: link, until: use.bound, &turn)
            forgiveFailures(of: claim.bond, &turn)
            if !command.operation.isSecuring { spend(credential, &turn) }
        } else {
            refuse(audited, result, on: link, &turn)
            countFailure(result, audited, &turn)
        }
        if links[link]?.posture != .leaving { renewChallenge(link, &turn) }
    }

    /// Where signed commands are not taken, no challenge is for one. Its sender has been told otherwise by somebody on the way, and may send it
    /// anew as it should be.
    private func isTaken(_ path: CommandPath) -> Bool {
        switch path {
        case .signed: settings.acceptsSigned
        case .encrypted: true
        }
    }

    /// The command, and its counter if it has one; nil for what this bond cannot have sent, or has sent before. Of a program that has a key
    /// of its own nothing else counts: whoever shares its host may write here too.
    private mutating func read(
        _ octets: [UInt8], _ path: CommandPath, of claim: LinkClaim, on link: LockLink, _ turn: inout LockTurn
    ) -> (LockCommand, counter: UInt32?)? {
        guard let key = claim.programKey else { return (try? LockCommand(exactly: octets)).map { ($0, path.counter) } }
        guard path == .encrypted, let sent = try? ProgramCommand(exactly: octets), key.verifies(sent) else {
            refuseForeign(octets, of: claim.bond, on: link, &turn)
            return nil
        }
        // The challenge has one use, and so has the command. This is for what has been sent twice by a program that has forgotten it.
        if let last = lastCommands[claim.bond]?.signCounter, sent.counter <= last { return nil }
        return (sent.command, sent.counter)
    }

    /// Somebody else has sent it. It uses up no challenge, takes the place of no command in Key Status, and locks nobody out; the audit
    /// has it, as far as it can be read.
    private mutating func refuseForeign(
        _ octets: [UInt8], of bond: UInt64, on link: LockLink, _ turn: inout LockTurn
    ) {
        guard let command = try? LockCommand(exactly: Array(octets.prefix(LockCommand.octets))) else { return }
        let holder = credential(of: bond)?.id
        switch refusals[bond, default: AuditMeter()].count(now: turn.now) {
        case .audit:
            let foreign = AuditedCommand(bond: bond, credential: holder, command: command, signCounter: nil)
            audit(.refused(foreign, .notPermitted), of: holder, &turn)
        case .summarise:
            suppressRefusals(of: bond, holder, &turn)
            leave(link, &turn)
        case .omit: leave(link, &turn)
        }
    }

    func verdict(
        on command: LockCommand, isChallengeLive: Bool, subject: AccessSubject?, at now: Instant
    ) -> LockResult {
        let result = AccessPolicy.decide(
            command, isChallengeLive: isChallengeLive, subject: subject, mode: modeInEffect, bolt: bolt.code,
            door: bolt.door)
        return result == .accepted && isLeaving(by: command.operation, at: now) ? .busy : result
    }

    private func subject(_ credential: Credential, _ timeOfDay: Int64?, now: Instant) -> AccessSubject {
        AccessSubject(
            isEnabled: credential.isEnabled, rights: credential.role.rights,
            schedule: schedule(of: credential, timeOfDay),
            isLockedOut: credential.bond.flatMap { lockouts[$0] }?.isLocked(now: now) ?? false)
    }

    /// `until`: the bolt does not begin to open later than that either, which is its sender's word.
    private mutating func grant(
        _ audited: AuditedCommand, _ credential: CredentialID, on link: LockLink, until: Instant?,
        _ turn: inout LockTurn
    ) {
        let command = audited.command
        let movement = command.operation.movement
        guard bolt.wouldMove(movement) else { return grantIdle(audited, on: link, &turn) }
        let sequence = audit(.granted(audited), of: credential, &turn)
        setRelock(relockDeadline(for: command, now: turn.now), &turn)
        let origin = CommandOrigin(
            bond: audited.bond, credential: credential, challenge: command.challenge, operation: command.operation)
        remember(audited, .accepted, .accepted, &turn)
        requester = Requester(link: link, challenge: command.challenge)
        begin(movement, .command(origin), sequence: sequence, until: until, &turn)
        answer(link, .accepted, command.challenge, &turn)
        tellState(except: link, &turn)
    }

    /// The bolt is there already. Such a command takes no time and no current: thousands of them would be all that the audit has.
    private mutating func grantIdle(_ audited: AuditedCommand, on link: LockLink, _ turn: inout LockTurn) {
        switch idleGrants[audited.bond, default: AuditMeter()].count(now: turn.now) {
        case .audit:
            let sequence = audit(.granted(audited), of: audited.credential, &turn)
            audit(.outcome(of: sequence, .done), of: audited.credential, &turn)
        case .summarise: audit(.idleGrantsSuppressed(bond: audited.bond), of: audited.credential, &turn)
        case .omit: break
        }
        setRelock(relockDeadline(for: audited.command, now: turn.now), &turn)
        remember(audited, .done, .done, &turn)
        answer(link, .done, audited.command.challenge, &turn)
    }

    private mutating func refuse(
        _ audited: AuditedCommand, _ result: LockResult, on link: LockLink, _ turn: inout LockTurn
    ) {
        let verdict = refusals[audited.bond, default: AuditMeter()].count(now: turn.now)
        switch verdict {
        case .audit: audit(.refused(audited, result), of: audited.credential, &turn)
        case .summarise: suppressRefusals(of: audited.bond, audited.credential, &turn)
        case .omit: break
        }
        // An answer to a dead challenge is late or held back. It takes no other command's place in Key Status, where the
        // key reads what became of the one that it sent last.
        if result != .challengeDead { remember(audited, result, .refused, &turn) }
        // Also where the link ends behind it: who hears nothing asks again, for as long as his user waits.
        answer(link, result, audited.command.challenge, &turn)
        if verdict != .audit { leave(link, &turn) }
    }

    /// More refusals of this bond are not told one by one, and that is told.
    mutating func suppressRefusals(of bond: UInt64, _ credential: CredentialID?, _ turn: inout LockTurn) {
        let record = audit(.refusalsSuppressed(bond: bond), of: credential, &turn)
        raise(.refusals(of: credential), on: record, &turn)
    }

    private mutating func remember(
        _ audited: AuditedCommand, _ result: LockResult, _ phase: CommandPhase, _ turn: inout LockTurn
    ) {
        let last = LastCommand(
            challenge: audited.command.challenge, signCounter: audited.signCounter, result: result, phase: phase)
        lastCommands[audited.bond] = last
        turn.persist(.lastCommand(bond: audited.bond, last))
    }

    func relockDeadline(for command: LockCommand, now: Instant) -> BootDeadline? {
        func after(_ seconds: UInt64) -> BootDeadline {
            BootDeadline(boot: boot, at: now.advanced(byMilliseconds: seconds * 1_000))
        }
        // It waits for the end of what holds the door open.
        guard holdNow == nil else { return BootDeadline(boot: boot, at: now) }
        guard settings.mode != .passage else { return nil }
        switch (command.operation, command.argument) {
        case (.lock, _), (_, .holdOpen): return nil
        case (_, .after(let seconds)): return after(UInt64(seconds))
        case (.lockAndGo, .setting): return after(UInt64(settings.lockAndGoSeconds))
        case (_, .setting):
            if let seconds = settings.relockSeconds { return after(UInt64(seconds)) }
            return doorway.rules.locksWhenClosed ? BootDeadline(boot: boot, at: .never) : nil
        }
    }

    /// Tells whoever asked, by the path that the link's posture allows.
    mutating func answer(_ link: LockLink, _ result: LockResult, _ challenge: ChallengeID, _ turn: inout LockTurn) {
        guard let state = links[link], let claim = state.claim, state.posture != .leaving else { return }
        // A harvested command proves nothing about now, and learns nothing either; nor does who was sent away.
        let isTold = result != .challengeDead && isEnabled(claim.bond)
        let content = LockState(
            bolt: isTold ? bolt.code : .unknown, door: isTold ? bolt.door : .unknown, result: result,
            answered: challenge.prefix)
        if state.isEncrypted, claim.programKey == nil {
            if state.subscriptions.contains(.lockState) { turn.act(.notifyLockState(link, content.encoded)) }
        } else if state.subscriptions.contains(.receipt),
            let handle = claim.programKey == nil ? receiptHandle : ProgramKey.receiptHandle,
            let counter = takeCounter(claim.bond, &turn)
        {
            let receipt = claim.receiptKey.seal(content, lockCounter: counter, answering: challenge, handle: handle)
            turn.act(.notifyReceipt(link, receipt.encoded))
        }
    }

    private mutating func takeCounter(_ bond: UInt64, _ turn: inout LockTurn) -> UInt32? {
        guard let taken = counters[bond, default: ReceiptCounters(reservedBelow: 0)].take() else { return nil }
        if let reserved = taken.newlyReservedBelow {
            turn.persist(.receiptCounters(bond: bond, reservedBelow: reserved))
        }
        return taken.counter
    }
}

extension CommandPath {
    var counter: UInt32? {
        if case .signed(let counter) = self { counter } else { nil }
    }
}

extension LockOperation {
    /// What a granted operation has the actuator do. Operations without a right are never granted.
    var movement: Movement {
        switch self {
        case .unlock, .lockAndGo: .unlock
        case .unlatch: .unlatch
        default: .lock
        }
    }
}
