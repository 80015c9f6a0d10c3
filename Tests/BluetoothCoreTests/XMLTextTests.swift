import Testing

@testable import BluetoothCore

@Suite("Text in XML")
struct XMLTextTests {
    @Test(
        "Markup is text, a quotation mark ends no attribute, and a control is a space",
        arguments: [
            ("", ""), ("Front door", "Front door"), ("Tür \u{1F6AA}", "Tür \u{1F6AA}"),
            ("</title><a b=\"c\">&amp;", "&lt;/title&gt;&lt;a b=&quot;c&quot;&gt;&amp;amp;"),
            ("\0a\tb\r\nc\u{1B}[2J\u{7F}\u{9B}", " a b  c [2J  "),
        ])
    func escaped(text: String, expected: String) { #expect(XMLText.escaped(text) == expected) }
}
