/// Why the store cannot do what was asked: one line that names the file and what to do about it.
///
/// Nothing was written, with one exception: after `io` from a commit nobody knows (the log may hold the transaction
/// without having been flushed), so the caller releases nothing and ends the process; the next launch reads the truth.
/// Every case is local and reaches the whole store, `busy` only the iteration. Values bound to statements never appear.
package enum StoreError: Error, Equatable, Sendable {
    /// Another process held the file for longer than a commit, or opening, waits.
    case busy(path: String)
    /// Another process reads from the log, so that it cannot be moved into the database as every launch must.
    case logHeld(path: String)
    /// The parent of the state directory does not exist, or something else stands in its place.
    case directoryMissing(path: String)
    /// Others than the owner may enter a directory or open a file: who could not be trusted with it may have.
    case tooOpen(path: String, mode: UInt32, allowed: UInt32)
    case unreadable(path: String, reason: String)
    /// The file, or the file system that it is on, cannot be written.
    case readOnly(path: String)
    case full(path: String)
    case io(path: String, reason: String)
    case notADatabase(path: String)
    /// SQLite, but another program's.
    case foreign(path: String)
    case corrupt(path: String, reason: String)
    /// A hard link: under each of its names the file would have a log of its own.
    case secondName(path: String)
    /// A migration that this program does not know: a newer one wrote the file.
    case newerVersion(path: String, component: String, found: String)
    /// A process of an older version uses the file, which is to be migrated.
    case olderProcess(path: String, pid: Int32)
    case machineKeyMissing(path: String)
    case machineKeyMalformed(path: String)
    /// The machine key at `key` is not the one that the database's secrets were wrapped with.
    case wrongMachineKey(path: String)
    /// A wrapped secret does not open although the machine key is right: it was altered, or moved from another row.
    case secretAltered(path: String, table: String, row: String)
    /// A row that is no secret does not have the MAC that this machine gave it: it was altered, or written by another hand.
    case rowAltered(path: String, table: String, row: String)
    /// The anchor of the state's generation can be neither read nor written.
    case anchorUnusable(path: String, reason: String)
    /// Another process is the host of this database's identity.
    case identityClaimed(path: String, pid: Int32)
    case backupExists(path: String)
    /// A bug of this program: SQLite refuses what it was asked.
    case misuse(path: String, reason: String)
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .busy(let path):
            "\(path): another process holds the database; try again"
        case .logHeld(let path):
            "\(path): another process has been reading it for too long, and its log cannot be settled meanwhile; end that "
                + "process (fuser \(path)), then start again"
        case .directoryMissing(let path):
            "\(path): no such directory; create it with: install -d -m 0700 \(path)"
        case .tooOpen(let path, let mode, let allowed):
            "\(path): mode \(octal(mode)) lets others in; check who used it, then: chmod \(octal(allowed)) \(path)"
        case .unreadable(let path, let reason):
            "\(path): cannot be opened (\(reason)); run as its owner, or give it back with chown"
        case .readOnly(let path):
            "\(path): cannot be written; make the file and its file system writable for this user"
        case .full(let path):
            "\(path): the disk is full; free some space and start again"
        case .io(let path, let reason):
            "\(path): input/output error (\(reason)); check the disk (dmesg), then start again"
        case .notADatabase(let path):
            "\(path): not a database; \(restore(path))"
        case .foreign(let path):
            "\(path): a database of another program; set another path in the configuration"
        case .corrupt(let path, let reason):
            "\(path): corrupt (\(reason)); \(restore(path))"
        case .secondName(let path):
            "\(path): has a second name, under which it would have another log; find it with find -samefile \(path), and "
                + "remove it, or replace this one by a copy"
        case .newerVersion(let path, let component, let found):
            "\(path): written by a newer version (\(component) has \(found)); install that version again"
        case .olderProcess(let path, let pid):
            "\(path): process \(pid) is of an older version and could not use the file once this version has migrated it; "
                + "restart that process with this version, then start again"
        case .machineKeyMissing(let path):
            "\(path): the machine key is missing, and the database's secrets are wrapped with it; restore it from its backup"
        case .machineKeyMalformed(let path):
            "\(path): a machine key has exactly 32 octets; restore it from its backup"
        case .wrongMachineKey(let path):
            "\(path): its secrets are wrapped with another machine key; restore the key that belongs to this database"
        case .secretAltered(let path, let table, let row):
            "\(path): the wrapped secret of \(table) \(row) was altered; \(restore(path))"
        case .rowAltered(let path, let table, let row):
            "\(path): the row \(row) of \(table) is not as this machine wrote it; \(restore(path))"
        case .anchorUnusable(let path, let reason):
            "\(path): the anchor of the state's generation cannot be used (\(reason)); make room or mend it, or name another "
                + "file with `anchor` in the configuration"
        case .identityClaimed(let path, let pid):
            "\(path): in use by process \(pid); stop that process, or choose another state directory"
        case .backupExists(let path):
            "\(path): exists already; name a new file for the backup"
        case .misuse(let path, let reason):
            "\(path): SQLite refused a statement of this program (\(reason)); please report this"
        }
    }

    private func octal(_ mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    private func restore(_ path: String) -> String {
        "to restore a backup: stop the daemon, move \(path), \(path)-wal and \(path)-shm away, "
            + "then: install -m 0600 BACKUP \(path)"
    }
}
