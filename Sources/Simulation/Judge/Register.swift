import BluetoothCore
import LockProtocol

/// What may be so at one lock: who may do what and when, by what operators and managers were told, by the commands that came to it,
/// and by the metal.
final class Register {
    /// Of one credential.
    struct Standing: Hashable {
        var isThere = true
        var isEnabled = true
        var rules = RuleBook.none
    }

    enum Change {
        case disabled(Int), enabled(Int), removed(Int)
        case ruled(Int, RuleBook)
        /// A key has enrolled for a credential. One that was there, or was offered, keeps its rules.
        case renewed(Int)
        case mode(LockMode)
        case settings(Ask.Settings)
        /// Seconds since 1970 when the world began.
        case time(Int64)
        /// An opening has used up what its user had.
        case spent(Int)
        /// An opening has begun its user's last minutes, which end then.
        case ending(Int, at: Int64)
    }

    let tenants: [Tenant]
    private(set) var standings: [Belief<Standing>]
    private(set) var mode = Belief<LockMode>(.normal)
    /// Modes that the lock was told to have entered.
    private(set) var modeTellings: [(mode: LockMode, at: Instant)] = []
    private(set) var settings: Belief<Ask.Settings>
    private(set) var clock: ClockBelief
    /// When each change was asked for that has no answer.
    private var asked: [Int: Instant] = [:]
    private var modes: [Int: LockMode] = [:]
    private var tickets = 0
    /// Of the changes that a command makes by opening.
    private var openings: [ChallengeID: (ticket: Int, tenant: Int, at: Instant)] = [:]
    private var arrivals: [ChallengeID: Instant] = [:]
    /// For whom a window was opened over the air. What it offered stays beside his credential when the program is killed meanwhile.
    private(set) var offered: Set<Int> = []
    private var rows: [Int: CommandRow] = [:]

    init(_ tenants: [Tenant], _ settings: Ask.Settings, clock origin: Int64?) {
        self.tenants = tenants
        self.settings = Belief(settings)
        standings = tenants.map { _ in Belief(Standing()) }
        clock = ClockBelief(origin)
    }

    private func devices(ofUserOf tenant: Int) -> [Int] {
        tenants.indices.filter { tenants[$0].user == tenants[tenant].user }
    }

    // MARK: What was asked for, and what was told

    /// It may be so from now on.
    func ask(_ change: Change, at instant: Instant) -> Int {
        tickets += 1
        let ticket = tickets
        asked[ticket] = instant
        switch change {
        case .disabled(let tenant):
            standings[tenant].ask(ticket, at: instant) { Self.with($0) { $0.isEnabled = false } }
        case .enabled(let tenant): standings[tenant].ask(ticket, at: instant) { Self.with($0) { $0.isEnabled = true } }
        case .removed(let tenant): standings[tenant].ask(ticket, at: instant) { _ in Standing(isThere: false) }
        case .ruled(let tenant, let rules):
            // An offer that no device has taken yet has rules too, and is refused them where there is none.
            standings[tenant].ask(ticket, at: instant) {
                Standing(isThere: $0.isThere, isEnabled: $0.isEnabled, rules: rules)
            }
        case .renewed(let tenant): standings[tenant].ask(ticket, at: instant) { Standing(rules: $0.rules) }
        case .mode(let wanted):
            modes[ticket] = wanted
            mode.ask(ticket, at: instant) { _ in wanted }
        case .settings(let wanted): settings.ask(ticket, at: instant) { _ in wanted }
        case .time(let origin): clock.ask(ticket, origin, at: instant)
        case .spent(let tenant):
            for device in devices(ofUserOf: tenant) {
                standings[device].ask(ticket, at: instant) { Self.with($0) { $0.isEnabled = false } }
            }
        case .ending(let tenant, let end):
            for device in devices(ofUserOf: tenant) {
                standings[device].ask(ticket, at: instant) {
                    Self.with($0) { $0.rules.notAfter = min($0.rules.notAfter ?? end, end) }
                }
            }
        }
        return ticket
    }

