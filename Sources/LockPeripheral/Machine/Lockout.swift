import BluetoothCore
import LockProtocol

/// Keeps a key out for a while that asks again and again for what it may not do.
///
/// Nobody can have another's key locked out: only what a key itself has signed or encrypted counts, and of that only refusals that no third
/// party can bring about by holding packets back, by the door or by the lock's clock. In memory: a launch begins anew.
struct Lockout {
    static let failuresMaximum = 10
    /// Failures that lie further apart are no row.
    static let rowMilliseconds: UInt64 = 600_000
    static let firstMilliseconds: UInt64 = 60_000
    /// Each in a row is twice as long as the one before, up to this.
    static let lastMaximumMilliseconds: UInt64 = 960_000

    private var failures = 0
    private var lastFailure: Instant?
    private var until: Instant?
    private var nextMilliseconds = firstMilliseconds

    func isLocked(now: Instant) -> Bool {
        #if LATCH_PLANTS
        if Plant.active == .lockout { return false }
        #endif
        return until.map { now < $0 } ?? false
    }

    /// How long it is locked out, in milliseconds, where this failure is the one too many.
    mutating func fail(now: Instant) -> UInt64? {
        guard !isLocked(now: now) else { return nil }
        let last = [lastFailure, until].compactMap(\.self).max()
        if last.map({ now >= $0.advanced(byMilliseconds: Self.rowMilliseconds) }) ?? true {
            failures = 0
            nextMilliseconds = Self.firstMilliseconds
        }
        lastFailure = now
        failures += 1
        guard failures >= Self.failuresMaximum else { return nil }
        let milliseconds = nextMilliseconds
        failures = 0
        until = now.advanced(byMilliseconds: milliseconds)
        nextMilliseconds = min(milliseconds * 2, Self.lastMaximumMilliseconds)
        return milliseconds
    }

    /// Whoever is let do something is trusted with the next failures.
    mutating func granted() { self = Self() }
}

extension LockResult {
    /// Its sender asked for what it may not do, and nobody but the sender had a part in that.
    fileprivate var isSendersFailure: Bool {
        switch self {
        case .notPermitted, .outsideSchedule, .credentialExpired: true
        default: false
        }
    }
}

extension LockMachine {
    mutating func countFailure(_ result: LockResult, _ audited: AuditedCommand, _ turn: inout LockTurn) {
        guard result.isSendersFailure, let credential = audited.credential, isEnabled(audited.bond),
            let milliseconds = lockouts[audited.bond, default: Lockout()].fail(now: turn.now)
        else { return }
        let record = audit(
            .lockedOut(bond: audited.bond, credential, seconds: milliseconds / 1_000), of: credential, &turn)
        raise(.lockout(of: credential), on: record, &turn)
    }
}
