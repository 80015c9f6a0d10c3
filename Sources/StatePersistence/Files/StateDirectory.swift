import CLinux
import Glibc

/// The file-system calls of the store: owner only, flushed, and with errors that name the file.
package enum StateFile {
    static let directoryMode: UInt32 = 0o700
    static let fileMode: UInt32 = 0o600

    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Within its directory.
    static func name(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[$0...].dropFirst()) } ?? path
    }

    /// The directory exists afterwards and only its owner may enter it. Only the last component is created.
    static func prepareDirectory(_ path: String) throws(StoreError) {
        if mkdir(path, mode_t(directoryMode)) == 0 {
            try synchronizeDirectory(directory(of: path))
        } else if errno != EEXIST {
            throw error(path, missing: .directoryMissing(path: path))
        }
        try checkDirectory(path)
    }

    /// The same, and whatever of the directories above it is missing is made too, for the owner only.
    static func prepareDirectories(_ path: String) throws(StoreError) {
        let parent = directory(of: path)
        if try status(parent) == nil { try prepareDirectories(parent) }
        try prepareDirectory(path)
    }

    static func checkDirectory(_ path: String) throws(StoreError) {
        guard let found = try directoryStatus(path) else { throw .directoryMissing(path: path) }
        try requireOwnerOnly(path, found, allowed: directoryMode)
    }

    /// An existing file that only its owner may open.
    static func check(_ path: String) throws(StoreError) {
        guard let found = try status(path) else { return }
        guard found.st_mode & S_IFMT == S_IFREG else {
            throw .unreadable(path: path, reason: "not a regular file")
        }
        try requireOwnerOnly(path, found, allowed: fileMode)
    }

    /// A file under two names would have two logs, two locks and two claims.
    static func requireOneName(_ path: String) throws(StoreError) {
        guard let found = try status(path), found.st_nlink > 1 else { return }
        throw .secondName(path: path)
    }

    /// nil when there is nothing.
    static func size(_ path: String) throws(StoreError) -> Int? { try status(path).map { Int($0.st_size) } }

    static func status(_ path: String) throws(StoreError) -> stat? {
        var found = stat()
        if lstat(path, &found) == 0 { return found }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw error(path)
    }

    /// Of the directory that the path leads to, by a link too: whoever could lead that elsewhere could move a directory as well. nil when
    /// there is none.
    static func directoryStatus(_ path: String) throws(StoreError) -> stat? {
        var found = stat()
        if stat(path, &found) == 0 { return found.st_mode & S_IFMT == S_IFDIR ? found : nil }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw error(path)
    }

    static func open(_ path: String, _ flags: Int32, mode: UInt32 = fileMode) throws(StoreError) -> Descriptor {
        let fd = latch_open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode_t(mode))
        guard fd >= 0 else { throw error(path) }
        return Descriptor(fd: fd)
    }

    /// Root may look after a database of another user, who must be able to open the files beside it later.
    static func giveToOwner(of directory: String, _ file: borrowing Descriptor, path: String) throws(StoreError) {
        guard geteuid() == 0, let owner = try directoryStatus(directory) else { return }
        guard fchown(file.fd, owner.st_uid, owner.st_gid) == 0 else { throw error(path) }
    }

    static func synchronize(_ path: String) throws(StoreError) {
        let file = try open(path, O_RDONLY)
        guard fsync(file.fd) == 0 else { throw error(path) }
    }

    static func synchronizeDirectory(_ path: String) throws(StoreError) {
        let fd = latch_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard fd >= 0 else { throw error(path) }
        let directory = Descriptor(fd: fd)
        guard fsync(directory.fd) == 0 else { throw error(path) }
    }

    /// Flushes the directory that names `path`, as far as this user may open it: one that may only be passed through holds
    /// names that somebody else gave.
    static func synchronizeName(of path: String) throws(StoreError) {
        do throws(StoreError) {
            try synchronizeDirectory(directory(of: path))
        } catch .unreadable {
            return
        }
    }

    /// Replaces what is at `target`, and is on disk when it returns.
    static func rename(_ path: String, to target: String) throws(StoreError) {
        guard Glibc.rename(path, target) == 0 else { throw error(target) }
        try synchronizeDirectory(directory(of: target))
    }

    static func removeIfPresent(_ path: String) throws(StoreError) {
        if unlink(path) != 0, errno != ENOENT { throw error(path) }
    }

    /// What the directory has, in no order.
    static func names(in directory: String) throws(StoreError) -> [String] {
        guard let entries = opendir(directory) else { throw error(directory) }
        defer { closedir(entries) }
        var names: [String] = []
        while let entry = readdir(entries) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        }
        return names
    }

    /// At most `limit` octets of the file's beginning.
    static func read(_ file: borrowing Descriptor, path: String, limit: Int) throws(StoreError) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: limit)
        var count = 0
        while count < limit {
            let got = octets.withUnsafeMutableBytes {
                pread(file.fd, $0.baseAddress?.advanced(by: count), limit - count, off_t(count))
            }
            if got < 0 {
                if errno == EINTR { continue }
                throw error(path)
            }
            if got == 0 { break }
            count += got
        }
        octets.removeLast(limit - count)
        return octets
    }

    static func write(_ octets: [UInt8], to file: borrowing Descriptor, path: String) throws(StoreError) {
        var count = 0
        while count < octets.count {
            let put = octets.withUnsafeBytes {
                Glibc.write(file.fd, $0.baseAddress?.advanced(by: count), octets.count - count)
            }
            if put < 0 {
                if errno == EINTR { continue }
                throw error(path)
            }
            count += put
        }
    }

    /// What `errno` says about `path`.
    static func error(_ path: String, missing: StoreError? = nil) -> StoreError {
        let code = errno
        let reason = String(cString: strerror(code))
        return switch code {
        case ENOENT, ENOTDIR: missing ?? .unreadable(path: path, reason: reason)
        case EACCES, EPERM, ELOOP, EISDIR: .unreadable(path: path, reason: reason)
        case EROFS: .readOnly(path: path)
        case ENOSPC, EDQUOT: .full(path: path)
        default: .io(path: path, reason: reason)
        }
    }

    private static func requireOwnerOnly(_ path: String, _ found: stat, allowed: UInt32) throws(StoreError) {
        let mode = UInt32(found.st_mode) & 0o7777
        guard mode & 0o077 == 0 else { throw .tooOpen(path: path, mode: mode, allowed: allowed) }
    }
}

/// A file descriptor that is closed with its owner.
struct Descriptor: ~Copyable {
    let fd: Int32
    deinit { close(fd) }
}
