import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CSQLite
import GATT
import Glibc
import LockCentral
import LockPeripheral
import LockProtocol
import SecurityManager
import TestSupport
import Testing

@testable import LockPersistence
@testable import StatePersistence

/// A file that a lock and a key share, with two of everything in it that there may be two of, and a relock that is due. The first of
/// each is damaged by tests; nothing but it is to be lost.
struct Household {
    static let folder = "latch.sqlite"
    let directory: String
    var path: String { directory + "/" + Self.folder }
    private var keyPath: String { directory + "/machine.key" }

    init(_ directory: String) { self.directory = directory }

    func open() throws -> StateStore {
        try StateStore(
            path: path, machineKeyFile: keyPath, credentialsDirectory: nil, components: [.host, .lock, .key],
            check: .brief)
    }

    // MARK: What is in it

    static let boot = BootID(bits: 77)
    private static let service = ServiceDefinition(
        uuid: 0xFFF0,
        characteristics: [
            CharacteristicDefinition(uuid: 0xFFF1, properties: .notify, access: AttributeAccess(subscribe: .open))
        ])

    static func address(_ number: UInt64) -> DeviceAddress {
        DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | number)
    }

    private static func secret(_ number: UInt64) -> Secret {
        Secret((0..<16).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0) })
    }

    static func hostFacts(_ role: RestoreKey.Role, _ base: UInt64) throws -> [HostMutation] {
        var facts: [HostMutation] = []
        let identity = try #require(IdentityAddress(address(base)))
        facts.append(.localIdentity(LocalIdentity(address: identity, irk: secret(base))))
        for number in 1...2 as ClosedRange<UInt64> {
            let bond = Bond(
                id: BondID(Int64(number)), identity: IdentityAddress(address(base + number)),
                peerIRK: secret(number + 1),
                ltk: secret(number + 2), keySize: 16, ediv: 0, rand: 9, localCSRK: secret(number + 3),
                remoteCSRK: secret(number + 4), model: .outOfBand, state: number == 1 ? .unconfirmed : .confirmed,
                credential: "credential \(number)", lastRemoteSignCounter: 3, localSignCounterReserved: 64)
            facts.append(.bond(.upsert(bond)))
            facts.append(
                .gatt(.clientCharacteristicConfiguration(bond: number, handle: AttributeHandle(9), value: .indication)))
            facts.append(.gatt(.clientSupportedFeatures(bond: number, value: [1])))
            facts.append(.gatt(.changeAware(bond: number, databaseHash: [UInt8](repeating: 2, count: 16))))
            facts.append(
                .peer(
                    PeerRecord(
                        identifier: peer(number), address: address(base + number), name: "peer \(number)",
                        remoteDatabase: RemoteDatabase(hash: nil, services: []).encoded,
                        databaseHash: [UInt8](repeating: 3, count: 16))))
            let key = RestoreKey(role: role, identifier: "manager \(number)")
            for other in 1...2 as ClosedRange<UInt64> {
                facts.append(
                    .pendingConnection(key, PendingConnection(peer: peer(other), options: 1, askedAtSeconds: 2)))
                facts.append(
                    .subscription(
                        key,
                        SubscriptionRecord(
                            peer: peer(other), valueHandle: AttributeHandle(3), cccHandle: AttributeHandle(4),
                            kind: .notify)))
                facts.append(
                    .servicePublished(
                        key,
                        PublishedServiceRecord(
                            handle: AttributeHandle(UInt16(20 * number + 5 * other)), encoded: service.encoded)))
                facts.append(
                    .updateQueued(
                        key,
                        QueuedUpdate(
                            sequence: 10 * number + other, bond: BondID(Int64(number)), valueHandle: AttributeHandle(3),
                            isIndication: true, value: [1])))
            }
            facts.append(.scan(key, ScanRecord(services: [0x180A, 0x180F], allowDuplicates: true)))
            var advertising = AdvertisingRecord(localName: "bell", services: [0x180A, 0x180F])
            advertising.discoverability = .limited
            advertising.limitedUntil = BootDeadline(boot: boot, at: Instant(nanoseconds: 9))
            advertising.txPowerLevel = 1
            advertising.manufacturerData = [1, 2, 3]
            advertising.serviceData = [AdvertisedServiceData(service: 0x180F, octets: [1])]
            advertising.solicitedServices = [0x1806]
            facts.append(.advertising(key, advertising))
        }
        facts.append(.managerRested(RestoreKey(role: role, identifier: "manager 1"), 1))
        return facts
    }

    static func peer(_ number: UInt64) -> PeerIdentifier { PeerIdentifier(bits: UInt128(number) << 120 | 1) }

    private static var lockFacts: [LockMutation] {
        var facts: [LockMutation] = []
        for number in 1...2 as ClosedRange<UInt64> {
            facts.append(
                .credential(
                    Credential(
                        id: CredentialID(rawValue: number), name: "credential \(number)", role: .resident, bond: number,
                        validity: Validity(notBeforeSeconds: 1, notAfterSeconds: 9_000_000_000),
                        schedules: .sample, user: "user \(number)", kind: .expiring(minutes: 30))))
            facts.append(
                .lastCommand(
                    bond: number,
                    LastCommand(
                        challenge: ChallengeID(bits: 5), signCounter: 4, result: .done, phase: CommandPhase(rawValue: 3)
                    )))
            facts.append(.receiptCounters(bond: number, reservedBelow: 64))
            facts += [.hold(.schedule), .ajar(BootDeadline(boot: boot, at: Instant(nanoseconds: 9)))]
            facts.append(.lockout(bond: number, Lockout(in: boot)))
        }
        facts.append(.settings(LockSettings(calendar: .sample)))
        facts.append(.bolt(BoltRecord(position: .unlocked, door: .closed)))
        facts.append(.relock(BootDeadline(boot: BootID(bits: 1), at: Instant(nanoseconds: 5))))
        facts.append(
            .intent(
                Intent(
                    id: IntentID(rawValue: 2), movement: .lock,
                    origin: .command(
                        CommandOrigin(
                            bond: 2, credential: CredentialID(rawValue: 2), challenge: ChallengeID(bits: 5),
                            operation: .lock)),
                    boot: BootID(bits: 1), deadline: Instant(nanoseconds: 9), phase: .decided)))
        return facts
    }

    private static var keyFacts: [KeyMutation] {
        var facts: [KeyMutation] = []
        for number in 1...2 as ClosedRange<UInt64> {
            facts.append(.lock(LockRecord(peer: peer(number), name: "lock \(number)")))
            facts.append(.receiptCounter(peer(number), 5))
            facts.append(.thresholds(peer(number), ProximityThresholds(nearDBm: -60, awayDBm: -70)))
            facts.append(.note(peer(number), try? LockNote("turn twice")))
            facts.append(.watched(peer(number), WatchMark(boot: boot, until: Instant(nanoseconds: 4))))
            facts.append(
                .request(
                    peer(number),
                    KeyRequest(
                        id: KeyRequestID(rawValue: number), operation: .unlock, argument: .setting, origin: .user,
                        boot: boot,
                        deadline: Instant(nanoseconds: 8), sent: ChallengeID(bits: 6))))
        }
        facts.append(.preferred([peer(2), peer(1)]))
        facts.append(.requestsReserved(below: 64))
        return facts
    }

    func fill() throws {
        do {
            let state = try open()
            let lock = SQLiteLockStore(state, seal: nil, auditRecordsMaximum: 2)
            let key = SQLiteKeyStore(state.database)
            let hosts = [SQLiteHostStore(state, name: "peripheral"), SQLiteHostStore(state, name: "central")]
            for fact in try Self.hostFacts(.peripheral, 100) { hosts[0].append(fact) }
            for fact in try Self.hostFacts(.central, 200) { hosts[1].append(fact) }
            for fact in Self.lockFacts { lock.append(fact) }
            for fact in Self.keyFacts { key.append(fact) }
            var head = AuditHead.empty
            for number in 1...3 as ClosedRange<UInt64> {
                lock.append(
                    .audit(
                        head.append(
                            .launched, boot: Self.boot, at: Instant(nanoseconds: number),
                            wallClockSeconds: 1_800_000_000)))
            }
            lock.append(.relaunched(behind: 3, times: 2))
            try state.database.commit([lock, key] + hosts)
        }
        try settleLog()
    }

    /// The database alone is the file.
    func settleLog() throws {
        let connection = try Connection(path: path, access: .readWrite)
        _ = try MigrationHistory(of: connection)
        guard try connection.checkpoint(truncating: true) else { throw StoreError.busy(path: path) }
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
    }
}

