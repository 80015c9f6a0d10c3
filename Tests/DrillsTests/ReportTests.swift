import Foundation
import FoundationXML
import Testing

@testable import Drills

@Suite("The report") struct ReportTests {
    private final class Errors: NSObject, XMLParserDelegate {
        var names: [String: Int] = [:]

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) { names[name, default: 0] += 1 }
    }

    private func parse(_ history: History) throws -> [String: Int] {
        let text = HTMLReport(history: history, tally: Tally(history)).text
        let parser = XMLParser(data: Data(text.utf8))
        let errors = Errors()
        parser.delegate = errors
        #expect(parser.parse(), "\(String(describing: parser.parserError)) at line \(parser.lineNumber)")
        return errors.names
    }

    @Test("Is well-formed, with a title on everything that is drawn")
    func wellFormed() throws {
        let names = try parse(Sample.good())
        #expect(names["svg"] == 1)
        #expect(names["title"] ?? 0 >= 10)
    }

    @Test("Text from outside cannot break out of it")
    func escaping() throws {
        var history = Sample.good()
        history.kills[0].evidence = "<script>alert(\"x\")</script> & \u{1}"
        history.damage = ["<b>&"]
        history.asked[0].verdict = "]]><svg>"
        let names = try parse(history)
        #expect(names["script"] == nil)
        #expect(names["b"] == nil)
        #expect(names["svg"] == 1)
    }

    @Test("Needs nothing from elsewhere")
    func selfContained() {
        let history = Sample.good()
        let text = HTMLReport(history: history, tally: Tally(history)).text
        let allowed = text.replacingOccurrences(of: "xmlns=\"http://www.w3.org/2000/svg\"", with: "")
        for word in ["http:", "https:", "src=", "href=", "url(", "@import"] { #expect(!allowed.contains(word)) }
        #expect(text.contains("prefers-color-scheme:dark"))
    }

    @Test("An empty history is drawn too")
    func empty() throws { _ = try parse(History(seed: 1, began: 5)) }
}
