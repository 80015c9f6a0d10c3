import Foundation
import Testing

/// What a caller must be told, held against the declarations.
@Suite("Documentation comments")
struct DocCommentTests {
    /// Declarations of `access` that throw, and whose comment does not say what. What a closure among the parameters throws
    /// does not count.
    static func silent(_ access: String, in source: String) -> [String] {
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
        var found: [String] = []
        for (index, line) in lines.enumerated() {
            let words = line.split(separator: " ")
            guard words.contains(Substring(access)),
                words.contains(where: { $0 == "func" || $0.hasPrefix("init(") || $0.hasPrefix("init<") })
            else { continue }
            var declaration = ""
            for line in lines[index...].prefix(8) {
                declaration += line.prefix { $0 != "{" } + " "
                if line.contains("{") { break }
            }
            var depth = 0
            let outside = declaration.filter { character in
                if character == "(" { depth += 1 }
                defer { if character == ")" { depth -= 1 } }
                return depth == 0
            }
            guard outside.split(separator: " ").contains(where: { $0.hasPrefix("throws") }) else { continue }
            let comment = lines[..<index].reversed().prefix { line in
                let text = line.drop { $0 == " " }
                return text.hasPrefix("///") || text.hasPrefix("@")
            }
            if !comment.contains(where: { $0.contains("/// - Throws:") }) { found.append(String(line)) }
        }
        return found
    }

    @Test(
        "Whatever throws says what it throws: all that is public, and the rooms that speak to disks, devices and operators",
        arguments: [
            ("public", "CoreBluetooth"), ("public", "CoreBluetoothEssentials"), ("package", "StatePersistence"),
            ("package", "HCITransport"), ("package", "DaemonControl"), ("package", "GPIO"),
        ])
    func throwing(access: String, room: String) throws {
        for file in try SourceTree.files(in: room) {
            let silent = try Self.silent(access, in: String(contentsOf: file, encoding: .utf8))
            #expect(silent.isEmpty, "\(file.lastPathComponent)")
        }
    }

    @Test("A declaration that throws is found over several lines; one whose closure throws is not")
    func found() {
        let source = """
            /// Says it.
            ///
            /// - Throws: What happens.
            package func said() throws(E) {}
            /// Does not.
            @discardableResult
            package func silent(
                _ a: Int
            ) throws -> Int { 1 }
            package func lends(_ body: () throws -> Void) {}
            package init(a: Int) throws(E) {}
            public func other() throws {}
            """
        #expect(Self.silent("package", in: source) == ["package func silent(", "package init(a: Int) throws(E) {}"])
        #expect(Self.silent("public", in: source) == ["public func other() throws {}"])
    }
}
