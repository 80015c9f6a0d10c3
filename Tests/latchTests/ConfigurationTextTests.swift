import DaemonControl
import Testing

@testable import latch

@Suite("Configuration: the text")
struct ConfigurationTextTests {
    @Test("TOML 1.0: every kind of line that is read")
    func lines() throws {
        let text = try ConfigurationText(
            """
            # comment

            top = "a # b \\" \\\\ \\u00e4 \\U0001F511"   # after
              spaced\t=\t'C:\\no\\escape'
            [one]
            on = true
            off = false#close
            [ two ]
            n = -1_000
            p = +7
            zero = 0
            """ + "\r\n", file: "x")
        let read = text.entries.map { "\($0.section)/\($0.key)=\($0.value)" }
        #expect(
            read == [
                "/top=string(\"a # b \\\" \\\\ ä 🔑\")", "/spaced=string(\"C:\\\\no\\\\escape\")",
                "one/on=boolean(true)",
                "one/off=boolean(false)", "two/n=integer(-1000)", "two/p=integer(7)", "two/zero=integer(0)",
            ])
        #expect(text.entries[1].keyPosition == TextPosition(line: 4, column: 3))
        #expect(text.entries[1].valuePosition == TextPosition(line: 4, column: 12))
    }

    @Test("each line that is not read is told, and the others are read, under their own section")
    func everyFault() {
        var faults: [ConfigurationError] = []
        let text = ConfigurationText(
            "a\nb = 1\n[s]\nc = \"x\n[s]\nd = 2\nd = 3\n", file: "x", faults: &faults)
        #expect(faults.map(\.position.line) == [1, 4, 5, 7])
        #expect(text.entries.map { "\($0.section)/\($0.key)" } == ["/b", "s/d"])
    }

    @Test(
        "what is refused, and where",
        arguments: [
            ("a = 1\na = 2", 2, 1, "key `a` is there twice"), ("[s]\n[t]\n[s]", 3, 1, "section [s] is there twice"),
            ("a", 1, 2, "key `a` has no value"), ("a =", 1, 4, "key `a` has no value"),
            ("a = # x", 1, 5, "key `a` has no value"), ("a = \"x", 1, 7, "a string is not closed"),
            ("a = 'x", 1, 6, "a string is not closed"), ("a = \"\\q\"", 1, 7, "there is an unknown escape"),
            ("a = \"\\ud800\"", 1, 8, "there is no such character"),
            ("a = \"\\u12\"", 1, 8, "there is no such character"),
            ("a = 1 2", 1, 7, "something follows the value of `a`"), ("[s] x", 1, 5, "something follows [s]"),
            ("[s", 1, 3, "section [s is not closed"), ("[[s]]", 1, 2, "arrays of tables are not read here"),
            ("= 1", 1, 1, "a key is missing"), ("[]", 1, 2, "a section's name is missing"),
            ("a.b = 1", 1, 2, "key `a` has no value"),
            ("a = on", 1, 5, "the value of `a` is nothing that is read here"),
            ("a = 1.5", 1, 5, "the value of `a` is nothing that is read here"),
            ("a = 0x10", 1, 5, "the value of `a` is nothing that is read here"),
            ("a = 01", 1, 5, "the value of `a` is nothing that is read here"),
            ("a = 1__0", 1, 5, "the value of `a` is nothing that is read here"),
            ("a = [1]", 1, 5, "the value of `a` is nothing that is read here"),
            ("a = 9223372036854775808", 1, 5, "the value of `a` is nothing that is read here"),
            ("a = \"\u{1}\"", 1, 6, "there is a control character"), ("ä = 1", 1, 1, "a key is missing"),
        ])
    func refused(text: String, line: Int, column: Int, problem: String) {
        let error = #expect(throws: ConfigurationError.self) { try ConfigurationText(text, file: "f.conf") }
        #expect(error?.position == TextPosition(line: line, column: column))
        #expect(error?.problem == problem)
        #expect(error?.description.contains("in f.conf line \(line) column \(column): ") == true)
    }
}
