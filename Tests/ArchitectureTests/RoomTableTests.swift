import Foundation
import Testing

/// The table of rooms in docs/ARCHITECTURE.md, held against the manifest.
@Suite("docs/ARCHITECTURE.md: the table of rooms")
struct RoomTableTests {
    struct Row: Equatable {
        let room: String
        /// Under Sources.
        let folder: String
        /// What the manifest lets it import.
        let knows: Set<String>
    }

    private static func documented() throws -> [Row] {
        let page = SourceTree.root.deletingLastPathComponent().appendingPathComponent("docs/ARCHITECTURE.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## ").first { $0.hasPrefix("Rooms\n") })
        return section.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
            let cells = line.split(separator: "|").map { $0.matches(of: /`([\w\/]+)`/).map { String($0.1) } }
            // `Module`, or `Module`, in `Sources/Folder`.
            let folder = cells[0].last?.split(separator: "/").last.map(String.init) ?? ""
            return Row(room: cells[0].first ?? "", folder: folder, knows: Set(cells.last ?? []))
        }
    }

    @Test("Each row names a room, its folder, and exactly the modules that the manifest gives it")
    func rows() throws {
        let rows = try Self.documented()
        let dependencies = try SourceTree.dependencies()
        let folders = try SourceTree.rooms()
        for row in rows {
            #expect(row.knows == dependencies[row.room], "\(row.room)")
            #expect(row.folder == folders[row.room], "\(row.room)")
        }
        #expect(Set(rows.map(\.room)) == Set(folders.keys).subtracting(SourceTree.systemModules))
        #expect(rows.count == Set(rows.map(\.room)).count, "no room stands there twice")
    }

    @Test("The manifest's dependencies are read: a room with none, one line, several lines, a program")
    func dependencies() {
        let manifest = """
            room("BluetoothCore"),
            room("BluetoothCrypto", ["BluetoothCore", "COpenSSL"], folder: "Crypto"),
            room(
                "GATT",
                [
                    "ATT", "BluetoothCore",
                ]),
            .executableTarget(
                name: "latch",
                dependencies: ["GATT"], swiftSettings: swift),
            .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
            """
        let expected: [String: Set<String>] = [
            "BluetoothCore": [], "BluetoothCrypto": ["BluetoothCore", "COpenSSL"], "GATT": ["ATT", "BluetoothCore"],
            "latch": ["GATT"], "CSQLite": [],
        ]
        #expect(SourceTree.dependencies(in: manifest) == expected)
    }
}
