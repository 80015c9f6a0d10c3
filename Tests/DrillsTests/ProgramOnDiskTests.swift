import Foundation
import Testing

/// Needs root, /dev/fuse, a loop device and e2fsprogs, as the command does.
@Suite("A program on a disk of its own: latch-lab disk", .serialized) final class ProgramOnDiskTests {
    private let folder: String
    private var image: String { folder + "/disk" }

    init() throws {
        folder = NSTemporaryDirectory() + "latch-disk-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// `script` is the shell's, with the disk as `$0`. `$PPID` is the command, which has the power switch.
    private func run(_ script: String, _ options: String...) throws -> (status: Int32, output: String, errors: String) {
        try ProcessDrillTests.lab(
            ["disk", "--image", image, "--at", folder + "/at"] + options
                + ["--", "/bin/sh", "-c", script, folder + "/at"])
    }

    @Test("What a program leaves is there for the next one, and nowhere else; only its owner may enter")
    func ended() throws {
        #expect(try run("stat -c %a \"$0\" && echo kept >\"$0/file\"").output == "700\n")
        #expect(try run("cat \"$0/file\"").output == "kept\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/at").isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["at", "disk"])
    }

    @Test("What no flush has confirmed goes with the power, and what one has confirmed stays")
    func cut() throws {
        let (status, _, errors) = try run(
            "cd \"$0\" && echo flushed >a && sync a && echo lost >b && kill -PWR $PPID && exec cat /dev/zero >/dev/null"
        )
        #expect(status == 0)
        #expect(
            errors.wholeMatch(
                of: /the power was cut: no flush had confirmed [0-9]+ octets in [0-9]+ writes; 0 of them are kept\n/)
                != nil, "\(errors)")
        let after = try run("cd \"$0\" && cat a; cat b; true")
        #expect(after.output == "flushed\n", "\(after)")
    }

    @Test("A program that ends otherwise than well, and one that is not there")
    func failing() throws {
        let failed = try run("exit 3")
        #expect(failed.status == 1 && failed.errors == "latch-lab: the program ended with exit status 3\n")
        let killed = try run("kill -KILL $$")
        #expect(killed.status == 1 && killed.errors == "latch-lab: signal 9 ended the program\n")
        let missing = try ProcessDrillTests.lab([
            "disk", "--image", image, "--at", folder + "/at", "--", "/nonexistent",
        ])
        #expect(
            missing.status == 4
                && missing.errors
                    == "latch-lab: /nonexistent is no program that can be run: build it, or name another by its path\n"
        )
    }

    @Test("An image that is no file system is refused, and stays as it is")
    func noFileSystem() throws {
        try Data(repeating: 7, count: 8_192).write(to: URL(fileURLWithPath: image))
        let refused = try run("true")
        #expect(refused.status == 4 && refused.errors.contains("`e2fsck -p "), "\(refused)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: image)) == Data(repeating: 7, count: 8_192))
    }

    @Test(
        "Words that nobody can have meant",
        arguments: [
            (["disk"], "`--image`"), (["disk", "--image", "a", "--at", "b"], "needs `-- PROGRAM [ARGUMENTS]`"),
            (["disk", "--image", "a", "--at", "b", "--"], "needs `-- PROGRAM [ARGUMENTS]`"),
            (["disk", "--image", "a", "--at", "b", "true"], "takes a program behind `--`, not `true`"),
            (
                ["disk", "--image", "a", "--at", "b", "--keep", "some", "--", "/bin/true"],
                "nothing, everything, chance"
            ),
        ])
    func usage(_ words: [String], _ said: String) throws {
        let (status, _, errors) = try ProcessDrillTests.lab(words)
        #expect(status == 2 && errors.contains(said), "\(errors)")
    }
}
