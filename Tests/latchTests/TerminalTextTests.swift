import Foundation
import Testing

@testable import latch

/// What a peer or an operator has named reaches the terminal as text.
@Suite("Commands: what the terminal obeys")
struct TerminalTextTests {
    /// What there is in it, but for the ends of its lines, that would move a cursor, break a line or turn what stands around it.
    private static func obeyed(_ text: String) -> [Unicode.Scalar] {
        text.unicodeScalars.filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: scalar != "\n"
            default: scalar.properties.isBidiControl
            }
        }
    }

    @Test(
        "A failure is one line of text, whatever control character is in what was given",
        arguments: [
            "\r", "\n", "\t", "\u{8}", "\u{1}", "\u{1B}", "\u{7F}", "\u{80}", "\u{9B}", "\u{9F}", "\u{61C}", "\u{200E}",
            "\u{2028}", "\u{2029}", "\u{202A}", "\u{202E}", "\u{2066}", "\u{2069}",
        ])
    func failure(control: String) throws {
        let outcome = try Program.run(["central", "status", "--state", "a\(control)latch: all is well"])
        #expect(outcome.status != 0 && outcome.errors.contains("all is well"), "\(outcome)")
        #expect(
            Self.obeyed(outcome.errors) == [] && outcome.errorLines.count == 1, "\(outcome.errors.debugDescription)")
    }

    @Test("A failure without one is said as it is, quotes and other tongues' letters too")
    func plain() throws {
        let outcome = try Program.run(["central", "status", "--state", "Tür \"א\" \\ 👨‍👩‍👧"])
        #expect(outcome.errors.contains("Tür \"א\" \\ 👨‍👩‍👧"), "\(outcome)")
    }

    @Test("Names of locks, devices and users, with whatever they hold, stay on their lines")
    func names() throws {
        let bench = try Bench()
        let settings = try bench.directory.write(
            "[lock]\nname = \"Front\\u001b[2J\\r\\u009b\\u202e\"\n", to: "lock.conf")
        let daemons = try [
            bench.start("peripheral", "lock", ["--config", settings]), bench.start("central", "key"),
        ]
        let (device, user) = ("anna\u{1B}[31m\r", "a\u{9B}\u{202E}")
        var said: [(what: String, text: String)] = []
        func say(_ role: String, _ command: String, _ state: String, _ more: [String] = [], input: String = "") throws {
            let outcome = try bench.latch(role, command, state, more, input: input)
            #expect(outcome.status == 0, "\(outcome)")
            said.append(("\(role) \(command)", outcome.output))
        }
        let window = try Window(
            ["--state", bench.path("lock"), "--credential", device, "--user", user, "--role", "owner"])
        try say("central", "enroll", "key", ["-"], input: try window.code())
        said.append(("peripheral enroll", window.rest()))
        #expect(window.end() == 0)
        try say("central", "unlock", "key", ["--nearest"])
        try say("central", "status", "key")
        for act in ["disable", "enable"] {
            try say("peripheral", act, "lock", ["--credential", device])
            try say("peripheral", act, "lock", ["--user", user])
        }
        try say("audit", "list", "lock")
        for (what, text) in said { #expect(Self.obeyed(text) == [], "\(what): \(text.debugDescription)") }
        let lock = #""Front\u001b[2J\r\u009b\u202e""#
        for (what, line) in [
            ("central enroll", "enrolled at \(lock)\n"), ("central unlock", "nearest lock=\(lock) id="),
            ("peripheral enroll", #"enrolled: "anna\u001b[31m\r""#),
            ("peripheral disable", #""anna\u001b[31m\r": disabled"#),
            ("peripheral disable", #""a\u009b\u202e": disabled already"#), ("audit list", #"user="a\u009b\u202e""#),
        ] {
            #expect(said.contains { $0.what == what && $0.text.contains(line) }, "\(what): \(said)")
        }
        for daemon in daemons { #expect(daemon.end() == 0) }
    }
}
