import BluetoothCore
import CLinux
import CSQLite
import Glibc
import LockPeripheral
import LockProtocol
import StatePersistence
import TestSupport
import Testing

@testable import LockPersistence

/// An anchor that the test looks into, and that fails when the test says so.
private final class MemoryAnchor: GenerationAnchor {
    let path = "memory"
    var reading = AnchorReading.nothing
    private(set) var writes: [AnchorRecord] = []
    /// Before a write, and behind it.
    var onWrite: () -> Void = {}
    var failsAt: Int?

    func read() throws(StoreError) -> AnchorReading { reading }

    func write(_ record: AnchorRecord) throws(StoreError) {
        if writes.count == failsAt { throw .anchorUnusable(path: path, reason: "the disk is full") }
        onWrite()
        writes.append(record)
        reading = .record(record)
        onWrite()
    }
}

/// Who may write the lock's file, and has neither the machine key nor the anchor.
@Suite("The lock's seal")
struct LockSealTests {
    let scratch = Scratch()
    private let anchor = MemoryAnchor()

    private struct Lock {
        var state: StateStore
        var seal: LockSeal
        var store: SQLiteLockStore

        func commit(_ facts: LockMutation...) throws {
            for fact in facts { store.append(fact) }
            try state.database.commit([store])
        }

        func execute(_ sql: StaticString) throws {
            try state.database.transaction { try state.database.statement(sql).run() }
        }

        /// What a quiet radio leaves time for.
        func idle() {
            while seal.checkSlice() {}
            #expect(seal.makeGenerationOfLaunch())
        }

        /// The bonds of `1...4` that open.
        var opening: [UInt64] { (1...4).filter { !store.holder(of: $0).credentials.isEmpty } }
    }

    private func open(_ path: String? = nil, _ anchor: (any GenerationAnchor)? = nil) throws -> Lock {
        let state = try scratch.openState(path)
        let seal = try LockSeal(state, anchor: anchor ?? self.anchor)
        return Lock(state: state, seal: seal, store: SQLiteLockStore(state, seal: seal))
    }

    private static func credential(_ number: UInt64, isEnabled: Bool = true, bond: UInt64? = nil) -> LockMutation {
        .credential(
            Credential(
                id: CredentialID(rawValue: number), name: "n\(number)", role: .guest, isEnabled: isEnabled,
                bond: bond ?? number))
    }

    /// The first credential of a part.
    private static func first(_ part: Int) -> UInt64 { UInt64(part) << 57 }

    /// Bonds 1, 2 and 3, each with a credential in a part of its own.
    private func spread() throws -> Lock {
        let lock = try open()
        try lock.commit(
            Self.credential(1), Self.credential(Self.first(20), bond: 2), Self.credential(Self.first(63), bond: 3),
            .settings(LockSettings()))
        return lock
    }

    private func filled() throws -> Lock {
        let lock = try open()
        try lock.commit(Self.credential(1), Self.credential(2), Self.credential(3), .settings(LockSettings()))
        return lock
    }

    private func copy(to name: String) throws -> String {
        let target = scratch.directory + "/" + name
        for suffix in ["", "-wal"] {
            unlink(target + suffix)
            let from = latch_open(scratch.path + suffix, O_RDONLY | O_CLOEXEC, 0)
            guard from >= 0 else { continue }
            defer { close(from) }
            let to = latch_open(target + suffix, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(to) }
            var octets = [UInt8](repeating: 0, count: 1 << 20)
            while case let count = read(from, &octets, octets.count), count > 0 {
                try #require(write(to, octets, count) == count)
            }
        }
        return target
    }

