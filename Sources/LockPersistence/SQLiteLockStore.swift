import BluetoothCore
import LockPeripheral
import LockProtocol
import StatePersistence

/// What the lock keeps, in the tables of ``SchemaComponent/lock``.
///
/// In: the lock's facts, written in the transaction that the loop opens for all. Out: at launch, one snapshot, and later the
/// rows that it left (``LockRows``).
package final class SQLiteLockStore: LockStore {
    let database: Database
    /// nil where nobody is let in by these rows: then none of them is authenticated.
    let seal: LockSeal?
    /// nil where nothing is signed or wrapped.
    private let keys: KeyWrap?
    private var audit: AuditTable
    private(set) var pending: [LockMutation] = []
    /// The bolt's row cannot be read, and what is written next needs one.
    private var isStateLost = false

    /// Without `keys` nothing signs the audit.
    package init(
        _ database: Database, seal: LockSeal? = nil, keys: KeyWrap? = nil,
        auditRecordsMaximum: UInt64 = AuditRetention.recordsMaximum
    ) {
        self.database = database
        self.seal = seal
        self.keys = keys
        audit = AuditTable(database, maximum: auditRecordsMaximum, signer: keys.map(AuditSigner.init))
    }

    /// As a daemon has it.
    package convenience init(
        _ state: StateStore, seal: LockSeal?, auditRecordsMaximum: UInt64 = AuditRetention.recordsMaximum
    ) {
        self.init(state.database, seal: seal, keys: state.keys, auditRecordsMaximum: auditRecordsMaximum)
    }

    /// What the last commit says that the bolt is owed: intent, relock and where it was. For a database that cannot be opened as
    /// it should be.
    package static func duties(at path: String) throws(StoreError) -> LockSnapshot {
        try LockReader(database: StateLook(path: path)).duties()
    }

    package func load() throws -> LockSnapshot { try LockReader(database: database, keys: keys).snapshot() }

    package func launch() throws -> LockSnapshot {
        let reader = LockReader(database: database, teller: database, keys: keys)
        let duties = try reader.knownDuties()
        isStateLost = duties == nil
        var snapshot = duties ?? LockReader.lostDuties
        try seal?.settleSettings()
        // Damaged settings are those of a new lock, until its configuration has been taken.
        if let settings = try settings() { snapshot.settings = settings }
        try reader.readAudit(into: &snapshot)
        snapshot.auditDoubt = try audit.doubt(about: snapshot.auditHead)
        snapshot.unproven = try reader.unproven()
        snapshot.toldTime = try reader.toldTime()
        snapshot.owedAlarms = try reader.owedAlarms()
        if let bond = snapshot.intent?.origin.command?.bond {
            let holder = holder(of: bond)
            snapshot.lastCommands[bond] = holder.lastCommand
            snapshot.receiptCounters[bond] = holder.receiptCounter
        }
        return snapshot
    }

    package var rows: (any LockRows)? { self }

    package func append(_ mutation: LockMutation) { pending.append(mutation) }

    package func auditRecords(after sequence: UInt64, limit: Int) throws -> [AuditRecord] {
        try LockReader(database: database, teller: database).auditRecords(after: sequence, limit: limit)
    }

    package func auditCuts(after sequence: UInt64, limit: Int) throws -> [AuditCut] {
        try LockReader(database: database, teller: database).auditCuts(after: sequence, limit: limit)
    }

    package func auditCount(in sequences: ClosedRange<UInt64>, limit: Int) throws -> AuditCount {
        try LockReader(database: database).auditCount(in: sequences, limit: limit)
    }

    package func auditEnd() throws -> SignedAuditEnd? { try LockReader(database: database).auditEnd() }

    /// Counts a slice of the audit, if it may soon be full; false once that is done. For moments when the loop has nothing else to do.
    package func countAudit() -> Bool {
        database.reading(false) { () throws(StoreError) in try audit.countAhead() }
    }

    /// Whether the audit has little room left, and it is known who has how many records.
    package var isAuditRoomDue: Bool { audit.isRoomDue }

    /// Makes some, on disk when this returns. For such moments, too.
    ///
    /// - Throws: An error of the disk, after which nothing is committed any more.
    package func makeAuditRoom() throws { try audit.makeRoomAhead() }

    /// After a read that failed, too: the commit that this calls for throws why.
    package var hasPending: Bool { !pending.isEmpty || database.hasFailed }

    package func writePending() throws {
        seal?.begin()
        audit.begin()
        if isStateLost { try writeLostState() } else { try audit.mendEnd() }
        for mutation in pending { try write(mutation) }
        try audit.sign()
        try seal?.prepare()
    }

    package func didCommit() {
        pending.removeAll(keepingCapacity: true)
        seal?.settle()
        audit.settle()
        isStateLost = false
    }

    /// As it was read: owed until a fact says that it is not.
    private func writeLostState() throws(StoreError) {
        try run("DELETE FROM lock_state")
        try run(
            "INSERT INTO lock_state (only, position, door, relock_boot, relock_at) VALUES (1, 0, 0, ?, ?)",
            SQLValue(LockReader.lostRelock.boot.bits), SQLValue(LockReader.lostRelock.at.nanoseconds))
    }

    private func write(_ mutation: LockMutation) throws(StoreError) {
        switch mutation {
        case .credential(let credential): try write(credential)
        case .credentialRemoved(let id):
            seal?.replace(try credentialMAC(id), by: nil, credential: id.row)
            try run("DELETE FROM lock_credential WHERE id = ?", SQLValue(id.rawValue))
        case .settings(let settings): try write(settings)
        case .toldTime(let told): if let keys { try write(told, keys) }
        case .owedAlarms(let alarms): if let keys { try write(alarms, keys) }
        case .intent(let intent): try write(intent)
        case .bolt(let bolt):
            try run(
                "UPDATE lock_state SET position = ?, door = ?", SQLValue(bolt.position.rawValue),
                SQLValue(bolt.door.rawValue))
        case .relock(let relock):
            try run(
                "UPDATE lock_state SET relock_boot = ?, relock_at = ?", SQLValue(optional: relock?.boot),
                SQLValue(optional: relock?.at.nanoseconds))
        case .hold(let hold): try run("UPDATE lock_state SET hold = ?", SQLValue(optional: hold?.rawValue))
        case .ajar(let ajar):
            try run(
                "UPDATE lock_state SET ajar_boot = ?, ajar_at = ?", SQLValue(optional: ajar?.boot),
                SQLValue(optional: ajar?.at.nanoseconds))
        case .lastCommand(let bond, let last):
            try run(
                """
                INSERT INTO lock_bond (bond, challenge, sign_counter, result, phase) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (bond) DO UPDATE SET challenge = excluded.challenge, sign_counter = excluded.sign_counter,
                    result = excluded.result, phase = excluded.phase
                """, SQLValue(bond), SQLValue(last.challenge.bits), SQLValue(optional: last.signCounter),
                SQLValue(last.result.rawValue), SQLValue(last.phase.rawValue))
        case .receiptCounters(let bond, let reservedBelow):
            try run(
                """
                INSERT INTO lock_bond (bond, receipts_reserved_below) VALUES (?, ?)
                ON CONFLICT (bond) DO UPDATE SET receipts_reserved_below = excluded.receipts_reserved_below
                """, SQLValue(bond), SQLValue(reservedBelow))
        case .lockout(let bond, let lockout):
            try run(
                """
                INSERT INTO lock_bond (bond, lockout) VALUES (?, ?)
                ON CONFLICT (bond) DO UPDATE SET lockout = excluded.lockout
                """, SQLValue(bond), SQLValue(lockout?.encoded))
        case .bondForgotten(let bond): try run("DELETE FROM lock_bond WHERE bond = ?", SQLValue(bond))
        case .unproven(let bond, let life): try write(life, of: bond)
        case .audit(let record): try audit.write(record)
        case .relaunched(let sequence, let times):
            try run(
                "INSERT OR REPLACE INTO store_fact VALUES (?, ?)", .text(Relaunches.fact),
                .blob(Relaunches(behind: sequence, times: times).encoded))
        }
    }

    private func write(_ credential: Credential) throws(StoreError) {
        let values: [SQLValue] = [
            SQLValue(credential.id.rawValue), .text(credential.name), SQLValue(credential.role.rawValue),
            SQLValue(credential.isEnabled), SQLValue(optional: credential.bond),
            SQLValue(optional: credential.validity.notBeforeSeconds),
            SQLValue(optional: credential.validity.notAfterSeconds),
            SQLValue(credential.schedules.isEmpty ? nil : credential.schedules.encoded),
            credential.user.map { .text($0) } ?? .null,
            SQLValue(optional: credential.kind == .ordinary ? nil : credential.kind.stored),
        ]
        let mac = seal?.mac(.credential, values)
        seal?.replace(try credentialMAC(credential.id), by: mac, credential: credential.id.row)
        try database.statement(
            """
            INSERT OR REPLACE INTO lock_credential
            (id, name, role, is_enabled, bond, not_before_seconds, not_after_seconds, schedules, user, kind, mac)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        ).run(values + [SQLValue(mac)])
    }

    private func credentialMAC(_ id: CredentialID) throws(StoreError) -> [UInt8]? {
        try database.statement("SELECT mac FROM lock_credential WHERE id = ?")
            .firstRow([SQLValue(id.rawValue)]) { (row) throws(StoreError) in (try? row.optionalBlob(0)) ?? nil } ?? nil
    }

    private func write(_ settings: LockSettings) throws(StoreError) {
        let values: [SQLValue] = [
            .integer(1), SQLValue(optional: settings.relockSeconds), SQLValue(settings.lockAndGoSeconds),
            SQLValue(settings.challengeLifeMilliseconds), SQLValue(settings.acceptsSigned),
            SQLValue(settings.calendar == .utc ? nil : settings.calendar.encoded),
            SQLValue(optional: settings.mode == .normal ? nil : settings.mode.rawValue),
        ]
        let mac = seal?.mac(.settings, values)
        let old = try database.statement("SELECT mac FROM lock_settings")
            .firstRow { (row) throws(StoreError) in (try? row.optionalBlob(0)) ?? nil }
        seal?.replaceSettings(old ?? nil, by: mac)
        try database.statement(
            """
            INSERT OR REPLACE INTO lock_settings
            (only, relock_seconds, lock_and_go_seconds, challenge_life_milliseconds, accepts_signed, schedules, mode, mac)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """
        ).run(values + [SQLValue(mac)])
    }

    /// nil when there are none, or damaged ones.
    private func settings() throws(StoreError) -> LockSettings? {
        var found: LockSettings?
        try database.statement(
            """
            SELECT only, relock_seconds, lock_and_go_seconds, challenge_life_milliseconds, accepts_signed, schedules,
                mode, mac
            FROM lock_settings
            """
        ).forEachRow { (row) throws(StoreError) in
            found = database.whole("lock_settings", "1") { () throws(StoreError) in
                let settings = try LockReader.settings(row)
                try seal?.requireAuthentic(row, .settings, number: 1)
                return settings
            }
        }
        return found
    }

    private func write(_ intent: Intent?) throws(StoreError) {
        let origin: SQLValue? =
            switch intent?.origin {
            case .command: .text("command")
            case .rule: .text("relock")
            case .recovery: .text("recovery")
            case nil: nil
            }
        let command = intent?.origin.command
        try run(
            """
            UPDATE lock_state SET intent_id = ?, intent_movement = ?, intent_origin = ?, intent_bond = ?,
                intent_credential = ?, intent_challenge = ?, intent_operation = ?, intent_boot = ?, intent_deadline = ?,
                intent_phase = ?
            """, SQLValue(optional: intent?.id.rawValue), SQLValue(optional: intent?.movement.rawValue),
            origin ?? .null, SQLValue(optional: command?.bond), SQLValue(optional: command?.credential.rawValue),
            SQLValue(optional: command?.challenge.bits), SQLValue(optional: command?.operation.rawValue),
            SQLValue(optional: intent?.boot), SQLValue(optional: intent?.deadline?.nanoseconds),
            SQLValue(optional: intent?.phase.rawValue))
    }

    private func run(_ sql: StaticString, _ arguments: SQLValue...) throws(StoreError) {
        try database.statement(sql).run(arguments)
    }
}

extension SQLValue {
    fileprivate init(optional boot: BootID?) { self = boot.map { Self($0.bits) } ?? .null }
}
