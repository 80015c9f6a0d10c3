import CommandInterface
import DaemonControl
import Foundation
import LockProtocol
import SecurityManager
import Testing

@testable import LockPeripheral
@testable import latch

@Suite("A page of users") struct UserPageLineTests {
    @Test(
        "As many users as a page has, and as many devices, few of them or many of each, with the longest names: it is one line",
        arguments: [1, 10, 50])
    func longest(devicesOfUser: Int) {
        let name = String(repeating: "\u{1}", count: CredentialRecord.nameOctetsMaximum)
        let device = UserPage.Device(name: name, role: .administrator, isEnabled: false, bond: BondID(.min))
        let user = UserPage.User(
            name: name, kind: .expiring(minutes: UserKind.minutesMaximum), isScheduled: true,
            devices: Array(repeating: device, count: devicesOfUser))
        let users = min(Int(PeripheralRequest.UsersPage.maximumUsers), UserPage.devicesMaximum / devicesOfUser)
        let page = UserPage(users: Array(repeating: user, count: users), next: name)
        let line = ControlReply.result(page.json).line
        #expect(line.count <= ControlReply.maximumLineOctets && line.count > ControlReply.maximumLineOctets / 4)
    }

    @Test("A table that comes page by page has one heading, and columns that only ever become wider")
    func table() {
        func page(_ names: String...) -> [JSONValue] {
            let users = names.map { name in
                UserPage.User(
                    name: name, kind: .ordinary, isScheduled: false,
                    devices: [UserPage.Device(name: name, role: .guest, isEnabled: true, bond: BondID(1))])
            }
            return UserPage(users: users, next: nil).json["users"]?.array ?? []
        }
        var table = UserTable()
        #expect(
            table.lines(of: page("bo")) == [
                "USER  KIND      DEVICE  ROLE   STATE", "bo    ordinary  bo      guest  enabled",
            ])
        #expect(table.lines(of: page("leonora")) == ["leonora  ordinary  leonora  guest  enabled"])
        #expect(table.lines(of: page("bo")) == ["bo       ordinary  bo       guest  enabled"])
    }
}

/// With a lock, two keys and an operator, each a process.
@Suite("Daemons: users and their devices", .serialized)
struct UserCommandTests {
    private let bench: Bench
    private let daemons: [Daemon]

    init() throws {
        bench = try Bench()
        try bench.makeRoom("watch")
        daemons = [
            try bench.start("peripheral", "lock"), try bench.start("central", "key"),
            try bench.start("central", "watch"),
        ]
    }

    private func unlock(_ key: String, _ wait: [String] = []) throws -> Program.Outcome {
        try bench.latch("central", "unlock", key, wait)
    }

    private func administer(_ act: String, _ words: [String]) throws -> Program.Outcome {
        try bench.latch("peripheral", act, "lock", words)
    }

