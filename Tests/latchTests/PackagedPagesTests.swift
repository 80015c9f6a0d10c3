import Foundation
import Testing

/// The pages that the packages install: `apt install` has no other place to look things up.
@Suite("The packages' pages")
struct PackagedPagesTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let place = "/usr/share/doc"

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The files below /usr/share/doc, and which of the source's each is. dh_installdocs puts a file into its package's directory.
    private static func installed() throws -> [String: String] {
        var files: [String: String] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: root.appending(path: "packaging/debian").path) {
            let package = name.prefix { $0 != "." }
            guard name == "\(package).docs" || name == "\(package).install" else { continue }
            for line in try text("packaging/debian/\(name)").split(separator: "\n") {
                let words = line.split(separator: " ").map(String.init)
                let directory = words.count > 1 ? "/" + words[1] : "\(place)/\(package)"
                guard directory.hasPrefix(place) else { continue }
                files["\(directory)/\((words[0] as NSString).lastPathComponent)"] = words[0]
            }
        }
        return files
    }

    @Test("No link of an installed page leads nowhere, and neither does a picture")
    func links() throws {
        let files = try Self.installed()
        var count = 0
        for (path, source) in files where path.hasSuffix(".md") {
            for link in try Self.text(source).matches(of: /\]\(([^)#\s]+)[^)]*\)/) where !link.1.contains("://") {
                let directory = (path as NSString).deletingLastPathComponent
                let target = ("\(directory)/\(link.1)" as NSString).standardizingPath
                #expect(files[target] != nil, "\(source): \(link.0)")
                count += 1
            }
        }
        #expect(count > 20, "the pages were read")
    }

    @Test("Each page that a unit names is installed")
    func units() throws {
        let files = try Self.installed()
        let folder = Self.root.appending(path: "config/systemd").path
        let units = try FileManager.default.subpathsOfDirectory(atPath: folder)
        let pages = try units.filter { $0.hasSuffix(".service") || $0.hasSuffix(".socket") }.flatMap { unit in
            try Self.text("config/systemd/\(unit)").matches(of: /\nDocumentation=file:(.+)/).map {
                (unit, String($0.1))
            }
        }
        #expect(pages.count > 3, "the units were read")
        for (unit, page) in pages { #expect(files[page] != nil, "\(unit): \(page)") }
    }
}
