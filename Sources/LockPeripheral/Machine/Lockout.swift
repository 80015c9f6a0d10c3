import BluetoothCore
import LockProtocol

/// Keeps a key out for a while that asks again and again for what it may not do.
///
/// Nobody can have another's key locked out: only what a key itself has signed or encrypted counts, and of that only refusals that no third
/// party can bring about by holding packets back, by the door or by the lock's clock. It is on disk with the refusal that it counts: no
/// kill and no reboot forgives anything.
package struct Lockout: Hashable, Sendable {
    static let failuresMaximum: UInt8 = 10
    /// Failures that lie further apart are no row.
    static let rowMilliseconds: UInt64 = 600_000
    static let firstMilliseconds: UInt64 = 60_000
    /// Each in a row is twice as long as the one before, up to this.
    static let lastMaximumMilliseconds: UInt64 = 960_000

    /// Whose time the instants are of.
    private var boot: BootID
    private var failures: UInt8 = 0
    private var lastFailure: Instant?
    private var until: Instant?
    /// Of the last one in a row of lockouts; 0 before the first.
    private var milliseconds: UInt64 = 0

    package init(in boot: BootID) { self.boot = boot }

    /// Nobody knows how long the machine was off: in another boot its time begins anew with that.
    func resumed(in boot: BootID) -> Self {
        guard boot != self.boot else { return self }
        var resumed = self
        resumed.boot = boot
        let begin = Instant(nanoseconds: 0)
        resumed.lastFailure = lastFailure.map { _ in begin }
        resumed.until = until.map { _ in begin.advanced(byMilliseconds: milliseconds) }
        return resumed
    }

    /// When it is over; nil where nobody is locked out, or is not any more by what is kept.
    var end: Instant? { until }

    /// What is left of it from its end on: the row that it was in. nil before that.
    func ended(now: Instant) -> Self? {
        guard let until, now >= until else { return nil }
        var ended = self
        (ended.lastFailure, ended.until) = (until, nil)
        return ended
    }

    func isLocked(now: Instant) -> Bool {
        #if LATCH_PLANTS
        if Plant.active == .lockout { return false }
        #endif
        // What a damaged file says keeps nobody out for longer than the longest.
        return until.map { now < $0 && $0 <= now.advanced(byMilliseconds: Self.lastMaximumMilliseconds) } ?? false
    }

    /// How long it is locked out, in milliseconds, where this failure is the one too many.
    package mutating func fail(now: Instant) -> UInt64? {
        guard !isLocked(now: now) else { return nil }
        let last = [lastFailure, until].compactMap(\.self).max()
        if last.map({ now >= $0.advanced(byMilliseconds: Self.rowMilliseconds) }) ?? true {
            failures = 0
            milliseconds = 0
        }
        lastFailure = now
        failures += 1
        guard failures >= Self.failuresMaximum else { return nil }
        milliseconds =
            milliseconds == 0 ? Self.firstMilliseconds : min(milliseconds * 2, Self.lastMaximumMilliseconds)
        failures = 0
        until = now.advanced(byMilliseconds: milliseconds)
        return milliseconds
    }
}

/// As the store has it.
extension Lockout: WireCodable {
    private static let hasFailed: UInt8 = 0x01
    private static let wasLocked: UInt8 = 0x02

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let flags = try reader.readUInt8()
        boot = BootID(bits: try reader.readUInt128())
        failures = try reader.readUInt8()
        let (lastFailure, until) = (try reader.readUInt64(), try reader.readUInt64())
        milliseconds = try reader.readUInt64()
        guard flags & ~(Self.hasFailed | Self.wasLocked) == 0, failures < Self.failuresMaximum,
            milliseconds <= Self.lastMaximumMilliseconds
        else { throw .invalidValue(field: "lockout") }
        self.lastFailure = flags & Self.hasFailed == 0 ? nil : Instant(nanoseconds: lastFailure)
        self.until = flags & Self.wasLocked == 0 ? nil : Instant(nanoseconds: until)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write((lastFailure == nil ? 0 : Self.hasFailed) | (until == nil ? 0 : Self.wasLocked))
        writer.write(boot.bits)
        writer.write(failures)
        writer.write(lastFailure?.nanoseconds ?? 0)
        writer.write(until?.nanoseconds ?? 0)
        writer.write(milliseconds)
    }
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
        guard result.isSendersFailure, let credential = audited.credential, isEnabled(audited.bond) else { return }
        var lockout = lockouts[audited.bond] ?? Lockout(in: boot)
        let milliseconds = lockout.fail(now: turn.now)
        lockouts[audited.bond] = lockout
        turn.persist(.lockout(bond: audited.bond, lockout))
        guard let milliseconds else { return }
        let record = audit(
            .lockedOut(bond: audited.bond, credential, seconds: milliseconds / 1_000), of: credential, &turn)
        raise(.lockout(of: credential), on: record, &turn)
    }

    /// That it is over is on disk as soon as it is: behind a reboot nobody could tell any more.
    mutating func endLockouts(_ turn: inout LockTurn) {
        for bond in lockouts.keys.sorted() {
            guard let ended = lockouts[bond]?.ended(now: turn.now) else { continue }
            lockouts[bond] = ended
            turn.persist(.lockout(bond: bond, ended))
        }
    }

    /// Whoever is let do something is trusted with the next failures.
    mutating func forgiveFailures(of bond: UInt64, _ turn: inout LockTurn) {
        guard lockouts.removeValue(forKey: bond) != nil else { return }
        turn.persist(.lockout(bond: bond, nil))
    }
}
