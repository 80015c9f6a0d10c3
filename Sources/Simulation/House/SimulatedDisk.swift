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

    /// - Parameter directory: an absolute path of one that is there, and empty.
    package init(_ directory: String, _ role: Role) {
        self.directory = directory
        self.role = role
        faults = FaultDisk(directory)
    }

    package func open() throws -> (store: any HostStore, coordinator: any TransactionCoordinator) {
        let state = try StateStore(
            path: directory + "/" + Self.database, machineKeyFile: directory + "/machine.key",
            credentialsDirectory: nil, components: role == .lock ? [.host, .lock] : [.host, .key])
        self.state = state
        return (SQLiteHostStore(state, name: role == .lock ? "lock" : "key"), state.database)
    }

    package func close() { state = nil }

    // MARK: Faults

    private static let database = "latch.sqlite"

    /// Nothing that SQLite asks for from its `count`-th call on is done: as if the process had been killed there.
    package func die(atCall count: Int) { faults.fail(.io, calls: count...Int(Int32.max)) }

    /// Whether such a call has come.
    package var hasDied: Bool { faults.hasFailed }

    package func mend() { faults.fail(.io, calls: Int(Int32.max)...Int(Int32.max)) }

    /// The power goes. `choice` says which of the states that the medium may have it has, when it comes back.
    ///
    /// What SQLite has not flushed may be lost or torn; other files are flushed by whoever writes them.
    package func losePower(choice: Int) {
        let changes = faults.changes
        for change in changes[taken...] { medium.take(change) }
        let states = medium.afterPowerCut
        let files = states[choice % states.count]
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
