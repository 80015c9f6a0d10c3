import BluetoothCore
import BluetoothHost
import FaultDisk
import Glibc
import SecurityManager
import StoreTrials
import TestSupport
import Testing

@testable import StatePersistence

/// What a host keeps when any call of SQLite fails, and when the power does.
@Suite("The host's store on a disk that fails")
struct FailingDiskTests {
    /// What a launch reads, and whether there is a backup.
    struct Kept: Equatable, Sendable {
        var facts: HostSnapshot
        var hasBackup = false

        static func == (a: Kept, b: Kept) -> Bool {
            a.facts.identity?.address == b.facts.identity?.address && a.facts.identity?.irk == b.facts.identity?.irk
                && a.facts.bonds == b.facts.bonds && a.facts.gattClients == b.facts.gattClients
                && a.facts.peers == b.facts.peers && a.facts.restorations == b.facts.restorations
                && a.hasBackup == b.hasBackup
        }
    }

    /// What happens to a file, from its first octet on.
    enum Script: CaseIterable, CustomTestStringConvertible {
        case commits, firstLaunch, migration1, migration2, backup, restore

        var testDescription: String {
            switch self {
            case .commits: "two lives that commit and move the log"
            case .firstLaunch: "a first launch"
            case .migration1: "a launch on a file of the first schema"
            case .migration2: "a launch on a file of the second schema"
            case .backup: "a backup"
            case .restore: "a launch on a backup"
            }
        }

        /// Whether it gives files their names.
        var namesFiles: Bool { self == .firstLaunch || self == .backup }
    }

    private static func open(_ directory: String) throws -> StateStore {
        try StateStore(
            path: directory + "/latch.sqlite", machineKeyFile: directory + "/machine.key", credentialsDirectory: nil,
            components: [.host])
    }

    /// One life: `count` commits of random facts, with a checkpoint in the middle.
    private static func live(
        _ directory: String, commits count: Int, _ model: MemoryHostStore, _ generator: inout SeededGenerator,
        _ acknowledge: (Kept) -> Void
    ) throws {
        let state = try open(directory)
        let store = SQLiteHostStore(state, name: "lock")
        for commit in 0..<count {
            for _ in 0..<4 {
                let fact = HostMutation.random(using: &generator)
                store.append(fact)
                model.append(fact)
            }
            try state.database.commit([store])
            try MemoryTransactionCoordinator().commit([model])
            acknowledge(Kept(facts: model.load()))
            if commit == count / 2 { try state.database.checkpoint() }
        }
    }

    private static func writeFixture(_ sql: String, in directory: String) throws {
        let path = directory + "/latch.sqlite"
        _ = try StateFile.open(path, O_RDWR | O_CREAT | O_EXCL)
        let connection = try Connection(path: path, access: .create)
        try connection.execute("PRAGMA page_size = 1024; PRAGMA application_id = \(0x4C74_6368)")
        try connection.execute(sql)
        Scratch.write(MigrationTests.machineKey, to: directory + "/machine.key")
        chmod(directory + "/machine.key", 0o600)
    }

    /// What the file has that the script begins with.
    private static func model(_ script: Script, seed: UInt64) -> MemoryHostStore {
        var kept = KeptHostFacts()
        switch script {
        case .commits, .firstLaunch: break
        case .migration1: for mutation in MigrationTests.contents[0] { kept.apply(mutation) }
        case .migration2: for mutation in MigrationTests.contents[1] { kept.apply(mutation) }
        case .backup, .restore:
            var generator = SeededGenerator(seed: ~seed)
            for _ in 0..<40 { kept.apply(.random(using: &generator)) }
        }
        return MemoryHostStore(kept)
    }

    private static func prepare(_ script: Script, seed: UInt64, _ directory: String) throws {
        switch script {
        case .firstLaunch: break
        case .commits: _ = try open(directory)
        case .migration1: try writeFixture(HostFixture.schema1, in: directory)
        case .migration2: try writeFixture(HostFixture.schema2, in: directory)
        case .backup, .restore:
            let state = try open(directory)
            let store = SQLiteHostStore(state, name: "lock")
            var generator = SeededGenerator(seed: ~seed)
            for _ in 0..<40 { store.append(.random(using: &generator)) }
            try state.database.commit([store])
        }
        guard script == .restore else { return }
        let path = directory + "/latch.sqlite"
        try StateBackup.make(of: path, at: directory + "/backup")
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        rename(directory + "/backup", path)
    }

