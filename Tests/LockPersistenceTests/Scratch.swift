import LockPersistence
import StatePersistence
import TestSupport

/// A directory for a store, gone with its owner.
final class Scratch {
    private let folder = ScratchDirectory()

    var directory: String { folder.path }
    var path: String { directory + "/latch.db" }
    var files: [String] { folder.files }

    /// With the key that rows are authenticated with.
    func openState(_ path: String? = nil) throws -> StateStore {
        try StateStore(
            path: path ?? self.path, machineKeyFile: directory + "/machine.key", credentialsDirectory: nil,
            components: [.host, .lock, .key])
    }

    func open() throws -> Database { try Database(path: path, components: [.lock, .key]) }
}

extension SeededGenerator {
    /// 0, the largest, or one of a few in between.
    mutating func edge<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T {
        [0, 1, T.max - 1, T.max, T.max / 3][Int(next() % 5)]
    }

    mutating func oneOf<T>(_ values: [T]) -> T { values[Int(next() % UInt64(values.count))] }
    mutating func maybe<T>(_ value: T) -> T? { next().isMultiple(of: 3) ? nil : value }
}
