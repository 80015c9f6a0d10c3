import CLinux
import FaultDisk
import Glibc
import TestSupport

/// Which of a script's calls or changes something happens at, one after the other.
package struct TrialPlaces: Sendable {
    private let first: Int
    private let step: Int

    /// Every one, where LATCH_TEST_EVERY_CALL is set; else each 16th, beginning by the seed.
    package init(seed: UInt64) {
        step = getenv("LATCH_TEST_EVERY_CALL") != nil ? 1 : 16
        first = 1 + Int(seed % UInt64(step))
    }

    /// Each `step`-th from the first on.
    package init(step: Int) { (first, self.step) = (1, step) }

    /// From 1 on.
    package func upTo(_ last: Int) -> StrideThrough<Int> { stride(from: first, through: last, by: step) }
}

/// What a store goes through on a disk that fails, again and again: each time something else of it.
///
/// What was acknowledged is there afterwards, and at most the one commit more that was under way.
package struct StoreTrial<State: Equatable & Sendable> {
    /// Makes what the script begins with, on a disk that does not fail.
    private let prepare: (String) throws -> Void
    /// Whether the script gives files their names: that is none of SQLite's calls, and so nobody knows what the medium has.
    private let namesFiles: Bool
    /// The script, in an empty life: it says what is kept behind each commit that was acknowledged.
    private let run: (String, (State) -> Void) throws -> Void
    /// The next life, on a disk that does not fail: what it finds.
    private let read: (String) throws -> State

    package init(
        namesFiles: Bool = false, prepare: @escaping (String) throws -> Void,
        run: @escaping (String, (State) -> Void) throws -> Void, read: @escaping (String) throws -> State
    ) {
        self.namesFiles = namesFiles
        self.prepare = prepare
        self.run = run
        self.read = read
    }

    package struct Result {
        /// Lives that were ended, each in another way.
        package fileprivate(set) var caseCount = 0
        package fileprivate(set) var complaints: [String] = []
    }

    /// The script with the n-th call of SQLite failing, for those n that `places` says: that call alone, or it and all behind
    /// it. Then the next life, on what the kernel's cache has and on what the medium has after a power cut.
    package func failing(
        _ kind: FaultDisk.Kind, isLasting: Bool, at places: TrialPlaces
    ) throws -> Result {
        var result = Result()
        let (beginning, states, calls) = try healthy()
        for number in places.upTo(calls) {
            let place = "call \(number) of \(calls), \(kind)\(isLasting ? " from then on" : "")"
            let directory = try ScratchDirectory(holding: beginning)
            var acknowledged = 0
            var medium = Medium(beginning)
            do {
                let disk = FaultDisk(directory.path)
                disk.fail(kind, calls: number...(isLasting ? .max : number))
                do {
                    try run(directory.path) { _ in acknowledged += 1 }
                    if disk.hasFailed, acknowledged + 1 < states.count {
                        result.complaints.append("\(place): no error")
                    }
                } catch {
                    if !disk.hasFailed { throw error }
                }
                for change in disk.changes { medium.take(change) }
            }
            let expected = Expectation(states: states, acknowledged: acknowledged, place: place)
            result.take(expected, "as the cache has it", try? directory.contents(), read)
            guard !namesFiles else { continue }
            for (number, files) in medium.afterPowerCut.enumerated() {
                result.take(expected, "power cut \(number)", files, read)
            }
        }
        return result
    }

    /// The script with the power failing behind each n-th change of a file, for those n that `places` says, with every state
    /// that the medium may have then.
    package func cuttingPower(at places: TrialPlaces) throws -> Result {
        precondition(!namesFiles, "nobody knows what the medium has")
        var result = Result()
        let (beginning, states, _) = try healthy()
        let directory = try ScratchDirectory(holding: beginning)
        let disk = FaultDisk(directory.path)
        var acknowledged = 0
        try run(directory.path) { _ in
            acknowledged += 1
            disk.note(acknowledged)
        }
        var medium = Medium(beginning)
        acknowledged = 0
        let changes = disk.changes
        let chosen = Set(places.upTo(changes.count))
        for (number, change) in zip(1..., changes) {
            if case .noted(let now) = change { acknowledged = now }
            medium.take(change)
            guard chosen.contains(number) else { continue }
            let expected = Expectation(
                states: states, acknowledged: acknowledged, place: "behind change \(number): \(change.summary)")
            for (number, files) in medium.afterPowerCut.enumerated() {
                result.take(expected, "power cut \(number)", files, read)
            }
        }
        return result
    }

    /// The files before the script, what is kept before its first commit and behind each, and how many calls it makes.
    private func healthy() throws -> (Medium.Files, [State], calls: Int) {
        let directory = try ScratchDirectory(holding: [:])
        try prepare(directory.path)
        let beginning = try directory.contents()
        let copy = try ScratchDirectory(holding: beginning)
        var states = [try read(copy.path)]
        let disk = FaultDisk(directory.path)
        try run(directory.path) { states.append($0) }
        return (beginning, states, disk.callCount)
    }

    fileprivate struct Expectation {
        let states: [State]
        let acknowledged: Int
        let place: String

        func holds(_ found: State) -> Bool {
            found == states[acknowledged] || acknowledged + 1 < states.count && found == states[acknowledged + 1]
        }
    }
}

