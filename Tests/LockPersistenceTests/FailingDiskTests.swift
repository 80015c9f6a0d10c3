import BluetoothCore
import BluetoothHost
import FaultDisk
import LockCentral
import LockPeripheral
import LockProtocol
import MemoryStores
import StatePersistence
import StoreTrials
import TestSupport
import Testing

@testable import LockPersistence

/// What a lock and a key on one file keep when any call of SQLite fails, and when the power does.
@Suite("The stores of lock and key on a disk that fails")
struct FailingDiskTests {
    private struct Kept: Equatable, Sendable {
        var lock: LockSnapshot
        var key: KeySnapshot
    }

    private static func open(_ directory: String) throws -> Database {
        try Database(path: directory + "/latch.sqlite", components: [.lock, .key])
    }

    /// Two lives of `commitsPerLife` commits of random facts each, with a checkpoint in the middle of either.
    private static func trial(seed: UInt64) -> StoreTrial<Kept> {
        let (lives, commitsPerLife) = (2, 4)
        return StoreTrial { directory in
            _ = try open(directory)
        } run: { directory, acknowledge in
            var generator = SeededGenerator(seed: seed)
            var head = AuditHead.empty
            let (lockModel, keyModel) = (MemoryLockStore(), MemoryKeyStore())
            for _ in 0..<lives {
                let database = try open(directory)
                let (lock, key) = (SQLiteLockStore(database), SQLiteKeyStore(database))
                for commit in 0..<commitsPerLife {
                    for _ in 0..<3 {
                        let ofLock = LockMutation.random(Int(generator.next() % 12), using: &generator, head: &head)
                        let ofKey = KeyMutation.random(using: &generator)
                        for store in [lock, lockModel] as [any LockStore] { store.append(ofLock) }
                        for store in [key, keyModel] as [any KeyStore] { store.append(ofKey) }
                    }
                    try database.commit([lock, key])
                    try MemoryTransactionCoordinator().commit([lockModel, keyModel])
                    acknowledge(Kept(lock: lockModel.committed, key: keyModel.committed))
                    if commit == commitsPerLife / 2 { try database.checkpoint() }
                }
            }
        } read: { directory in
            let database = try open(directory)
            let kept = Kept(lock: try SQLiteLockStore(database).load(), key: try SQLiteKeyStore(database).load())
            #expect(try database.integrityCheck() == [])
            return kept
        }
    }

    @Test(
        "Whichever call fails, alone or with all behind it, what was acknowledged is there",
        arguments: FaultDisk.Kind.allCases, [false, true])
    func call(_ kind: FaultDisk.Kind, isLasting: Bool) throws {
        let generator = SeededGenerator(announcedBy: "FailingDiskTests.call")
        let result = try Self.trial(seed: generator.seed).failing(
            kind, isLasting: isLasting, at: TrialPlaces(seed: generator.seed))
        print("FailingDiskTests.call(\(kind), \(isLasting)): \(result.caseCount) cases")
        #expect(result.complaints.count == 0, "\(result.complaints.prefix(9).joined(separator: "\n"))")
    }

    @Test("Whenever the power fails, what was acknowledged is there")
    func power() throws {
        let generator = SeededGenerator(announcedBy: "FailingDiskTests.power")
        let result = try Self.trial(seed: generator.seed).cuttingPower(at: TrialPlaces(seed: generator.seed))
        print("FailingDiskTests.power: \(result.caseCount) cases")
        #expect(result.complaints.count == 0, "\(result.complaints.prefix(9).joined(separator: "\n"))")
    }
}
