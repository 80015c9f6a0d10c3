import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import LockProtocol
import StatePersistence

/// Reads what the lock keeps.
struct LockReader {
    let database: any StatementSource
    /// Is told of damaged rows, for which something safe stands then. Without it the first of them is an error.
    var teller: Database?
    /// nil: what needs it is not believed.
    var keys: KeyWrap?

    func snapshot() throws(StoreError) -> LockSnapshot {
        var snapshot = try launchSnapshot(try duties())
        try each(
            """
            SELECT id, name, role, is_enabled, bond, not_before_seconds, not_after_seconds, schedules,
                user, kind
            FROM lock_credential
            """
        ) { (row) throws(StoreError) in
            let credential = try Self.credential(row)
            snapshot.credentials[credential.id] = credential
        }
        try each(
            "SELECT bond, challenge, sign_counter, result, phase, receipts_reserved_below, lockout FROM lock_bond"
        ) { (row) throws(StoreError) in
            let bond: UInt64 = try row.integer(0)
            snapshot.lastCommands[bond] = try Self.lastCommand(row)
            snapshot.receiptCounters[bond] = try row.optionalInteger(5)
            snapshot.lockouts[bond] = try Self.kept(row, 6)
        }
        return snapshot
    }

    /// What is not kept for bonds, one by one.
    private func launchSnapshot(_ duties: LockSnapshot) throws(StoreError) -> LockSnapshot {
        var snapshot = duties
        try each(
            """
            SELECT only, relock_seconds, lock_and_go_seconds, challenge_life_milliseconds, accepts_signed, schedules,
                mode
            FROM lock_settings WHERE only = 1
            """
        ) { (row) throws(StoreError) in snapshot.settings = try Self.settings(row) }
        try readAudit(into: &snapshot)
        snapshot.unproven = try unproven()
        snapshot.toldTime = try toldTime()
        snapshot.owedAlarms = try owedAlarms()
        return snapshot
    }

    /// What the audit's end says.
    func readAudit(into snapshot: inout LockSnapshot) throws(StoreError) {
        try each(
            """
            SELECT sequence, hash, event, wall_clock_seconds FROM lock_audit
            WHERE sequence BETWEEN 1 AND 4611686018427387903 ORDER BY sequence DESC LIMIT 1
            """
        ) { (row) throws(StoreError) in
            let sequence: UInt64 = try row.integer(0)
            // The chain goes on behind a record that cannot be read, and shows for good that it was broken there.
            let hash = try whole("lock_audit", "\(sequence)") { () throws(StoreError) in
                let hash = try row.blob(1)
                guard hash.count == AuditHead.empty.hash.count else { throw row.misfit(1) }
                return hash
            }
            snapshot.auditHead = AuditHead(sequence: sequence, hash: hash ?? AuditHead.empty.hash)
            _ = try whole("lock_audit", "\(sequence)") { () throws(StoreError) in
                snapshot.auditTail.isLaunch = try row.blob(2) == AuditEvent.launched.encoded
                snapshot.auditTail.wallClockSeconds = try row.optionalInteger(3)
            }
        }
        let relaunches = try database.statement("SELECT value FROM store_fact WHERE name = ?")
            .firstRow([.text(Relaunches.fact)]) { (row) throws(StoreError) in
                try whole("store_fact", Relaunches.fact) { () throws(StoreError) in Relaunches(try row.blob(0)) }
            }
        if let relaunches = (relaunches ?? nil) ?? nil, relaunches.sequence == snapshot.auditHead.sequence {
            snapshot.auditTail.relaunches = relaunches.times
        }
    }

    static func settings(_ row: Row) throws(StoreError) -> LockSettings {
        guard let mode = LockMode(rawValue: try row.optionalInteger(6) ?? 0) else { throw row.misfit(6) }
        return LockSettings(
            relockSeconds: try row.optionalInteger(1), lockAndGoSeconds: try row.integer(2),
            challengeLifeMilliseconds: try row.integer(3), acceptsSigned: try row.bool(4),
            calendar: try kept(row, 5) ?? .utc, mode: mode)
    }

    /// nil where there is none.
    static func kept<Value: WireCodable>(_ row: Row, _ column: Int32) throws(StoreError) -> Value? {
        guard let octets = try row.optionalBlob(column) else { return nil }
        guard let value = try? Value(exactly: octets) else { throw row.misfit(column) }
        return value
    }

    /// What the bolt is owed, and nothing else: damage elsewhere does not keep the door open.
    func duties() throws(StoreError) -> LockSnapshot { try knownDuties() ?? Self.lostDuties }

    /// nil where the row cannot be read, and is told.
    func knownDuties() throws(StoreError) -> LockSnapshot? {
        var isThere = false
        var found: LockSnapshot?
        try each(
            """
            SELECT intent_id, intent_movement, intent_origin, intent_bond, intent_credential, intent_challenge,
                intent_operation, intent_boot, intent_deadline, intent_phase, position, door, relock_boot, relock_at, hold,
                ajar_boot, ajar_at
            FROM lock_state WHERE only = 1
            """
        ) { (row) throws(StoreError) in
            isThere = true
            found = try whole("lock_state", "1") { () throws(StoreError) in try Self.duties(row) }
        }
        if isThere { return found }
        let lost = StoreError.corrupt(path: database.path, reason: "the row of lock_state is gone")
        return try whole("lock_state", "1") { () throws(StoreError) in throw lost }
    }

