import CSQLite
import CommandInterface
import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

/// Somebody who may write the lock's files, and has neither its machine key nor its anchor, and the real programs.
@Suite("Rows that somebody else wrote", .serialized)
struct BelievedRowsTests {
    /// A lock and a key of Anna's, enrolled under a role.
    private final class Home {
        let bench: Bench
        var lock: Daemon?
        var key: Daemon?
        let configuration: String

        init(role: String) throws {
            bench = try Bench()
            configuration = try bench.directory.write(
                "anchor = \"\(bench.path("lock.anchor"))\"\n[lock]\nrelock_seconds = 0\n", to: "lock.conf")
            try launch()
            key = try bench.start("central", "key")
            try bench.enroll("anna", role: role)
        }

        func launch() throws { lock = try bench.start("peripheral", "lock", ["--config", configuration]) }

        func stop() { #expect(lock?.end() == 0) }

        var database: String { bench.path("lock") + "/latch.sqlite" }

        func execute(_ sql: String) throws {
            var handle: OpaquePointer?
            try #require(sqlite3_open(database, &handle) == SQLITE_OK)
            defer { sqlite3_close(handle) }
            try #require(
                sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK, "\(String(cString: sqlite3_errmsg(handle)))")
        }

        /// The whole file, and nothing beside it.
        func copyDatabase(to name: String) throws {
            try bench.succeed("state", "backup", "lock", ["--to", bench.path(name)])
        }

        func restore(_ name: String) throws {
            for ending in ["", "-wal", "-shm"] { unlink(database + ending) }
            try FileManager.default.copyItem(atPath: bench.path(name), toPath: database)
            chmod(database, 0o600)
        }

        var unlocks: Bool {
            get throws { try bench.latch("central", "unlock", "key").status == 0 }
        }

        /// Also where no answer comes.
        var staysOut: Bool {
            get throws { try bench.latch("central", "unlock", "key", ["--wait", "10"]).status != 0 }
        }

        func status() throws -> String { try bench.latch("peripheral", "status", "lock").output }

        func administer(_ act: String, _ more: [String] = ["--credential", "anna"]) throws -> Program.Outcome {
            try bench.latch("peripheral", act, "lock", more)
        }
    }

    @Test("Role raised in the file: the credential is nobody's, and it is told by name")
    func raisedRole() throws {
        let home = try Home(role: "lock-only")
        #expect(try home.staysOut)
        home.stop()
        try home.execute("UPDATE lock_credential SET role = 1")
        try home.launch()
        #expect(try home.staysOut)
        #expect(try home.status().contains("damaged_rows: 1"))
        #expect(try home.status().contains("alarms:\n  count: 1\n  tamper: 1\n"))
        home.stop()
        #expect(home.lock?.complaint.contains("row_damaged") == true)
    }

