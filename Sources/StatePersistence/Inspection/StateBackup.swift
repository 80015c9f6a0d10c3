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
        try Draft.removeAbandoned(of: target)
        let draft = Draft.path(of: target)
        try StateFile.removeIfPresent(draft)
        do throws(StoreError) {
            try StateInspector(path: path).copy(to: draft)
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
}