    private static func trial(_ script: Script, seed: UInt64) -> StoreTrial<Kept> {
        StoreTrial(namesFiles: script.namesFiles) { directory in
            try prepare(script, seed: seed, directory)
        } run: { directory, acknowledge in
            var generator = SeededGenerator(seed: seed)
            let model = model(script, seed: seed)
            switch script {
            case .commits:
                for _ in 0..<2 { try live(directory, commits: 4, model, &generator, acknowledge) }
            case .firstLaunch, .migration1, .migration2, .restore:
                try live(directory, commits: 2, model, &generator, acknowledge)
            case .backup:
                try StateBackup.make(of: directory + "/latch.sqlite", at: directory + "/backup")
                acknowledge(Kept(facts: model.load(), hasBackup: true))
            }
        } read: { directory in
            let state = try open(directory)
            #expect(try state.database.integrityCheck() == [])
            let backup = directory + "/backup"
            let hasBackup = access(backup, F_OK) == 0
            if hasBackup { #expect(try StateInspector(path: backup).check(components: [.host]).faults == []) }
            return Kept(facts: try SQLiteHostStore(state, name: "lock").load(), hasBackup: hasBackup)
        }
    }

    @Test(
        "Whichever call fails, alone or with all behind it, the host's facts that were acknowledged are there",
        arguments: Script.allCases, FaultDisk.Kind.allCases)
    func call(_ script: Script, _ kind: FaultDisk.Kind) throws {
        let generator = SeededGenerator(announcedBy: "FailingDiskTests.call")
        for isLasting in [false, true] {
            let result = try Self.trial(script, seed: generator.seed)
                .failing(kind, isLasting: isLasting, at: TrialPlaces(seed: generator.seed))
            print("the host's store, \(script), \(kind), \(isLasting): \(result.caseCount) cases")
            #expect(result.complaints.count == 0, "\(result.complaints.prefix(9).joined(separator: "\n"))")
        }
    }

    @Test(
        "Whenever the power fails, the host's facts that were acknowledged are there",
        arguments: Script.allCases.filter { !$0.namesFiles })
    func power(_ script: Script) throws {
        let generator = SeededGenerator(announcedBy: "FailingDiskTests.power")
        let result = try Self.trial(script, seed: generator.seed).cuttingPower(at: TrialPlaces(seed: generator.seed))
        print("the host's store, \(script), power: \(result.caseCount) cases")
        #expect(result.complaints.count == 0, "\(result.complaints.prefix(9).joined(separator: "\n"))")
    }

    /// Numbers that SQLite commits by itself, whatever it is told of flushes.
    private static func careless(_ settings: String) -> StoreTrial<[Int]> {
        func path(_ directory: String) -> String { directory + "/numbers.sqlite" }
        return StoreTrial { directory in
            try Connection(path: path(directory), access: .create)
                .execute("PRAGMA journal_mode = WAL; CREATE TABLE number (value INTEGER)")
        } run: { directory, acknowledge in
            let connection = try Connection(path: path(directory), access: .readWrite)
            try connection.execute(settings)
            for number in 0..<3 {
                try connection.execute("INSERT INTO number VALUES (\(number))")
                acknowledge(Array(0...number))
            }
        } read: { directory in
            var numbers: [Int] = []
            let connection = try Connection(path: path(directory), access: .readWrite)
            try connection.statement("SELECT value FROM number")
                .forEachRow { (row) throws(StoreError) in numbers.append(try row.integer(0)) }
            withExtendedLifetime(connection) {}
            return numbers
        }
    }

    @Test("A store that flushes nothing is found out by every power cut behind a commit, and one that does is not")
    func judge() throws {
        let all = TrialPlaces(step: 1)
        #expect(try Self.careless("PRAGMA synchronous = FULL").cuttingPower(at: all).complaints == [])
        let lost = try Self.careless("PRAGMA synchronous = OFF").cuttingPower(at: all).complaints
        #expect(lost.contains { $0.hasSuffix("what 0 commits left, with 3 acknowledged") }, "\(lost)")
    }
}
