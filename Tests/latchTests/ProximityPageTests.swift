import Foundation
import Testing

/// docs/PROXIMITY.md says what the simulated walks say.
@Suite("docs/PROXIMITY.md")
struct ProximityPageTests {
    private static let docs = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "docs")

    @Test("Each table of rates is what the command prints for the seed that stands beside it")
    func rates() throws {
        let page = try String(contentsOf: Self.docs.appending(path: "PROXIMITY.md"), encoding: .utf8)
        let parts = page.components(separatedBy: "<!-- walks ")
        #expect(parts.count == 3)
        for part in parts.dropFirst() {
            let words = try #require(part.components(separatedBy: " -->").first).split(separator: " ").map(String.init)
            let outcome = try Program.run(["proximity", "walks"] + words, of: Program.lab)
            #expect(outcome.status == 0 && outcome.output.hasPrefix("| of 200 walks to 40 doors |"), "\(outcome)")
            #expect(part.contains(" -->\n" + outcome.output), "\(words): the command prints\n\(outcome.output)")
            #expect(page.contains("latch-lab proximity walks \(words.joined(separator: " "))\n"))
        }
    }

    @Test("The picture is what the command that the page names draws")
    func picture() throws {
        let page = try String(contentsOf: Self.docs.appending(path: "PROXIMITY.md"), encoding: .utf8)
        let line = try #require(page.firstMatch(of: /`latch-lab (proximity walks [^`]*--svg)`/))
        let outcome = try Program.run(line.1.split(separator: " ").map(String.init), of: Program.lab)
        let kept = try String(
            contentsOf: Self.docs.appending(path: "images/calibration-walk.svg"), encoding: .utf8)
        #expect(outcome.status == 0 && outcome.output == kept)
    }
}
