import Foundation

/// A row of a table: a callback, how often it comes, and the code spans of its remark.
struct CallbackRow: Sendable {
    /// Rows with one number come in any order among each other.
    let number: Int
    let callback: String
    let times: Int
    let detail: String
}

/// One heading of docs/CALLBACKS.md.
struct CallbackScenario: Sendable {
    let name: String
    /// The scenario that it goes on from; nil when it begins with nothing.
    let after: String?
    let central: [CallbackRow]
    let peripheral: [CallbackRow]
}

/// docs/CALLBACKS.md, read.
struct CallbackPage: Sendable {
    struct Malformed: Error {
        let line: String
    }

    let scenarios: [CallbackScenario]

    static let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../docs/CALLBACKS.md").standardized.path

    static func read() throws -> Self { try Self(String(contentsOfFile: path, encoding: .utf8)) }

    /// Each scenario is a heading of the third level.
    init(_ text: String) throws {
        scenarios = try text.components(separatedBy: "\n### ").dropFirst().map { section in
            let body = section.components(separatedBy: "\n## ")[0]
            return try Self.scenario(body.components(separatedBy: "\n"))
        }
    }

    subscript(name: String) -> CallbackScenario? { scenarios.first { $0.name == name } }

    /// The scenarios that lead to this one, and itself.
    func way(to name: String) -> [CallbackScenario] {
        guard let scenario = self[name] else { return [] }
        return (scenario.after.map(way(to:)) ?? []) + [scenario]
    }

    private static func scenario(_ lines: [String]) throws -> CallbackScenario {
        var after: String?
        var rows: (central: [CallbackRow], peripheral: [CallbackRow]) = ([], [])
        var isCentrals = true
        for line in lines.dropFirst() {
            if let link = line.firstMatch(of: /^After \[(.+?)\]/) { after = String(link.1) }
            if line.hasPrefix("The central's app") { isCentrals = true }
            if line.hasPrefix("The peripheral's app") { isCentrals = false }
            guard line.hasPrefix("|"), !line.hasPrefix("| |"), !line.hasPrefix("|---") else { continue }
            let row = try row(line)
            if isCentrals { rows.central.append(row) } else { rows.peripheral.append(row) }
        }
        return CallbackScenario(
            name: lines[0], after: after, central: rows.central, peripheral: rows.peripheral)
    }

    private static func row(_ line: String) throws -> CallbackRow {
        let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
            .map { $0.trimmingCharacters(in: .whitespaces) }
        guard cells.count == 4, let number = Int(cells[0]), let times = Int(cells[2]), times > 0,
            let callback = cells[1].wholeMatch(of: /`(.+)`/)
        else { throw Malformed(line: line) }
        let spans = cells[3].matches(of: /`(.+?)`/).map { String($0.1) }
        return CallbackRow(
            number: number, callback: String(callback.1), times: times, detail: spans.joined(separator: ", "))
    }
}

// MARK: Comparing

extension CallbackPage {
    /// Callbacks that come in any order among each other, and as often as they stand there.
    typealias Step = [HeardCallback]

    static func steps(_ scenarios: [[CallbackRow]]) -> [Step] {
        scenarios.flatMap { rows in
            Dictionary(grouping: rows, by: \.number).sorted { $0.key < $1.key }.map { _, rows in
                rows.flatMap { row in
                    Array(repeating: HeardCallback(callback: row.callback, detail: row.detail), count: row.times)
                }
            }
        }
    }

    /// nil when exactly this was heard, in this order; else where it differs, for people.
    static func difference(_ heard: [HeardCallback], from steps: [Step]) -> String? {
        var rest = heard[...]
        for step in steps {
            var expected = step
            for callback in rest.prefix(step.count) {
                guard let index = expected.firstIndex(of: callback) else { break }
                expected.remove(at: index)
                rest.removeFirst()
            }
            guard expected.isEmpty else {
                return "expected \(expected) and heard \(rest.first.map(String.init(describing:)) ?? "nothing")"
                    + " in \(heard)"
            }
        }
        return rest.isEmpty ? nil : "heard \(Array(rest)) beyond the table"
    }
}
