import Foundation
import Testing

@testable import latch

@Suite("The file of events")
struct JournalFileTests {
    private struct NotOpened: Error {}

    private static func open(_ path: String) throws -> JournalFile {
        guard let file = JournalFile(path, octetsMaximum: 10) else { throw NotOpened() }
        return file
    }

    private static func add(_ line: String, to file: inout JournalFile) {
        let isWritten = file.write(Array(line.utf8))
        #expect(isWritten, "\(line)")
    }

    private static func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    @Test("Attack: a stranger who comes and goes without end fills two files, and no more; no line is torn")
    func bound() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/journal"
        var file = try Self.open(path)
        for line in ["12345\n", "789\n"] { Self.add(line, to: &file) }
        #expect(Self.text(path) == "12345\n789\n" && Self.text(path + ".1") == nil, "as much as fits")
        Self.add("a\n", to: &file)
        #expect(Self.text(path) == "a\n" && Self.text(path + ".1") == "12345\n789\n")
        for number in 0..<100 { Self.add("line \(number)\n", to: &file) }
        #expect(Self.text(path) == "line 99\n" && Self.text(path + ".1") == "line 98\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 2)
    }

    @Test("what a launch finds counts; a line longer than a file has one to itself")
    func relaunch() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/journal"
        do {
            var file = try Self.open(path)
            Self.add("12345\n", to: &file)
        }
        var file = try Self.open(path)
        Self.add("a longer line\n", to: &file)
        #expect(Self.text(path) == "a longer line\n" && Self.text(path + ".1") == "12345\n")
    }

    @Test("who takes the file away has made way for the next one")
    func takenAway() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/journal"
        var file = try Self.open(path)
        Self.add("1234567\n", to: &file)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
        Self.add("abc\n", to: &file)
        #expect(Self.text(path) == "abc\n" && Self.text(path + ".old") == "1234567\n")
    }

    @Test("what is no file has no end, and stays where it is")
    func device() throws {
        var file = try Self.open("/dev/null")
        for _ in 0..<5 { Self.add("12345\n", to: &file) }
        #expect(!FileManager.default.fileExists(atPath: "/dev/null.1"))
    }
}