    func tell(_ ticket: Int, isMade: Bool, at instant: Instant) {
        for tenant in tenants.indices { standings[tenant].tell(ticket, isMade: isMade, at: instant) }
        mode.tell(ticket, isMade: isMade, at: instant)
        if isMade, let wanted = modes.removeValue(forKey: ticket) { modeTellings.append((wanted, instant)) }
        settings.tell(ticket, isMade: isMade, at: instant)
        clock.tell(ticket, isMade: isMade, at: instant)
        // Each change that is made is in the audit, with the lock's time.
        if isMade, let begin = asked[ticket] { clock.recorded(since: begin, at: instant) }
        asked[ticket] = nil
    }

    private static func with(_ standing: Standing, _ change: (inout Standing) -> Void) -> Standing {
        var changed = standing
        // What is gone is not changed.
        if standing.isThere { change(&changed) }
        return changed
    }

    // MARK: What commands do by opening

    /// A command of this key has come to the lock.
    func arrived(_ challenge: ChallengeID, of tenant: Int, opens: Bool, at instant: Instant) {
        rows[tenant, default: CommandRow()].arrivals.append(instant)
        if arrivals[challenge] == nil { arrivals[challenge] = instant }
        guard opens, openings[challenge] == nil else { return }
        switch tenants[tenant].kind {
        case .disposable: openings[challenge] = (ask(.spent(tenant), at: instant), tenant, instant)
        case .expiring(let minutes):
            // By whichever time the lock has.
            guard let now = clock.times(at: instant).seconds.max() else { return }
            let end = now + Int64(minutes) * 60
            openings[challenge] = (ask(.ending(tenant, at: end), at: instant), tenant, instant)
        case .ordinary, .duress: break
        }
    }

    /// The bolt has moved for it.
    func moved(_ challenge: ChallengeID, at instant: Instant) {
        if let arrival = arrivals[challenge] { clock.recorded(since: arrival, at: instant) }
        guard let opening = openings[challenge] else { return }
        // Somebody may have given back meanwhile what it had used up.
        let isLast = devices(ofUserOf: opening.tenant).allSatisfy { standings[$0].toldAt < opening.at }
        if isLast { tell(opening.ticket, isMade: true, at: instant) }
    }

    func mayBeOffered(_ tenant: Int) { offered.insert(tenant) }

    func granted(_ tenant: Int, at instant: Instant) { rows[tenant]?.grants.append(instant) }

    /// Whether it may have asked so often for what it may not do that it was locked out then.
    func mayBeLockedOut(_ tenant: Int, at instant: Instant) -> Bool {
        rows[tenant].map { $0.length(at: instant) >= Self.failuresOfLockout } ?? false
    }
    private static let failuresOfLockout = 10

    // MARK: The clock

    func setClock(_ origin: Int64?, at instant: Instant) { clock.set(origin, at: instant) }

    // MARK: One schedule

    /// Nothing is under way any more.
    func settle(at instant: Instant) {
        for tenant in tenants.indices { standings[tenant].settle(at: instant) }
        mode.settle(at: instant)
        settings.settle(at: instant)
        clock.settle(at: instant)
        (openings, arrivals, asked, modes) = ([:], [:], [:], [:])
    }

    /// What was before the present is forgotten.
    func forget(at instant: Instant) {
        for tenant in tenants.indices { standings[tenant].forget() }
        mode.forget()
        modeTellings = []
        settings.forget()
        clock.forget(at: instant)
        for tenant in rows.keys { rows[tenant]?.forget() }
    }
}

/// Commands of one key, each of which may have been refused.
private struct CommandRow {
    var arrivals: [Instant] = []
    /// Each ends the row.
    var grants: [Instant] = []

    func length(at instant: Instant) -> Int {
        let begin = grants.last { $0 < instant }
        return arrivals.count { arrival in arrival <= instant && begin.map { arrival > $0 } ?? true }
    }

    /// What was before the last grant.
    mutating func forget() {
        guard let end = grants.last else { return }
        arrivals.removeAll { $0 <= end }
        grants = []
    }
}

