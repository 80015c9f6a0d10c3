import CommandInterface
import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

/// Somebody, as the kernel knows him. Where the tests are not root's there is one user, and everybody is he.
private struct Person {
    static let isRoot = geteuid() == 0

    static func operators(_ role: String) -> gid_t {
        isRoot ? (role == "peripheral" ? 61_009 : 61_010) : getegid()
    }

    static func daemon(_ role: String) -> Self {
        Self(user: role == "peripheral" ? 61_001 : 61_002, groups: [operators(role)])
    }

    /// In the group beside another one.
    static func anna(_ role: String) -> Self { Self(user: 61_003, groups: [61_008, operators(role)]) }
    /// In the group and in no other.
    static func bert(_ role: String) -> Self { Self(user: 61_004, group: operators(role)) }
    static let stranger = Self(user: 61_005, groups: [61_008])

    let user: uid_t
    let group: gid_t
    private let groups: [gid_t]

    private init(user: uid_t, group: gid_t? = nil, groups: [gid_t] = []) {
        (self.user, self.group, self.groups) = (user, group ?? user, groups)
    }

    func words(_ command: [String]) -> [String] {
        guard Self.isRoot else { return command }
        let list = groups.map(String.init).joined(separator: ",")
        return ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(group)"]
            + [groups.isEmpty ? "--clear-groups" : "--groups=" + list] + command
    }
}

/// A machine's directories: a state for each daemon, one for the socket of each, and a configuration that all may read.
private final class Site {
    static let roles = ["peripheral", "central"]

    let directory: TemporaryDirectory
    private let program: String