/// The same file with a value in it that nobody wrote.
struct DamagedFile {
    struct Column: Hashable, CustomStringConvertible {
        let table: String
        let column: String
        let type: String
        var description: String { "\(table).\(column)" }

        /// What a medium may leave there: of another type, of another length, out of every range, and nothing.
        var damages: [String] {
            switch type {
            case "INTEGER": ["'x'", "-1", "9223372036854775807", "NULL"]
            case "TEXT": ["x'FF'", "NULL"]
            default: ["7", "x'00'", "x''", "NULL"]
            }
        }
    }

    private static func rows(_ handle: OpaquePointer?, _ sql: String) throws -> [[String]] {
        var statement: OpaquePointer?
        try #require(sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, "\(sql)")
        defer { sqlite3_finalize(statement) }
        var rows: [[String]] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            rows.append(
                (0..<sqlite3_column_count(statement)).map {
                    sqlite3_column_text(statement, $0).map { String(cString: $0) } ?? ""
                })
        }
        return rows
    }

    private static func execute(_ handle: OpaquePointer?, _ sql: String) throws {
        let status = sqlite3_exec(handle, sql, nil, nil, nil)
        try #require(status == SQLITE_OK, "\(String(cString: sqlite3_errmsg(handle))): \(sql)")
    }

    private static func with<R>(_ path: String, _ body: (OpaquePointer?) throws -> R) throws -> R {
        var handle: OpaquePointer?
        try #require(sqlite3_open(path, &handle) == SQLITE_OK)
        defer { sqlite3_close(handle) }
        return try body(handle)
    }

    /// Every column of every table with rows.
    static func columns(of path: String) throws -> [Column] {
        try with(path) { handle in
            let tables = try rows(
                handle, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
            return try tables.flatMap { table -> [Column] in
                let columns = try rows(handle, "SELECT name, type FROM pragma_table_info('\(table[0])')")
                return columns.map { Column(table: table[0], column: $0[0], type: $0[1]) }
            }
        }
    }

    static func count(_ table: String, in path: String) throws -> Int {
        try with(path) { handle in Int(try rows(handle, "SELECT count(*) FROM \(table)")[0][0]) ?? 0 }
    }

    /// Puts the value into the table's first row: past its types and constraints, as a medium does. False when SQLite finds
    /// another row under that key.
    static func inflict(_ value: String, on column: Column, in path: String) throws -> Bool {
        let schema = try with(path) { handle in
            try rows(handle, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        }
        try with(path) { handle in
            try execute(
                handle,
                """
                PRAGMA writable_schema = ON;
                DELETE FROM sqlite_schema WHERE type = 'trigger';
                UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT, WITHOUT', 'WITHOUT'), 'STRICT', '')
                WHERE type = 'table';
                UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table';
                """)
        }
        let isThere = try with(path) { handle in
            try execute(handle, "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
            let key = try rows(
                handle, "SELECT name FROM pragma_table_info('\(column.table)') WHERE pk > 0 ORDER BY pk"
            ).map { $0[0] }.joined(separator: ", ")
            let sql = """
                UPDATE \(column.table) SET \(column.column) = \(value)
                WHERE (\(key)) = (SELECT \(key) FROM \(column.table) ORDER BY \(key) LIMIT 1)
                """
            return sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK
        }
        try with(path) { handle in
            try execute(handle, "PRAGMA writable_schema = ON")
            for entry in schema where entry[0] == "table" {
                let sql = entry[2].split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
                try execute(handle, "UPDATE sqlite_schema SET sql = '\(sql)' WHERE name = '\(entry[1])'")
            }
            try execute(handle, "PRAGMA writable_schema = RESET")
            for entry in schema where entry[0] == "trigger" { try execute(handle, entry[2]) }
            try execute(handle, "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        return isThere
    }
}
