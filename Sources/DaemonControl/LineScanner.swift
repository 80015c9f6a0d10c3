/// Reads one line of a configuration file.
struct LineScanner {
    enum Line {
        case nothing
        case section(String, TextPosition)
        /// Its section is for the caller to fill in.
        case entry(ConfigurationText.Entry)
    }

    private let characters: [Unicode.Scalar]
    private let number: Int
    private let file: String
    private var offset = 0

    init(line: some Sequence<Unicode.Scalar>, number: Int, file: String) {
        var scalars = Array(line)
        if scalars.last == "\r" { scalars.removeLast() }
        characters = scalars
        self.number = number
        self.file = file
    }

    mutating func read() throws(ConfigurationError) -> Line {
        try refuseControlCharacters()
        skipSpace()
        let start = position
        guard let first = peek, first != "#" else { return .nothing }
        if first == "[" { return .section(try readSection(), start) }
        let key = try readName("a key")
        skipSpace()
        guard peek == "=" else {
            throw error("key `\(key)` has no value", "write `\(key) = value`")
        }
        offset += 1
        skipSpace()
        let valuePosition = position
        let value = try readValue(of: key)
        try expectEnd(after: "the value of `\(key)`")
        return .entry(
            ConfigurationText.Entry(
                section: "", key: key, value: value, keyPosition: start, valuePosition: valuePosition))
    }

    private var peek: Unicode.Scalar? { offset < characters.count ? characters[offset] : nil }
    private var position: TextPosition { TextPosition(line: number, column: offset + 1) }

    private func error(_ problem: String, _ remedy: String) -> ConfigurationError {
        ConfigurationError(file: file, position: position, problem: problem, remedy: remedy)
    }

    private mutating func skipSpace() { while peek == " " || peek == "\t" { offset += 1 } }

    private mutating func refuseControlCharacters() throws(ConfigurationError) {
        guard
            let index = characters.firstIndex(where: { ($0.value < 0x20 && $0 != "\t") || $0.value == 0x7F })
        else { return }
        offset = index
        throw error("there is a control character", "remove it; in a string write it as \\u00XX")
    }

    private mutating func expectEnd(after what: String) throws(ConfigurationError) {
        skipSpace()
        guard let next = peek, next != "#" else { return }
        throw error("something follows \(what)", "end the line there, or begin a comment with #")
    }

    private mutating func readSection() throws(ConfigurationError) -> String {
        offset += 1
        guard peek != "[" else { throw error("arrays of tables are not read here", "write [section]") }
        skipSpace()
        let name = try readName("a section's name")
        skipSpace()
        guard peek == "]" else { throw error("section [\(name) is not closed", "write [\(name)]") }
        offset += 1
        try expectEnd(after: "[\(name)]")
        return name
    }

    /// TOML's bare keys.
    private mutating func readName(_ what: String) throws(ConfigurationError) -> String {
        var name = String.UnicodeScalarView()
        while let next = peek, next.isASCII,
            next.properties.isAlphabetic || "0123456789_-".unicodeScalars.contains(next)
        {
            name.append(next)
            offset += 1
        }
        guard !name.isEmpty else { throw error("\(what) is missing", "use letters, digits, _ and -") }
        return String(name)
    }

    private mutating func readValue(of key: String) throws(ConfigurationError) -> ConfigurationText.Value {
        switch peek {
        case "\"": return .string(try readBasicString())
        case "'": return .string(try readLiteralString())
        case nil, "#": throw error("key `\(key)` has no value", "write `\(key) = value`")
        default: return try readWord(of: key)
        }
    }

    private mutating func readBasicString() throws(ConfigurationError) -> String {
        offset += 1
        var text = String.UnicodeScalarView()
        while let next = peek {
            offset += 1
            switch next {
            case "\"": return String(text)
            case "\\": text.append(try readEscape())
            default: text.append(next)
            }
        }
        throw error("a string is not closed", "end it with \" on the same line")
    }

    private mutating func readEscape() throws(ConfigurationError) -> Unicode.Scalar {
        let escape = peek
        offset += 1
        switch escape {
        case "\"": return "\""
        case "\\": return "\\"
        case "n": return "\n"
        case "t": return "\t"
        case "r": return "\r"
        case "b": return "\u{8}"
        case "f": return "\u{C}"
        case "u": return try readUnicode(digits: 4)
        case "U": return try readUnicode(digits: 8)
        default:
            offset -= 1
            throw error("there is an unknown escape", "write \\\\ for a backslash, or use a 'literal string'")
        }
    }

    private mutating func readUnicode(digits: Int) throws(ConfigurationError) -> Unicode.Scalar {
        let end = min(offset + digits, characters.count)
        let text = String(String.UnicodeScalarView(characters[offset..<end]))
        guard text.unicodeScalars.count == digits, text.allSatisfy(\.isHexDigit),
            let scalar = UInt32(text, radix: 16).flatMap(Unicode.Scalar.init)
        else { throw error("there is no such character", "write \(digits) hexadecimal digits of a Unicode scalar") }
        offset = end
        return scalar
    }

    private mutating func readLiteralString() throws(ConfigurationError) -> String {
        offset += 1
        let rest = characters[offset...]
        guard let end = rest.firstIndex(of: "'") else {
            throw error("a string is not closed", "end it with ' on the same line")
        }
        offset = end + 1
        return String(String.UnicodeScalarView(rest[..<end]))
    }

    private mutating func readWord(of key: String) throws(ConfigurationError) -> ConfigurationText.Value {
        let start = offset
        while let next = peek, next != " ", next != "\t", next != "#" { offset += 1 }
        let word = String(String.UnicodeScalarView(characters[start..<offset]))
        if word == "true" { return .boolean(true) }
        if word == "false" { return .boolean(false) }
        if let integer = Self.integer(word) { return .integer(integer) }
        offset = start
        throw error(
            "the value of `\(key)` is nothing that is read here",
            "write an integer, true or false, or a string in quotes")
    }

    /// Decimal, with a sign and with single underscores between digits; no leading zeros.
    private static func integer(_ word: String) -> Int64? {
        let digits = word.first == "+" || word.first == "-" ? word.dropFirst() : word[...]
        let groups = digits.split(separator: "_", omittingEmptySubsequences: false)
        guard groups.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            digits.count == 1 || digits.first != "0"
        else { return nil }
        return Int64(word.filter { $0 != "_" })
    }
}
