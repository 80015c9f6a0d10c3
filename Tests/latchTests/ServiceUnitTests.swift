import CommandInterface
import Foundation
import HCITransport
import HostComposition
import StatePersistence
import Testing

@testable import LatchOOB
@testable import LatchStrike
@testable import StrikeKeeping
@testable import latch

/// The units as they are installed: each word that must agree with the program does.
@Suite("systemd units")
struct ServiceUnitTests {
    static let roles = ["peripheral", "central"]

    /// Without those that are comments, unless they are asked for.
    private static func lines(_ name: String, commented: Bool = false) throws -> [Substring] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appendingPathComponent("config/\(name)")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter {
            commented || !$0.hasPrefix("#")
        }
    }

    private static func settings(
        _ role: String, in folder: String = "systemd", kind: String = "service"
    ) throws -> [String: [String]] {
        let pairs = try lines("\(folder)/latch-\(role).\(kind)").filter { $0.contains("=") }.map { line in
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), [String(parts[1])])
        }
        return Dictionary(pairs, uniquingKeysWith: +)
    }

    @Test(
        "each command is one that the program has, with the configuration that is installed",
        arguments: roles, [("ExecStart", "run"), ("ExecReload", "reload")])
    func command(role: String, entry: (name: String, verb: String)) throws {
        let words = try #require(Self.settings(role)[entry.name]?.first).split(separator: " ").map(String.init)
        #expect(words.first == "/usr/bin/latch")
        let parsed = try ArgumentParser(Latch.program()).parse(Array(words.dropFirst()))
        guard case .run(let command, let arguments) = parsed else {
            Issue.record("no command")
            return
        }
        #expect(command.path == [role, entry.verb])
        #expect(arguments["config"] == "/etc/latch/\(role).conf")
    }

    @Test("the strike's keeper: its command, its user, its socket's directory, the chips alone, and at once again")
    func keeper() throws {
        let unit = try Self.settings("strike")
        let words = try #require(unit["ExecStart"]?.first).split(separator: " ").map(String.init)
        #expect(words.first == "/usr/bin/latch-strike")
        guard
            case .run(let command, let arguments) = try ArgumentParser(LatchStrike.program).parse(
                Array(words.dropFirst()))
        else {
            Issue.record("no command")
            return
        }
        #expect(command.path == ["run"] && arguments["config"] == "/etc/latch/strike.conf")
        let user = try #require(unit["User"]?.first)
        #expect(unit["Group"] == [user] && unit["SupplementaryGroups"] == nil)
        #expect(try Self.accounts("u").contains { $0[1] == user })
        for role in Self.roles { #expect(try Self.settings(role)["User"] != [user]) }
        let runtime = try #require(unit["RuntimeDirectory"]?.first)
        #expect(StrikeSettings().socketPath == "/run/\(runtime)/strike.sock")
        #expect(BoltSettings().keeper == StrikeSettings().socketPath)
        #expect(unit["RuntimeDirectoryMode"] == ["0710"])
        #expect(unit["DeviceAllow"] == ["char-gpiochip rw"] && unit["DevicePolicy"] == ["closed"])
        #expect(unit["CapabilityBoundingSet"] == [""] && unit["PrivateNetwork"] == ["yes"])
        #expect(unit["Restart"] == ["always"] && unit["RestartSec"] == ["0"] && unit["StartLimitIntervalSec"] == ["0"])
        #expect(unit["RestartPreventExitStatus"] == ["\(ExitCode.usage.rawValue) \(ExitCode.configuration.rawValue)"])
        // The program has 11 MiB with all that it maps; one that may have less than that stays in memory with nothing.
        #expect(unit["LimitMEMLOCK"] == ["32M"] && unit["MemoryMax"] == ["32M"])
        // By its user it is heard, by the keeper's group it reaches the socket's file.
        let lock = try Self.settings("peripheral")
        #expect(lock["User"] == [StrikeSettings().user])
        #expect(try Self.lines("systemd/latch-peripheral.service.d/gpio.conf").contains("SupplementaryGroups=\(user)"))
    }

    @Test("A user's own key: a command that names nothing, as nobody else's user, with no right that a user has not")
    func userKey() throws {
        let unit = try Self.settings("central", in: "systemd/user")
        for (name, verb) in [("ExecStart", "run"), ("ExecReload", "reload")] {
            let words = try #require(unit[name]?.first).split(separator: " ").map(String.init)
            #expect(words == ["/usr/bin/latch", "central", verb])
        }
        for name in ["User", "Group", "AmbientCapabilities", "StateDirectory", "LoadCredential"] {
            #expect(unit[name] == nil, "\(name)")
        }
        let system = try Self.settings("central")
        for name in [
            "Type", "WatchdogSec", "Restart", "RestartSec", "RestartPreventExitStatus", "LimitCORE", "MemoryMax",
        ] {
            #expect(unit[name] != nil && unit[name] == system[name], "\(name)")
        }
        #expect(unit["NoNewPrivileges"] == ["yes"] && unit["WantedBy"] == ["default.target"])
    }

    @Test("The helper for setup codes: it listens where keys look for it, takes one connection, and has one capability")
    func setupCodes() throws {
        let socket = try Self.settings("oob", kind: "socket")
        #expect(socket["ListenSequentialPacket"] == [SetupCodeGiver.usualPath] && socket["Accept"] == ["yes"])
        // Whom it answers it says itself.
        #expect(socket["SocketMode"] == ["0666"])
        // So anybody may connect as often as they like: what bounds them must not take the socket away from everybody else.
        #expect(socket["TriggerLimitIntervalSec"] == ["0"] && socket["MaxConnections"] == ["8"])
        let unit = try Self.settings("oob@")
        let words = try #require(unit["ExecStart"]?.first).split(separator: " ").map(String.init)
        #expect(words.first == "/usr/bin/latch-oob")
        let parsed = try ArgumentParser(LatchOOB.program).parse(Array(words.dropFirst()))
        guard case .run(let command, let arguments) = parsed else {
            Issue.record("no command")
            return
        }
        #expect(command.path == ["answer"] && !arguments.has("anyone"))
        #expect(unit["StandardInput"] == ["socket"] && unit["DynamicUser"] == ["yes"])
        for name in ["AmbientCapabilities", "CapabilityBoundingSet"] { #expect(unit[name] == ["CAP_NET_ADMIN"]) }
        #expect(unit["LimitCORE"] == ["0"] && unit["NoNewPrivileges"] == ["yes"])
    }

    @Test(
        "The backup's unit has a command that the program has, the lock's user and directory, and is what its timer starts"
    )
    func backup() throws {
        let unit = try Self.settings("backup")
        let words = try #require(unit["ExecStart"]?.first).split(separator: " ").map(String.init)
        let parsed = try ArgumentParser(Latch.program()).parse(Array(words.dropFirst()))
        guard case .run(let command, let arguments) = parsed else {
            Issue.record("no command")
            return
        }
        #expect(words.first == "/usr/bin/latch" && command.path == ["state", "backup"] && arguments["keep"] != nil)
        let lock = try Self.settings("peripheral")
        #expect(unit["User"] == lock["User"] && unit["Group"] == lock["Group"])
        let directories = try #require(unit["StateDirectory"]?.first).split(separator: " ").map { "/var/lib/" + $0 }
        #expect(directories == [arguments["state"], arguments["to"]])
        #expect(unit["StateDirectoryMode"] == ["0700"] && unit["LoadCredential"] == nil)
        // A timer without Unit= starts the service of its own name.
        #expect(try Self.lines("systemd/latch-backup.timer").contains("Persistent=yes"))
    }

    @Test("the machine key comes under the name that the program asks for", arguments: roles)
    func credential(role: String) throws {
        let credential = try #require(Self.settings(role)["LoadCredential"]?.first)
        #expect(credential.hasPrefix(MachineKey.credentialName + ":"))
    }

    /// The lines of sysusers.d of one kind (`u`, `g` or `m`), word by word.
    private static func accounts(_ kind: String) throws -> [[String]] {
        try ["lock", "key", "strike"].flatMap { try lines("sysusers.d/latch-\($0).conf") }
            .map { $0.split(separator: " ").map(String.init) }.filter { $0[0] == kind }
    }

    @Test("Compromised daemon: lock and key share no user, no group, no machine key and no directory")
    func apart() throws {
        let (lock, key) = (try Self.settings("peripheral"), try Self.settings("central"))
        for name in ["User", "Group", "LoadCredential", "StateDirectory", "RuntimeDirectory"] {
            let (ofLock, ofKey) = (try #require(lock[name]), try #require(key[name]))
            #expect(ofLock.count == 1 && ofKey.count == 1, "\(name)")
            let words = [ofLock, ofKey].map {
                Set($0.joined(separator: " ").split(whereSeparator: { " :".contains($0) }))
            }
            // The credential's name is the program's; the file is the unit's own.
            #expect(words[0].intersection(words[1]).isSubset(of: ["latch.machine-key"]), "\(name)")
        }
        for unit in [lock, key] {
            #expect(unit["UMask"] == ["0077"])
            #expect(unit["StateDirectoryMode"] == ["0700"])
        }
    }

    @Test(
        "each unit's user is made, with its state directory for a home, and is in no group of the other's",
        arguments: roles)
    func user(role: String) throws {
        let unit = try Self.settings(role)
        let user = try #require(unit["User"]?.first)
        let line = try #require(try Self.accounts("u").first { $0[1] == user })
        let state = try #require(unit["StateDirectory"]?.first?.split(separator: " ").first)
        #expect(line.contains("/var/lib/\(state)"))
        // A user's own group is made with it.
        #expect(unit["Group"] == [user])
        let others = try Self.settings(role == "central" ? "peripheral" : "central")
        let theirs = Set(["Group", "SupplementaryGroups"].flatMap { others[$0] ?? [] })
        #expect(theirs.isDisjoint(with: unit["SupplementaryGroups"] ?? []))
        #expect(try Self.accounts("m").allSatisfy { $0[1] != user }, "the unit says its groups")
    }

    @Test(
        "the group of the configuration is made, the unit is in it, and its members can enter its directory",
        arguments: roles)
    func operators(role: String) throws {
        let unit = try Self.settings(role)
        let settings = try Self.lines("\(role).conf", commented: true)
        let group = try #require(
            settings.compactMap { $0.wholeMatch(of: /#group = "(.+)"/) }.first.map { String($0.1) })
        let socket = try #require(
            settings.compactMap { $0.wholeMatch(of: /#socket = "(.+)"/) }.first.map { String($0.1) })
        #expect(unit["SupplementaryGroups"] == [group])
        #expect(try Self.accounts("g").contains { $0[1] == group })
        let runtime = try #require(unit["RuntimeDirectory"]?.first)
        #expect(socket == "/run/\(runtime)/control.sock")
        #expect(unit["RuntimeDirectoryMode"] == ["0711"])
    }

    @Test(
        "The call by which a socket gets its group comes back after the filter has taken it",
        arguments: roles + ["strike"])
    func givesSocketsAway(unit: String) throws {
        let filters = try #require(Self.settings(unit)["SystemCallFilter"])
        #expect(filters.firstIndex(of: "@chown") ?? 0 > filters.firstIndex { $0.contains("~@privileged") } ?? .max)
    }

    @Test("a device of udev's rules is for a group that there is", arguments: ["70-latch", "71-latch-strike"])
    func device(name: String) throws {
        let rules = try Self.lines("udev/\(name).rules", commented: true).joined(separator: "\n")
        let groups = rules.matches(of: /GROUP="([^"]+)"/).map { String($0.1) }
        #expect(!groups.isEmpty)
        let users = try Self.accounts("u").map { $0[1] }
        for group in groups { #expect(users.contains(group)) }
    }

    @Test("an error that a restart does not mend is not restarted into", arguments: roles)
    func restart(role: String) throws {
        let prevented = try Self.settings(role)["RestartPreventExitStatus"]
        #expect(prevented == ["\(ExitCode.usage.rawValue) \(ExitCode.configuration.rawValue)"])
    }

    /// What conflicts with a unit stops it, and nothing starts it again.
    @Test("nothing that is started beside a daemon stops it, and one that hangs is ended", arguments: roles)
    func stays(role: String) throws {
        let unit = try Self.settings(role)
        for name in ["Conflicts", "BindsTo", "PartOf", "Requires", "Requisite", "StopWhenUnneeded", "After"] {
            #expect(unit[name] == nil, "\(name)")
        }
        #expect(unit["Before"] == ["bluetooth.service"])
        #expect(unit["StartLimitIntervalSec"] == ["0"])
        #expect(unit["Restart"] == ["always"])
        #expect(unit["Type"] == ["notify"])
        #expect(unit["NotifyAccess"] == ["main"])
        #expect(unit["WatchdogSec"] == ["30s"])
    }

    /// Its disk's failures in a row are counted where no disk is, from one process to the next.
    @Test("the runtime directory outlives a restart", arguments: roles)
    func runtimeDirectory(role: String) throws {
        let settings = try Self.settings(role)
        #expect(settings["RuntimeDirectory"] == ["latch-\(role)"])
        #expect(settings["RuntimeDirectoryPreserve"] == ["restart"])
    }

    /// No group of systemd's has it.
    @Test("the sandbox lets the daemon ask what the cache keeps of its database", arguments: roles)
    func cacheQuestion(role: String) throws {
        let allowed = try #require(Self.settings(role)["SystemCallFilter"]?.first)
        #expect(allowed.split(separator: " ").contains("mincore"))
    }

    @Test("the anchor has a directory of its own beside the state, which the program finds")
    func anchor() throws {
        let names = try #require(Self.settings("peripheral")["StateDirectory"]?.first).split(separator: " ")
        #expect(names == ["latch", "latch-anchor"])
        let made = names.map { "/var/lib/\($0)" }.joined(separator: ":")
        #expect(DaemonPlan.serviceAnchor(made) == "/var/lib/latch-anchor/lock.anchor")
        for other in [nil, "", "/var/lib/latch", ":"] { #expect(DaemonPlan.serviceAnchor(other) == nil) }
        #expect(try Self.settings("central")["StateDirectory"] == ["latch-key"])
    }

    /// With `ProcSubset=pid` there is no /proc/sys, and no daemon that gets past its start.
    @Test("the sandbox lets the daemon read the boot id", arguments: roles)
    func bootIdentifier(role: String) throws {
        #expect(SystemClock.bootIdentifier() != nil)
        #expect(try Self.settings(role)["ProcSubset"] == nil)
    }
}
