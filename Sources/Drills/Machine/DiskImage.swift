/// An ext4 in a file, for a ``CutDisk``.
enum DiskImage {
    private static let megabytes = 32
    private static let commandMilliseconds: UInt64 = 30_000

    /// Makes one that has what is in the directory `tree`, or nothing.
    static func make(_ path: String, from tree: String? = nil, log: String, _ waiter: Waiter) throws {
        let words = [
            "/usr/bin/env", "mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-N", "64", "-J", "size=4", "-O",
            "^resize_inode", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard,root_owner=0:0",
        ]
        let command = try ProcessHandle(
            words + (tree.map { ["-d", $0] } ?? []) + [path, "\(megabytes)M"], log: log)
        guard try command.wait(waiter, until: Clock.now + Clock.milliseconds(commandMilliseconds)) == .exited(0) else {
            throw DrillError(.environment, "mkfs.ext4 failed, see \(log): e2fsprogs are needed (apt install e2fsprogs)")
        }
    }
}
