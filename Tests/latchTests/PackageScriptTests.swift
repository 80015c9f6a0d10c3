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

    /// Runs the script with its own paths moved to the test's root.
    private func run(_ name: String, _ word: String) throws {
        var text = try String(contentsOf: Self.scripts.appending(path: name), encoding: .utf8)
        for top in ["etc", "var", "run"] {
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
        let outcome = try ChildProcess.run(["/bin/sh", script, word], environment: ["PATH": "/usr/bin:/bin"])
        #expect(outcome.end == .exited(0) && outcome.errors.isEmpty, "\(outcome)")
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
}