/// What the lock's clock on the wall has shown, and what of it the lock may have believed.
struct ClockBelief {
    /// Seconds since 1970 when the world began, from each instant on; nil: nobody has set it.
    private var origins: [(since: Instant, origin: Int64?)]
    /// What managers may have told.
    private var told = Belief<Int64?>(nil)
    private var tellings: [Int: Int64] = [:]
    /// No earlier time is believed, from each instant on: something was recorded then.
    private var marks: [(since: Instant, seconds: Int64)] = []
    /// The latest time that was shown or told before what is kept of it.
    private var latest = Int64.min

    /// As docs/PROTOCOL.md has it.
    private static let backwardsSeconds: Int64 = 60

    init(_ origin: Int64?) { origins = [(Instant(nanoseconds: 0), origin)] }

    private static func passed(_ instant: Instant) -> Int64 { Int64(instant.nanoseconds / 1_000_000_000) }

    private func shown(at instant: Instant) -> Int64? {
        origins.last { $0.since <= instant }?.origin.map { $0 + Self.passed(instant) }
    }

    /// The latest time that the lock may have seen by then.
    private func latest(by instant: Instant) -> Int64 {
        var latest = latest
        for (number, entry) in origins.enumerated() where entry.since <= instant {
            let end = number + 1 < origins.count ? min(origins[number + 1].since, instant) : instant
            if let origin = entry.origin { latest = max(latest, origin + Self.passed(end)) }
        }
        for case let origin? in told.during(Instant(nanoseconds: 0), instant) {
            latest = max(latest, origin + Self.passed(instant))
        }
        return latest
    }

    /// The latest time that anybody may believe to have been.
    func latestEver(at instant: Instant) -> Int64 { latest(by: instant) }

    /// What time it may be for the lock; whether it may have none.
    func times(at instant: Instant) -> (seconds: Set<Int64>, mayBeNone: Bool) {
        let mark = marks.last { $0.since <= instant }?.seconds ?? .min
        let most = latest(by: instant)
        var seconds: Set<Int64> = []
        var mayBeNone = true
        if let shown = shown(at: instant) {
            if shown >= most { return ([shown], false) }
            if shown >= mark { seconds.insert(shown) }
            // A little behind the mark, the mark counts.
            let (low, high) = (max(shown, mark), min(shown + Self.backwardsSeconds, most))
            if low <= high { seconds.formUnion(low...high) }
            mayBeNone = most > shown + Self.backwardsSeconds
        }
        if mayBeNone {
            for case let origin? in told.during(instant, instant) { seconds.insert(origin + Self.passed(instant)) }
        }
        return (seconds, mayBeNone)
    }

    /// Whether the machine's own clock is trusted for certain.
    func isMachineTrusted(from: Instant, to: Instant) -> Bool {
        guard let first = shown(at: from), let last = shown(at: to) else { return false }
        let isSet = origins.contains { $0.since > from && $0.since <= to }
        return !isSet && first >= latest(by: from) && last >= latest(by: to)
    }

    /// The earliest time that may be told by then: no other one is believed.
    func earliestToTell(at instant: Instant) -> Int64? {
        marks.last { $0.since <= instant }.map { $0.seconds - Self.backwardsSeconds }
    }

    /// Something was written down with the lock's time, not before `begin`.
    mutating func recorded(since begin: Instant, at instant: Instant) {
        let isSteady = !origins.contains { $0.since >= begin && $0.since <= instant }
        guard isSteady, let shown = shown(at: begin), shown > marks.last?.seconds ?? .min else { return }
        marks.append((instant, shown))
    }

    mutating func set(_ origin: Int64?, at instant: Instant) { origins.append((instant, origin)) }

    mutating func ask(_ ticket: Int, _ origin: Int64, at instant: Instant) {
        tellings[ticket] = origin
        told.ask(ticket, at: instant) { _ in origin }
    }

    mutating func tell(_ ticket: Int, isMade: Bool, at instant: Instant) {
        told.tell(ticket, isMade: isMade, at: instant)
        if isMade, let origin = tellings[ticket] { latest = max(latest, origin + Self.passed(instant)) }
    }

    mutating func settle(at instant: Instant) { told.settle(at: instant) }

    mutating func forget(at instant: Instant) {
        latest = latest(by: instant)
        origins = [(Instant(nanoseconds: 0), origins.last?.origin)]
        told.forget()
        marks = marks.last.map { [$0] } ?? []
        tellings = [:]
    }
}
