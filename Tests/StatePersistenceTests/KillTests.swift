import Glibc
import TestSupport
import Testing

@testable import StatePersistence

@Suite("Processes that share the file, and processes that are killed")
struct KillTests {
    let scratch = Scratch()

    @Test("Two processes commit and checkpoint without pause: no commit is lost, and the file is sound")
    func hammer() throws {
        _ = try Database(path: scratch.database, components: [numbersSchema])
        let count = 400
        let a = try Child.hammer("commit", scratch.database, "0", "\(count)", "3")
        let b = try Child.hammer("commit", scratch.database, "100000", "\(count)", "2")
        #expect(a.lines().count == count)
        #expect(b.lines().count == count)
        #expect(a.wait() == .exited(0))
        #expect(b.wait() == .exited(0))
        try expectSound(holding: Array(0..<count) + Array(100_000..<100_000 + count))
    }

    @Test("Killed at any moment of committing and checkpointing: what was acknowledged is there, at most one more")
    func killedWhileCommitting() throws {
        var generator = SeededGenerator(announcedBy: "killedWhileCommitting")
        let seed = generator.seed
        var first = 0
        for round in 0..<25 {
            let child = try Child.hammer("commit", scratch.database, "\(first)", "1000000", "5")
            for _ in 0..<Int.random(in: 1...40, using: &generator) { #expect(child.line() != nil) }
            child.kill()
            let rest = child.lines().compactMap { Int($0) }
            #expect(child.wait() == .killed(SIGKILL))
            let database = try Database(path: scratch.database, components: [numbersSchema])
            let numbers = try database.numbers()
            let acknowledged = rest.last ?? -1
            #expect(try DatabaseFile.integrityFaults(database.connection) == [])
            #expect(numbers == Array(0..<numbers.count), "round \(round), seed \(seed)")
            #expect(numbers.count == acknowledged + 1 || numbers.count == acknowledged + 2 || rest.isEmpty)
            #expect(numbers.count > first)
            first = numbers.count
        }
    }

    @Test("Killed at every system call from nothing to the third commit: the next launch has what was acknowledged")
    func killedAtEverySystemCall() throws {
        let calls = "mkdir,openat,pwrite64,write,fsync,fdatasync,rename,unlink,ftruncate,fchown,flock"
        try #require(try Child(["strace", "-o", "/dev/null", "true"]).wait() == .exited(0), "strace does not run here")
        var kills = 0
        for call in calls.split(separator: ",") {
            for when in 1...200 {
                let directory = scratch.directory + "/state"
                let path = directory + "/latch.db"
                let child = try Child([
                    "strace", "-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                    "inject=\(call):signal=SIGKILL:when=\(when)", Child.products + "/StoreHammer", "commit", path, "0",
                    "3", "2",
                ])
                let acknowledged = child.lines().compactMap { Int($0) }
                let survived = child.wait() == .exited(0)
                do {
                    let database = try Database(path: path, components: [numbersSchema])
                    let numbers = try database.numbers()
                    #expect(numbers.starts(with: acknowledged), "\(call) \(when)")
                    #expect(numbers == Array(0..<numbers.count))
                    #expect(numbers.count <= acknowledged.count + 1)
                    #expect(try DatabaseFile.integrityFaults(database.connection) == [])
                } catch {
                    Issue.record("killed at \(call) \(when): \(error)")
                }
                for suffix in ["", "-wal", "-shm", ".lock", ".new", ".new-wal", ".new-shm", ".new-journal"] {
                    unlink(path + suffix)
                }
                rmdir(directory)
                if survived { break }
                kills += 1
            }
        }
        #expect(kills > 60)
    }

    @Test("Killed at every system call of a launch that finds a log: the next one has all of it, and the file is sound")
    func killedWhileSettling() throws {
        try #require(try Child(["strace", "-o", "/dev/null", "true"]).wait() == .exited(0), "strace does not run here")
        let path = scratch.database
        var kills = 0
        for call in ["openat", "flock", "fadvise64", "pwrite64", "ftruncate", "fsync", "fdatasync"] {
            for when in 1...200 {
                let beginning = try Child.hammer("commit", path, "0", "5", "1000")
                #expect(beginning.lines() == ["0", "1", "2", "3", "4"])
                try #require(beginning.wait() == .exited(0), "\(call) \(when)")
                let child = try Child([
                    "strace", "-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                    "inject=\(call):signal=SIGKILL:when=\(when)", Child.products + "/StoreHammer", "commit", path, "5",
                    "1", "1000",
                ])
                let acknowledged = child.lines().compactMap { Int($0) }
                let survived = child.wait() == .exited(0)
                do {
                    let database = try Database(path: path, components: [numbersSchema])
                    let numbers = try database.numbers()
                    #expect(numbers.starts(with: Array(0..<5) + acknowledged), "\(call) \(when)")
                    #expect(numbers.count <= 6)
                    #expect(try DatabaseFile.integrityFaults(database.connection) == [])
                } catch {
                    Issue.record("killed at \(call) \(when): \(error)")
                }
                for suffix in ["", "-wal", "-shm", ".lock"] { unlink(path + suffix) }
                if survived { break }
                kills += 1
            }
        }
        #expect(kills > 40)
    }

    @Test("Each commit is flushed exactly once, the first after a launch and the first after a checkpoint too")
    func oneFlushPerCommit() throws {
        try #require(try Child(["strace", "-o", "/dev/null", "true"]).wait() == .exited(0), "strace does not run here")
        let trace = scratch.directory + "/trace"
        let child = try Child([
            "strace", "-f", "-o", trace, "-e", "trace=fsync,fdatasync,write,pwrite64", Child.products + "/StoreHammer",
            "commit", scratch.database, "0", "40", "10",
        ])
        #expect(child.lines().count == 40)
        #expect(child.wait() == .exited(0))
        // A commit begins with its first write to the log and ends when its number is said.
        var flushes = 0
        var perCommit: [Int] = []
        for line in String(decoding: Scratch.read(trace), as: UTF8.self).split(separator: "\n") {
            if line.contains("fsync(") || line.contains("fdatasync(") { flushes += 1 }
            if line.contains("write(1,") {
                perCommit.append(flushes)
                flushes = 0
            }
        }
        // Between the 10th and the 11th number lie a checkpoint (log and file) and the new log's first commit (header
        // and content), which belong to the idle moment.
        let afterCheckpoint = [10, 20, 30]
        #expect(
            perCommit.indices.dropFirst().filter { !afterCheckpoint.contains($0) }.allSatisfy { perCommit[$0] == 1 })
        #expect(afterCheckpoint.allSatisfy { (2...5).contains(perCommit[$0]) })
    }

    private func expectSound(holding expected: [Int]) throws {
        let database = try Database(path: scratch.database, components: [numbersSchema])
        #expect(try database.numbers() == expected)
        #expect(try DatabaseFile.integrityFaults(database.connection) == [])
    }
}
