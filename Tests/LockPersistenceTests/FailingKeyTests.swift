import BluetoothCore
import FaultDisk
import LockCentral
import LockPersistence
import LockProtocol
import StatePersistence
import StoreTrials
import TestSupport
import Testing

/// What becomes of a key's requests when any call of SQLite fails, and when the power does: a script of an enrolment, commands, a kill
/// behind a command that has left, and a re-enrolment, in which each call fails in turn.
@Suite("A key on a disk that fails")
struct FailingKeyTests {
    private static let record = LockRecord(peer: KeyOnDisk.door, name: "Front door", unlocksWhenNear: true)
    /// Longer than any request of the script lives.
    private static let requestMilliseconds: UInt64 = 30_000

    private static func ask(_ operation: LockOperation) -> KeyInput {
        .ask(KeyOnDisk.door, operation, .setting, lifeMilliseconds: requestMilliseconds)
    }

    /// Ends where a life does.
    private static func play(_ key: KeyOnDisk) {
        let steps: [(KeyOnDisk) -> Void] = [
            { $0.launch() },
            { $0.put(.lock(record)) },
            { $0.put(.bonded(KeyOnDisk.door)) },
            { $0.put(ask(.unlock)) },
            { $0.connect() },
            { $0.challenge(1) },
            { $0.receipt(.accepted, 1, counter: 5) },
            { $0.receipt(.done, 1, counter: 6) },
            { $0.put(.disconnected(KeyOnDisk.door)) },
            { $0.put(ask(.lock)) },
            { $0.connect() },
            { $0.challenge(2) },
            // The command has left, and nobody has answered.
            {
                $0.kill(); $0.launch()
            },
            { $0.connect() },
            { $0.put(.encrypted(KeyOnDisk.door)) },
            { $0.status() },
            { $0.put(.disconnected(KeyOnDisk.door)) },
            { $0.put(.bonded(KeyOnDisk.door)) },
            { $0.put(ask(.unlock)) },
            { $0.run(milliseconds: 2 * requestMilliseconds, restarts: false) },
        ]
        for (number, step) in steps.enumerated() {
            step(key)
            guard key.isAlive else { return #expect(key.failure != nil, "step \(number) ended a life without a word") }
        }
    }

    private struct Judge {
        var caseCount = 0
        var complaints: [String] = []

        /// The next life, on a disk that does not fail.
        mutating func take(
            _ moment: KeyOnDisk.Moment, _ files: Medium.Files, powerWasCut: Bool, _ place: String
        ) throws {
            caseCount += 1
            var moment = moment
            if powerWasCut {
                moment.boot = BootID(bits: moment.boot.bits + 1)
                moment.now = Instant(nanoseconds: 1_000_000_000)
            }
            let directory = try ScratchDirectory(holding: files)
            complaints += try broken(directory.path, moment).map { "\(place): \($0)" }
        }

        private func broken(_ directory: String, _ moment: KeyOnDisk.Moment) throws -> [String] {
            var broken: [String] = []
            func demand(_ promise: String, _ holds: Bool) { if !holds { broken.append(promise) } }
            let found = try Self.kept(directory)
            demand("the locks are those that were acknowledged", moment.locks.contains(Set(found.locks.keys)))
            let key = KeyOnDisk(directory, moment)
            key.launch()
            // The lock's word about whatever has left; and what it said before, again.
            key.connect()
            key.receipt(.done, 1, counter: 5)
            key.put(.encrypted(KeyOnDisk.door))
            key.status()
            key.put(.disconnected(KeyOnDisk.door))
            key.run(milliseconds: 4 * requestMilliseconds)
            demand("the next life runs: \(String(describing: key.failure))", key.isAlive)
            key.kill()
            let left = try Self.kept(directory)
            let after = key.moment
            demand("nothing is owed in the end", left.locks.values.allSatisfy { $0.request == nil })
            demand("no request number twice", Set(after.taken).count == after.taken.count)
            demand("one end at most for each request", after.ended.values.allSatisfy { $0.count == 1 })
            demand(
                "what was taken has an end",
                after.taken.allSatisfy { after.ended[$0] != nil || after.doubtful.contains($0) })
            demand(
                "one command at most for each challenge",
                Set(after.commands.map(\.challenge)).count == after.commands.count)
            demand("no command without a request", after.commands.count <= after.taken.count)
            return broken
        }

        private static func kept(_ directory: String) throws -> KeySnapshot {
            try SQLiteKeyStore(try KeyOnDisk.open(directory + "/latch.sqlite")).load()
        }
    }

    private static func files() throws -> Medium.Files {
        let directory = try ScratchDirectory(holding: [:])
        _ = try KeyOnDisk.open(directory.path + "/latch.sqlite")
        return try directory.contents()
    }

    @Test(
        "Whichever call fails, alone or with all behind it: no command leaves twice, and what was taken has its end",
        arguments: FaultDisk.Kind.allCases, [false, true])
    func call(_ kind: FaultDisk.Kind, isLasting: Bool) throws {
        let generator = SeededGenerator(announcedBy: "FailingKeyTests.call")
        let files = try Self.files()
        let calls = try {
            let directory = try ScratchDirectory(holding: files)
            let disk = FaultDisk(directory.path)
            let key = KeyOnDisk(directory.path)
            Self.play(key)
            #expect(key.moment.taken.count == 3 && key.moment.commands.count == 2 && key.moment.ended.count == 3)
            return disk.callCount
        }()
        var judge = Judge()
        for number in TrialPlaces(seed: generator.seed).upTo(calls) {
            let place = "call \(number) of \(calls), \(kind)\(isLasting ? " from then on" : "")"
            let directory = try ScratchDirectory(holding: files)
            let key = KeyOnDisk(directory.path)
            var medium = Medium(files)
            do {
                let disk = FaultDisk(directory.path)
                disk.fail(kind, calls: number...(isLasting ? .max : number))
                Self.play(key)
                key.run(milliseconds: 10_000)
                key.kill()
                for change in disk.changes { medium.take(change) }
            }
            try judge.take(key.moment, directory.contents(), powerWasCut: false, place)
            for (cut, files) in medium.afterPowerCut.enumerated() {
                try judge.take(key.moment, files, powerWasCut: true, "\(place), power cut \(cut)")
            }
        }
        print("FailingKeyTests.call(\(kind), \(isLasting)): \(judge.caseCount) cases")
        #expect(judge.complaints.count == 0, "\(judge.complaints.prefix(9).joined(separator: "\n"))")
    }

    @Test("Whenever the power fails: no command leaves twice, and what was taken has its end")
    func power() throws {
        let generator = SeededGenerator(announcedBy: "FailingKeyTests.power")
        let files = try Self.files()
        let directory = try ScratchDirectory(holding: files)
        let disk = FaultDisk(directory.path)
        let key = KeyOnDisk(directory.path)
        var moments = [key.moment]
        key.onMoment = {
            disk.note(moments.count)
            moments.append($0)
        }
        Self.play(key)
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
        print("FailingKeyTests.power: \(judge.caseCount) cases")
        #expect(judge.complaints.count == 0, "\(judge.complaints.prefix(9).joined(separator: "\n"))")
    }
}
