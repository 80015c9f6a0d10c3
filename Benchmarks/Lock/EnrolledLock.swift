import BluetoothCore
import Glibc
import SecurityManager

/// A radio, and the state of a lock with so many enrolments, in a directory: launched twice, so that its first launch's work is
/// done and the log that the enrolments went through is inherited.
final class EnrolledLock {
    let place: RelayedLock.Place
    let bonds: [Bond]
    let handles: LockHandles
    private let radio: Child

    /// `configuration` is the text of the lock's configuration file.
    convenience init(_ directory: String, _ programs: LockPrograms, enrolments: Int, configuration: String = "") throws
    {
        try self.init(directory, programs, Enrolments(count: enrolments), configuration: configuration)
    }

    init(_ directory: String, _ programs: LockPrograms, _ enrolments: Enrolments, configuration: String) throws {
        let place = RelayedLock.Place(
            latch: programs.latch, air: directory + "/air", directory: directory, state: directory + "/lock",
            configuration: directory + "/peripheral.conf")
        radio = try Child([programs.lab, "radio", "--socket", place.air, "--control", directory + "/control"])
        try UnixSocket.await(place.air)
        guard mkdir(place.state, 0o700) == 0 else { throw BenchmarkError(system: place.state) }
        try write(configuration, to: place.configuration)
        // The first launch makes the identity and the tables that the enrolments belong to.
        _ = try RelayedLock(place)
        (bonds, handles) = try enrolments.fill(place.state)
        _ = try RelayedLock(place)
        self.place = place
    }

    /// Where the metal's movements are written.
    var boltJournal: String { place.state + "/bolt.journal" }

    /// A link of the enrolment with this number, for its first command.
    func link(_ number: Int, connection: UInt16 = 0x0EEE) -> SignedLink {
        SignedLink(bond: bonds[number], counter: 1, handles: handles, connection: connection)
    }
}

/// The programs that a lock's benchmarks run.
struct LockPrograms {
    let latch: String
    let lab: String

    init(_ options: Options) throws {
        latch = try options.text("latch") ?? Executable.directory() + "/latch"
        lab = try options.text("lab") ?? Executable.directory() + "/latch-lab"
        for (option, program) in [("latch", latch), ("lab", lab)] where access(program, X_OK) != 0 {
            throw BenchmarkError(system: "\(program) (build it, or name it by --\(option))")
        }
    }
}
