import BluetoothCore

/// Reads a rules file: one rule a line, words and quoted patterns, and `#` before what is for people only.
struct AppRulesParser {
    private enum Word: Equatable {
        case plain(String)
        case quoted(String)
    }

    private var words: ArraySlice<Word>
    private let line: Int

    /// A file is a few rules; more is another file named by mistake.
    static let maximumLines = 1_000

    static func parse(_ text: String) throws(AppRulesError) -> AppRules {
        var rules = AppRules(goal: .prints(.program, AppPattern("")), goalLine: 0)
        var seen: [String: Int] = [:]
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count <= maximumLines else {
            throw AppRulesError(line: maximumLines, message: "no rules file has so many lines: name the right one")
        }
        for (index, line) in lines.enumerated() {
            var parser = Self(words: try words(line, index + 1)[...], line: index + 1)
            guard case .plain(let key)? = parser.words.popFirst() else {
                if parser.words.isEmpty && line.allSatisfy({ $0 == " " || $0 == "\t" || $0 == "\r" }) { continue }
                if line.drop(while: { $0 == " " || $0 == "\t" }).first == "#" { continue }
                throw parser.error("a line begins with one of \(keys), not with a pattern")
            }
            if ["peer", "until", "again", "within"].contains(key), let first = seen.updateValue(index + 1, forKey: key)
            {
                throw parser.error("`\(key)` is in line \(first) already: remove one of them")
            }
            let text = line.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\r" }).joined(separator: " ")
            try parser.take(key, text, into: &rules)
            guard parser.words.isEmpty else {
                throw parser.error("`\(key)` is followed by too much: \(usage[key] ?? "")")
            }
        }
        guard seen["until"] != nil else {
            throw AppRulesError(
                line: lines.count, message: "there is no `until`: say what a life comes to, as \(usage["until"] ?? "")")
        }
        return rules
    }

    private static let keys = "peer, environment, until, again, within, never, after, when, excuse"
    private static let usage = [
        "peer": "peer program NAME [ARGUMENT...]", "environment": "environment NAME=VALUE",
        "until": "until prints \"PATTERN\"", "again": "again prints \"PATTERN\"", "within": "within 30 seconds",
        "never": "never prints \"PATTERN\"",
        "after": "after prints \"PATTERN\" restart prints \"PATTERN\", or … restart never …, or … never …",
        "excuse": "excuse prints \"PATTERN\"",
        "when": "when peer prints \"PATTERN\" then prints \"PATTERN\"",
    ]

    private func error(_ message: String) -> AppRulesError { AppRulesError(line: line, message: message) }

    private mutating func take(_ key: String, _ text: String, into rules: inout AppRules) throws(AppRulesError) {
        switch key {
        case "peer": rules.peer = try peer()
        case "environment":
            let (name, value) = try variable()
            rules.environment[name] = value
        case "until":
            rules.goal = try sight(key)
            rules.goalLine = line
        case "again":
            rules.again = try sight(key)
            rules.againLine = line
        case "within": rules.withinSeconds = try seconds()
        case "never": rules.lines.append(AppRules.Line(number: line, text: text, rule: .never(try sight(key))))
        case "excuse": rules.lines.append(AppRules.Line(number: line, text: text, rule: .excuse(try sight(key))))
        case "after": rules.lines.append(AppRules.Line(number: line, text: text, rule: try after()))
        case "when":
            let first = try sight(key)
            try word("then", key)
            rules.lines.append(AppRules.Line(number: line, text: text, rule: .when(first, then: try sight(key))))
        default: throw error("`\(key)` is no rule: a line begins with one of \(Self.keys)")
        }
    }

    private mutating func peer() throws(AppRulesError) -> [String]? {
        if words.first == .plain("none") {
            words.removeFirst()
            return nil
        }
        try word("program", "peer")
        guard !words.isEmpty else { throw error("`peer program` needs a name: \(Self.usage["peer"] ?? "")") }
        defer { words = [] }
        return words.map { word in
            switch word {
            case .plain(let text), .quoted(let text): text
            }
        }
    }

