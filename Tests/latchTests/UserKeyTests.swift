import CLinux
import CommandInterface
import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

/// A key that is one user's own, without a word of where it is.
@Suite("A user's own key")
struct UserKeyTests {
    @Test(
        "It is where the user's programs are; what is no absolute path counts as nothing, and without a home there is none"
    )
    func place() throws {
        func place(_ variables: [String: String]) -> UserPlace? { UserPlace { variables[$0] } }
        let usual = try #require(place(["HOME": "/home/anna"]))
        #expect(usual.state == "/home/anna/.local/state/latch-key")
        #expect(usual.configuration == "/home/anna/.config/latch/central.conf")
        let own = try #require(place(["HOME": "/home/anna", "XDG_STATE_HOME": "/s", "XDG_CONFIG_HOME": "/c"]))
        #expect(own.state == "/s/latch-key" && own.configuration == "/c/latch/central.conf")
        #expect(place(["HOME": "/home/anna", "XDG_STATE_HOME": "s", "XDG_CONFIG_HOME": ""]) == usual)
        #expect(place([:]) == nil && place(["HOME": "anna", "XDG_STATE_HOME": "/s"]) == nil)
    }

    /// With no bus.
    private final class Home {
        let path: String
        let environment: [String: String]

        init() throws {
            path = FileManager.default.temporaryDirectory.appendingPathComponent("home-\(UUID())").path
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            environment = ["HOME": path, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(path)/no-bus"]
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        var file: String { "\(path)/.config/latch/central.conf" }

        func configure(_ text: String) throws {
            try FileManager.default.createDirectory(
                atPath: "\(path)/.config/latch", withIntermediateDirectories: true)
            try text.write(toFile: file, atomically: true, encoding: .utf8)
        }

        func ask(_ command: String) throws -> Program.Outcome {
            try Program.run(["central", command], environment: environment)
        }

        /// Whoever runs the tests under nohup has SIGHUP ignored, and so has all that they start.
        func start(_ more: [String] = [], environment given: [String: String] = [:]) throws -> ChildProcess {
            let daemon = try ChildProcess(
                ["/usr/bin/env", "--default-signal=HUP", Program.path, "central", "run"] + more,
                environment: Program.environment.merging(environment) { $1 }.merging(given) { $1 })
            #expect(waits { (try? ask("status"))?.status == 0 })
            return daemon
        }
    }

    private static func mode(_ path: String) -> mode_t? {
        var information = stat()
        return stat(path, &information) == 0 ? information.st_mode & 0o7777 : nil
    }

    @Test(
        "Before it has been started there is nothing to ask; the daemon makes its directory, and the commands find it")
    func started() throws {
        let home = try Home()
        let refused = try Program.run(["central", "status"], environment: home.environment)
        #expect(refused.status == 2 && refused.errors.contains("systemctl --user start latch-central"))
        let checked = try Program.run(["central", "run", "--check"], environment: home.environment)
        #expect(checked.status == 0 && !FileManager.default.fileExists(atPath: home.path + "/.local"))
        let daemon = try ChildProcess(
            [Program.path, "central", "run"], environment: Program.environment.merging(home.environment) { $1 })
        #expect(waits { (try? Program.run(["central", "status"], environment: home.environment))?.status == 0 })
        for name in [".local", ".local/state", ".local/state/latch-key"] {
            #expect(Self.mode("\(home.path)/\(name)") == 0o700, "\(name)")
        }
        #expect(try Program.run(["central", "stop"], environment: home.environment).status == 0)
        #expect(daemon.wait().code == 0)
    }

    @Test("The user's file says where it is, and what is on the command line counts before it")
    func configured() throws {
        let home = try Home()
        let other = "\(home.path)/other"
        for path in ["\(home.path)/.config/latch", other] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            chmod(path, 0o700)
        }
        try "state = \"\(other)\"\n".write(
            toFile: "\(home.path)/.config/latch/central.conf", atomically: true, encoding: .utf8)
        let daemon = try ChildProcess(
            [Program.path, "central", "run"], environment: Program.environment.merging(home.environment) { $1 })
        #expect(waits { (try? Program.run(["central", "status"], environment: home.environment))?.status == 0 })
        #expect(try Program.run(["central", "stop", "--state", other], environment: home.environment).status == 0)
        #expect(daemon.wait().code == 0)
        try "state = 7\n".write(
            toFile: "\(home.path)/.config/latch/central.conf", atomically: true, encoding: .utf8)
        let wrong = try Program.run(["central", "run"], environment: home.environment)
        #expect(wrong.status == 3 && wrong.errors.contains("central.conf"))
    }

