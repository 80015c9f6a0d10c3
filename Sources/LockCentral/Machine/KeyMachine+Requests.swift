import BluetoothCore
import LockProtocol

/// What is wanted of a lock, from the asking to its one verdict.
extension KeyMachine {
    mutating func ask(
        _ peer: PeerIdentifier, _ operation: LockOperation, _ argument: RelockArgument, _ origin: KeyRequest.Origin,
        lifeMilliseconds: UInt64, _ turn: inout KeyTurn
    ) {
        let id = takeRequestID(&turn)
        turn.act(.took(peer, id))
        guard let slot = locks[peer] else { return turn.act(.ended(peer, id, .declined)) }
        guard slot.request?.sent == nil else {
            // What an earlier process sent is asked about whenever the lock is met. Now somebody waits for that.
            if slot.settleBy == nil {
                locks[peer]?.settleBy = turn.now.advanced(byMilliseconds: Self.settleMilliseconds)
                locks[peer]?.linksInVain = 0
                if slot.connectAt != nil { locks[peer]?.connectAt = turn.now }
            }
            return turn.act(.ended(peer, id, .declined))
        }
        if origin == .user { endApproach(peer, &turn) }
        if let replaced = slot.request { tellEnd(peer, replaced, .cancelled, &turn) }
        let request = KeyRequest(
            id: id, operation: operation, argument: argument, origin: origin, boot: boot,
            deadline: turn.now.advanced(byMilliseconds: lifeMilliseconds))
        keep(peer, request, &turn)
        locks[peer]?.attempts = 0
        locks[peer]?.linksInVain = 0
        locks[peer]?.settleBy = nil
        if slot.link.open == nil { turn.act(.connect(peer)) } else { advance(peer, &turn) }
    }

    mutating func cancel(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let request = locks[peer]?.request else { return }
        end(peer, request, request.sent == nil ? .cancelled : .unknown, &turn)
        letGo(peer, &turn)
    }

    func keep(_ peer: PeerIdentifier, _ turn: inout KeyTurn) { turn.persist(.request(peer, locks[peer]?.request)) }

    mutating func keep(_ peer: PeerIdentifier, _ request: KeyRequest, _ turn: inout KeyTurn) {
        locks[peer]?.request = request
        keep(peer, &turn)
    }

    mutating func end(
        _ peer: PeerIdentifier, _ request: KeyRequest, _ verdict: KeyVerdict, _ turn: inout KeyTurn
    ) {
        locks[peer]?.request = nil
        locks[peer]?.connectAt = nil
        locks[peer]?.settleBy = nil
        keep(peer, &turn)
        tellEnd(peer, request, verdict, &turn)
        if verdict == .unknown { commanded(peer, by: request, &turn) }
    }

    private func tellEnd(
        _ peer: PeerIdentifier, _ request: KeyRequest, _ verdict: KeyVerdict, _ turn: inout KeyTurn
    ) {
        if request.origin == .proximity { turn.act(.byItself(peer, request.id, request.operation, verdict)) }
        turn.act(.ended(peer, request.id, verdict))
    }

    /// Ends a request whose time is over: one that was never sent, and one that was sent and could not be asked about. While
    /// the lock itself is there, its word is waited for.
    mutating func expireIfLate(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let slot = locks[peer], let request = slot.request else { return }
        if request.sent == nil {
            guard request.boot != boot || turn.now >= request.deadline else { return }
            end(peer, request, slot.linksInVain == 0 ? .expired : .unproven, &turn)
        } else {
            guard let due = slot.requestDeadline, turn.now >= due else { return }
            end(peer, request, .unknown, &turn)
        }
        letGo(peer, &turn)
    }

    /// The lock says that it did not, and will not, carry out what was sent: asked again while there is time. `countsAsDead`:
    /// because it knew no such challenge.
    mutating func retry(
        _ peer: PeerIdentifier, countsAsDead: Bool, else verdict: KeyVerdict, _ turn: inout KeyTurn
    ) {
        guard var request = locks[peer]?.request else { return }
        if countsAsDead { locks[peer]?.attempts += 1 }
        guard locks[peer]?.attempts ?? 0 < Self.attemptsMaximum, request.boot == boot, turn.now < request.deadline
        else {
            end(peer, request, verdict, &turn)
            return letGo(peer, &turn)
        }
        request.sent = nil
        locks[peer]?.settleBy = nil
        keep(peer, request, &turn)
        locks[peer]?.link.open?.wait = .nothing
        advance(peer, &turn)
    }

    /// Nothing more is wanted of this link, or of one that is still asked for.
    mutating func letGo(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let open = locks[peer]?.link.open, !open.isLeaving else { return }
        locks[peer]?.link.open?.isLeaving = true
        turn.act(.disconnect(peer))
    }

    /// The same, unless a command or its end is waited for on it, or it is measured on.
    mutating func letGoIfIdle(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        if let slot = locks[peer], slot.isIdle, !slot.nearness.wantsLink, !slot.keepsLinkForApproach, !isSought(peer),
            slot.calibration == nil
        {
            letGo(peer, &turn)
        }
    }
}

extension KeyMachine.LockSlot {
    /// Nothing is under way with this lock, and no end of anything is waited for.
    var isIdle: Bool { request == nil && link.open?.accepted == nil }

    /// Whether anything comes of how near the key is.
    var watches: Bool { record.isWatched && calibration == nil }

    /// Something other than a measurement needs a link.
    var needsLink: Bool { request != nil || calibration != nil }

    /// Who asks nobody knows in a moment what to do with the link that has shown the door.
    var keepsLinkForApproach: Bool { approach.map { !$0.policy.asksFirst } ?? false }

    /// When the request ends by itself.
    var requestDeadline: Instant? {
        guard let request else { return nil }
        guard request.sent != nil else { return request.deadline }
        return link.isProven ? nil : settleBy
    }
}
