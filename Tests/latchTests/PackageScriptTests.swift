import Foundation
import TestSupport
import Testing

/// What dpkg runs, on directories of the test's.
@Suite("The packages' scripts")
struct PackageScriptTests {
    private static let scripts = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "packaging/debian")

    private let root: TemporaryDirectory

    init() throws { root = try TemporaryDirectory() }

    private func make(_ path: String) throws {
        let url = URL(filePath: root.path + path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(path.utf8).write(to: url)
    }

    /// What there is below a directory of it, by name; nil where it is gone.
    private func names(_ directory: String) -> [String]? {
        try? FileManager.default.contentsOfDirectory(atPath: root.path + directory).sorted()
    }

    /// Runs the script with its own paths moved to the test's root, and says what it has said. Its programs are those of `programs` in
    /// place of the system's; `wrapper`: a command of the shell's in which "$@" is the script.
    @discardableResult
    private func run(
        _ name: String, _ words: String..., programs: String? = nil, within wrapper: String? = nil
    ) throws -> String {
        var text = try String(contentsOf: Self.scripts.appending(path: name), encoding: .utf8)
        for top in ["etc", "lib", "run", "usr", "var"] {
            text = text.replacing(" /\(top)/", with: " \(root.path)/\(top)/")
        }
        // It deletes: not a word of it may point outside.
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            for path in line.split(separator: " ") where path.hasPrefix("/") {
                try #require(path.hasPrefix(root.path + "/"), "\(line)")
            }
        }
        let script = root.path + "/script"
        try Data(text.utf8).write(to: URL(filePath: script))
        var command = ["/bin/sh", script] + words
        if let wrapper {
            command = ["/usr/bin/unshare", "--map-root-user", "--mount", "/bin/sh", "-ec", wrapper, "sh"] + command
        }
        let outcome = try ChildProcess.run(command, environment: ["PATH": programs ?? "/usr/bin:/bin"])
        #expect(outcome.end == .exited(0) && outcome.errors.isEmpty, "\(outcome)")
        return outcome.output
    }

    /// The machine key, and all that bears it or its wrapped form: made by postinst, by `latch state rotate-key` and as the unit says.
    private static let keys = [
        "peripheral.key", "peripheral.key.aB3dE6", "peripheral.key.cred", "peripheral.key.new",
        "peripheral.key.new-4711",
        "peripheral.key.old-1", "peripheral.key.old-12",
    ]

    private func install() throws {
        for name in Self.keys { try make("/etc/latch/\(name)") }
        for path in ["latch/latch.sqlite", "latch-anchor/lock.anchor", "latch-backup/latch-000001.sqlite"] {
            try make("/var/lib/\(path)")
        }
        try make("/run/latch-peripheral/peripheral.ends")
    }

    @Test("latch-lock purged: no machine key is left, under whichever name, and no state")
    func purged() throws {
        try install()
        // Of other packages, and of nobody's.
        let others = ["central.key", "peripheral.keys", "strike.conf"]
        for name in others { try make("/etc/latch/\(name)") }
        try run("latch-lock.postrm", "purge")
        #expect(names("/etc/latch") == others)
        #expect(names("/var/lib") == [] && names("/run") == [])
        for name in others { try FileManager.default.removeItem(atPath: root.path + "/etc/latch/\(name)") }
        try run("latch-lock.postrm", "purge")
        #expect(names("/etc") == [])
    }

    @Test("latch-lock removed or upgraded: all of it stays", arguments: ["remove", "upgrade", "abort-install"])
    func kept(word: String) throws {
        try install()
        try run("latch-lock.postrm", word)
        #expect(names("/etc/latch") == Self.keys.sorted())
        #expect(names("/var/lib") == ["latch", "latch-anchor", "latch-backup"])
    }

    @Test(
        "latch-lock purged where the anchor has a file system of its own: it is emptied, and the purge comes to its end"
    )
    func purgedAtMount() throws {
        try install()
        // Its status is 0 at its end alone, where debhelper's part follows.
        let anchor = root.path + "/var/lib/latch-anchor"
        let left = try run(
            "latch-lock.postrm", "purge",
            within: """
                mount -t tmpfs none '\(anchor)'
                mkdir '\(anchor)/lost+found'
                touch '\(anchor)/lock.anchor' '\(anchor)/.hidden'
                "$@"
                ls -A '\(anchor)'
                """)
        #expect(left.isEmpty)
        #expect(names("/var/lib") == ["latch-anchor"] && names("/run") == [] && names("/etc") == [])
    }

    @Test("latch-lock purged where the state lies behind a link: nothing of it is left there")
    func purgedBehindLink() throws {
        try make("/srv/state/latch.sqlite")
        try make("/var/lib/other")
        try FileManager.default.createSymbolicLink(
            atPath: root.path + "/var/lib/latch", withDestinationPath: root.path + "/srv/state")
        try run("latch-lock.postrm", "purge")
        #expect(names("/srv/state") == [] && names("/var/lib")?.contains("other") == true)
    }

    /// A machine with these units, where a service's restart is written down.
    private func machine(_ units: [String]) throws -> String {
        let programs = root.path + "/programs"
        for path in ["/run/systemd/system/any"] + units { try make(path) }
        try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: false)
        try ChildProcess.writeScript("echo \"$@\" >>'\(root.path)/asked'\n", to: programs + "/deb-systemd-invoke")
        return programs
    }

    private var asked: [String] {
        let text = try? String(contentsOfFile: root.path + "/asked", encoding: .utf8)
        return text?.split(separator: "\n").map(String.init) ?? []
    }

    @Test("latch upgraded: each service that is set up goes on with the new program, and none is asked for that is not")
    func upgraded() throws {
        let programs = try machine([
            "/lib/systemd/system/latch-peripheral.service", "/etc/systemd/system/latch-central.service",
        ])
        try run("latch.postinst", "configure", programs: programs)
        #expect(asked == [], "an installation starts nothing")
        try run("latch.postinst", "configure", "0.1-1", programs: programs)
        #expect(asked == ["try-restart latch-peripheral.service", "try-restart latch-central.service"])
    }

    @Test(
        "latch upgraded where one service is set up, or none",
        arguments: ["latch-peripheral", "latch-central", "other"])
    func upgradedAlone(unit: String) throws {
        let programs = try machine(["/etc/systemd/system/\(unit).service", "/lib/systemd/system/\(unit).service"])
        try run("latch.postinst", "configure", "0.1-1", programs: programs)
        #expect(asked == (unit == "other" ? [] : ["try-restart \(unit).service"]))
    }

    @Test("latch-key: who installs it hears how a key is begun, and who upgrades it how a running one is renewed")
    func key() throws {
        let begun = try run("latch-key.postinst", "configure", "")
        #expect(begun.contains("systemctl --user enable --now latch-central") && !begun.contains("restart"))
        let renewed = try run("latch-key.postinst", "configure", "0.1-1")
        #expect(renewed.contains("systemctl --user daemon-reload && systemctl --user restart latch-central"))
        #expect(!renewed.contains("enable"))
    }
}
