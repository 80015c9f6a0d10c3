import FaultDisk
import LockPeripheral
import LockProtocol
import StatePersistence
import StoreTrials
import TestSupport
import Testing

@testable import LockPersistence

/// The seal's order (anchor, commit, anchor) on a disk that fails under the database.
@Suite("The lock's seal on a disk that fails")
struct SealDiskTests {
    /// Whom a launch lets in.
    private struct Kept: Equatable, Sendable {
        var opening: [UInt64]
        var doubt: StateDoubt?
    }

    private struct Lock {
        let state: StateStore
        let seal: LockSeal
        let store: SQLiteLockStore

        init(_ directory: String) throws {
            state = try StateStore(
                path: directory + "/latch.sqlite", machineKeyFile: directory + "/machine.key",
                credentialsDirectory: nil, components: [.host, .lock])
            seal = try LockSeal(state, anchor: FileAnchor(path: directory + "/lock.anchor", keys: state.keys))
            store = SQLiteLockStore(state, seal: seal)
        }

        func commit(_ facts: LockMutation...) throws -> Kept {
            for fact in facts { store.append(fact) }
            try state.database.commit([store])
            return kept
        }

        var kept: Kept {
            let opening = (1...5).filter { store.holder(of: $0).credentials.contains { $0.isEnabled } }
            return Kept(opening: opening, doubt: seal.doubt)
        }
    }

    private static func credential(_ number: UInt64, isEnabled: Bool = true) -> LockMutation {
        .credential(
            Credential(
                id: CredentialID(rawValue: number << 57), name: "n\(number)", role: .guest, isEnabled: isEnabled,
                bond: number))
    }

    /// Three lives, each with what revokes or grants, before its own generation or behind it.
    private static var trial: StoreTrial<Kept> {
        StoreTrial<Kept>(namesFiles: true) { directory in
            _ = try Lock(directory).commit(credential(1), credential(2), credential(3), .settings(LockSettings()))
        } run: { directory, acknowledge in
            for (life, facts) in [
                [.credentialRemoved(CredentialID(rawValue: 1 << 57)), credential(4)],
                [credential(2, isEnabled: false), credential(1)],
                [.credentialRemoved(CredentialID(rawValue: 2 << 57)), credential(5)],
            ].enumerated() as EnumeratedSequence<[[LockMutation]]> {
                let lock = try Lock(directory)
                if life > 0 {
                    while lock.seal.checkSlice() {}
                    _ = lock.seal.makeGenerationOfLaunch()
                }
                for fact in facts { acknowledge(try lock.commit(fact)) }
                if life == 0 { try lock.state.database.checkpoint() }
            }
        } read: { directory in
            let lock = try Lock(directory)
            while lock.seal.checkSlice() {}
            _ = lock.seal.makeGenerationOfLaunch()
            return lock.kept
        }
    }

    @Test(
        "Whichever call fails, alone or with all behind it: the next launch is in no doubt, and knows whom it has to",
        arguments: FaultDisk.Kind.allCases, [false, true])
    func call(_ kind: FaultDisk.Kind, isLasting: Bool) throws {
        let generator = SeededGenerator(announcedBy: "SealDiskTests.call")
        let result = try Self.trial.failing(kind, isLasting: isLasting, at: TrialPlaces(seed: generator.seed))
        print("SealDiskTests.call(\(kind), \(isLasting)): \(result.caseCount) cases")
        #expect(result.complaints.count == 0, "\(result.complaints.prefix(9).joined(separator: "\n"))")
    }
}