    init() throws {
        directory = try TemporaryDirectory(mode: 0o711, in: "/tmp/")
        program = directory.path + "/latch"
        // Others need not be able to enter the directory that it was built in. A process of its own copies it: no program is run
        // that anybody writes, as a child of another test would that is forked meanwhile.
        try #require(Program.run([Program.path, program], of: "/bin/cp").status == 0)
        for role in Self.roles {
            let owner = Person.daemon(role)
            for (name, mode) in [(state(role), 0o700), (run(role), 0o711)] {
                try FileManager.default.createDirectory(
                    atPath: name, withIntermediateDirectories: false, attributes: [.posixPermissions: mode])
                if Person.isRoot { try #require(chown(name, owner.user, owner.group) == 0) }
            }
        }
    }

    func state(_ role: String) -> String { "\(directory.path)/\(role)" }
    func run(_ role: String) -> String { "\(directory.path)/\(role).run" }
    func socket(_ role: String) -> String { run(role) + "/control.sock" }
    func database(_ role: String) -> String { state(role) + "/latch.sqlite" }
    func machineKey(_ role: String) -> String { state(role) + "/machine.key" }

    func configuration(_ role: String, group: String? = nil, socket: String? = nil) throws -> String {
        try directory.write(
            """
            transport = "unix:\(directory.path)/nobody"
            state = "\(state(role))"
            [control]
            socket = "\(socket ?? self.socket(role))"
            group = "\(group ?? String(Person.operators(role)))"
            [log]
            level = "error"

            """, to: "\(role).conf")
    }

    /// A daemon that answers.
    func start(_ role: String) throws -> Daemon {
        let words = Person.daemon(role).words([program, role, "run", "--config", try configuration(role)])
        let daemon = try Daemon(Array(words.dropFirst()), of: words[0])
        let answers = try waits {
            try !daemon.isRunning || Program.run([role, "status", "--socket", socket(role)]).status == 0
        }
        try #require(answers && daemon.isRunning)
        return daemon
    }

    func latch(_ command: [String], as person: Person) throws -> Program.Outcome {
        try self.command(program, command, as: person)
    }

    func command(_ name: String, _ arguments: [String], as person: Person) throws -> Program.Outcome {
        let words = person.words([name] + arguments)
        return try Program.run(Array(words.dropFirst()), of: words[0])
    }

    static func status(_ path: String) throws -> stat {
        var found = stat()
        try #require(lstat(path, &found) == 0, "\(path)")
        return found
    }
}

@Suite("Users and groups")
struct OperatorGroupTests {
    /// What the kernel judges by, and all that a user who is not root can look at.
    private func expectClosed(_ site: Site, _ role: String) throws {
        let owner = Person.daemon(role)
        let user = Person.isRoot ? owner.user : geteuid()
        for (path, mode) in [
            (site.state(role), S_IFDIR | 0o700), (site.database(role), S_IFREG | 0o600),
            (site.machineKey(role), S_IFREG | 0o600), (site.socket(role), S_IFSOCK | 0o660),
        ] {
            let found = try Site.status(path)
            #expect(found.st_mode == mode, "\(path)")
            #expect(found.st_uid == user, "\(path)")
        }
        #expect(try Site.status(site.socket(role)).st_gid == Person.operators(role))
        if Person.isRoot { #expect(try Site.status(site.database(role)).st_gid == owner.group) }
    }

    /// Nothing of what `role` keeps is read.
    private func expectUnread(_ site: Site, _ role: String, by person: Person) throws {
        for path in [site.database(role), site.database(role) + "-wal", site.machineKey(role)] {
            let read = try site.command("/bin/cat", [path], as: person)
            #expect(read.status != 0 && read.output.isEmpty, "\(path)")
        }
        #expect(try site.command("/bin/ls", [site.state(role)], as: person).status != 0)
        for words in [["--state", site.state(role)], ["--database", site.database(role)]] {
            let inspected = try site.latch(["state", "inspect"] + words, as: person)
            #expect(inspected.status == ExitCode.state.rawValue, "\(inspected)")
            #expect(inspected.output.isEmpty)
        }
    }

    @Test("Compromised daemon: lock and key read nothing of each other, and are not heard by each other")
    func compromised() throws {
        let site = try Site()
        let lock = try site.start("peripheral")
        let key = try site.start("central")
        for role in Site.roles {
            try expectClosed(site, role)
            guard Person.isRoot else { continue }
            let other = Person.daemon(role == "peripheral" ? "central" : "peripheral")
            try expectUnread(site, role, by: other)
            for place in [["--socket", site.socket(role)], ["--config", try site.configuration(role)]] {
                let refused = try site.latch([role, "status"] + place, as: other)
                #expect(refused.status == ExitCode.state.rawValue, "\(refused)")
                #expect(refused.errors.contains("may not be opened"))
            }
        }
        #expect(lock.end() == 0)
        #expect(key.end() == 0)
    }

    @Test(
        "Same user: another process of it reads no memory of a daemon, and a crash leaves none", arguments: Site.roles)
    func undumpable(role: String) throws {
        let site = try Site()
        let daemon = try site.start(role)
        // Root's, unless the kernel lets the process's own user trace it.
        func owner(_ process: pid_t) throws -> uid_t { try Site.status("/proc/\(process)/mem").st_uid }
        #expect(try owner(daemon.pid) == 0)
        let limits = try String(contentsOfFile: "/proc/\(daemon.pid)/limits", encoding: .utf8)
        let core = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        #expect(core.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"])
        for name in ["environ", "maps"] {
            let read = try site.command("/bin/cat", ["/proc/\(daemon.pid)/\(name)"], as: .daemon(role))
            #expect(read.status != 0 && read.output.isEmpty, "\(name)")
        }
        // Any other process of that user shows them.
        let words = Person.daemon(role).words(["/bin/sleep", "1000"])
        let plain = try Daemon(Array(words.dropFirst()), of: words[0])
        let user = Person.isRoot ? Person.daemon(role).user : geteuid()
        #expect(try waits { try owner(plain.pid) == user })
        let maps = try site.command("/bin/cat", ["/proc/\(plain.pid)/maps"], as: .daemon(role))
        #expect(maps.status == 0 && !maps.output.isEmpty)
        #expect(daemon.end() == 0)
    }

    @Test("a member of the group is heard on the socket, and reads nothing else", arguments: Site.roles)
    func member(role: String) throws {
        let site = try Site()
        let daemon = try site.start(role)
        try expectClosed(site, role)
        for person in [Person.anna(role), .bert(role)] {
            for place in [["--socket", site.socket(role)], ["--config", try site.configuration(role)]] {
                let heard = try site.latch([role, "status"] + place, as: person)
                #expect(heard.status == 0, "\(heard)")
                #expect(heard.output.contains("radio: "))
            }
            if Person.isRoot { try expectUnread(site, role, by: person) }
        }
        // It can do all that the daemon's user can.
        let stopped = try site.latch([role, "stop", "--socket", site.socket(role)], as: .anna(role))
        #expect(stopped.status == 0, "\(stopped)")
        #expect(daemon.end(signalling: stopped.status != 0) == 0)
    }

    @Test("Opened socket: where its mode lets strangers in, the daemon hangs up on them", arguments: Site.roles)
    func openedSocket(role: String) throws {
        let site = try Site()
        let daemon = try site.start(role)
        try #require(chmod(site.socket(role), 0o666) == 0)
        let status = [role, "status", "--socket", site.socket(role)]
        #expect(try site.latch(status, as: .anna(role)).status == 0)
        let stranger = try site.latch(status, as: .stranger)
        #expect(stranger.status == (Person.isRoot ? ExitCode.unavailable.rawValue : 0), "\(stranger)")
        #expect(daemon.end() == 0)
    }

    @Test("Planted socket: a command tells a stranger nothing who listens in the daemon's place")
    func planted() throws {
        let site = try Site()
        // The key's daemon in the lock's place, as somebody who could once write there would leave his own.
        let daemon = try site.start("central")
        if Person.isRoot {
            try #require(chown(site.run("central"), Person.daemon("peripheral").user, 0) == 0)
        } else {
            try #require(chmod(site.run("central"), 0o1777) == 0)
        }
        let code = "LATCH1:070128-HK8HAH-048J2C-A1A5GQ-30CHM6-RW3MF1-Z851MA-HT99D6-MYMAKA-NBNJPT-XBV5X8"
        for words in [["enroll", "-", "--socket"], ["status", "--socket"]] {
            let asked = try Program.run(["central"] + words + [site.socket("central")], input: code)
            #expect(asked.status == ExitCode.state.rawValue, "\(asked)")
            #expect(asked.errors.contains("nothing was asked"))
        }
        // The configuration says whose daemon it is by the state directory's owner.
        let named = try Program.run(["central", "status", "--config", site.configuration("central")])
        #expect(named.status == (Person.isRoot ? 0 : ExitCode.state.rawValue), "\(named)")
        #expect(daemon.end() == 0)
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var group: String?
        var socket: String?
        var code = ExitCode.configuration
        var says: [String]
        var testDescription: String { says[0] }
    }

    @Test(
        "a socket or a group that cannot be: the daemon says what is wrong and what to do, and makes no socket",
        arguments: [
            Refusal(group: "no-such-group", says: ["there is no group `no-such-group`", "groupadd"]),
            Refusal(group: "0", says: ["no member of it", "SupplementaryGroups=0"]),
            Refusal(
                socket: "state/control.sock", says: ["members of group", "cannot enter", "RuntimeDirectoryMode=0711"]),
            Refusal(socket: "open/control.sock", says: ["other users can write", "chmod go-w"]),
            Refusal(socket: "nowhere/control.sock", code: .state, says: ["must exist and be writable"]),
            Refusal(
                socket: "run/" + String(repeating: "s", count: 110), code: .state, says: ["107 octets", "shorter path"]),
        ], Site.roles)
    func refused(_ refusal: Refusal, role: String) throws {
        let site = try Site()
        let open = site.directory.path + "/open"
        try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
        try #require(chmod(open, 0o777) == 0)
        let socket = refusal.socket.map {
            $0.replacing("state/", with: site.state(role) + "/").replacing("run/", with: site.run(role) + "/")
                .replacing("open/", with: open + "/").replacing("nowhere/", with: site.directory.path + "/nowhere/")
        }
        let configuration = try site.configuration(role, group: refusal.group, socket: socket)
        let outcome = try site.latch([role, "run", "--config", configuration], as: .daemon(role))
        #expect(outcome.status == refusal.code.rawValue, "\(outcome)")
        #expect(outcome.errorLines.count == 1, "\(outcome)")
        for words in refusal.says { #expect(outcome.errors.contains(words), "\(outcome)") }
        for directory in [site.run(role), open, site.state(role)] {
            for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
                #expect(try Site.status(directory + "/" + name).st_mode & S_IFMT != S_IFSOCK, "\(name)")
            }
        }
        #expect(try Site.status(site.state(role)).st_mode == S_IFDIR | 0o700)
    }
}
