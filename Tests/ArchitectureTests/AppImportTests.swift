import Foundation
import Testing

/// The apps of Tests/SourceCompatibility know what an outside app knows.
@Suite("Apps as others write them")
struct AppImportTests {
    private static let folder = SourceTree.root.deletingLastPathComponent()
        .appendingPathComponent("Tests/SourceCompatibility")

    /// Without what the tests expect of the apps.
    private static func apps(in folder: String) throws -> [URL] {
        let folder = Self.folder.appendingPathComponent(folder)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            .filter { $0.hasSuffix(".swift") && !$0.hasSuffix("Expectations.swift") }
            .map(folder.appendingPathComponent)
    }

    @Test("They import Apple's modules alone", arguments: ["Apps", "Swift5/Classic", "Swift6/Concurrency"])
    func imports(folder: String) throws {
        let apps = try Self.apps(in: folder)
        #expect(!apps.isEmpty)
        for app in apps {
            let imports = try SourceTree.imports(of: app)
            #expect(imports.isSubset(of: ["CoreBluetooth", "Dispatch", "Foundation"]), "\(app.lastPathComponent)")
            #expect(imports.contains("CoreBluetooth"), "\(app.lastPathComponent)")
        }
    }

    @Test("Both language modes compile the same 2,000 lines and more")
    func sharedLines() throws {
        let lines = try Self.apps(in: "Apps").map {
            try String(contentsOf: $0, encoding: .utf8).split(separator: "\n").count
        }
        #expect(lines.reduce(0, +) >= 2_000)
        for mode in ["Swift5", "Swift6"] {
            for shared in ["Apps", "Expectations"] {
                let link = Self.folder.appendingPathComponent("\(mode)/\(shared)")
                #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "../\(shared)")
            }
        }
    }

    @Test("Neither sees the package's symbols, and each has its language mode")
    func manifest() throws {
        let path = SourceTree.root.deletingLastPathComponent().appendingPathComponent("Package.swift")
        let manifest = try String(contentsOf: path, encoding: .utf8)
        let function = try #require(manifest.firstMatch(of: #/func apps\((?:.|\n)*?\n}\n/#)).output
        #expect(function.contains("packageAccess: false") && function.contains(#"dependencies: ["CoreBluetooth"]"#))
        #expect(function.contains("swiftSettings: [.swiftLanguageMode(mode)])"))
        #expect(manifest.contains(#"apps("SourceCompatibilitySwift5Tests", in: "Swift5", .v5)"#))
        #expect(manifest.contains(#"apps("SourceCompatibilitySwift6Tests", in: "Swift6", .v6)"#))
    }
}