    @Test(
        "Altered credential: it lets nobody in, it is told once, and the others open",
        arguments: [
            "UPDATE lock_credential SET role = 1 WHERE id = 2",
            "UPDATE lock_credential SET is_enabled = 2 WHERE id = 2",
            "UPDATE lock_credential SET bond = 4 WHERE id = 2", "UPDATE lock_credential SET id = 4 WHERE id = 2",
            "UPDATE lock_credential SET not_after_seconds = 4294967296 WHERE id = 2",
            "UPDATE lock_credential SET name = 'n1' WHERE id = 2",
            "UPDATE lock_credential SET schedules = x'010000' WHERE id = 2",
        ] as [StaticString])
    func altered(_ sql: StaticString) throws {
        let before = try filled()
        try before.execute(sql)
        for lock in [before, try open()] {
            var told: [DamagedRow] = []
            lock.state.database.onDamagedRow = { told.append($0) }
            #expect(lock.opening == [1, 3])
            #expect(lock.opening == [1, 3])
            #expect(lock.seal.doubt == nil)
            #expect(told.map(\.table) == ["lock_credential"])
        }
    }

    @Test("Altered settings: those of a new lock stand in for them, and they are told")
    func alteredSettings() throws {
        try filled().execute("UPDATE lock_settings SET accepts_signed = 0, relock_seconds = NULL")
        let lock = try open()
        var told: [DamagedRow] = []
        lock.state.database.onDamagedRow = { told.append($0) }
        #expect(try lock.store.launch().settings == LockSettings())
        #expect(told.map(\.table) == ["lock_settings"])
    }

    @Test(
        "Damaged MAC of one row: the seal proves what the row says, and it gets its MAC again",
        arguments: [
            "UPDATE lock_credential SET mac = zeroblob(16) WHERE id = 2",
            "UPDATE lock_credential SET mac = x'00' WHERE id = 3", "UPDATE lock_settings SET mac = NULL",
        ] as [StaticString])
    func damagedMAC(_ sql: StaticString) throws {
        do {
            let lock = try filled()
            try lock.commit(.settings(LockSettings(acceptsSigned: false)))
            try lock.execute(sql)
        }
        for _ in 0..<2 {
            let lock = try open()
            #expect(try lock.store.launch().settings == LockSettings(acceptsSigned: false))
            try lock.commit(.settings(LockSettings(acceptsSigned: false)), .bolt(BoltRecord()))
            #expect(lock.opening == [1, 2, 3])
            #expect(lock.seal.doubt == nil)
        }
    }

    @Test("Damaged settings, written anew, leave the set what it is")
    func settingsAnew() throws {
        do { try filled().execute("UPDATE lock_settings SET accepts_signed = 0") }
        do {
            let lock = try open()
            _ = try lock.store.launch()
            try lock.commit(.settings(LockSettings(relockSeconds: nil)))
        }
        let lock = try open()
        #expect(try lock.store.launch().settings == LockSettings(relockSeconds: nil))
        #expect(lock.opening == [1, 2, 3])
    }

    /// Credentials 1 and 3, and 2 with a schedule.
    private func scheduled() throws -> Lock {
        let lock = try filled()
        try lock.commit(
            .credential(
                Credential(id: CredentialID(rawValue: 2), name: "n2", role: .guest, bond: 2, schedules: .sample)),
            .settings(LockSettings(calendar: .sample)))
        #expect(lock.store.holder(of: 2).credentials.map(\.schedules) == [.sample])
        return lock
    }

    @Test(
        "Schedule that somebody who writes the file takes away or loosens: its credential opens nothing at all",
        arguments: [
            "UPDATE lock_credential SET schedules = NULL WHERE id = 2",
            "UPDATE lock_credential SET schedules = x'010000' WHERE id = 2",
            "UPDATE lock_credential SET schedules = x'01017f0000a00500' WHERE id = 2",
        ] as [StaticString])
    func scheduleAltered(_ sql: StaticString) throws {
        let before = try scheduled()
        try before.execute(sql)
        for lock in [before, try open()] {
            var told: [DamagedRow] = []
            lock.state.database.onDamagedRow = { told.append($0) }
            #expect(lock.opening == [1, 3])
            #expect(lock.seal.doubt == nil)
            #expect(told.map(\.table) == ["lock_credential"])
        }
    }