    @Test(
        "A state directory that only the shell knows: who finds no daemon hears where it was looked for, and of the variable"
    )
    func otherDirectory() throws {
        let home = try Home()
        let elsewhere = "\(home.path)/elsewhere"
        let environment = home.environment.merging(["XDG_STATE_HOME": elsewhere]) { $1 }
        let words = ["\(elsewhere)/latch-key", "`systemctl --user import-environment XDG_STATE_HOME`"]
        let nowhere = try Program.run(["central", "status"], environment: environment)
        #expect(nowhere.status == 2 && nowhere.errorLines.count == 1)
        for word in words { #expect(nowhere.errors.contains(word), "\(nowhere)") }
        try FileManager.default.createDirectory(
            atPath: "\(elsewhere)/latch-key", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let nobody = try Program.run(["central", "status"], environment: environment)
        #expect(nobody.status == ExitCode.unavailable.rawValue && nobody.errorLines.count == 1)
        for word in words { #expect(nobody.errors.contains(word), "\(nobody)") }
        // Nothing differs by it, or somebody has said which daemon.
        let usual = home.environment.merging(["XDG_STATE_HOME": "\(home.path)/.local/state"]) { $1 }
        for (words, environment) in [
            (["central", "status"], usual), (["central", "status"], home.environment),
            (["central", "status", "--state", "\(elsewhere)/latch-key"], environment),
        ] {
            let plain = try Program.run(words, environment: environment)
            #expect(plain.status != 0 && !plain.errors.contains("import-environment"), "\(plain)")
        }
    }

    @Test(
        "A file that the user writes while his key runs is read by the next reload; where there is none he hears which one to write"
    )
    func writtenLater() throws {
        let home = try Home()
        let daemon = try home.start()
        func isRefused() throws {
            let refused = try home.ask("reload")
            #expect(refused.status == ExitCode.refused.rawValue, "\(refused)")
            #expect(refused.errors.contains("write \(home.file), and reload again"), "\(refused)")
        }
        try isRefused()
        try home.configure("[log]\nlevel = \"error\"\n")
        let told = try home.ask("reload")
        #expect(told.status == 0 && told.output == "changed: [log] level\n", "\(told)")
        try FileManager.default.removeItem(atPath: home.file)
        try isRefused()
        #expect(try home.ask("stop").status == 0 && daemon.wait().code == 0)
    }

    @Test(
        "SIGHUP has a key read its file where a service manager has started it, and ends it in a terminal that closes")
    func hangUp() throws {
        let home = try Home()
        let manager = try ServiceManagerTests.Listener("\(home.path)/notify")
        let journal = "\(home.path)/journal"
        let managed = try home.start(
            ["--journal", journal], environment: ["NOTIFY_SOCKET": "\(home.path)/notify"])
        try home.configure("[log]\nlevel = \"error\"\n")
        managed.signal(SIGHUP)
        #expect(
            waits {
                let text = try? String(contentsOfFile: journal, encoding: .utf8)
                return text?.contains(#""event":"reloaded""#) == true || !managed.isRunning
            })
        #expect(try home.ask("stop").status == 0 && managed.wait() == .exited(0))
        withExtendedLifetime(manager) {}

        let manual = try home.start()
        manual.signal(SIGHUP)
        #expect(waits { !manual.isRunning })
        manual.signal(SIGKILL)
        #expect(manual.wait() == .killed(SIGHUP))
    }

    private static let example = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "config/central.conf").path

    @Test("The example of a configuration is right for a user as it is: state and transport stay the user's")
    func example() throws {
        let home = try Home()
        let directory = "\(home.path)/.config/latch"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: Self.example, toPath: "\(directory)/central.conf")
        let user = try #require(UserPlace { home.environment[$0] })
        var settings = try CentralSettings.load(user.file)
        user.complete(&settings.daemon)
        #expect(settings.daemon.transport == "bluez" && settings.daemon.stateDirectory == user.state)
        let checked = try Program.run(["central", "run", "--check"], environment: home.environment)
        #expect(checked.status == 0 && checked.output.contains("\(directory)/central.conf"), "\(checked)")
        let daemon = try ChildProcess(
            [Program.path, "central", "run"], environment: Program.environment.merging(home.environment) { $1 })
        #expect(
            waits {
                let status = try? Program.run(["central", "status"], environment: home.environment)
                return status?.status == 0 || !daemon.isRunning
            })
        #expect(try Program.run(["central", "stop"], environment: home.environment).status == 0)
        #expect(daemon.wait().code == 0 && user.hasState)
    }

    @Test("A service that has the example as it is learns which keys it has to set")
    func exampleOfService() throws {
        let words = ["central", "run", "--config", Self.example]
        let run = try Program.run(words)
        #expect(run.status == 2 && run.errors.contains("`transport = "), "\(run)")
        let checked = try Program.run(words + ["--check"])
        #expect(checked.status == 3 && checked.errorLines.count == 2, "\(checked)")
        for key in ["transport", "state"] {
            #expect(checked.errors.contains("`\(key) = \"…\"` in the configuration file"), "\(checked)")
        }
    }

    @Test("A directory that cannot be made is named, with the remedy")
    func unmakeable() throws {
        let home = try Home()
        let file = "\(home.path)/file"
        try "".write(toFile: file, atomically: true, encoding: .utf8)
        let outcome = try Program.run(
            ["central", "run"], environment: home.environment.merging(["XDG_STATE_HOME": file]) { $1 })
        #expect(
            outcome.status == 4 && outcome.errors.contains("\(file)/latch-key") && outcome.errors.contains("--state"))
    }
}
