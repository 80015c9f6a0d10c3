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

    private static func kept(_ lock: LockFiles) -> Kept { Kept(opening: lock.opening(), doubt: lock.seal.doubt) }

    /// Three lives, each with what revokes or grants, before its own generation or behind it.
    private static var trial: StoreTrial<Kept> {
        StoreTrial<Kept>(namesFiles: true) { directory in
            try LockFiles(directory).commit([.guest(1), .guest(2), .guest(3), .settings(LockSettings())])
        } run: { directory, acknowledge in
            for (life, facts) in [
                [.credentialRemoved(CredentialID(rawValue: 1 << 57)), .guest(4)],
                [.guest(2, isEnabled: false), .guest(1)],
                [.credentialRemoved(CredentialID(rawValue: 2 << 57)), .guest(5)],
            ].enumerated() as EnumeratedSequence<[[LockMutation]]> {
                let lock = try LockFiles(directory)
                if life > 0 {
                    while lock.seal.checkSlice() {}
                    _ = lock.seal.makeGenerationOfLaunch()
                }
                for fact in facts {
                    try lock.commit([fact])
                    acknowledge(kept(lock))
                }
                if life == 0 { try lock.state.database.checkpoint() }
            }
        } read: { directory in
            let lock = try LockFiles(directory)
            while lock.seal.checkSlice() {}
            _ = lock.seal.makeGenerationOfLaunch()
            return kept(lock)
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