    private mutating func variable() throws(AppRulesError) -> (String, String) {
        let text: String? =
            switch words.popFirst() {
            case .plain(let text)?, .quoted(let text)?: text
            case nil: nil
            }
        guard let text, let sign = text.firstIndex(of: "="), sign != text.startIndex else {
            throw error("`environment` needs a name and a value: \(Self.usage["environment"] ?? "")")
        }
        return (String(text[..<sign]), String(text[text.index(after: sign)...]))
    }

    private mutating func seconds() throws(AppRulesError) -> UInt64 {
        guard case .plain(let number)? = words.popFirst(), let seconds = UInt64(digits: number),
            (1...AppRules.maximumWithinSeconds).contains(seconds)
        else {
            throw error(
                "`within` needs a number of seconds from 1 to \(AppRules.maximumWithinSeconds): \(Self.usage["within"] ?? "")"
            )
        }
        if words.first == .plain("seconds") { words.removeFirst() }
        return seconds
    }

    private mutating func after() throws(AppRulesError) -> AppRules.Rule {
        let first = try sight("after")
        switch words.popFirst() {
        case .plain("never")?: return .afterNever(first, never: try sight("after"))
        case .plain("restart")?:
            guard words.first == .plain("never") else { return .restart(after: first, then: try sight("after")) }
            words.removeFirst()
            return .restartNever(after: first, never: try sight("after"))
        default:
            throw error("`after` needs `restart` or `never` behind its first pattern: \(Self.usage["after"] ?? "")")
        }
    }

    /// `[program|peer] [prints] "PATTERN"`, or `air EVENT`.
    private mutating func sight(_ key: String) throws(AppRulesError) -> AppRules.Sight {
        if words.first == .plain("air") {
            words.removeFirst()
            guard case .plain(let name)? = words.popFirst(), let event = AppAir(rawValue: name) else {
                let known = AppAir.allCases.map(\.rawValue).joined(separator: ", ")
                throw error("`air` is followed by one of \(known)")
            }
            return .air(event)
        }
        var side = AppSide.program
        if case .plain(let name)? = words.first, let named = AppSide(rawValue: name) {
            side = named
            words.removeFirst()
        }
        if words.first == .plain("prints") { words.removeFirst() }
        guard case .quoted(let pattern)? = words.popFirst() else {
            throw error("`\(key)` needs a pattern in double quotes: \(Self.usage[key] ?? "")")
        }
        return .prints(side, AppPattern(pattern))
    }

    private mutating func word(_ expected: String, _ key: String) throws(AppRulesError) {
        guard words.popFirst() == .plain(expected) else {
            throw error("`\(key)` needs the word `\(expected)`: \(Self.usage[key] ?? "")")
        }
    }

    // MARK: Words

    private static func words(_ line: Substring, _ number: Int) throws(AppRulesError) -> [Word] {
        var words: [Word] = []
        var rest = line[...]
        while let first = rest.first {
            if first == " " || first == "\t" || first == "\r" {
                rest.removeFirst()
            } else if first == "#" {
                return words
            } else if first == "\"" {
                rest.removeFirst()
                words.append(.quoted(try quoted(&rest, number)))
            } else {
                let word = rest.prefix { $0 != " " && $0 != "\t" && $0 != "\r" }
                words.append(.plain(String(word)))
                rest = rest[word.endIndex...]
            }
        }
        return words
    }

    private static func quoted(_ rest: inout Substring, _ number: Int) throws(AppRulesError) -> String {
        var text = ""
        while let next = rest.popFirst() {
            if next == "\"" { return text }
            if next == "\\", let escaped = rest.popFirst() { text.append(escaped) } else { text.append(next) }
        }
        throw AppRulesError(line: number, message: "a pattern has no end: close it with a double quote")
    }
}