    @Test(
        "Damaged credential: its owner can remove it, by its name or by its row's number, and enrol its key again",
        arguments: [true, false])
    func removal(byName: Bool) throws {
        let home = try Home(role: "resident")
        home.stop()
        let alteration = byName ? "role = 9" : "name = 'nobody'"
        try home.execute("UPDATE lock_credential SET \(alteration)")
        try home.launch()
        #expect(try home.staysOut)
        for act in ["enable", "disable"] where byName {
            let refused = try home.administer(act)
            #expect(refused.status == ExitCode.refused.rawValue && refused.errors.contains("remove it"))
        }
        home.stop()
        let complaint = try #require(home.lock?.complaint)
        let number = try #require(complaint.firstMatch(of: /row_damaged table=lock_credential row=(-?[0-9]+)/)?.1)
        try home.launch()
        #expect(try home.administer("remove", ["--credential", byName ? "anna" : "\(number)"]).status == 0)
        #expect(
            try home.administer("remove", ["--credential", byName ? "anna" : "\(number)"]).errors.contains(
                "no credential"))
        home.stop()
        let bonds = try home.bench.latch("state", "inspect", "lock", ["--json"]).output
        #expect(bonds.contains(#""host_bond","rows":[]"#))
        try home.launch()
        #expect(try !home.status().contains("damaged_rows"))
        let kept = try home.bench.latch("state", "inspect", "lock", ["--json"]).output
        #expect(!kept.contains("\(number)"))
        try home.bench.enroll("anna", role: "resident")
        #expect(try home.unlocks)
        home.stop()
    }

    @Test(
        "Revoked credential put back into the file, with its bond: it opens nothing", arguments: ["disable", "remove"])
    func putBack(act: String) throws {
        let home = try Home(role: "resident")
        #expect(try home.unlocks)
        try home.copyDatabase(to: "old.sqlite")
        #expect(try home.administer(act).status == 0)
        #expect(try home.staysOut)
        home.stop()
        try home.execute(
            """
            ATTACH '\(home.bench.path("old.sqlite"))' AS old;
            INSERT OR REPLACE INTO lock_credential SELECT * FROM old.lock_credential;
            INSERT OR REPLACE INTO host_bond SELECT * FROM old.host_bond
            """)
        try home.launch()
        #expect(try home.staysOut)
        #expect(try home.status().contains("doubt: rows_differ"))
        home.stop()
    }

    @Test("Old copy of the whole database: nobody is let in until it is confirmed; the audit says that it was")
    func oldCopy() throws {
        let home = try Home(role: "resident")
        #expect(try home.unlocks)
        try home.copyDatabase(to: "old.sqlite")
        #expect(try home.administer("disable").status == 0)
        home.stop()
        try home.restore("old.sqlite")
        for _ in 0..<2 {
            try home.launch()
            #expect(try home.status().contains("doubt: older"))
            #expect(try home.status().contains("alarms:\n  count: 1\n  rollback: 1\n"))
            #expect(try home.staysOut)
            // Who was enrolled then is shown, so that an owner can judge.
            #expect(try home.status().contains("name: anna"))
            let refused = try home.administer("enable")
            #expect(
                refused.status == ExitCode.refused.rawValue && refused.errors.contains("confirm"), "\(refused)")
            let enrolment = try home.administer("enroll", ["--credential", "eve"])
            #expect(enrolment.status == ExitCode.refused.rawValue && enrolment.errors.contains("confirm"))
            home.stop()
            #expect(home.lock?.complaint.contains("state_in_doubt") == true)
        }
        try home.launch()
        #expect(try home.administer("confirm", ["--json"]).output.contains(#""doubt":"older""#))
        #expect(try !home.status().contains("doubt"))
        #expect(try home.administer("confirm", []).output == "nothing is in doubt\n")
        let kept = try home.bench.latch("state", "inspect", "lock", ["--json"]).output
        // The record: confirmed, in spite of its being older.
        #expect(kept.components(separatedBy: #""event":"0C01""#).count == 2)
        // It is the state from before: whom it knew it knows.
        #expect(try home.unlocks)
        #expect(try home.administer("disable").status == 0)
        #expect(try home.staysOut)
        home.stop()
        try home.launch()
        #expect(try !home.status().contains("doubt"))
        home.stop()
    }

    @Test("Lost anchor: nobody is let in until the owner confirms")
    func lostAnchor() throws {
        let home = try Home(role: "resident")
        home.stop()
        unlink(home.bench.path("lock.anchor"))
        try home.launch()
        #expect(try home.status().contains("doubt: anchor_missing"))
        #expect(try home.staysOut)
        #expect(try home.administer("confirm", []).status == 0)
        #expect(try home.unlocks)
        home.stop()
        try home.launch()
        #expect(try home.unlocks)
        home.stop()
    }

    @Test("`state check` tells an old copy before it is launched, by the anchor that lies there or is named")
    func check() throws {
        let home = try Home(role: "resident")
        let anchor = home.bench.path("lock.anchor")
        func check(_ more: [String]) throws -> Program.Outcome {
            try home.bench.latch("state", "check", "lock", more)
        }
        let named = ["--anchor", anchor]
        try home.copyDatabase(to: "old.sqlite")
        #expect(try check(named).output.contains("generation: "))
        #expect(try !check(named).output.contains("doubt"))
        // Where it is not known, nothing is said.
        let unknown = try check([])
        #expect(unknown.status == 0 && !unknown.output.contains("anchor"))
        #expect(try home.administer("disable").status == 0)
        #expect(try !check(named).output.contains("doubt"), "while it runs")
        home.stop()
        try home.restore("old.sqlite")
        let old = try check(named)
        #expect(old.status == 0 && old.output.contains("faults: []") && old.output.contains("doubt: older"), "\(old)")
        try FileManager.default.moveItem(atPath: anchor, toPath: home.bench.path("lock") + "/lock.anchor")
        #expect(try check([]).output.contains("doubt: older"))
        #expect(try check(named).output.contains("doubt: anchor_missing"))
        #expect(
            try home.bench.latch("state", "check", "key", ["--anchor", home.bench.path("lock") + "/lock.anchor"])
                .output.contains("doubt: unsealed"))
    }

    @Test("Killed at any time: no launch is in doubt, and what was revoked stays so")
    func killed() throws {
        let home = try Home(role: "resident")
        for round in 0..<4 {
            #expect(try home.administer(round % 2 == 0 ? "disable" : "enable").status == 0)
            home.lock?.kill()
            try home.launch()
            #expect(try !home.status().contains("doubt"))
            #expect(try home.unlocks == (round % 2 == 1))
        }
        home.stop()
    }

    @Test(
        "Anchor on a disk that is full, or in a directory that is not there: the line names it, its key and the remedy")
    func unusableAnchor() throws {
        let bench = try Bench()
        let disk = bench.path("disk")
        mkdir(disk, 0o700)
        try #require(
            mount("tmpfs", disk, "tmpfs", 0, "size=4k,mode=700") == 0, "only root can mount a small disk")
        defer { umount2(disk, Int32(MNT_DETACH)) }
        try Data(repeating: 0, count: 4_096).write(to: URL(fileURLWithPath: disk + "/filler"))
        for (path, reason) in [
            (disk + "/lock.anchor", "the disk is full"), (bench.path("none/lock.anchor"), "No such file"),
        ] {
            let configuration = try bench.directory.write("anchor = \"\(path)\"\n", to: "lock.conf")
            let outcome = try Program.run(bench.arguments("peripheral", "lock") + ["--config", configuration])
            #expect(outcome.status == ExitCode.state.rawValue)
            #expect(outcome.errors.contains(path) && outcome.errors.contains(reason), "\(outcome.errors)")
            #expect(outcome.errors.contains("`anchor`"))
        }
    }
}
