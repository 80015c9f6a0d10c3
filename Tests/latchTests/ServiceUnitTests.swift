import CommandInterface
import Foundation
import HCITransport
import StatePersistence
import Testing

@testable import latch

/// The units as they are installed: each word that must agree with the program does.
@Suite("systemd units")
struct ServiceUnitTests {
    static let roles = ["peripheral", "central"]

    private static func settings(_ role: String) throws -> [String: [String]] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appendingPathComponent("config/systemd/latch-\(role).service")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let pairs = lines.filter { !$0.hasPrefix("#") && $0.contains("=") }.map { line in
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), [String(parts[1])])
        }
        return Dictionary(pairs, uniquingKeysWith: +)
    }

    @Test("the command is one that the program has, with the configuration that is installed", arguments: roles)
    func command(role: String) throws {
        let words = try #require(Self.settings(role)["ExecStart"]?.first).split(separator: " ").map(String.init)
        #expect(words.first == "/usr/bin/latch")
        let parsed = try ArgumentParser(Latch.program()).parse(Array(words.dropFirst()))
        guard case .run(let command, let arguments) = parsed else {
            Issue.record("no command")
            return
        }
        #expect(command.path == [role, "run"])
        #expect(arguments["config"] == "/etc/latch/\(role).conf")
    }

    @Test("the machine key comes under the name that the program asks for", arguments: roles)
    func credential(role: String) throws {
        let credential = try #require(Self.settings(role)["LoadCredential"]?.first)
        #expect(credential.hasPrefix(MachineKey.credentialName + ":"))
    }

    @Test("an error that a restart does not mend is not restarted into", arguments: roles)
    func restart(role: String) throws {
        let prevented = try Self.settings(role)["RestartPreventExitStatus"]
        #expect(prevented == ["\(ExitCode.usage.rawValue) \(ExitCode.configuration.rawValue)"])
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
