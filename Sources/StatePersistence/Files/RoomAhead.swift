import CLinux
import Glibc

/// Room of the disk that is kept for the day when there is no other: a file beside the database that holds blocks and nothing
/// else. A launch that finds the disk full gives it up and goes on.
///
/// The log takes the same blocks again and again, some more than ``DatabaseLimits/checkpointOctets``, and a command makes the
/// database longer by some hundred octets. So the room lasts for a log and for a thousand commands.
enum RoomAhead {
    static let octets = 1024 * 1024
    /// A disk with less room than that keeps all of it for others: what was given up is not taken back at once.
    static let othersMinimumOctets = 4 * 1024 * 1024

    private static func name(_ path: String) -> String { path + ".room" }

    /// Takes the room, where there is enough of it. Whatever keeps it from that is no fault of the database.
    static func keep(beside path: String) {
        try? keepIfPossible(beside: path)
    }

    private static func keepIfPossible(beside path: String) throws(StoreError) {
        if let kept = try StateFile.status(name(path)), Int(kept.st_blocks) * 512 >= octets { return }
        var disk = statvfs()
        guard statvfs(StateFile.directory(of: path), &disk) == 0,
            UInt64(disk.f_bavail) * UInt64(disk.f_frsize) >= UInt64(octets + othersMinimumOctets)
        else { return }
        let file = try StateFile.open(name(path), O_RDWR | O_CREAT)
        try StateFile.giveToOwner(of: path, file, path: name(path))
        if latch_allocate_ahead(file.fd, 0, off_t(octets)) != 0 { try StateFile.removeIfPresent(name(path)) }
    }

    /// Gives the room to whoever asks next; false when there was none.
    static func give(beside path: String) throws(StoreError) -> Bool {
        guard let kept = try StateFile.status(name(path)), kept.st_blocks > 0 else { return false }
        try StateFile.removeIfPresent(name(path))
        // A journaling file system lends nobody what is not given back on disk.
        try StateFile.synchronizeDirectory(StateFile.directory(of: path))
        return true
    }
}
