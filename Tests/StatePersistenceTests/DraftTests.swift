import Glibc
import TestSupport
import Testing

@testable import StatePersistence

@Suite("Files that are not whole yet")
struct DraftTests {
    /// Above every number that Linux gives.
    private static let gone = 999_999_999

    private let folder = ScratchDirectory()

    private func write(_ names: [String]) throws {
        for name in names { _ = try StateFile.open(folder.path + "/" + name, O_WRONLY | O_CREAT | O_EXCL) }
    }

    @Test("A draft of a process that is gone is removed with what SQLite has beside it; all others stay")
    func abandoned() throws {
        let others = [
            "a", "a.new", "a.new-key", "a.new-", "a.new-0", "b.new-\(Self.gone)", "a.new-\(getpid())", "a.new-1",
            "a.new-\(Self.gone)9", "xa.new-\(Self.gone)",
        ]
        try write(others + ["a.new-\(Self.gone)", "a.new-\(Self.gone)-journal"])
        try Draft.removeAbandoned(of: folder.path + "/a")
        #expect(folder.files.sorted() == others.sorted())
    }

    @Test("Who makes a copy or a machine key removes what a kill has left of the same file")
    func makers() throws {
        let scratch = Scratch()
        _ = try Database(path: scratch.database, components: [])
        try write(["copy.new-\(Self.gone)", "machine.key.new-\(Self.gone)"])
        try StateBackup.make(of: scratch.database, at: folder.path + "/copy")
        _ = try MachineKey.load(credentialsDirectory: nil, file: folder.path + "/machine.key", mayCreate: true)
        #expect(folder.files.sorted() == ["copy", "machine.key"])
    }

    @Test("A key that gets its place has no second name that a kill has left, and neither has the one before")
    func rotation() throws {
        let file = folder.path + "/machine.key"
        _ = try MachineKey.load(credentialsDirectory: nil, file: file, mayCreate: true)
        _ = try MachineKey.makeNext(of: file)
        for name in [file, file + ".new"] { #expect(link(name, "\(name).new-\(Self.gone)") == 0) }
        #expect(try MachineKey.putInPlace(of: file) == file + ".old-1")
        #expect(folder.files.sorted() == ["machine.key", "machine.key.old-1"])
    }
}
