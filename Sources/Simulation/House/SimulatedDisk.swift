import BluetoothHost
import FaultDisk
import Glibc
import LockPersistence
import StatePersistence

/// The real database of one machine in a directory of its own, under the fault layer: it dies in the middle of a call, and what
/// the medium has after a power cut is one of the states that it may have.
package final class SimulatedDisk: NodeDisk {
    package enum Role { case lock, key }

    package let directory: String
    private let role: Role
    private var faults: FaultDisk
    private var medium = Medium([:])
    /// How many changes `medium` has taken.
    private var taken = 0
    /// Of the process that runs.
    package private(set) var state: StateStore?
    private var claim: RestoreClaim?

    /// - Parameter directory: an absolute path of one that is there, and empty.
    package init(_ directory: String, _ role: Role) {
        self.directory = directory
        self.role = role
        faults = FaultDisk(directory)
    }

    package func open() throws -> (store: any HostStore, coordinator: any TransactionCoordinator) {
        let claim = try RestoreClaim(identity: identity, beside: path, components: components)
        let state = try StateStore(
            path: path, machineKeyFile: directory + "/machine.key", credentialsDirectory: nil, components: components)
        (self.state, self.claim) = (state, claim)
        return (SQLiteHostStore(state, name: identity), state.database)
    }

    package func close() {
        state = nil
        claim = nil
    }

    /// Whether a second process would be turned away.
    package var isClaimed: Bool {
        (try? RestoreClaim(identity: identity, beside: path, patienceMilliseconds: 0)) == nil
    }

    private var path: String { directory + "/" + Self.database }
    private var identity: String { role == .lock ? "lock" : "key" }
    private var components: [SchemaComponent] { role == .lock ? [.host, .lock] : [.host, .key] }

    // MARK: Faults

    private static let database = "latch.sqlite"

    /// Nothing that SQLite asks for from its `count`-th call on is done: as if the process had been killed there.
    package func die(atCall count: Int) { faults.fail(.io, calls: count...Int(Int32.max)) }

    /// These calls of SQLite fail.
    package func fail(_ kind: FaultDisk.Kind, calls: ClosedRange<Int>) { faults.fail(kind, calls: calls) }

    /// Whether such a call has come.
    package var hasDied: Bool { faults.hasFailed }

    package func mend() { faults.fail(.io, calls: Int(Int32.max)...Int(Int32.max)) }

    /// The power goes. `choice` says which of the states that the medium may have it has, when it comes back.
    ///
    /// What SQLite has not flushed may be lost or torn; other files are flushed by whoever writes them.
    package func losePower(choice: Int) {
        takeChanges()
        replace(with: medium.afterPowerCut(choice: choice))
    }

    private func takeChanges() {
        for change in faults.changes(from: taken) { medium.take(change) }
        taken = faults.changeCount
    }

    // MARK: Vandals

    /// What somebody who reads the disk now may put back later.
    package func copy() -> Medium.Files {
        takeChanges()
        return medium.cached
    }

    /// One statement, behind the back of whoever has the database.
    package func alter(_ sql: StaticString) throws {
        let database = try Database(path: path, components: components)
        try database.transaction { try database.statement(sql).run() }
    }

    /// The database of a machine without a process becomes this one.
    package func replace(with files: Medium.Files) {
        for name in [Self.database, Self.database + "-wal", Self.database + "-shm"] { unlink(directory + "/" + name) }
        for (name, octets) in files where !name.hasSuffix("-shm") { Self.write(octets, to: directory + "/" + name) }
        faults = FaultDisk(directory)
        medium = Medium(files)
        taken = 0
    }

    private static func write(_ octets: [UInt8], to path: String) {
        let file = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { Glibc.close(file) }
        guard file >= 0, Glibc.write(file, octets, octets.count) == octets.count else {
            fatalError("\(path) cannot be written: errno \(errno)")
        }
    }
}
