import BluetoothCore
import FaultDisk
import LockJudge
import LockPeripheral
import LockPersistence
import LockProtocol
import Simulation
import StatePersistence
import StoreTrials
import TestSupport
import Testing

/// What a lock's door and its users have of it when any call of SQLite fails, and when the power does: a script of launches,
/// enrolments, commands, a kill, a re-enrolment and a revocation, in which each call fails in turn.
///
/// The judge looks at the metal, at what was sent, and at what the next life finds; never at what the failed one believed.
@Suite("A lock on a disk that fails")
struct FailingLockTests {
    private static let (alice, bob, carol, carolAgain): (UInt64, UInt64, UInt64, UInt64) = (7, 8, 9, 10)

    private static let furnished = [
        Credential(id: CredentialID(rawValue: 1), name: "Alice", role: .owner, bond: alice),
        Credential(id: CredentialID(rawValue: 2), name: "Bob", role: .lockOnly, bond: bob),
    ]

    private static func carol(_ bond: UInt64) -> Credential {
        Credential(id: CredentialID(rawValue: 3), name: "Carol", role: .resident, bond: bond)
    }

    private static func beginning() -> LockOnDisk.Moment {
        LockOnDisk.Moment(
            metal: MetalJournal(), now: Instant(nanoseconds: 5_000_000_000), boot: BootID(bits: 1),
            credentials: [Dictionary(uniqueKeysWithValues: furnished.map { ($0.id, $0) })])
    }

    /// The files of a lock that has two credentials.
    private static func furnish(_ directory: String) throws {
        let database = try LockOnDisk.open(directory + "/latch.sqlite")
        let store = SQLiteLockStore(database)
        for credential in furnished { store.append(.credential(credential)) }
        store.append(.bolt(BoltRecord(position: .locked, door: .closed)))
        try database.commit([store])
    }

    /// Ends where a life does.
    private static func play(_ lock: LockOnDisk) {
        let steps: [(LockOnDisk) -> Void] = [
            { $0.launch() },
            { $0.put(.administration(.credential(carol(carol)))) },
            { $0.command(.unlock, on: $0.connect(alice), counter: 1) },
            { $0.run(milliseconds: 600, restarts: false) },
            { $0.command(.lock, on: $0.connect(bob), counter: 1) },
            { $0.run(milliseconds: 600, restarts: false) },
            { $0.checkpoint() },
            { $0.put(.administration(.credential(carol(carolAgain)))) },
            { $0.put(.administration(.bondForgotten(carol))) },
            { $0.command(.unlock, on: $0.connect(carolAgain), counter: 1) },
            { $0.run(milliseconds: 200, restarts: false) },
            // In the middle of its way.
            {
                $0.kill(); $0.launch()
            },
            { $0.run(milliseconds: 400, restarts: false) },
            { $0.put(.administration(.named("Bob", .removed))) },
            { $0.command(.unlock, on: $0.connect(alice), counter: 2) },
            { $0.run(milliseconds: 700, restarts: false) },
        ]
        for (number, step) in steps.enumerated() {
            step(lock)
            guard lock.isAlive else {
                return #expect(lock.failure != nil, "step \(number) ended a life without a word")
            }
        }
    }

    /// How long a door may stand open: what an unlock leaves it, and a movement, and a restart.
    private static let openMilliseconds: UInt64 = 20_000

    private struct Judge {
        var caseCount = 0
        var complaints: [String] = []

        /// The next life, on a disk that does not fail.
        mutating func take(
            _ moment: LockOnDisk.Moment, _ files: Medium.Files, powerWasCut: Bool, _ place: String
        ) throws {
            caseCount += 1
            var moment = moment
            moment.metal = MetalJournal(moment.metal)
            if powerWasCut {
                moment.boot = BootID(bits: moment.boot.bits + 1)
                moment.metal.losePower(withWhatMoved: caseCount.isMultiple(of: 2))
                moment.metal.boot = moment.boot
                moment.now = Instant(nanoseconds: 1_000_000_000)
            }
            let directory = try ScratchDirectory(holding: files)
            complaints += try broken(directory.path, moment).map { "\(place): \($0)" }
        }

