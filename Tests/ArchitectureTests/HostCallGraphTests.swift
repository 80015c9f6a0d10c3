import Foundation
import Testing

/// What docs/ARCHITECTURE.md says of the host: nothing in its core calls back into whoever called.
@Suite("The calls of the host's core form no circle")
struct HostCallGraphTests {
    @Test("No function of HostCore is reached from itself")
    func core() throws {
        var graph = CallGraph(of: "HostCore")
        for file in try SourceTree.files(in: "BluetoothHost") {
            graph.read(try String(contentsOf: file, encoding: .utf8))
        }
        #expect(graph.functions.count > 150, "the core's functions were not found")
        #expect(graph.functions.isSuperset(of: ["run", "carryOut", "receivedPacket", "endNow"]))
        #expect(graph.circle == nil)
    }

    @Test("A circle is found, over members of every kind, and only in the type that is looked at")
    func circle() {
        var graph = CallGraph(of: "Core")
        graph.read(
            """
            extension Core {
                mutating func first(_ count: Int) {
                    second()  // first()
                }

                private mutating func second() { if third { fourth(first: 1) } }

                var third: Bool { true }

                func fourth(first: Int) {
                    guard first > 0 else { return }
                }
            }

            extension Other {
                func fourth(first: Int) { Core().first(1) }
            }
            """)
        #expect(graph.functions == ["first", "second", "third", "fourth"])
        #expect(graph.circle == nil)
        graph.read(
            """
            extension Core {
                mutating func fifth() { first(2) }
                func sixth(_ body: () -> Int) {
                    fifth()
                }
            }

            struct Core {
                mutating func second() {
                    sixth { 1 }
                }
            }
            """)
        #expect(graph.circle.map(Set.init) == ["first", "second", "sixth", "fifth"])
    }
}

/// The members of one type, and which of them are called, with parentheses or a closure, or read in the bodies of which. Members of one name count
/// as one: two that call each other under one name are to have two.
private struct CallGraph {
    private let type: String
    private var bodies: [(name: String, body: String)] = []
    private var computed: Set<String> = []

    init(of type: String) { self.type = type }

    var functions: Set<String> { Set(bodies.map(\.name)) }

    /// Files as the formatter leaves them: members at four spaces, a member's end in the column of its beginning.
    mutating func read(_ source: String) {
        var isInside = false
        var open: (name: String, body: String)?
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            let code = line.prefix(upTo: line.firstRange(of: "//")?.lowerBound ?? line.endIndex)
            if !line.hasPrefix(" "), let match = line.firstMatch(of: /(?:extension|struct|class) (\w+)/) {
                isInside = String(match.1) == type
            }
            guard isInside else { continue }
            if open != nil {
                open?.body += code + "\n"
                if line.hasPrefix("    }"), let done = open {
                    bodies.append(done)
                    open = nil
                }
            } else if let match = code.firstMatch(of: /^ {4}(?:\w+ )*(func|var) (\w+)/) {
                let isComputed = match.1 == "var" && code.contains("{")
                guard match.1 == "func" || isComputed else { continue }
                if isComputed { computed.insert(String(match.2)) }
                let member = (name: String(match.2), body: String(code[match.range.upperBound...]) + "\n")
                let isOneLine = code.contains("{") && code.count { $0 == "{" } == code.count { $0 == "}" }
                if isOneLine { bodies.append(member) } else { open = member }
            }
        }
    }

    private var calls: [String: Set<String>] {
        var calls: [String: Set<String>] = [:]
        for (name, body) in bodies {
            // Behind the parameters, whose names are no calls.
            let statements = body.firstRange(of: "{").map { body[$0.upperBound...] } ?? body[...]
            for match in statements.matches(of: /(^|[^.\w])(\w+)(\(| \{|\b)/) {
                let called = String(match.2)
                guard called != name, functions.contains(called) else { continue }
                if !match.3.isEmpty || computed.contains(called) { calls[name, default: []].insert(called) }
            }
        }
        return calls
    }

    /// Members of which each calls the next, and the last one the first; nil where there are none.
    var circle: [String]? {
        let calls = calls
        var done: Set<String> = []
        var path: [String] = []
        func visit(_ name: String) -> [String]? {
            if let start = path.firstIndex(of: name) { return Array(path[start...]) }
            guard !done.contains(name) else { return nil }
            path.append(name)
            for called in (calls[name] ?? []).sorted() {
                if let found = visit(called) { return found }
            }
            path.removeLast()
            done.insert(name)
            return nil
        }
        for name in functions.sorted() {
            if let found = visit(name) { return found }
        }
        return nil
    }
}
