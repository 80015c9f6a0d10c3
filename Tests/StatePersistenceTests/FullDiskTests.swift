import Glibc
import TestSupport
import Testing

@testable import StatePersistence

@Suite("A disk without room")
struct FullDiskTests {
    private func open(_ disk: ThinDisk) throws -> StateStore {
        try StateStore(
            path: disk.path + "/latch.sqlite", machineKeyFile: disk.path + "/machine.key", credentialsDirectory: nil,
            components: [.host, numbersSchema])
    }

    @Test(
        "A launch that needs room has what was kept for it: a full disk costs no command, and nothing that was acknowledged"
    )
    func launch() throws {
        let disk = try ThinDisk()
        do {
            let database = try open(disk).database
            try database.transaction {
                // More than the database has room for.
                for number in 0..<10_000 {
                    try database.statement("INSERT INTO test_number VALUES (?)").run([SQLValue(number)])
                }
            }
        }
        try disk.fill()
        do {
            let database = try open(disk).database
            for number in 10_000..<10_400 {
                try database.insert(number)
                try database.checkpointIfNeeded()
            }
        }
        // It is not taken back from those who need it more.
        #expect(access(disk.path + "/latch.sqlite.room", F_OK) != 0)
        try disk.remount()
        let database = try open(disk).database
        #expect(try database.numbers() == Array(0..<10_400))
        #expect(try database.integrityCheck() == [])
    }

    @Test("Room is kept where others have enough without it, and only there", arguments: [true, false])
    func othersFirst(isEnough: Bool) throws {
        try #require(geteuid() == 0, "only root can mount a disk")
        let folder = ScratchDirectory()
        let octets = RoomAhead.octets + RoomAhead.othersMinimumOctets - (isEnough ? 0 : 4_096)
        try #require(mount("tmpfs", folder.path, "tmpfs", 0, "size=\(octets),mode=700") == 0)
        defer { umount2(folder.path, Int32(MNT_DETACH)) }
        for _ in 0..<2 {
            RoomAhead.keep(beside: folder.path + "/latch.db")
            var kept = stat()
            #expect((lstat(folder.path + "/latch.db.room", &kept) == 0) == isEnough)
            #expect(!isEnough || Int(kept.st_blocks) * 512 == RoomAhead.octets)
        }
        #expect(try RoomAhead.give(beside: folder.path + "/latch.db") == isEnough)
        #expect(try !RoomAhead.give(beside: folder.path + "/latch.db"))
    }
}