    @Test(
        "Kind or user that somebody who writes the file takes away or changes: its credential opens nothing at all",
        arguments: [
            "UPDATE lock_credential SET kind = NULL WHERE id = 2",
            "UPDATE lock_credential SET kind = 256002 WHERE id = 2",
            "UPDATE lock_credential SET kind = NULL, user = NULL WHERE id = 2",
            "UPDATE lock_credential SET user = 'n1' WHERE id = 2",
            "UPDATE lock_credential SET kind = 3, user = NULL WHERE id = 2",
        ] as [StaticString])
    func userAltered(_ sql: StaticString) throws {
        let before = try filled()
        try before.commit(
            .credential(
                Credential(
                    id: CredentialID(rawValue: 2), name: "n2", role: .guest, bond: 2, user: "u",
                    kind: .expiring(minutes: 30))))
        #expect(before.opening == [1, 2, 3])
        try before.execute(sql)
        for lock in [before, try open()] {
            #expect(lock.opening == [1, 3])
            #expect(lock.seal.doubt == nil)
        }
    }

    @Test("Schedule taken away together with the MAC, or the row from before it was made: nobody is let in")
    func scheduleTakenBack() throws {
        for sql in [
            "UPDATE lock_credential SET schedules = NULL, mac = NULL WHERE id = 2",
            "INSERT OR REPLACE INTO lock_credential SELECT * FROM kept WHERE id = 2",
        ] as [StaticString] {
            let lock = try filled()
            try lock.execute("CREATE TEMP TABLE kept AS SELECT * FROM lock_credential")
            try scheduled().execute("SELECT 1")
            try lock.execute(sql)
            let next = try open()
            #expect(next.opening == [])
            #expect(next.seal.doubt == .rowsDiffer)
            next.seal.confirm()
            try next.commit(.bolt(BoltRecord()))
        }
    }

    @Test("Settings whose schedules are damaged or altered are those of a new lock, until the configuration is taken")
    func calendarAltered() throws {
        for sql in [
            "UPDATE lock_settings SET schedules = NULL", "UPDATE lock_settings SET schedules = x'0200'",
        ] as [StaticString] {
            try scheduled().execute(sql)
            let lock = try open()
            #expect(try lock.store.launch().settings == LockSettings())
            try lock.commit(.settings(LockSettings(calendar: .sample)))
            #expect(try open().store.launch().settings == LockSettings(calendar: .sample))
        }
    }

    @Test("A file of the version before schedules keeps its MACs and its seal, and everybody opens as before")
    func beforeSchedules() throws {
        do { _ = try filled() }
        do {
            // What the step and those behind it have added is taken away again, and they with it.
            let lock = try open()
            for sql in [
                """
                DELETE FROM schema_migration
                WHERE component = 'lock' AND (substr(name, 1, 1) IN ('7', '8', '9') OR name IN ('10 modes', '11 lockouts', '12 doors'))
                """,
                "ALTER TABLE lock_state DROP COLUMN hold", "ALTER TABLE lock_state DROP COLUMN ajar_boot",
                "ALTER TABLE lock_state DROP COLUMN ajar_at", "ALTER TABLE lock_bond DROP COLUMN lockout",
                "ALTER TABLE lock_settings DROP COLUMN mode",
                "ALTER TABLE lock_state DROP COLUMN audit_sequence", "ALTER TABLE lock_state DROP COLUMN audit_hash",
                "ALTER TABLE lock_state DROP COLUMN audit_signature", "ALTER TABLE lock_state DROP COLUMN audit_key",
                "DROP INDEX lock_credential_user", "ALTER TABLE lock_credential DROP COLUMN user",
                "ALTER TABLE lock_credential DROP COLUMN kind",
                "DROP INDEX lock_audit_holder", "ALTER TABLE lock_audit DROP COLUMN holder",
                "ALTER TABLE lock_audit DROP COLUMN is_protected", "DROP TRIGGER lock_audit_is_never_shortened",
                "DROP TABLE lock_audit_cut",
                "CREATE TABLE lock_audit_horizon (only INTEGER, sequence INTEGER, hash BLOB)",
                "CREATE TRIGGER lock_audit_is_never_shortened BEFORE DELETE ON lock_audit BEGIN SELECT 1; END",
                "ALTER TABLE lock_credential DROP COLUMN schedules", "ALTER TABLE lock_settings DROP COLUMN schedules",
                "DELETE FROM schema_migration WHERE component = 'lock' AND name = '6 schedules'",
            ] as [StaticString] { try lock.execute(sql) }
        }
        let lock = try open()
        #expect(lock.opening == [1, 2, 3])
        #expect(lock.seal.isTrusted && lock.seal.doubt == nil)
        #expect(try lock.store.launch().settings == LockSettings())
        try lock.commit(
            .credential(
                Credential(id: CredentialID(rawValue: 2), name: "n2", role: .guest, bond: 2, schedules: .sample)))
        let next = try open()
        #expect(next.store.holder(of: 2).credentials.map(\.schedules) == [.sample])
        #expect(next.opening == [1, 2, 3])
    }

