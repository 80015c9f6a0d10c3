import CCutDisk
import CLinux
import Glibc

/// The disk of one machine: an ext4 on a loop device whose octets are served by this program (`CutDisk.h`), so that its power can be
/// cut at any write and at any flush.
///
/// A write stays in the disk's cache until a flush, as on any disk. What is left of the cache at a cut is somebody's choice.
final class CutDisk {
    /// What the power went at.
    enum Operation: String { case write, flush }

    /// Where the machine has its files.
    let mountPoint: String
    private let device: String
    private let log: String
    private let disk: OpaquePointer
    private var isMounted = false
    private(set) var hasEnded = false
    private static let commandMilliseconds: UInt64 = 30_000

    /// Mounts of this process are its own from now on, and end with it, whatever becomes of it. Before there are threads.
    static func ownMounts() throws {
        guard cut_disk_own_mounts() == 0 else {
            throw DrillError(
                .environment,
                "mounts cannot be kept to this process: \(String(cString: strerror(errno))). Root and "
                    + "CAP_SYS_ADMIN are needed")
        }
    }

    /// - Parameter image: an ext4, which stays as it is.
    /// - Parameter folder: where the device's file is to be, an empty directory.
    init(image: String, folder: String, mountPoint: String, log: String) throws {
        guard let disk = cut_disk_begin(image, folder) else {
            throw DrillError(
                .environment,
                "no file system can be served at \(folder): \(String(cString: strerror(errno))). Root and "
                    + "/dev/fuse are needed (modprobe fuse)")
        }
        self.disk = disk
        self.mountPoint = mountPoint
        self.log = log
        device = folder + "/disk"
    }

    deinit { end() }

    /// It is unplugged: behind ``unmount(_:)``.
    func end() {
        if !hasEnded { cut_disk_end(disk) }
        hasEnded = true
    }

    func mount(_ waiter: Waiter) throws {
        try run(["mount", "-t", "ext4", "-o", "loop,noatime", device, mountPoint], waiter, tries: 1)
        isMounted = true
    }

    /// Behind the last of the processes that use it. Whatever the kernel still has to write meets a disk without power, if the power
    /// has gone.
    func unmount(_ waiter: Waiter) throws {
        guard isMounted else { return }
        // A process that was killed just now closes its files a moment after its end.
        try run(["umount", mountPoint], waiter, tries: 100)
        isMounted = false
        // The loop device lets go of its file a moment later. A disk that has ended does not hear of it.
        guard !hasEnded else { return }
        try waiter.until("the loop device ends", seconds: 10) { cut_disk_is_open(disk) == 0 }
    }

    /// What a check says of the file system; nil when it is clean. Behind ``unmount(_:)``, which a replayed journal has come before.
    func damage(_ waiter: Waiter) throws -> String? {
        let check = try ProcessHandle(["/usr/bin/env", "e2fsck", "-f", "-n", device], log: log)
        let end = try check.wait(waiter, until: Clock.now + Clock.milliseconds(Self.commandMilliseconds))
        return end == .exited(0) ? nil : "the file system outlives its power: `e2fsck -f -n` found damage, see \(log)"
    }

    /// What a machine does before it mounts: a cut can tear the end of the journal, which the kernel does not mount. Behind
    /// ``unmount(_:)``, or before the first ``mount(_:)``.
    func mend(_ waiter: Waiter) throws {
        // 1: it has mended something.
        try run(["e2fsck", "-p", device], waiter, tries: 1, isOK: { $0 == .exited(0) || $0 == .exited(1) })
    }

    /// Copies what the medium has. Behind ``unmount(_:)``, and ``restore(_:)`` where the power was cut.
    func save(to path: String, _ waiter: Waiter) throws {
        let copy = path + ".new"
        try run(["cp", "--sparse=always", "--no-preserve=mode", device, copy], waiter, tries: 1)
        guard rename(copy, path) == 0 else { throw DrillError.system("cannot write \(path)") }
    }

    private func run(
        _ words: [String], _ waiter: Waiter, tries: Int, isOK: (ProcessHandle.End?) -> Bool = { $0 == .exited(0) }
    ) throws {
        var (end, left): (ProcessHandle.End?, Int) = (nil, tries)
        while !isOK(end), left > 0 {
            if left < tries { try waiter.sleep(milliseconds: 50) }
            left -= 1
            end = try ProcessHandle(["/usr/bin/env"] + words, log: log)
                .wait(waiter, until: Clock.now + Clock.milliseconds(Self.commandMilliseconds))
        }
        guard isOK(end) else {
            let said = String(decoding: DrillDirectory.read(log), as: UTF8.self).split(separator: "\n").last ?? ""
            throw DrillError(
                .environment,
                "`\(words.joined(separator: " "))` failed: \(said). Root, loop devices, ext4 and e2fsprogs are needed")
        }
    }

    /// Everything that was written so far is on the medium.
    func flush() throws {
        guard cut_disk_flush_all(mountPoint) == 0 else { throw DrillError.system("cannot flush \(mountPoint)") }
    }

    // MARK: The power

    /// Writes and flushes are counted from 1 from now on, and the power goes at number `count`; 0: never.
    ///
    /// A disk that lies says that flushes have been made, and makes none.
    func arm(_ count: Int, lies: Bool) { cut_disk_arm(disk, Int64(count), lies ? 1 : 0) }

    /// Who dies when the power goes.
    func setProcess(_ process: ProcessHandle) throws {
        guard cut_disk_set_process(disk, process.descriptor) == 0 else {
            throw DrillError.system("cannot take hold of process \(process.process)")
        }
    }

    var count: Int { Int(cut_disk_count(disk)) }
    var isCut: Bool { cut_disk_is_cut(disk) != 0 }
    var operation: Operation? { isCut ? (cut_disk_cut_at(disk) == Int8(UInt8(ascii: "w")) ? .write : .flush) : nil }

    /// The octets of each write that no flush has confirmed.
    var unflushed: [Int] {
        (0..<cut_disk_unflushed(disk)).map { Int(cut_disk_unflushed_octets(disk, $0)) }
    }

    /// The power is back; of each of those writes the medium has so many octets.
    func restore(_ survivors: [Int]) {
        precondition(survivors.count == unflushed.count)
        cut_disk_restore(disk, survivors.map(Int64.init))
    }
}
