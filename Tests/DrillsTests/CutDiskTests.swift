import Foundation
import Testing

@testable import Drills

/// Needs root, /dev/fuse, a loop device and e2fsprogs, as the drill does.
@Suite("A disk whose power can be cut", .serialized) final class CutDiskTests {
    private let folder: String
    private let waiter: Waiter
    private let disk: CutDisk
    private var mountPoint: String { folder + "/mnt" }

    init() throws {
        folder = NSTemporaryDirectory() + "latch-cut-\(UUID().uuidString.prefix(8))"
        waiter = try Waiter()
        for name in ["", "/device", "/mnt"] {
            try FileManager.default.createDirectory(atPath: folder + name, withIntermediateDirectories: false)
        }
        let image = folder + "/image"
        let made = try ProcessHandle(
            ["/usr/bin/env", "mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "^resize_inode", image, "16M"],
            log: folder + "/log")
        #expect(try made.wait(waiter, until: Clock.now + Clock.milliseconds(30_000)) == .exited(0))
        disk = try CutDisk(image: image, folder: folder + "/device", mountPoint: folder + "/mnt", log: folder + "/log")
        try disk.mount(waiter)
    }

    deinit {
        if !disk.hasEnded { disk.arm(0, lies: false) }
        try? disk.unmount(waiter)
        disk.end()
        DrillDirectory.remove(folder)
    }

    /// Writes a file and flushes it; whether the machine says that it is on the medium.
    private func write(_ name: String) throws -> Bool { try end(of: beginWrite(name)) == .exited(0) }

    private func beginWrite(_ name: String) throws -> ProcessHandle {
        let script = "printf %s \"$1\" >\"$0\" && sync \"$0\""
        return try ProcessHandle(["/bin/sh", "-c", script, "\(mountPoint)/\(name)", name], log: folder + "/log")
    }

    private func end(of process: ProcessHandle) throws -> ProcessHandle.End? {
        try process.wait(waiter, until: Clock.now + Clock.milliseconds(30_000))
    }

    private func read(_ name: String) -> String {
        String(decoding: DrillDirectory.read("\(mountPoint)/\(name)"), as: UTF8.self)
    }

    private func victim() throws -> ProcessHandle {
        try ProcessHandle(["/usr/bin/env", "cat", folder + "/wait"], log: folder + "/log")
    }

    /// The power comes back, with what `choice` has left.
    private func comeBack(_ choice: Int) throws {
        try disk.unmount(waiter)
        disk.restore(Survivors.chosen(choice, of: disk.unflushed, seed: 1))
        try disk.mount(waiter)
        // Its journal has been replayed by now.
        try disk.unmount(waiter)
        #expect(try disk.damage(waiter) == nil)
        try disk.mount(waiter)
    }

    @Test(
        "What a flush has confirmed is there behind every cut; what none has is there or not, as is chosen; its machine dies"
    )
    func cuts() throws {
        #expect(mkfifo(folder + "/wait", 0o600) == 0)
        #expect(try write("kept"))
        disk.arm(0, lies: false)
        #expect(try write("counted"))
        let whole = disk.count
        #expect(whole > 2)
        for (number, choice) in [(1, 0), (1, 1), (whole - 1, 0), (whole - 1, 1)] {
            let victim = try victim()
            disk.arm(number, lies: false)
            try disk.setProcess(victim)
            #expect(try !write("late-\(number)-\(choice)"))
            #expect(disk.isCut && disk.count == number)
            #expect(try end(of: victim) == .killed(9))
            try comeBack(choice)
            #expect(!disk.isCut && disk.unflushed.count >= 0)
            #expect(read("kept") == "kept" && read("counted") == "counted")
            // Nothing of it was confirmed, and the first operation alone makes no file.
            if number == 1 || choice == 0 { #expect(read("late-\(number)-\(choice)").isEmpty) }
        }
    }

    @Test("An operation that waits for somebody to kill fails when the disk is disarmed")
    func disarmed() throws {
        disk.arm(1, lies: false)
        let writer = try beginWrite("late")
        // Whoever sees this sees the operation wait: it has let go of the disk.
        try waiter.until("the power goes", seconds: 10) { disk.isCut }
        disk.arm(0, lies: false)
        let end = try end(of: writer)
        try #require(end != nil && end != .exited(0))
        try comeBack(0)
        #expect(read("late").isEmpty)
        #expect(try write("later") && read("later") == "later")
    }

    @Test("A disk that is unplugged while an operation waits for somebody to kill ends, and so does the operation")
    func unplugged() throws {
        disk.arm(1, lies: false)
        let writer = try beginWrite("late")
        try waiter.until("the power goes", seconds: 10) { disk.isCut }
        disk.end()
        let end = try end(of: writer)
        #expect(end != nil && end != .exited(0))
    }

    @Test("A file system that lost its tables is told to be damaged, and one that was unmounted is not")
    func damage() throws {
        #expect(try write("kept"))
        try disk.unmount(waiter)
        #expect(try disk.damage(waiter) == nil)
        // Blocks 2 to 17 of 4096 octets: what is behind the superblock and the group descriptors.
        let device = try #require(FileHandle(forUpdatingAtPath: folder + "/device/disk"))
        try device.seek(toOffset: 2 * 4096)
        try device.write(contentsOf: Data(repeating: 0, count: 16 * 4096))
        try device.close()
        let damage = try #require(try disk.damage(waiter))
        #expect(damage.contains(folder + "/log"))
    }

    @Test("A disk that lies says that it has flushed, and has not")
    func lies() throws {
        #expect(mkfifo(folder + "/wait", 0o600) == 0)
        let victim = try victim()
        disk.arm(60, lies: true)
        try disk.setProcess(victim)
        var count = 0
        while count < 100, try write("file-\(count)") { count += 1 }
        #expect(disk.isCut && (1..<100).contains(count))
        try comeBack(0)
        #expect((0..<count).allSatisfy { read("file-\($0)").isEmpty })
    }
}
