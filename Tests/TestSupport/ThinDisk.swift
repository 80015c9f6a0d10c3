import CLinux
import Glibc

/// A real file system on which one flush fails and every later one says that all is well: `scripts/thin-disk`, which undoes
/// everything when this goes, or when the process of the tests does.
///
/// Needs root, like the other tests of disks. Without it the test that asks for one fails: what this shows is not shown
/// otherwise.
package final class ThinDisk {
    package enum Failure: Error, Equatable {
        case notRoot
        /// What the script said in place of the word that was waited for; its own complaints are on standard error.
        case unexpected(String)
    }

    private let folder = ScratchDirectory()
    private let script: pid_t
    private let wire: Int32
    private let said: UnsafeMutablePointer<FILE>?

    /// A directory of mode 0700, the disk's root.
    package var path: String { folder.path + "/disk" }

    package init(file: String = #filePath) throws {
        guard geteuid() == 0 else { throw Failure.notRoot }
        let project = file.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        let ends = try makeSocketPair()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        for standard in 0...1 as ClosedRange<Int32> { posix_spawn_file_actions_adddup2(&actions, ends.1, standard) }
        let program = project + "/scripts/thin-disk"
        var argv: [UnsafeMutablePointer<CChar>?] = [strdup(program), strdup(folder.path), nil]
        var started: pid_t = -1
        let failure = posix_spawn(&started, program, &actions, nil, &argv, environ)
        posix_spawn_file_actions_destroy(&actions)
        for argument in argv { free(argument) }
        close(ends.1)
        script = started
        wire = ends.0
        said = fdopen(ends.0, "r")
        guard failure == 0 else { throw Failure.unexpected(String(cString: strerror(failure))) }
        try expect("ready")
    }

    deinit {
        if let said { fclose(said) }
        var status: Int32 = 0
        if script > 0 { waitpid(script, &status, 0) }
    }

    /// From now on a block that was never written before cannot be written back: the flush that finds this out fails.
    package func starve() throws { try tell("starve") }

    /// There is room again: later flushes succeed, whatever became of what was written before.
    package func feed() throws { try tell("feed") }

    /// From now on what is read is what the medium has. Nothing may be open there.
    package func remount() throws { try tell("remount") }

    /// Takes all the room that the file system has left, which is another lack than that of the medium: nobody can take a
    /// block any more, and what is there can be written.
    package func fill() throws {
        let file = latch_open(path + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        var (octets, taken): (off_t, off_t) = (64 << 20, 0)
        while octets >= 4_096 {
            if latch_allocate_ahead(file, taken, octets) == 0 { taken += octets } else { octets /= 2 }
        }
        guard taken > 0 else { throw Failure.unexpected("a disk without room") }
    }

    private func tell(_ word: String) throws {
        let octets = Array((word + "\n").utf8)
        guard send(wire, octets, octets.count, Int32(MSG_NOSIGNAL)) == octets.count else {
            throw Failure.unexpected("nothing")
        }
        try expect("ok")
    }

    private func expect(_ word: String) throws {
        var buffer = [CChar](repeating: 0, count: 256)
        guard let said, fgets(&buffer, Int32(buffer.count), said) != nil else { throw Failure.unexpected("nothing") }
        let line = String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard line == word else { throw Failure.unexpected(line) }
    }
}