    @Test("Two devices of one user: each has its key; a word about the user concerns both, one about a device that one")
    func devices() throws {
        try bench.enroll("anna", role: "owner")
        try bench.enroll("anna-watch", role: "guest", by: "watch", ["--user", "anna"])
        #expect(try unlock("key").status == 0 && unlock("watch").status == 0)
        let table = try bench.latch("peripheral", "users", "lock")
        #expect(
            table.output == """
                USER  KIND      DEVICE      ROLE   STATE
                anna  ordinary  anna        owner  enabled
                                anna-watch  guest  enabled

                """, "\(table)")
        #expect(try administer("disable", ["--credential", "anna-watch"]).output == "anna-watch: disabled\n")
        #expect(try unlock("watch").errors.contains("not permitted"))
        #expect(try unlock("key").status == 0)
        #expect(try administer("disable", ["--user", "anna"]).output == "anna: disabled\n")
        #expect(try administer("disable", ["--user", "anna"]).output == "anna: disabled already\n")
        #expect(try unlock("key").errors.contains("not permitted"))
        #expect(try administer("enable", ["--user", "anna"]).output == "anna: enabled\n")
        #expect(try unlock("key").status == 0 && unlock("watch").status == 0)
        #expect(try administer("remove", ["--user", "anna"]).output == "anna: removed\n")
        // Nobody may answer.
        for key in ["key", "watch"] { #expect(try unlock(key, ["--wait", "5"]).status != 0) }
        #expect(try bench.latch("peripheral", "users", "lock", ["--json"]).output == #"{"result":{"users":[]}}"# + "\n")
        for daemon in daemons { #expect(daemon.end() == 0) }
    }

    @Test("A disposable user opens once, with whichever device; the audit says so, and enabled there is once more")
    func disposable() throws {
        try bench.enroll("courier", role: "guest", ["--kind", "disposable"])
        try bench.enroll("courier-2", role: "guest", by: "watch", ["--user", "courier"])
        #expect(try unlock("key").status == 0)
        for key in ["key", "watch"] { #expect(try unlock(key).errors.contains("not permitted"), "\(key)") }
        #expect(try administer("enable", ["--user", "courier"]).status == 0)
        #expect(try unlock("watch").status == 0)
        #expect(try unlock("key").status != 0)
        for daemon in daemons { #expect(daemon.end() == 0) }
        let audit = try Program.run(["audit", "list", "--state", bench.path("lock")]).output
        #expect(audit.components(separatedBy: " spent ").count == 5, "\(audit)")
        #expect(audit.contains("user=courier") && audit.contains("kind=disposable"))
    }

    @Test("Users come in pages, each once, and what an operator may not ask is refused by name")
    func pagesAndRefusals() throws {
        for name in ["a", "b", "c"] {
            let window = try Window(["--state", bench.path("lock"), "--credential", name])
            _ = try window.code()
            window.leave()
            #expect(try waits { try !bench.latch("peripheral", "status", "lock").output.contains("enrolling") })
        }
        #expect(
            try bench.latch("peripheral", "users", "lock").output.components(separatedBy: "has no key yet").count == 4)
        var (names, after): ([String], [String]) = ([], [])
        repeat {
            let page = try bench.latch("peripheral", "users", "lock", ["--limit", "1", "--json"] + after).output
            names += page.matches(of: /"user":"(\w)"/).map { String($0.1) }
            after = page.firstMatch(of: /"next":"(\w)"/).map { ["--after", String($0.1)] } ?? []
        } while !after.isEmpty
        #expect(names == ["a", "b", "c"])
        func enroll(_ words: [String]) throws -> Program.Outcome {
            try bench.latch("peripheral", "enroll", "lock", ["--seconds", "1"] + words)
        }
        for (outcome, status, message) in [
            (try administer("remove", ["--user", "nobody"]), ExitCode.refused, "no user is called \"nobody\""),
            (
                try administer("remove", ["--user", "a", "--credential", "a"]), .usage,
                "one of `--credential` and `--user`"
            ),
            (try administer("remove", []), .usage, "one of `--credential` and `--user`"),
            (try enroll(["--credential", "a", "--user", "b"]), .refused, "a is a device of a"),
            (try enroll(["--credential", "a2", "--user", "a", "--kind", "duress"]), .refused, "another kind"),
            (try enroll(["--credential", "d", "--kind", "expiring"]), .usage, "`--minutes`"),
            (try enroll(["--credential", "d", "--minutes", "5"]), .usage, "`--minutes`"),
            (try enroll(["--credential", "d", "--kind", "expiring", "--minutes", "2881"]), .usage, "minutes"),
            (try enroll(["--credential", "d", "--kind", "visitor"]), .usage, "kind"),
            (try bench.latch("peripheral", "users", "lock", ["--limit", "51"]), .usage, "limit"),
        ] as [(Program.Outcome, ExitCode, String)] {
            #expect(outcome.status == status.rawValue && outcome.errors.contains(message), "\(outcome)")
        }
        for daemon in daemons { #expect(daemon.end() == 0) }
    }
}