    @Test("A row that somebody else wrote lets nobody in", arguments: [nil, [UInt8](repeating: 7, count: 16)])
    func forged(mac: [UInt8]?) throws {
        let lock = try filled()
        try lock.state.database.transaction {
            try lock.state.database.statement(
                "INSERT INTO lock_credential VALUES (4, 'n4', 1, 1, 4, NULL, NULL, ?, NULL, NULL, NULL)"
            ).run([SQLValue(mac)])
        }
        let next = try open()
        #expect(next.opening == (mac == nil ? [1, 2, 3] : []))
        #expect(next.seal.doubt == (mac == nil ? nil : .rowsDiffer))
    }

    @Test(
        "Revoked credential: its row as it was, put back, lets nobody in; nor does a row that is gone, or there twice")
    func putBack() throws {
        for sql in [
            "INSERT OR REPLACE INTO lock_credential SELECT * FROM kept WHERE id = 2",
            "INSERT OR REPLACE INTO lock_credential SELECT * FROM kept WHERE id = 3",
            "DELETE FROM lock_credential WHERE id = 1", "DELETE FROM lock_settings",
        ] as [StaticString] {
            let lock = try filled()
            try lock.execute("CREATE TEMP TABLE kept AS SELECT * FROM lock_credential")
            try lock.commit(.credentialRemoved(CredentialID(rawValue: 2)), Self.credential(3, isEnabled: false))
            try lock.execute(sql)
            let next = try open()
            var told: [StateDoubt] = []
            next.seal.onDoubt = { told.append($0) }
            #expect(next.opening == [], "\(sql)")
            #expect(next.store.isNamed(77), "a bond is taken for an orphan: \(sql)")
            #expect(next.store.credentials(named: "n1") == [])
            #expect(next.store.credentials(after: nil, limit: 9).count > 0)
            #expect(told == [.rowsDiffer])
            for name in scratch.files where name.hasPrefix("latch.db") { unlink(scratch.directory + "/" + name) }
            anchor.reading = .nothing
        }
    }

    @Test(
        "Old copy of the file: it lets nobody in, however often it is launched, until it is confirmed; then it is the present one"
    )
    func oldCopy() throws {
        let old: String
        do {
            let lock = try filled()
            old = try copy(to: "old")
            try lock.commit(.credentialRemoved(CredentialID(rawValue: 2)))
        }
        #expect(try open().opening == [1, 3])
        for _ in 0..<3 {
            let lock = try open(old)
            #expect(lock.seal.doubt == .older)
            try lock.commit(.settings(LockSettings(acceptsSigned: false)))
            #expect(lock.opening == [])
        }
        do {
            let lock = try open(old)
            lock.seal.confirm()
            try lock.commit(.bolt(BoltRecord()))
            #expect(lock.seal.doubt == nil)
            #expect(lock.opening == [1, 2, 3])
        }
        #expect(try open(old).opening == [1, 2, 3])
        // And the one that was the present one is an old one now.
        #expect(try open().seal.doubt != nil)
    }

