import CLinux
import Glibc

/// A household whose key is enrolled and has commanded the lock once: made once, and copied for each case.
final class HouseTemplate: Sendable {
    let directory: DrillDirectory
    /// The signed counters that were on the air.
    let counters: Set<UInt32>
    /// What the bolt's journal has.
    let movements: [Movement]

    /// Enrols. What fails keeps the directory.
    init(programs: Programs, seed: UInt64, isSeparate: Bool = false, waiter: Waiter) throws {
        directory = try DrillDirectory(isSeparate: isSeparate)
        let household = try CaseHousehold.make(directory, programs: programs, seed: seed, waiter: waiter)
        defer { household.endAll() }
        let scenario = Scenario(household, Schedule(seed: seed, killsPerRole: 0), progress: Progress())
        defer { scenario.endEnrolmentAttempt() }
        for role in Role.allCases {
            try scenario.launch(role)
            try scenario.awaitLife(role)
        }
        try scenario.finishEnrolment()
        try scenario.commandToItsEnd()
        try waiter.until("the bolt is locked again", seconds: Household.patienceSeconds) {
            try household.movements().last?.opens == false
        }
        try waiter.sleep(milliseconds: CaseHousehold.travelMilliseconds * 2)
        try scenario.awaitQuiet()
        for role in Role.allCases { try household.stop(role) }
        household.observer.poll()
        counters = Set(household.observer.signedWrites.map(\.counter))
        movements = try household.movements()
    }

    func remove() { directory.remove() }

    /// Copies what the stopped daemons have left, and what the bolt has.
    func furnish(_ other: DrillDirectory, leavingOut absent: Role? = nil) throws {
        guard directory.isSeparate else {
            return try Self.copyFiles(from: directory.state(.lock), to: other.state(.lock))
        }
        for role in Role.allCases where role != absent { try furnish(role, into: other.state(role)) }
        try Self.copyIfRegular(directory.boltJournal, other.boltJournal)
    }

    /// Copies what one of the stopped daemons has left.
    func furnish(_ role: Role, into folder: String) throws {
        try Self.copyFiles(from: directory.state(role), to: folder)
    }

    /// Files, and neither sockets nor directories.
    static func copyFiles(from: String, to: String) throws {
        guard let listing = opendir(from) else { throw DrillError.system("cannot read \(from)") }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            try copyIfRegular(from + "/" + name, to + "/" + name)
        }
    }

    private static func copyIfRegular(_ from: String, _ to: String) throws {
        var status = stat()
        guard lstat(from, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
        let octets = DrillDirectory.read(from)
        let copy = latch_open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0o777)
        guard copy >= 0 else { throw DrillError.system("cannot write \(to)") }
        defer { close(copy) }
        guard write(copy, octets, octets.count) == octets.count else { throw DrillError.system("cannot write \(to)") }
    }
}

/// The household of a case: as fast as its settings allow, since each case waits for a relock.
enum CaseHousehold {
    static let relockSeconds = 1
    static let travelMilliseconds: UInt64 = 50

    static var settings: CaseHistory.Settings {
        CaseHistory.Settings(
            relockNanoseconds: UInt64(relockSeconds) * 1_000_000_000,
            travelNanoseconds: Clock.milliseconds(travelMilliseconds))
    }

    static func make(_ directory: DrillDirectory, programs: Programs, seed: UInt64, waiter: Waiter) throws -> Household
    {
        try Household(
            directory, programs: programs, seed: seed, waiter: waiter, relockSeconds: relockSeconds,
            travelMilliseconds: Int(travelMilliseconds))
    }
}
