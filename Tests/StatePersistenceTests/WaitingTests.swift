import CLinux
import Glibc
import TestSupport
import Testing

@testable import StatePersistence

/// Another process has the file for as long as a slow disk or an operator takes. Ending costs a lock its controller and
/// every link, so it waits; only housekeeping does not.
@Suite("A file that somebody else holds")
struct WaitingTests {
    enum Holder: CaseIterable, Sendable {
        /// One of our own, in a commit.
        case lockFile
        /// Somebody at a prompt of sqlite3, who has said BEGIN IMMEDIATE.
        case transaction
    }

    let scratch = Scratch()

    /// What a daemon waited before it ended; held for four times as long, counted from where the child is at it.
    private static let tooShortMilliseconds: UInt64 = 250

    /// Holds the file until `child` has been kept waiting, and lets go.
    private func hold(_ holder: Holder, beginning: () throws -> Void) throws {
        let lock = try FileLock(beside: scratch.database)
        let other = try Connection(path: scratch.database, access: .readWrite)
        switch holder {
        case .lockFile: try lock.acquire(waiting: 0)
        case .transaction: try other.execute("BEGIN IMMEDIATE")
        }
        try beginning()
        let end = FileLock.Deadline(milliseconds: 4 * Self.tooShortMilliseconds)
        while !end.hasPassed { sched_yield() }
        switch holder {
        case .lockFile: lock.release()
        case .transaction: try other.execute("ROLLBACK")
        }
    }

    @Test("a commit waits for it", arguments: Holder.allCases)
    func commit(holder: Holder) throws {
        _ = try Database(path: scratch.database, components: [numbersSchema])
        // Stopped before it opens, so that it opens before the file is held, and commits after.
        let gate = scratch.directory + "/gate"
        mkfifo(gate, 0o600)
        let child = try Child([
            "/bin/sh", "-c", "exec \"$0\" once \"$1\" 7 <\"$2\"", Child.products + "/StoreHammer",
            scratch.database, gate,
        ])
        let opener = open(gate, O_WRONLY | O_CLOEXEC)
        #expect(child.line() == "open")
        try hold(holder) {
            // The child commits when it has read this.
            #expect(write(opener, "go\n", 3) == 3)
        }
        close(opener)
        #expect(child.lines() == ["7"])
        #expect(child.wait() == .exited(0))
        #expect(try Database(path: scratch.database, components: [numbersSchema]).numbers() == [7])
        unlink(gate)
    }

    @Test("a launch waits for it", arguments: Holder.allCases)
    func launch(holder: Holder) throws {
        try Database(path: scratch.database, components: [numbersSchema]).insert(1)
        var child: Child?
        try hold(holder) { child = try .hammer("open", scratch.database) }
        #expect(child?.lines() == ["ok"])
        #expect(child?.wait() == .exited(0))
    }

    @Test("housekeeping does not wait for it, and is no reason to end", arguments: Holder.allCases)
    func checkpoint(holder: Holder) throws {
        let database = try Database(path: scratch.database, components: [numbersSchema])
        try database.insert(1)
        try hold(holder) {
            // By this thread, which could not let go meanwhile: what waited would wait until it fails.
            try database.checkpoint()
        }
        try database.insert(2)
        try database.checkpoint()
        #expect(try database.numbers() == [1, 2])
    }

    @Test("a commit that has waited for as long as it may says who is in the way, and can be made later")
    func bound() throws {
        var limits = DatabaseLimits()
        limits.commitWaitMilliseconds = 5
        let database = try Database(path: scratch.database, components: [numbersSchema], limits: limits)
        for holder in Holder.allCases {
            try hold(holder) {
                #expect(throws: StoreError.busy(path: scratch.database)) { try database.insert(1) }
            }
        }
        try database.insert(1)
        #expect(DatabaseLimits().commitWaitMilliseconds > DatabaseLimits().openWaitMilliseconds)
    }

    @Test("a launch that a reader keeps from settling the log acknowledges nothing, and says so")
    func reader() throws {
        do {
            let database = try Database(path: scratch.database, components: [numbersSchema])
            try database.insert(1)
        }
        let reader = try Connection(path: scratch.database, access: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM test_number")
        var limits = DatabaseLimits()
        limits.openWaitMilliseconds = 5
        #expect(throws: StoreError.logHeld(path: scratch.database)) {
            try Database(path: scratch.database, components: [numbersSchema], limits: limits)
        }
        try reader.execute("ROLLBACK")
        #expect(try Database(path: scratch.database, components: [numbersSchema], limits: limits).numbers() == [1])
    }
}