    /// A lock that does not know what it owes locks: a relock is due, in a boot that no machine has.
    static let lostRelock = BootDeadline(boot: BootID(bits: 0), at: Instant(nanoseconds: 0))

    static var lostDuties: LockSnapshot {
        var snapshot = LockSnapshot()
        snapshot.relock = lostRelock
        return snapshot
    }

    private static func duties(_ row: Row) throws(StoreError) -> LockSnapshot {
        var snapshot = LockSnapshot()
        snapshot.intent = try intent(row)
        guard let position = BoltPosition(rawValue: try row.integer(10)) else { throw row.misfit(10) }
        snapshot.bolt = BoltRecord(position: position, door: DoorCode(rawValue: try row.integer(11)))
        snapshot.relock = try deadline(row, 12)
        if let number: UInt8 = try row.optionalInteger(14) {
            guard let hold = DoorHold(rawValue: number) else { throw row.misfit(14) }
            snapshot.hold = hold
        }
        snapshot.ajar = try deadline(row, 15)
        return snapshot
    }

    /// Of two columns; nil where there is none.
    private static func deadline(_ row: Row, _ column: Int32) throws(StoreError) -> BootDeadline? {
        guard row.isNull(column) == row.isNull(column + 1) else { throw row.misfit(column) }
        if row.isNull(column) { return nil }
        return BootDeadline(
            boot: BootID(bits: try row.uint128(column)), at: Instant(nanoseconds: try row.integer(column + 1)))
    }

    func whole<T>(
        _ table: StaticString, _ row: String, _ body: () throws(StoreError) -> T
    ) throws(StoreError) -> T? {
        guard let teller else { return try body() }
        return teller.whole(table, row, body)
    }

    /// nil before the first.
    static func lastCommand(_ row: Row) throws(StoreError) -> LastCommand? {
        if row.isNull(1) { return nil }
        return LastCommand(
            challenge: ChallengeID(bits: try row.integer(1)), signCounter: try row.optionalInteger(2),
            result: LockResult(rawValue: try row.integer(3)), phase: CommandPhase(rawValue: try row.integer(4)))
    }

    static func credential(_ row: Row) throws(StoreError) -> Credential {
        guard let role = Role(rawValue: try row.integer(2)) else { throw row.misfit(2) }
        return Credential(
            id: CredentialID(rawValue: try row.integer(0)), name: try row.text(1), role: role,
            isEnabled: try row.bool(3), bond: try row.optionalInteger(4),
            validity: Validity(
                notBeforeSeconds: try row.optionalInteger(5), notAfterSeconds: try row.optionalInteger(6)),
            schedules: try kept(row, 7) ?? .none, user: row.isNull(8) ? nil : try row.text(8),
            kind: try kind(row, 9))
    }

    private static func kind(_ row: Row, _ column: Int32) throws(StoreError) -> UserKind {
        guard let stored: Int64 = try row.optionalInteger(column) else { return .ordinary }
        guard let kind = UserKind(stored: stored) else { throw row.misfit(column) }
        return kind
    }

    private static func intent(_ row: Row) throws(StoreError) -> Intent? {
        guard row.isNull(0) == row.isNull(9) else { throw row.misfit(0) }
        if row.isNull(0) { return nil }
        guard let movement = Movement(rawValue: try row.integer(1)) else { throw row.misfit(1) }
        guard let phase = Intent.Phase(rawValue: try row.integer(9)) else { throw row.misfit(9) }
        let origin: IntentOrigin =
            switch try row.text(2) {
            case "command":
                .command(
                    CommandOrigin(
                        bond: try row.integer(3), credential: CredentialID(rawValue: try row.integer(4)),
                        challenge: ChallengeID(bits: try row.integer(5)),
                        operation: LockOperation(rawValue: try row.integer(6))))
            case "relock": .rule
            case "recovery": .recovery
            default: throw row.misfit(2)
            }
        return Intent(
            id: IntentID(rawValue: try row.integer(0)), movement: movement, origin: origin,
            boot: BootID(bits: try row.uint128(7)),
            deadline: try row.optionalInteger(8).map { Instant(nanoseconds: $0) }, phase: phase)
    }

    private func each(_ sql: StaticString, _ body: (Row) throws(StoreError) -> Void) throws(StoreError) {
        try database.statement(sql).forEachRow([], body)
    }
}

/// In one column: the minutes above the kind's octet.
extension UserKind {
    var stored: Int64 { Int64(minutes) << 8 | Int64(number) }

    init?(stored: Int64) {
        guard let minutes = UInt16(exactly: stored >> 8) else { return nil }
        self.init(number: UInt8(truncatingIfNeeded: stored), minutes: minutes)
    }
}