    @Test("Killed between the anchor and the commit of a confirmation: it is none")
    func confirmationKilled() throws {
        do { _ = try filled() }
        let (confirmed, untouched) = (try copy(to: "confirmed"), try copy(to: "untouched"))
        do { try open().commit(.credentialRemoved(CredentialID(rawValue: 2))) }
        var readings: [AnchorReading] = []
        do {
            let lock = try open(confirmed)
            lock.seal.confirm()
            anchor.onWrite = { [anchor] in readings.append(anchor.reading) }
            try lock.commit(.bolt(BoltRecord()))
            anchor.onWrite = {}
        }
        // Before and behind each of two writes.
        #expect(readings.count == 4)
        for reading in readings {
            let scene = MemoryAnchor()
            scene.reading = reading
            #expect(try open(untouched, scene).seal.doubt == .older)
        }
        #expect(try open(confirmed).opening == [1, 2, 3])
    }

    @Test(
        "Schema that shows one row to the check and another one later, or puts one back: the file is refused",
        arguments: [
            """
            ALTER TABLE lock_credential RENAME TO stash;
            CREATE VIEW lock_credential AS SELECT * FROM stash WHERE strftime('%s', 'now') > 0
            """,
            """
            CREATE TRIGGER lock_audit_is_never_cut AFTER INSERT ON lock_audit
                BEGIN UPDATE lock_credential SET is_enabled = 1; END
            """,
            """
            DROP TRIGGER lock_audit_is_never_changed;
            CREATE TRIGGER lock_audit_is_never_changed BEFORE UPDATE ON lock_state
                BEGIN UPDATE lock_credential SET is_enabled = 1; END
            """,
            "ALTER TABLE lock_credential ADD COLUMN other INTEGER REFERENCES lock_audit (sequence) ON DELETE CASCADE",
            "CREATE VIRTUAL TABLE lock_words USING fts5 (word)",
        ])
    func schema(_ sql: String) throws {
        do { _ = try filled() }
        do { #expect(try open().opening == [1, 2, 3]) }
        var handle: OpaquePointer?
        try #require(sqlite3_open(scratch.path, &handle) == SQLITE_OK)
        try #require(
            sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK, "\(String(cString: sqlite3_errmsg(handle)))")
        sqlite3_close(handle)
        do {
            _ = try open()
            Issue.record("opened")
        } catch let error as StoreError {
            guard case .corrupt(scratch.path, _) = error else { throw error }
        }
    }

    @Test("A copy from the last launch is an old one: each launch makes a generation")
    func launchAdvances() throws {
        do { _ = try filled() }
        let old = try copy(to: "old")
        do {
            let lock = try open()
            try lock.commit(.bolt(BoltRecord()))
            lock.idle()
        }
        #expect(try open(old).seal.doubt == .older)
    }

