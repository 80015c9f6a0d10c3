import Foundation
import FuzzTargets
import Testing

/// What a fuzzer once found, and what it begins with, run again by the ordinary tests: a target that breaks traps.
@Suite("Fuzzing: every seed and every past failure")
struct FuzzReplayTests {
    static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fuzz")

    static func inputs(_ kind: String, of target: String) -> [URL] {
        let folder = folder.appendingPathComponent(kind).appendingPathComponent(target)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.sorted().map(folder.appendingPathComponent)
    }

    @Test("No seed and no past failure breaks its target", arguments: FuzzTarget.all.map(\.name))
    func replay(name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let seeds = Self.inputs("Seeds", of: name)
        #expect(!seeds.isEmpty, "a target begins with something")
        for file in seeds + Self.inputs("Failures", of: name) {
            print("replaying \(name)/\(file.lastPathComponent)")
            target.run(Array(try Data(contentsOf: file)))
        }
        target.run([])
    }

    @Test("Every folder of inputs belongs to a target", arguments: ["Seeds", "Failures"])
    func folders(kind: String) throws {
        let names = Set(FuzzTarget.all.map(\.name))
        #expect(names.count == FuzzTarget.all.count, "two targets have one name")
        let folder = Self.folder.appendingPathComponent(kind)
        let present = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        #expect(Set(present).subtracting(names).isEmpty)
    }

    @Test("docs/FUZZING.md says of every target what it promises, and of no other")
    func documented() throws {
        let page = Self.folder.deletingLastPathComponent().appendingPathComponent("docs/FUZZING.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## ").first { $0.hasPrefix("What is promised\n") })
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst()
        let names = rows.flatMap { row in
            row.dropFirst(2).prefix { $0 != "|" }.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(names.sorted() == FuzzTarget.all.map(\.name).sorted())
    }
}
