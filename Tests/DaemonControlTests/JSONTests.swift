import Testing

@testable import DaemonControl

@Suite("Control protocol: JSON")
struct JSONTests {
    static let values: [JSONValue] = [
        .null, true, false, 0, -1, .number(.max), .number(.min), "", "a\"b\\c\n\r\t\u{1}\u{7f}\u{9b}", "Tür 🔑", [],
        "a\u{61c}b\u{2028}\u{2029}\u{202e}\u{2066}",
        [1, "two", [nil]], [:], ["a": 1, "b": ["c": [true]]],
    ]

    @Test("RFC 8259: what is written is read back, on one line of no control characters", arguments: values)
    func roundTrip(value: JSONValue) throws {
        #expect(try JSONValue(line: Array(value.text.utf8)) == value)
        #expect(!value.text.unicodeScalars.contains(where: Self.isControl))
    }

    /// By Unicode's own properties.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: scalar.properties.isBidiControl
        }
    }

    @Test("What a terminal obeys is every control character that Unicode has, and nothing else")
    func obeyed() {
        let scalars = (UInt32(0)...0x10_FFFF).lazy.compactMap(Unicode.Scalar.init)
        #expect(scalars.filter { JSONValue.isObeyed($0) != Self.isControl($0) } == [])
    }

    @Test("every strict prefix is refused")
    func prefixes() {
        let value: JSONValue = ["a": [1, true, nil, "x\u{1}\\"], "b": ["c": false]]
        let octets = Array(value.text.utf8)
        for count in 0..<octets.count {
            #expect(throws: JSONError.self, "\(count) octets") { try JSONValue(line: Array(octets[..<count])) }
        }
    }

    @Test(
        "RFC 8259: texts that are no JSON of ours, and where they stop being it",
        arguments: [
            ("", JSONError.Reason.unexpectedEnd), ("{} {}", .trailingOctets), ("{\"a\":1,\"a\":2}", .duplicateName),
            ("1.5", .notAnInteger), ("1e3", .notAnInteger), ("01", .notAnInteger), ("-", .notAnInteger),
            ("9223372036854775808", .notAnInteger), ("\"\\x\"", .badEscape), ("\"\\ud800\"", .unexpectedOctet),
            ("\"\\udc00\"", .badEscape), ("\"\\ud800\\u0041\"", .badEscape), ("\"\\u12g4\"", .badEscape),
            ("\"a\tb\"", .unexpectedOctet), ("{a:1}", .unexpectedOctet), ("[1,]", .unexpectedOctet),
            ("nul", .unexpectedEnd), ("True", .unexpectedOctet), ("{\"a\" 1}", .unexpectedOctet),
        ])
    func refused(text: String, reason: JSONError.Reason) {
        let error = #expect(throws: JSONError.self) { try JSONValue(line: Array(text.utf8)) }
        #expect(error?.reason == reason)
    }

    @Test("a surrogate pair is one character")
    func surrogates() throws {
        #expect(try JSONValue(line: Array(#""\ud83d\udd11""#.utf8)) == "🔑")
    }

    @Test("octets that are not UTF-8 are refused")
    func notUTF8() {
        let error = #expect(throws: JSONError.self) { try JSONValue(line: [0x22, 0xC3, 0x28, 0x22]) }
        #expect(error?.reason == .notUTF8)
    }

    @Test("nesting is bounded: the deepest is read, one level more is not")
    func depth() throws {
        let nested = { (levels: Int) in
            Array((String(repeating: "[", count: levels) + String(repeating: "]", count: levels)).utf8)
        }
        _ = try JSONValue(line: nested(JSONValue.maximumDepthLevels))
        let error = #expect(throws: JSONError.self) { try JSONValue(line: nested(JSONValue.maximumDepthLevels + 1)) }
        #expect(error?.reason == .tooDeep)
    }

    @Test("random octets are read or refused, never anything else")
    func random() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array(#"{}[]":,\u0123456789abcdeftrnl-. "#.utf8)
        for _ in 0..<20_000 {
            let octets = (0..<Int.random(in: 0...24, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator) ?? 0
            }
            if let value = try? JSONValue(line: octets) {
                #expect((try? JSONValue(line: Array(value.text.utf8))) == value, "\(octets)")
            }
        }
    }
}