    @Test(
        "The launch's generation: neither a command nor the way onto the air makes it, but idle work behind the check")
    func launchGeneration() throws {
        do { _ = try filled() }
        let writes = anchor.writes.count
        let lock = try open()
        let generation = try #require(lock.seal.generations.file)
        _ = try lock.store.launch()
        #expect(lock.opening == [1, 2, 3])
        try lock.commit(.bolt(BoltRecord(position: .unlocked)))
        #expect(lock.seal.makeGenerationOfLaunch())
        #expect(anchor.writes.count == writes, "before the check is done")
        // Somebody holds the file: it is waited for by nobody.
        while lock.seal.checkSlice() {}
        let other = try scratch.openState()
        try other.database.transaction { #expect(!lock.seal.makeGenerationOfLaunch()) }
        for _ in 0..<2 {
            lock.idle()
            #expect(lock.seal.generations.file == generation + 1)
        }
        #expect(try open().seal.doubt == nil)
        #expect(lock.opening == [1, 2, 3])
    }

    @Test("A change of rights before that makes the launch's generation")
    func changeMakesGeneration() throws {
        do { _ = try filled() }
        let lock = try open()
        let generation = try #require(lock.seal.generations.file)
        try lock.commit(.credentialRemoved(CredentialID(rawValue: 2)))
        lock.idle()
        #expect(lock.seal.generations.file == generation + 1)
        #expect(lock.opening == [1, 3])
    }

    @Test(
        "Row of a bond put back in another part, or doubled there: found by the bond's own lookup",
        arguments: [
            "INSERT INTO lock_credential SELECT * FROM kept WHERE bond = 4",
            "UPDATE lock_credential SET id = id + 1 WHERE bond = 4",
            "INSERT INTO lock_credential SELECT id + 1, name, role, is_enabled, bond, NULL, NULL, mac, schedules, user, kind FROM kept WHERE bond = 2",
        ] as [StaticString])
    func putBackElsewhere(_ sql: StaticString) throws {
        do {
            let lock = try spread()
            try lock.commit(Self.credential(Self.first(40), bond: 4))
            try lock.execute("CREATE TEMP TABLE kept AS SELECT * FROM lock_credential")
            // Enrolled anew, and disabled, under another number.
            try lock.commit(
                .credentialRemoved(CredentialID(rawValue: Self.first(40))),
                Self.credential(Self.first(10), isEnabled: false, bond: 4))
            try lock.execute(sql)
        }
        let lock = try open()
        let (two, four) = (lock.store.holder(of: 2).credentials, lock.store.holder(of: 4).credentials)
        // A row under another number is nobody's; a second row that is whole puts all in doubt.
        #expect(four.allSatisfy { !$0.isEnabled })
        #expect(two.count <= 1)
        _ = lock.seal.isTrusted
        #expect(lock.seal.doubt == (sql.description.hasPrefix("UPDATE") ? nil : .rowsDiffer))
    }

    @Test("Row taken from another part: the lookup of a bond does not read it, and the idle check finds it")
    func takenElsewhere() throws {
        do { try spread().execute("DELETE FROM lock_credential WHERE bond = 3") }
        let lock = try open()
        #expect(lock.opening == [1, 2])
        #expect(lock.store.isNamed(1))
        #expect(lock.seal.doubt == nil)
        // Not there: only the whole set says so, and it does not.
        #expect(lock.store.isNamed(3))
        #expect(lock.seal.doubt == .rowsDiffer)
        #expect(lock.opening == [])
        let next = try open()
        next.idle()
        #expect(next.opening == [])
    }

    @Test("Damaged MACs: one in each part is mended, by the lookup or by the idle check, and two in one are a doubt")
    func damagedMACs() throws {
        do { try spread().execute("UPDATE lock_credential SET mac = NULL") }
        do {
            let lock = try open()
            #expect(lock.opening == [1, 2, 3])
            #expect(lock.seal.isTrusted)
            try lock.execute("UPDATE lock_credential SET mac = zeroblob(16)")
        }
        do {
            let lock = try open()
            lock.idle()
            #expect(lock.opening == [1, 2, 3])
            try lock.commit(Self.credential(4))
            try lock.execute("UPDATE lock_credential SET mac = NULL WHERE bond IN (1, 4)")
        }
        #expect(try open().opening == [])
    }

    @Test("Anchor gone, damaged, or of another state; file without its seal: nobody is let in until it is confirmed")
    func doubts() throws {
        do { _ = try filled() }
        let record = anchor.reading
        let foreign = AnchorRecord(current: StateName(generation: 1, digest: [UInt8](repeating: 1, count: 16)))
        for (reading, doubt) in [
            (.nothing, .anchorMissing), (.damaged, .anchorDamaged), (.record(foreign), .other),
        ] as [(AnchorReading, StateDoubt)] {
            anchor.reading = reading
            let lock = try open()
            #expect(lock.seal.doubt == doubt)
            #expect(lock.opening == [])
        }
        anchor.reading = record
        do {
            let lock = try open()
            #expect(lock.opening == [1, 2, 3])
            try lock.execute("UPDATE lock_seal SET generation = generation + 1")
        }
        #expect(try open().seal.doubt == .sealDamaged)
        do { try open().execute("DELETE FROM lock_seal") }
        do { try open().execute("UPDATE lock_credential SET mac = NULL, role = 1") }
        do {
            let lock = try open()
            #expect(lock.seal.doubt == .unsealed)
            #expect(lock.opening == [])
            lock.seal.confirm()
            try lock.commit(.bolt(BoltRecord()))
        }
        // As the owner has said.
        #expect(try open().opening == [1, 2, 3])
    }

    @Test("File of an earlier version: its first launch trusts what is there, and no later one does")
    func earlierVersion() throws {
        do {
            let state = try scratch.openState()
            let store = SQLiteLockStore(state.database)
            for number in 1...3 as ClosedRange<UInt64> { store.append(Self.credential(number)) }
            store.append(.settings(LockSettings(acceptsSigned: false)))
            try state.database.commit([store])
        }
        do {
            let lock = try open()
            #expect(lock.opening == [1, 2, 3])
            #expect(try lock.store.launch().settings == LockSettings(acceptsSigned: false))
            try lock.execute("UPDATE lock_credential SET mac = NULL, role = 1 WHERE id = 2")
        }
        let lock = try open()
        #expect(lock.opening == [])
        #expect(lock.seal.doubt == .rowsDiffer)
    }

    @Test("Power loss between any two steps of a revocation: no launch is in doubt, and nothing older is believed")
    func crashPoints() throws {
        var places: [(file: String, reading: AnchorReading)] = []
        func take() {
            guard let file = try? copy(to: "crash\(places.count)") else { return }
            places.append((file, anchor.reading))
        }
        do {
            anchor.onWrite = take
            do { _ = try filled() }
            take()
            let lock = try open()
            lock.idle()
            take()
            try lock.commit(.credentialRemoved(CredentialID(rawValue: 2)))
            take()
        }
        anchor.onWrite = {}
        // The first seal, the launch's generation, and two commits: before and behind each of two writes of the anchor; and
        // behind each of the last three's ends.
        #expect(places.count == 4 * 4 + 3)
        let last = anchor.reading
        // Acknowledged: nothing from before is believed. The last three have the revocation.
        for (number, place) in places.enumerated() {
            let scene = MemoryAnchor()
            scene.reading = last
            #expect(try (open(place.file, scene).seal.doubt == nil) == (number >= places.count - 3), "place \(number)")
        }
        // From the last one, so that the place before is as the kill left it.
        for (number, place) in places.enumerated().reversed() {
            let scene = MemoryAnchor()
            scene.reading = place.reading
            let lock = try open(place.file, scene)
            #expect(lock.seal.doubt == nil, "place \(number)")
            #expect([[], [1, 2, 3], [1, 3]].contains(lock.opening), "place \(number)")
            if number > 0, place.reading == last { #expect(lock.opening == [1, 3], "place \(number)") }
            // A launch decides what the kill left open, before it answers anybody: the other one is no more.
            guard case .record(let record) = scene.reading else { Issue.record("no record"); continue }
            #expect(record.next == nil, "place \(number)")
            #expect(record.current?.generation == lock.seal.generations.file)
            if number > 0 {
                let earlier = try open(places[number - 1].file, scene).seal
                let isSame = earlier.generations.file == lock.seal.generations.file
                #expect((earlier.doubt == nil) == isSame, "place \(number)")
            }
            let generation = lock.seal.generations.file
            lock.idle()
            // The first two had no seal: opening them was their launch's generation.
            #expect((lock.seal.generations.file != generation) == (number > 1), "place \(number)")
            guard case .record(let record) = scene.reading else { Issue.record("no record"); continue }
            #expect(record.next == nil && record.current?.generation == lock.seal.generations.file)
        }
    }

    @Test("Anchor that cannot be written at the launch behind a kill: the lock opens, and says so once")
    func stuckBehindKill() throws {
        do { _ = try filled() }
        guard case .record(var record) = anchor.reading else { Issue.record("no record"); return }
        record.next = StateName(generation: 9, digest: [UInt8](repeating: 1, count: StateName.digestOctets))
        anchor.reading = .record(record)
        let writes = anchor.writes.count
        anchor.failsAt = writes
        let lock = try open()
        var told = 0
        lock.seal.onAnchorStuck = { _ in told += 1 }
        lock.idle()
        #expect(told == 1)
        #expect(lock.opening == [1, 2, 3])
        #expect(anchor.writes.count == writes)
        anchor.failsAt = nil
        let next = try open()
        #expect(next.seal.doubt == nil)
        #expect(anchor.reading == .record(AnchorRecord(current: record.current)))
    }

    @Test(
        "Anchor that cannot be written: the commit throws, before it or behind it, and none succeeds from then on",
        arguments: [0, 1])
    func unwritable(_ step: Int) throws {
        let error = StoreError.anchorUnusable(path: "memory", reason: "the disk is full")
        do {
            let lock = try filled()
            anchor.failsAt = anchor.writes.count + step
            #expect(throws: error) { try lock.commit(.credentialRemoved(CredentialID(rawValue: 2))) }
            #expect(throws: error) { try lock.commit(.bolt(BoltRecord())) }
            #expect(lock.state.database.hasFailed)
        }
        anchor.failsAt = nil
        let lock = try open()
        #expect(lock.seal.doubt == nil)
        #expect(lock.opening == (step == 0 ? [1, 2, 3] : [1, 3]))
    }

    @Test(
        "Anchor that cannot be written at a launch: the lock opens, says so, and no right changes", arguments: [0, 1])
    func stuck(_ step: Int) throws {
        do { _ = try filled() }
        do {
            let lock = try open()
            var told = 0
            lock.seal.onAnchorStuck = { _ in told += 1 }
            anchor.failsAt = anchor.writes.count + step
            try lock.commit(.bolt(BoltRecord()))
            lock.idle()
            lock.idle()
            try lock.commit(.bolt(BoltRecord(position: .unlocked)))
            #expect(told == 1)
            #expect(lock.opening == [1, 2, 3])
            #expect(throws: StoreError.self) { try lock.commit(.credentialRemoved(CredentialID(rawValue: 2))) }
        }
        anchor.failsAt = nil
        let lock = try open()
        #expect(lock.seal.doubt == nil)
        #expect(lock.opening == [1, 2, 3])
        try lock.commit(.credentialRemoved(CredentialID(rawValue: 2)))
        #expect(try open().opening == [1, 3])
    }

    @Test("Anchor that cannot be written at the first launch: nothing is believed to be sealed")
    func unwritableFirst() throws {
        for step in [0, 1] {
            anchor.failsAt = anchor.writes.count + step
            #expect(throws: StoreError.self) { try open() }
            anchor.failsAt = nil
            #expect(try open().seal.doubt == nil)
            for name in scratch.files where name.hasPrefix("latch.db") { unlink(scratch.directory + "/" + name) }
            anchor.reading = .nothing
        }
    }

    @Test("More rows than one slice: all of them are looked at, in slices or at once, and a change begins again")
    func slices() throws {
        let lock = try open()
        let count = UInt64(LockSeal.checkSliceRows * 2)
        for number in 1...count { lock.store.append(Self.credential(number)) }
        lock.store.append(Self.credential(.max))
        lock.store.append(Self.credential(UInt64(Int64.max)))
        try lock.commit()
        do {
            let next = try open()
            #expect(next.seal.checkSlice())
            try next.commit(Self.credential(count + 1), .credentialRemoved(CredentialID(rawValue: 1)))
            var slices = 0
            while next.seal.checkSlice() { slices += 1 }
            #expect(slices == 2)
            #expect(next.seal.isTrusted)
            try next.execute("DELETE FROM lock_credential WHERE id = 9223372036854775807")
        }
        let next = try open()
        // The part that it was taken from is another one.
        #expect(next.opening == [2, 3, 4])
        while next.seal.checkSlice() {}
        #expect(next.opening == [])
        #expect(next.seal.doubt == .rowsDiffer)
    }

    @Test("A command's commit writes neither the anchor nor the seal")
    func commands() throws {
        let lock = try filled()
        let writes = anchor.writes.count
        let generations = lock.seal.generations
        for number in 1...3 as ClosedRange<UInt64> {
            try lock.commit(
                .lastCommand(
                    bond: 1,
                    LastCommand(challenge: ChallengeID(bits: number), signCounter: 1, result: .done, phase: .done)),
                .receiptCounters(bond: 1, reservedBelow: 64), .bolt(BoltRecord(position: .unlocked)), .relock(nil))
        }
        #expect(anchor.writes.count == writes)
        #expect(lock.seal.generations.file == generations.file)
    }
}
