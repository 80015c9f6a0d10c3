import FaultDisk
import Glibc
import StoreTrials
import TestSupport
import Testing

@testable import StatePersistence

@Suite("A file with the small pages of an earlier version")
struct PageConversionTests {
    let scratch = Scratch()

    /// As an earlier version made it, with a commit in its log.
    private static func make(_ path: String, numbers: Range<Int> = 0..<200) throws {
        do {
            _ = try StateFile.open(path, O_RDWR | O_CREAT | O_EXCL)
            let connection = try Connection(path: path, access: .create)
            try connection.execute("PRAGMA page_size = 1024; PRAGMA application_id = \(0x4C74_6368)")
            try connection.execute(DatabaseFile.settings)
            try MigrationHistory.complete([.store, numbersSchema], in: connection)
            _ = try connection.checkpoint(truncating: true)
            try connection.execute("BEGIN")
            for number in numbers { try connection.execute("INSERT INTO test_number VALUES (\(number))") }
            try connection.execute("COMMIT")
        }
        #expect(try StateFile.size(path + "-wal") ?? 0 > 0)
    }

    private func open() throws -> Database { try Database(path: scratch.database, components: [numbersSchema]) }

    @Test("has large ones behind a launch, and everything that was in it and in its log; nothing else is left")
    func converted() throws {
        try Self.make(scratch.database)
        do {
            let database = try open()
            #expect(try database.connection.pageOctets == 4_096)
            #expect(try database.numbers() == Array(0..<200))
            #expect(try database.integrityCheck() == [])
            try database.insert(200)
        }
        #expect(Scratch.mode(scratch.database) == 0o600)
        #expect(Set(scratch.files) == ["latch.db", "latch.db-wal", "latch.db-shm", "latch.db.lock"])
        #expect(try open().numbers() == Array(0...200))
    }

    @Test("keeps them while another process has it open; both go on in the same file")
    func shared() throws {
        try Self.make(scratch.database)
        do {
            let other = try Connection(path: scratch.database, access: .readWrite)
            try other.execute("SELECT * FROM test_number")
            let database = try open()
            #expect(try database.connection.pageOctets == 1_024)
            try database.insert(200)
            try other.execute("INSERT INTO test_number VALUES (201)")
            #expect(try database.numbers() == Array(0...201))
            #expect(try database.integrityCheck() == [])
        }
        #expect(try open().connection.pageOctets == 4_096)
        #expect(try open().numbers() == Array(0...201))
    }

    @Test("keeps them when it is larger by one octet than a launch waits for")
    func bound() throws {
        for excess in [1, 0] {
            try Self.make(scratch.database)
            try scratch.dropLog()
            let octets = Scratch.read(scratch.database)
            let length = PageConversion.fileOctetsMaximum + excess
            Scratch.write(octets + [UInt8](repeating: 0, count: length - octets.count), to: scratch.database)
            let database = try open()
            #expect(try database.connection.pageOctets == (excess == 0 ? 4_096 : 1_024))
            #expect(try database.numbers() == Array(0..<200))
            for name in scratch.files { unlink(scratch.directory + "/" + name) }
        }
    }

    @Test("has them in its backup, whatever its size")
    func backup() throws {
        try Self.make(scratch.database)
        let target = scratch.directory + "/backup.db"
        try StateBackup.make(of: scratch.database, at: target)
        #expect(try Connection(path: scratch.database, access: .readOnly).pageOctets == 1_024)
        #expect(try Connection(path: target, access: .immutable).pageOctets == 4_096)
        #expect(try Database(path: target, components: [numbersSchema]).numbers() == Array(0..<200))
    }

    @Test("is what it was where there is no room for a copy, and the launch goes on")
    func full() throws {
        try Self.make(scratch.database)
        // The name of the copy is taken, by what cannot be removed as a file.
        mkdir(scratch.database + ".new", 0o700)
        defer { rmdir(scratch.database + ".new") }
        let database = try open()
        #expect(try database.connection.pageOctets == 1_024)
        try database.insert(200)
        #expect(try database.numbers() == Array(0...200))
    }

    private static func trial() -> StoreTrial<[Int]> {
        func path(_ directory: String) -> String { directory + "/latch.db" }
        return StoreTrial { directory in
            try make(path(directory), numbers: 0..<50)
        } run: { directory, acknowledge in
            let database = try Database(path: path(directory), components: [numbersSchema])
            for number in 50..<53 {
                try database.insert(number)
                acknowledge(Array(0...number))
            }
        } read: { directory in
            let database = try Database(path: path(directory), components: [numbersSchema])
            #expect(try database.integrityCheck() == [])
            return try database.numbers()
        }
    }

    @Test("keeps what was acknowledged whenever the power fails in the launch that converts it, or behind it")
    func power() throws {
        let result = try Self.trial().cuttingPower(at: TrialPlaces(step: 1))
        #expect(result.caseCount > 100)
        #expect(result.complaints.count == 0, "\(result.complaints.prefix(9).joined(separator: "\n"))")
    }

    @Test("keeps what was acknowledged whichever call of that launch fails", arguments: FaultDisk.Kind.allCases)
    func call(_ kind: FaultDisk.Kind) throws {
        let generator = SeededGenerator(announcedBy: "PageConversionTests.call")
        for isLasting in [false, true] {
            let result = try Self.trial().failing(kind, isLasting: isLasting, at: TrialPlaces(seed: generator.seed))
            #expect(result.complaints.count == 0, "\(result.complaints.prefix(9).joined(separator: "\n"))")
        }
    }

    @Test("keeps everything when its launch is killed at any system call of the conversion")
    func killed() throws {
        try #require(try Child(["strace", "-o", "/dev/null", "true"]).wait() == .exited(0), "strace does not run here")
        try Self.make(scratch.database)
        let files = ["", "-wal"].map { ($0, Scratch.read(scratch.database + $0)) }
        var kills = 0
        for call in ["openat", "pwrite64", "ftruncate", "fsync", "fdatasync", "unlink", "rename"] {
            for when in 1...200 {
                for name in scratch.files { unlink(scratch.directory + "/" + name) }
                for (suffix, octets) in files {
                    Scratch.write(octets, to: scratch.database + suffix)
                    chmod(scratch.database + suffix, 0o600)
                }
                let child = try Child([
                    "strace", "-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                    "inject=\(call):signal=SIGKILL:when=\(when)", Child.products + "/StoreHammer", "open",
                    scratch.database,
                ])
                _ = child.lines()
                let survived = child.wait() == .exited(0)
                let database = try open()
                #expect(try database.numbers() == Array(0..<200), "\(call) \(when)")
                #expect(try database.connection.pageOctets == 4_096)
                #expect(try database.integrityCheck() == [])
                if survived { break }
                kills += 1
            }
        }
        #expect(kills > 40)
    }
}
