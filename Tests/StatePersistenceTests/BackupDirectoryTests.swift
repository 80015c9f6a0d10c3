import Glibc
import TestSupport
import Testing

@testable import StatePersistence

/// Backups that are made in a directory: what is left of them there, and what never gets a name.
@Suite("Backups in a directory: what is made")
struct BackupDirectoryTests {
    private static let words = SchemaComponent(
        "test", [Migration("1 words", "CREATE TABLE test_word (word TEXT NOT NULL UNIQUE) STRICT")])

    let scratch = Scratch()

    /// A database without a log, whose one index has one page.
    private func fill() throws {
        do {
            let database = try Database(path: scratch.database, components: [Self.words])
            try database.transaction {
                for word in ["first word", "other word", "third word"] {
                    try database.statement("INSERT INTO test_word VALUES (?)").run([.text(word)])
                }
            }
        }
        try scratch.dropLog()
    }

    /// The octet at which the index's page begins.
    private func indexPage() throws -> Int {
        let connection = try Connection(path: scratch.database, access: .immutable)
        let root = try connection.statement(
            "SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'test_word' AND type = 'index'"
        )
        .firstRow { (row) throws(StoreError) in try row.integer(0, as: Int.self) }
        return (try #require(root) - 1) * DatabaseFile.pageOctets
    }

    private func requireNoBackup() throws {
        let folder = ScratchDirectory()
        #expect {
            try StateBackup.make(of: scratch.database, at: folder.path + "/backup")
        } throws: {
            // It is the database that is damaged, and not the copy, which is gone.
            if case StoreError.corrupt(path: scratch.database, _) = $0 { true } else { false }
        }
        #expect(throws: StoreError.self) { try BackupDirectory.add(scratch.database, to: folder.path, keeping: 3) }
        #expect(folder.files.isEmpty)
    }

    @Test("One page of an index is not as it was: no copy of that is a backup, and whoever checks is told")
    func damagedIndex() throws {
        try fill()
        let sound = Scratch.read(scratch.database)
        let page = try indexPage()
        // It says another word than the table; each page has the right form.
        let place = try #require(
            (page..<page + DatabaseFile.pageOctets).first { sound[$0...].starts(with: "other word".utf8) })
        Fault.overwrite(scratch.database, at: place, with: Array("ocher".utf8))
        #expect(try StateInspector(path: scratch.database).check(components: [Self.words]).faults.isEmpty == false)
        try requireNoBackup()
        // It has no form.
        Scratch.write(sound, to: scratch.database)
        Fault.overwrite(scratch.database, at: page, with: [UInt8](repeating: 0x5A, count: DatabaseFile.pageOctets))
        try requireNoBackup()
        Scratch.write(sound, to: scratch.database)
        try StateBackup.make(of: scratch.database, at: scratch.directory + "/backup")
    }

    @Test("A disk without room for one copy more has those that were there, whole, and nothing of the new one")
    func fullDisk() throws {
        try #require(geteuid() == 0, "only root can mount a disk")
        try fill()
        let disk = ScratchDirectory()
        let size = 4 * Scratch.read(scratch.database).count
        try #require(mount("tmpfs", disk.path, "tmpfs", 0, "size=\(size),mode=700") == 0)
        defer { umount2(disk.path, Int32(MNT_DETACH)) }
        let first = try BackupDirectory.add(scratch.database, to: disk.path, keeping: 1).path
        let kept = Scratch.read(first)
        Scratch.write([UInt8](repeating: 1, count: size), to: disk.path + "/filler")
        for _ in 0..<2 {
            #expect {
                try BackupDirectory.add(scratch.database, to: disk.path, keeping: 1)
            } throws: {
                if case StoreError.full(let path) = $0 { path.hasPrefix(disk.path + "/latch-000002") } else { false }
            }
            #expect(disk.files == ["filler", "latch-000001.sqlite"])
        }
        #expect(Scratch.read(first) == kept)
        unlink(disk.path + "/filler")
        #expect(try BackupDirectory.add(scratch.database, to: disk.path, keeping: 1).removed == [first])
        #expect(disk.files == ["latch-000002.sqlite"])
    }

    @Test("A directory that a link leads to is the directory, with its mode and its owner")
    func linked() throws {
        try fill()
        let (folder, link) = (ScratchDirectory(), scratch.directory + "/link")
        #expect(symlink(folder.path, link) == 0)
        let made = try BackupDirectory.add(scratch.database, to: link, keeping: 3)
        #expect(made.path == link + "/latch-000001.sqlite" && folder.files.contains("latch-000001.sqlite"))
        chmod(folder.path, 0o770)
        #expect(throws: StoreError.tooOpen(path: link, mode: 0o770, allowed: 0o700)) {
            try BackupDirectory.add(scratch.database, to: link, keeping: 3)
        }
    }

    @Test("The lock of a copy that somebody has looked at goes with the copy, and no other does")
    func locks() throws {
        try fill()
        let folder = ScratchDirectory()
        for number in 1...3 {
            let copy = try BackupDirectory.add(scratch.database, to: folder.path, keeping: 2).path
            _ = try StateInspector(path: copy).check(components: [Self.words])
            #expect(folder.files.contains("latch-00000\(number).sqlite.lock"))
        }
        Scratch.write([1], to: folder.path + "/latch-old.sqlite.lock")
        _ = try BackupDirectory.add(scratch.database, to: folder.path, keeping: 2)
        #expect(
            folder.files == [
                "latch-000003.sqlite", "latch-000003.sqlite.lock", "latch-000004.sqlite", "latch-old.sqlite.lock",
            ])
    }
}