extension StoreTrial.Result {
    fileprivate mutating func take(
        _ expected: StoreTrial.Expectation, _ what: String, _ files: Medium.Files?, _ read: (String) throws -> State
    ) {
        caseCount += 1
        do {
            let directory = try ScratchDirectory(holding: files ?? [:])
            let found = try read(directory.path)
            if expected.holds(found) { return }
            let other = expected.states.firstIndex(of: found).map { "what \($0) commits left" } ?? "what no commit left"
            complaints.append("\(expected.place), \(what): \(other), with \(expected.acknowledged) acknowledged")
        } catch {
            complaints.append("\(expected.place), \(what): \(error)")
        }
    }
}

extension Medium.Change {
    package var summary: String {
        switch self {
        case .written(let file, let offset, let octets): "\(octets.count) octets of \(file) at \(offset)"
        case .truncated(let file, let length): "\(file) cut to \(length)"
        case .deleted(let file): "\(file) deleted"
        case .renamed(let file, let name): "\(file) becomes \(name)"
        case .synced(let file): "\(file) flushed"
        case .lost(let file): "\(file) lost a flush"
        case .noted(let number): "commit \(number)"
        }
    }
}

extension ScratchDirectory {
    /// In memory, where flushes that are not SQLite's cost nothing.
    package convenience init(holding files: Medium.Files) throws {
        self.init(in: "/dev/shm")
        for (name, octets) in files {
            let file = latch_open("\(path)/\(name)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(file) }
            guard write(file, octets, octets.count) == octets.count else { throw DirectoryFailure(errorNumber: errno) }
        }
    }

    /// What a life leaves: not the index of the log, which SQLite makes anew, nor locks.
    package func contents() throws -> Medium.Files {
        var contents: Medium.Files = [:]
        for name in files where !name.hasSuffix("-shm") && !name.hasSuffix(".lock") {
            let file = latch_open("\(path)/\(name)", O_RDONLY | O_CLOEXEC, 0)
            defer { close(file) }
            var status = stat()
            guard fstat(file, &status) == 0 else { throw DirectoryFailure(errorNumber: errno) }
            var octets = [UInt8](repeating: 0, count: status.st_size)
            guard Glibc.read(file, &octets, octets.count) == octets.count else {
                throw DirectoryFailure(errorNumber: errno)
            }
            contents[name] = octets
        }
        return contents
    }
}

private struct DirectoryFailure: Error { let errorNumber: Int32 }
