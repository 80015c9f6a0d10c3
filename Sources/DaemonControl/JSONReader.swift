/// Why a line is not what the protocol speaks, and where.
package struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Reason: String, Sendable {
        case unexpectedEnd = "ends too early"
        case unexpectedOctet = "has an octet that belongs to nothing"
        case trailingOctets = "goes on after its value"
        case notAnInteger = "has a number that is no 64-bit integer"
        case badEscape = "has an escape that JSON does not know"
        case notUTF8 = "is not UTF-8"
        case tooDeep = "is nested too deeply"
        case duplicateName = "names a member twice"
    }

    package var reason: Reason
    /// Octets from the start of the line.
    package var offset: Int

    package var description: String { "the line \(reason.rawValue) (octet \(offset))" }
}

extension JSONValue {
    /// Nesting that one line may have.
    package static let maximumDepthLevels = 8

    /// Reads exactly one value. Total: whatever the octets are, the answer is a value or an error.
    ///
    /// RFC 8259, with integers only and without duplicate names.
    ///
    /// - Throws: ``JSONError``: what is wrong with the line, and where.
    package init(line octets: [UInt8]) throws(JSONError) {
        var reader = JSONReader(octets: octets)
        self = try reader.readDocument()
    }
}

/// Borrowed for the length of one line; each read is checked against the end.
private struct JSONReader {
    let octets: [UInt8]
    var offset = 0

    init(octets: [UInt8]) { self.octets = octets }

    mutating func readDocument() throws(JSONError) -> JSONValue {
        let value = try readValue(depth: 0)
        skipSpace()
        guard offset == octets.count else { throw error(.trailingOctets) }
        return value
    }

    private func error(_ reason: JSONError.Reason) -> JSONError { JSONError(reason: reason, offset: offset) }

    private func peek() throws(JSONError) -> UInt8 {
        guard offset < octets.count else { throw error(.unexpectedEnd) }
        return octets[offset]
    }

    private mutating func take() throws(JSONError) -> UInt8 {
        let octet = try peek()
        offset += 1
        return octet
    }

    private mutating func skipSpace() {
        while offset < octets.count, [0x20, 0x09, 0x0A, 0x0D].contains(octets[offset]) { offset += 1 }
    }

    private mutating func expect(_ octet: UInt8) throws(JSONError) {
        guard try peek() == octet else { throw error(.unexpectedOctet) }
        offset += 1
    }

    private mutating func readValue(depth: Int) throws(JSONError) -> JSONValue {
        guard depth < JSONValue.maximumDepthLevels else { throw error(.tooDeep) }
        skipSpace()
        switch try peek() {
        case UInt8(ascii: "{"): return .object(try readObject(depth: depth))
        case UInt8(ascii: "["): return .array(try readArray(depth: depth))
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "t"): return try readWord("true", .bool(true))
        case UInt8(ascii: "f"): return try readWord("false", .bool(false))
        case UInt8(ascii: "n"): return try readWord("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try readInteger())
        default: throw error(.unexpectedOctet)
        }
    }

    private mutating func readWord(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        for octet in word.description.utf8 { try expect(octet) }
        return value
    }

    private mutating func readInteger() throws(JSONError) -> Int64 {
        let start = offset
        if try peek() == UInt8(ascii: "-") { offset += 1 }
        let firstDigit = offset
        while offset < octets.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octets[offset]) { offset += 1 }
        let hasLeadingZero = offset - firstDigit > 1 && octets[firstDigit] == UInt8(ascii: "0")
        let isFraction =
            offset < octets.count && [UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E")].contains(octets[offset])
        guard !hasLeadingZero, !isFraction, let value = Int64(String(decoding: octets[start..<offset], as: UTF8.self))
        else { throw error(.notAnInteger) }
        return value
    }

    private mutating func readObject(depth: Int) throws(JSONError) -> JSONObject {
        var object = JSONObject()
        try expect(UInt8(ascii: "{"))
        skipSpace()
        if try peek() == UInt8(ascii: "}") {
            offset += 1
            return object
        }
        while true {
            skipSpace()
            let name = try readString()
            guard object[name] == nil else { throw error(.duplicateName) }
            skipSpace()
            try expect(UInt8(ascii: ":"))
            object[name] = try readValue(depth: depth + 1)
            skipSpace()
            if try peek() == UInt8(ascii: "}") {
                offset += 1
                return object
            }
            try expect(UInt8(ascii: ","))
        }
    }

    private mutating func readArray(depth: Int) throws(JSONError) -> [JSONValue] {
        var values: [JSONValue] = []
        try expect(UInt8(ascii: "["))
        skipSpace()
        if try peek() == UInt8(ascii: "]") {
            offset += 1
            return values
        }
        while true {
            values.append(try readValue(depth: depth + 1))
            skipSpace()
            if try peek() == UInt8(ascii: "]") {
                offset += 1
                return values
            }
            try expect(UInt8(ascii: ","))
        }
    }

    private mutating func readString() throws(JSONError) -> String {
        try expect(UInt8(ascii: "\""))
        var content: [UInt8] = []
        while true {
            switch try take() {
            case UInt8(ascii: "\""):
                guard let string = String(validating: content, as: UTF8.self) else { throw error(.notUTF8) }
                return string
            case UInt8(ascii: "\\"): content.append(contentsOf: String(Character(try readEscape())).utf8)
            case 0..<0x20: throw error(.unexpectedOctet)
            case let octet: content.append(octet)
            }
        }
    }

    private mutating func readEscape() throws(JSONError) -> Unicode.Scalar {
        switch try take() {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try readUnicodeEscape()
        default: throw error(.badEscape)
        }
    }

    /// One `\uXXXX`, or two that are a surrogate pair; a surrogate alone is an error.
    private mutating func readUnicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let first = try readCodeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard (0xD800...0xDBFF).contains(first) else { throw error(.badEscape) }
        try expect(UInt8(ascii: "\\"))
        try expect(UInt8(ascii: "u"))
        let second = try readCodeUnit()
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
        else { throw error(.badEscape) }
        return scalar
    }

    private mutating func readCodeUnit() throws(JSONError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(try take())).hexDigitValue else { throw error(.badEscape) }
            value = value << 4 | UInt16(digit)
        }
        return value
    }
}