        private func broken(_ directory: String, _ moment: LockOnDisk.Moment) throws -> [String] {
            var broken: [String] = []
            let found = try Self.kept(directory)
            // A commit that was not acknowledged may be there as well.
            if !Set(found.audit).isSuperset(of: moment.audit) { broken.append("an acknowledged record is not there") }
            if !moment.credentials.contains(found.snapshot.credentials) {
                broken.append("the credentials are not those that were acknowledged")
            }
            let lock = LockOnDisk(directory, moment)
            lock.run(milliseconds: 2 * openMilliseconds)
            lock.launch()
            guard lock.isAlive else { return broken + ["the next life ends: \(String(describing: lock.failure))"] }
            lock.run(milliseconds: openMilliseconds)
            lock.kill()
            let left = try Self.kept(directory)
            return broken
                + LockPromises.broken(
                    audit: left.audit, metal: lock.moment.metal.lines, receipts: Array(lock.moment.receipts.values),
                    kept: left.snapshot)
        }

        private static func kept(_ directory: String) throws -> (snapshot: LockSnapshot, audit: [AuditRecord]) {
            let store = SQLiteLockStore(try LockOnDisk.open(directory + "/latch.sqlite"))
            return (try store.load(), try store.auditRecords(after: 0, limit: .max))
        }
    }

    private static func furnishedFiles() throws -> Medium.Files {
        let directory = try ScratchDirectory(holding: [:])
        try furnish(directory.path)
        return try directory.contents()
    }

    @Test(
        "Whichever call fails, alone or with all behind it: the door is locked, and nothing is lost that was acknowledged",
        arguments: FaultDisk.Kind.allCases, [false, true])
    func call(_ kind: FaultDisk.Kind, isLasting: Bool) throws {
        let generator = SeededGenerator(announcedBy: "FailingLockTests.call")
        let files = try Self.furnishedFiles()
        let calls = try {
            let directory = try ScratchDirectory(holding: files)
            let disk = FaultDisk(directory.path)
            Self.play(LockOnDisk(directory.path, Self.beginning()))
            return disk.callCount
        }()
        #expect(calls > 200)
        var judge = Judge()
        for number in TrialPlaces(seed: generator.seed).upTo(calls) {
            let place = "call \(number) of \(calls), \(kind)\(isLasting ? " from then on" : "")"
            let directory = try ScratchDirectory(holding: files)
            let lock = LockOnDisk(directory.path, Self.beginning())
            var medium = Medium(files)
            do {
                let disk = FaultDisk(directory.path)
                disk.fail(kind, calls: number...(isLasting ? .max : number))
                Self.play(lock)
                // Processes come and go on that disk, and nobody mends it.
                lock.run(milliseconds: Self.openMilliseconds)
                if lock.moment.metal.last?.movement == .unlock {
                    judge.complaints.append("\(place): the door stands open")
                }
                lock.kill()
                for change in disk.changes { medium.take(change) }
            }
            try judge.take(lock.moment, directory.contents(), powerWasCut: false, place)
            for (cut, files) in medium.afterPowerCut.enumerated() {
                try judge.take(lock.moment, files, powerWasCut: true, "\(place), power cut \(cut)")
            }
        }
        print("FailingLockTests.call(\(kind), \(isLasting)): \(judge.caseCount) cases")
        #expect(judge.complaints.count == 0, "\(judge.complaints.prefix(9).joined(separator: "\n"))")
    }

    @Test("Whenever the power fails, the next life locks the door and has what was acknowledged")
    func power() throws {
        let generator = SeededGenerator(announcedBy: "FailingLockTests.power")
        let files = try Self.furnishedFiles()
        let directory = try ScratchDirectory(holding: files)
        let disk = FaultDisk(directory.path)
        let lock = LockOnDisk(directory.path, Self.beginning())
        var moments = [Self.beginning()]
        lock.onMoment = {
            disk.note(moments.count)
            moments.append($0)
        }
        Self.play(lock)
        #expect(lock.isAlive && moments.count > 40)
        var (medium, judge, now) = (Medium(files), Judge(), 0)
        let changes = disk.changes
        let chosen = Set(TrialPlaces(seed: generator.seed).upTo(changes.count))
        for (number, change) in zip(1..., changes) {
            if case .noted(let place) = change { now = place }
            medium.take(change)
            guard chosen.contains(number) else { continue }
            for (cut, files) in medium.afterPowerCut.enumerated() {
                try judge.take(
                    moments[now], files, powerWasCut: true, "behind change \(number), \(change.summary), cut \(cut)")
            }
        }
        print("FailingLockTests.power: \(judge.caseCount) cases")
        #expect(judge.complaints.count == 0, "\(judge.complaints.prefix(9).joined(separator: "\n"))")
    }
}
