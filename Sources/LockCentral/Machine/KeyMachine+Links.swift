import BluetoothCore
import LockProtocol

/// Links, and what is sent over them.
extension KeyMachine {
    mutating func connected(_ peer: PeerIdentifier, _ path: SignedPath?, _ turn: inout KeyTurn) {
        guard let slot = locks[peer] else { return }
        locks[peer]?.connectAt = nil
        locks[peer]?.isLinkAskedToMeasure = false
        // Once somebody else may be there, nothing more is signed for challenges that anybody can make up.
        locks[peer]?.link = .clear(KeyLink.OpenLink(since: turn.now), slot.linksInVain == 0 ? path : nil)
        locks[peer]?.signal = LinkSignal()
        beginToMeasure(peer, &turn)
        lookAtLink(peer, &turn)
        readWatchedSignals(&turn)
        advance(peer, &turn)
    }

    mutating func disconnected(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let slot = locks[peer] else { return }
        locks[peer]?.link = .none
        locks[peer]?.isLinkAskedToMeasure = false
        locks[peer]?.nearness.linkEnded(now: turn.now)
        if let open = slot.link.open, !slot.link.isProven, !open.hasReceipt { locks[peer]?.linksInVain += 1 }
        if slot.link.isProven { locks[peer]?.provenLinkEnded = turn.now }
        calibrationLinkEnded(peer, &turn)
        expireIfLate(peer, &turn)
        if isLinkAwaited(peer) { connectAgain(peer, since: slot.link.open?.since, &turn) }
    }

    /// Whether the next link is to be made as soon as this one has ended.
    private func isLinkAwaited(_ peer: PeerIdentifier) -> Bool {
        locks[peer]?.needsLink == true || isSought(peer)
    }

    /// At once after the first link that came to nothing. Those after it are spaced.
    private mutating func connectAgain(_ peer: PeerIdentifier, since: Instant?, _ turn: inout KeyTurn) {
        let next = since?.advanced(byMilliseconds: spacingMilliseconds(locks[peer]?.linksInVain ?? 0))
        guard let next, turn.now < next else { return turn.act(.connect(peer)) }
        locks[peer]?.connectAt = next
    }

    private func spacingMilliseconds(_ linksInVain: Int) -> UInt64 {
        guard linksInVain > 1 else { return 0 }
        let late = linksInVain - Self.quickAttemptsMaximum
        guard late > 0 else { return Self.attemptSpacingMilliseconds }
        return Self.attemptPause.milliseconds(failures: UInt64(late))
    }

    /// The lock itself is there.
    mutating func proven(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let open = locks[peer]?.link.open else { return }
        locks[peer]?.linksInVain = 0
        locks[peer]?.link = .proven(
            open, until: turn.now.advanced(byMilliseconds: Self.preparationWaitMilliseconds))
        beginToMeasure(peer, &turn)
        readSignals(&turn)
        settleNearest(&turn)
    }

    mutating func encrypted(_ peer: PeerIdentifier, _ programKey: ProgramKey?, _ turn: inout KeyTurn) {
        guard let link = locks[peer]?.link, var open = link.open else { return }
        // A tree that has changed ends no wait: a lock that changes it again and again would never be let go.
        if !link.isEncrypted {
            // What was handed out in clear is not answered under encryption; what was sent in clear can no longer arrive.
            open.challenge = nil
            open.wait = .nothing
        }
        open.programKey = programKey
        locks[peer]?.linksInVain = 0
        locks[peer]?.link = .encrypted(open)
        beginToMeasure(peer, &turn)
        advance(peer, &turn)
        settleNearest(&turn)
    }

    /// "Key missing" is said in clear by whoever answers at the lock's address: it says nothing of the lock.
    mutating func encryptionFailed(_ peer: PeerIdentifier, _ turn: inout KeyTurn) { letGo(peer, &turn) }

    mutating func challenge(_ peer: PeerIdentifier, _ octets: [UInt8], _ turn: inout KeyTurn) {
        guard let challenge = try? Challenge(exactly: octets) else { return }
        let isVouchedFor = locks[peer]?.link.isProven == true
        // It was issued in clear, and waited at the lock until the link was encrypted: it is dead.
        if isVouchedFor, !challenge.flags.isEmpty { return }
        locks[peer]?.link.open?.challenge = HeldChallenge(challenge, isVouchedFor: isVouchedFor, now: turn.now)
        advance(peer, &turn)
    }

    /// Does the next thing that the request needs, if it is not waiting for one already.
    mutating func advance(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let slot = locks[peer], let request = slot.request, let open = slot.link.open, !open.isLeaving else {
            return
        }
        if let sent = request.sent { return askWhatBecame(of: sent, peer, open.wait, &turn) }
        guard request.boot == boot, turn.now < request.deadline else { return expireIfLate(peer, &turn) }
        switch slot.link {
        case .none, .encrypting, .proven: return
        case .clear(_, nil): encrypt(peer, &turn)
        case .clear where slot.attempts >= Self.attemptsMaximum - 1: encrypt(peer, &turn)
        case .clear(let open, .some):
            guard let held = open.challenge, let bound = held.bound(until: request.deadline, now: turn.now) else {
                return awaitChallenge(peer, &turn)
            }
            if held.flags.contains(.signedAccepted) {
                send(peer, request, answering: held.id, within: bound, by: .signed, &turn)
            } else {
                encrypt(peer, &turn)
            }
        case .encrypted(let open):
            guard let held = open.challenge, let bound = held.bound(until: request.deadline, now: turn.now) else {
                return awaitChallenge(peer, &turn)
            }
            send(
                peer, request, answering: held.id, within: bound, by: open.programKey == nil ? .encrypted : .program,
                &turn)
        }
    }

