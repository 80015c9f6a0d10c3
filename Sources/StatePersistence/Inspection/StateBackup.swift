import CLinux
import Glibc

/// A copy of the database as it is at one moment, made while the daemon runs.
package enum StateBackup {
    /// Copies `path` to `target`, which must not exist. Under its own name the copy is whole, verified and on disk whenever
    /// the process is killed.
    ///
    /// The secrets in it stay wrapped: it is of use only together with the machine key.
    ///
    /// - Throws: ``StoreError/backupExists(path:)`` when `target` is there; else why the copy failed. No copy is left
    /// then.
    package static func make(of path: String, at target: String) throws(StoreError) {
        guard try StateFile.status(target) == nil else { throw .backupExists(path: target) }
        let draft = target + ".new-\(getpid())"
        try StateFile.removeIfPresent(draft)
        do throws(StoreError) {
            // Made first, because SQLite would let the umask choose its mode; it takes an empty file for a new one.
            _ = try StateFile.open(draft, O_RDWR | O_CREAT | O_EXCL)
            try copy(path, to: draft)
            try verify(draft)
            try StateFile.synchronize(draft)
            guard link(draft, target) == 0 else {
                throw errno == EEXIST ? .backupExists(path: target) : StateFile.error(target)
            }
            do throws(StoreError) {
                try StateFile.removeIfPresent(draft)
                try StateFile.synchronizeDirectory(StateFile.directory(of: target))
            } catch {
                // Said to have failed, it must not be found and taken for one that is on disk.
                try? StateFile.removeIfPresent(target)
                throw error
            }
        } catch {
            try? StateFile.removeIfPresent(draft)
            throw error
        }
    }

    private static func copy(_ path: String, to draft: String) throws(StoreError) {
        let inspector = try StateInspector(path: path)
        try inspector.vacuum(into: draft)
    }

    private static func verify(_ draft: String) throws(StoreError) {
        let connection = try Connection(path: draft, access: .immutable)
        try DatabaseFile.requireOurs(connection)
        let faults = try DatabaseFile.integrityFaults(connection)
        guard faults.isEmpty else { throw .corrupt(path: draft, reason: faults.joined(separator: "; ")) }
    }
}
