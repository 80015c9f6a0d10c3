import BluetoothCore
import LockProtocol

extension LockMachine {
    mutating func connect(
        _ link: LockLink, _ claim: LinkClaim?, _ subscriptions: Set<LockSubscription>, _ turn: inout LockTurn
    ) {
        let dropAt = turn.now.advanced(byMilliseconds: LinkState.unprovenMaximumMilliseconds)
        links[link] = LinkState(posture: .signed(dropAt: dropAt), claim: claim, subscriptions: subscriptions)
        renewChallenge(link, &turn)
    }

    mutating func forget(_ link: LockLink) {
        links[link] = nil
        if requester?.link == link { requester = nil }
    }

    mutating func prove(_ link: LockLink, _ claim: LinkClaim, _ turn: inout LockTurn) {
        guard let state = links[link], state.posture != .leaving else { return }
        // One bond, one link: whoever has a bond does not fill the lock with it.
        for other in sortedLinks(where: { $0.provenBond == claim.bond }) where other != link {
            leave(other, &turn)
        }
        // Who shows the same bond's key again has no longer for it.
        if state.provenBond != claim.bond { links[link]?.posture = .encrypted(dropAt: nil) }
        links[link]?.claim = claim
        watchCredentials(&turn)
        // Flags and what a challenge admits have changed: what was issued in clear is not answered under encryption.
        links[link]?.challenges = ChallengeBook()
        voidChallenges(of: claim.bond, besides: link)
        renewChallenge(link, &turn)
    }

    /// A challenge belongs to a link, and a command to a bond. The bond's own key has spoken on `link`: it may believe from
    /// now on that what it signed on another link, and what somebody held back there, was not taken.
    mutating func voidChallenges(of bond: UInt64, besides link: LockLink) {
        for other in links.keys where other != link && links[other]?.claim?.bond == bond {
            links[other]?.challenges = ChallengeBook()
        }
    }

    /// Who may do something stays; who may not, or not any more, has a while.
    mutating func watchCredentials(_ turn: inout LockTurn) {
        let end = turn.now.advanced(byMilliseconds: LinkState.withoutCredentialMaximumMilliseconds)
        for link in links.keys {
            guard case .encrypted(let dropAt) = links[link]?.posture, let bond = links[link]?.claim?.bond else {
                continue
            }
            let isEntitled = isEnabled(bond)
            links[link]?.posture = .encrypted(dropAt: isEntitled ? nil : dropAt ?? end)
        }
    }

    mutating func pair(_ link: LockLink, _ isUnderWay: Bool, _ turn: inout LockTurn) {
        guard case .signed = links[link]?.posture else { return }
        let dropAt = turn.now.advanced(byMilliseconds: LinkState.unprovenMaximumMilliseconds)
        links[link]?.posture = .signed(dropAt: isUnderWay ? nil : dropAt)
    }

    mutating func subscribe(
        _ link: LockLink, _ subscription: LockSubscription, _ isOn: Bool, _ turn: inout LockTurn
    ) {
        if isOn {
            // What an unencrypted link may not read, it may not hear either.
            guard let state = links[link], !subscription.needsEncryption || state.isEncrypted else { return }
            links[link]?.subscriptions.insert(subscription)
            if subscription == .challenge { renewChallenge(link, &turn) }
        } else {
            links[link]?.subscriptions.remove(subscription)
        }
    }

    mutating func readChallenge(_ link: LockLink, _ turn: inout LockTurn) {
        issueChallenge(link, &turn)
        guard let octets = challengeOctets(link, now: turn.now) else { return }
        turn.act(.challengeValue(link, octets))
    }

    /// Puts a fresh challenge in force and, to a subscriber, sends it.
    mutating func renewChallenge(_ link: LockLink, _ turn: inout LockTurn) {
        issueChallenge(link, &turn)
        guard links[link]?.subscriptions.contains(.challenge) == true,
            let octets = challengeOctets(link, now: turn.now)
        else { return }
        turn.act(.notifyChallenge(link, octets))
    }

    private mutating func issueChallenge(_ link: LockLink, _ turn: inout LockTurn) {
        let life = min(
            max(settings.challengeLifeMilliseconds, LockSettings.challengeLifeMinimumMilliseconds),
            LockSettings.challengeLifeMaximumMilliseconds)
        links[link]?.challenges.issue(ChallengeID(bits: turn.random), now: turn.now, lifeMilliseconds: life)
    }

    private func challengeOctets(_ link: LockLink, now: Instant) -> [UInt8]? {
        guard let state = links[link] else { return nil }
        return state.challenges.value(now: now, flags: challengeFlags(state))?.encoded
    }

    private func challengeFlags(_ state: LinkState) -> Challenge.Flags {
        if state.isEncrypted { return [] }
        let isSpent = state.claim.flatMap { counters[$0.bond]?.isSpent } ?? false
        let isSigned = settings.acceptsSigned && !isSpent && state.claim?.programKey == nil
        return isSigned ? .signedAccepted : .encryptionRequired
    }

    mutating func leave(_ link: LockLink, _ turn: inout LockTurn) {
        links[link]?.posture = .leaving
        turn.act(.disconnect(link))
    }

    mutating func timerFired(_ turn: inout LockTurn) {
        settle(bolt.timerFired(now: turn.now), &turn)
        watchAjar(&turn)
        secureIfDue(&turn)
        endLockouts(&turn)
        let now = turn.now
        func isDue(_ instant: Instant?) -> Bool { instant.map { now >= $0 } ?? false }
        for link in sortedLinks(where: { isDue($0.dropAt) }) { leave(link, &turn) }
        // One random value, one challenge: the others' deadlines stand.
        if let first = sortedLinks(where: { isDue($0.renewalDue) }).first { renewChallenge(first, &turn) }
    }

    /// Whether a link may be told how bolt and door stand: it is proven, its bond's credential is enabled, and what is told is for nobody
    /// else.
    package func isEntitled(_ link: LockLink) -> Bool { links[link].map(isEntitled) ?? false }

    func isEntitled(_ state: LinkState) -> Bool {
        state.claim?.programKey == nil && state.provenBond.map { isEnabled($0) } ?? false
    }

    func schedule(of credential: Credential, _ wallClockSeconds: Int64?) -> ScheduleVerdict {
        // A user whose minutes are counted from the first opening needs a clock for that one.
        if wallClockSeconds == nil, credential.kind.minutes > 0 { return .clockUntrusted }
        return settings.calendar.verdict(
            credential.validity, credential.schedules, wallClockSeconds: wallClockSeconds)
    }

    func isEnabled(_ bond: UInt64) -> Bool { credential(of: bond)?.isEnabled ?? false }

    /// nil where two name the same bond: a lock gives a bond one credential and no other, so one of them it did not give.
    func credential(of bond: UInt64) -> Credential? {
        let named = credentials.values.lazy.filter { $0.bond == bond }.prefix(2)
        return named.count == 1 ? named.first : nil
    }

    /// In the order of their connections, so that one history has one list of outputs.
    func sortedLinks(where predicate: (LinkState) -> Bool) -> [LockLink] {
        links.filter { predicate($0.value) }.keys.sorted { $0.rawValue < $1.rawValue }
    }
}