    private mutating func awaitChallenge(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        if case .challenge = locks[peer]?.link.open?.wait { return }
        locks[peer]?.link.open?.wait = .challenge(
            until: turn.now.advanced(byMilliseconds: Self.challengeWaitMilliseconds))
    }

    private enum Path { case signed, encrypted, program }

    private mutating func send(
        _ peer: PeerIdentifier, _ unsent: KeyRequest, answering challenge: ChallengeID, within bound: CommandBound,
        by path: Path, _ turn: inout KeyTurn
    ) {
        var request = unsent
        request.sent = challenge
        keep(peer, request, &turn)
        locks[peer]?.isSentCounted = path != .encrypted
        locks[peer]?.settleBy = request.deadline.advanced(byMilliseconds: Self.settleMilliseconds)
        locks[peer]?.link.open?.challenge = nil
        locks[peer]?.link.open?.wait = .answer(
            until: turn.now.advanced(byMilliseconds: Self.answerWaitMilliseconds))
        let command = LockCommand(
            operation: request.operation, argument: request.argument, bound: bound, challenge: challenge)
        switch path {
        case .signed: turn.act(.writeSigned(peer, command.encoded, until: request.deadline))
        case .encrypted: turn.act(.writeEncrypted(peer, command.encoded, until: request.deadline))
        case .program: turn.act(.writeProgram(peer, command, until: request.deadline))
        }
    }

    /// What was marked as sent has not been. A kill before this is on disk costs a question.
    mutating func notWritten(_ peer: PeerIdentifier, isLate: Bool, _ turn: inout KeyTurn) {
        guard var request = locks[peer]?.request, request.sent != nil else { return }
        if isLate {
            end(peer, request, .expired, &turn)
        } else {
            request.sent = nil
            locks[peer]?.settleBy = nil
            keep(peer, request, &turn)
        }
        letGo(peer, &turn)
    }

    /// Only over encryption: in clear, silence proves nothing.
    private mutating func askWhatBecame(
        of sent: ChallengeID, _ peer: PeerIdentifier, _ wait: KeyLink.Wait, _ turn: inout KeyTurn
    ) {
        switch wait {
        case .answer, .status: return
        case .nothing, .challenge, .outcome: break
        }
        switch locks[peer]?.link {
        case .clear: encrypt(peer, &turn)
        case .encrypted(let open):
            let question = open.programKey.map { _ in StatusQuestion(number: turn.random, challenge: sent) }
            locks[peer]?.link.open?.wait = .status(
                question: question, until: turn.now.advanced(byMilliseconds: Self.statusWaitMilliseconds))
            let procedure = question.map { ControlPointProcedure.questionKeyStatus($0) } ?? .keyStatus
            turn.act(.writeControlPoint(peer, procedure.encoded))
        case .encrypting, .proven, .some(.none), nil: return
        }
    }

    mutating func encrypt(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let open = locks[peer]?.link.open, !open.isLeaving else { return }
        locks[peer]?.link = .encrypting(
            open, until: turn.now.advanced(byMilliseconds: Self.encryptionWaitMilliseconds))
        turn.act(.encrypt(peer))
    }

    mutating func timerFired(_ turn: inout KeyTurn) {
        for peer in sortedPeers {
            expireIfLate(peer, &turn)
            if let due = locks[peer]?.connectAt, turn.now >= due {
                locks[peer]?.connectAt = nil
                if isLinkAwaited(peer) { turn.act(.connect(peer)) }
            }
            calibrationTimerFired(peer, &turn)
            proximityTimerFired(peer, &turn)
            if let until = locks[peer]?.link.deadline, turn.now >= until { waitedInVain(peer, &turn) }
        }
        readSignals(&turn)
        settleNearest(&turn)
        readWatchedSignals(&turn)
    }

    private mutating func waitedInVain(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        switch locks[peer]?.link {
        case .encrypting(let open, _), .proven(let open, _):
            // Asked for and never answered: the link is given up, what is owed is asked on the next one.
            locks[peer]?.link = .clear(open, nil)
            locks[peer]?.link.open?.wait = .nothing
            letGo(peer, &turn)
        case .clear(let open, _):
            locks[peer]?.link.open?.wait = .nothing
            if case .outcome = open.wait { return letGo(peer, &turn) }
            if locks[peer]?.request != nil { encrypt(peer, &turn) }
        case .encrypted(let open):
            locks[peer]?.link.open?.wait = .nothing
            switch open.wait {
            case .challenge where locks[peer]?.request != nil:
                awaitChallenge(peer, &turn)
                turn.act(.readChallenge(peer))
            case .answer: advance(peer, &turn)
            case .challenge, .status, .outcome, .nothing: letGo(peer, &turn)
            }
        case .some(.none), nil: return
        }
    }
}
