import BluetoothCore
import BluetoothHost
import Glibc
import SecurityManager
import Testing

@testable import StatePersistence

@Suite("Inspection and backup")
struct InspectionTests {
    let scratch = Scratch()

    private func fill() throws -> StateStore {
        let state = try scratch.open()
        let store = SQLiteHostStore(state, name: "lock")
        store.append(.localIdentity(Sample.identity(1)))
        store.append(.bond(.upsert(Sample.bond(3))))
        store.append(.scan(Sample.central, ScanRecord(services: [0x180A], allowDuplicates: true)))
        try state.database.commit([store])
        return state
    }

    @Test("shows every table while the daemon runs, and no secret, and changes nothing", arguments: [true, false])
    func tables(isRunning: Bool) throws {
        var state: StateStore? = try fill()
        if !isRunning {
            state = nil
            try scratch.dropLog()
        }
        let before = scratch.digests
        let tables = try StateInspector(path: scratch.database).tables()
        #expect(scratch.digests == before)
        let bonds = try #require(tables.first { $0.name == "host_bond" })
        #expect(bonds.rows.count == 1)
        let cells = Dictionary(uniqueKeysWithValues: zip(bonds.columns, try #require(bonds.rows.first)))
        #expect(cells["credential"] == .text("credential 3"))
        #expect(cells["keys"] == .secret)
        #expect(cells["remote_sign_counter"] == .null)
        #expect(tables.map(\.name) == tables.map(\.name).sorted())
        #expect(tables.contains { $0.name == "schema_migration" })
        withExtendedLifetime(state) {}
    }

    @Test("knows every column that holds a wrapped value")
    func secretColumns() throws {
        let state = try fill()
        let inspector = try StateInspector(path: scratch.database)
        for table in try inspector.tables() {
            for (column, name) in table.columns.enumerated() where table.rows.contains(where: { $0[column] == .secret })
            {
                #expect(StateInspector.secretColumns.contains("\(table.name).\(name)"))
            }
            let named = StateInspector.secretColumns.filter { $0.hasPrefix(table.name + ".") }
            for column in named { #expect(table.columns.contains(String(column.dropFirst(table.name.count + 1)))) }
        }
        withExtendedLifetime(state) {}
    }

    @Test("checks migrations, sizes and soundness; a row without its parent is a fault")
    func check() throws {
        let state = try fill()
        let sound = try StateInspector(path: scratch.database).check(components: [.host])
        #expect(sound.faults == [])
        #expect(sound.migrations.map(\.component) == ["host", "host", "host", "host", "host", "store"])
        #expect(sound.logOctets > 0)
        try state.database.connection.execute("PRAGMA foreign_keys = OFF; DELETE FROM host_scan")
        let faulty = try StateInspector(path: scratch.database).check(components: [.host])
        #expect(faulty.faults == ["a row of host_scan_service refers to a missing row of host_scan"])
        #expect(try state.database.integrityCheck() == faulty.faults)
        #expect(
            throws: StoreError.newerVersion(
                path: scratch.database, component: "host", found: "1 identities, bonds, clients, peers, restoration")
        ) {
            try StateInspector(path: scratch.database).check(components: [SchemaComponent("host", [])])
        }
    }

    @Test("A backup of a running daemon's database opens with its key and has all that was committed")
    func backup() throws {
        let state = try fill()
        let target = scratch.directory + "/backup.db"
        try StateBackup.make(of: scratch.database, at: target)
        #expect(Scratch.mode(target) == 0o600)
        #expect(scratch.files.allSatisfy { !$0.contains(".new") })
        #expect(throws: StoreError.backupExists(path: target)) {
            try StateBackup.make(of: scratch.database, at: target)
        }
        let expected = try SQLiteHostStore(state, name: "lock").load()
        let restored = try StateStore(
            path: target, machineKeyFile: scratch.directory + "/machine.key", credentialsDirectory: nil,
            components: [.host])
        expectEqual(try SQLiteHostStore(restored, name: "lock").load(), expected)
        let settings = try restored.database.statement("PRAGMA page_size")
            .firstRow { (row) throws(StoreError) in try row.integer(0, as: Int.self) }
        #expect(settings == 4_096)
    }

    @Test(
        "Who looks keeps nobody waiting: a daemon launches, commits and checkpoints behind it",
        arguments: [true, false])
    func keepsNobody(hasLog: Bool) throws {
        _ = try fill()
        if !hasLog { try scratch.dropLog() }
        let inspector = try StateInspector(path: scratch.database)
        var limits = DatabaseLimits()
        limits.openWaitMilliseconds = 0
        limits.commitWaitMilliseconds = 0
        let database = try Database(path: scratch.database, components: [.host, numbersSchema], limits: limits)
        try database.insert(1)
        // What it says is of the moment when it looked.
        #expect(try inspector.tables().allSatisfy { $0.name != "test_number" })
        let summary = try inspector.check(components: [.host])
        #expect(summary.faults == [])
        #expect(!summary.migrations.contains { $0.component == "test" })
        #expect((summary.logOctets > 0) == hasLog)
    }

    @Test("A path is one however it begins: with two slashes, too")
    func slashes() throws {
        let state = try fill()
        withExtendedLifetime(state) {}
        let (source, target) = ("/" + scratch.database, "/" + scratch.directory + "/backup.db")
        try StateBackup.make(of: source, at: target)
        #expect(try StateInspector(path: target).check(components: [.host]).faults == [])
    }

    @Test("Nothing is left of a backup that cannot be made")
    func failedBackup() throws {
        let state = try fill()
        try state.database.connection.execute("PRAGMA foreign_keys = OFF; DELETE FROM host_scan")
        #expect {
            try StateBackup.make(of: scratch.database, at: scratch.directory + "/backup.db")
        } throws: {
            if case StoreError.corrupt(path: scratch.database, _) = $0 { true } else { false }
        }
        #expect(scratch.files.allSatisfy { !$0.hasPrefix("backup") })
        #expect(throws: StoreError.self) {
            try StateBackup.make(of: scratch.directory + "/none.db", at: scratch.directory + "/backup.db")
        }
        #expect(scratch.files.allSatisfy { !$0.hasPrefix("backup") && !$0.hasPrefix("none") })
    }
}
