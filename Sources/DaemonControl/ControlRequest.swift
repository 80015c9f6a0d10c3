/// What an operator's command asks of a daemon: `{"request":"enroll","credential":"anna", …}`.
package protocol ControlRequest: Sendable {
    init(name: String, fields: inout RequestFields) throws(ControlFailure)
    /// Name and members, in the order of the documentation.
    var encoded: (name: String, fields: JSONObject) { get }
}

extension ControlRequest {
    /// Reads one line. Members that the request does not know are refused: a request is never half understood.
    ///
    /// - Throws: ``ControlFailure``: `malformed` for what is no object, `unknownRequest` for what no request means.
    package init(line octets: [UInt8]) throws(ControlFailure) {
        let value: JSONValue
        do { value = try JSONValue(line: octets) } catch { throw ControlFailure(.malformed, error.description) }
        guard let object = value.object, let name = object["request"]?.string else {
            throw ControlFailure(.malformed, "a request is an object with a member \"request\"")
        }
        var fields = RequestFields(request: name, object: object)
        self = try Self(name: name, fields: &fields)
        try fields.finish()
    }

    /// As one line, its line feed included.
    package var line: [UInt8] {
        let (name, fields) = encoded
        var object: JSONObject = ["request": .string(name)]
        for member in fields.members { object[member.name] = member.value }
        return Array((JSONValue.object(object).text + "\n").utf8)
    }
}

/// The members of one request, each to be taken once.
package struct RequestFields: Sendable {
    private let request: String
    private var object: JSONObject

    fileprivate init(request: String, object: JSONObject) {
        self.request = request
        self.object = object
        self.object["request"] = nil
    }

    /// Octets of a name or a code.
    package static let maximumTextOctets = 256

    /// A text that must be there.
    ///
    /// - Throws: ``ControlFailure`` when it is missing, empty, or longer than ``maximumTextOctets``.
    package mutating func text(_ name: String) throws(ControlFailure) -> String {
        guard let text = try optionalText(name) else { throw missing(name) }
        return text
    }

    /// A text; nil when it is absent or null.
    ///
    /// - Throws: ``ControlFailure`` when it is empty, or longer than ``maximumTextOctets``.
    package mutating func optionalText(_ name: String) throws(ControlFailure) -> String? {
        guard let value = take(name) else { return nil }
        guard let text = value.string, Self.isText(text) else {
            throw wrong(name, "text of 1 to \(Self.maximumTextOctets) octets")
        }
        return text
    }

    /// Texts, in their order; none when the member is absent or null.
    ///
    /// - Throws: ``ControlFailure`` when there are more than `most`, or one is empty or longer than ``maximumTextOctets``.
    package mutating func texts(_ name: String, most: Int64) throws(ControlFailure) -> [String] {
        guard let value = take(name) else { return [] }
        let texts = value.array?.map(\.string) ?? [nil]
        guard texts.count <= most, texts.allSatisfy({ $0.map(Self.isText) ?? false }) else {
            throw wrong(name, "a list of at most \(most) texts of 1 to \(Self.maximumTextOctets) octets")
        }
        return texts.compactMap(\.self)
    }

    private static func isText(_ text: String) -> Bool { !text.isEmpty && text.utf8.count <= maximumTextOctets }

    /// A number in `range`; `fallback` when it is absent or null.
    ///
    /// - Throws: ``ControlFailure`` for anything else.
    package mutating func number(_ name: String, in range: ClosedRange<Int64>, default fallback: Int64)
        throws(ControlFailure) -> Int64
    {
        try optionalNumber(name, in: range) ?? fallback
    }

    /// The same; nil when it is absent or null.
    ///
    /// - Throws: ``ControlFailure`` for anything else.
    package mutating func optionalNumber(_ name: String, in range: ClosedRange<Int64>) throws(ControlFailure) -> Int64?
    {
        guard let value = take(name) else { return nil }
        guard let number = value.number, range.contains(number) else {
            throw wrong(name, "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// One of the texts that `Choice` has; `fallback` when it is absent or null.
    ///
    /// - Throws: ``ControlFailure`` for any other text, or when there is none and no `fallback`.
    package mutating func choice<Choice: RawRepresentable & CaseIterable>(_ name: String, default fallback: Choice?)
        throws(ControlFailure) -> Choice where Choice.RawValue == String
    {
        guard let choice: Choice = try optionalChoice(name) ?? fallback else { throw missing(name) }
        return choice
    }

    /// The same; nil when it is absent or null.
    ///
    /// - Throws: ``ControlFailure`` for any other text.
    package mutating func optionalChoice<Choice: RawRepresentable & CaseIterable>(_ name: String)
        throws(ControlFailure) -> Choice? where Choice.RawValue == String
    {
        guard let value = take(name) else { return nil }
        guard let text = value.string, let choice = Choice(rawValue: text) else {
            throw wrong(name, "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return choice
    }

    fileprivate func finish() throws(ControlFailure) {
        guard let extra = object.members.first else { return }
        throw ControlFailure(.unknownRequest, "request \"\(request)\" has no member \"\(extra.name)\"")
    }

    /// A member that is there but null counts as absent.
    private mutating func take(_ name: String) -> JSONValue? {
        let value = object[name]
        object[name] = nil
        return value == .null ? nil : value
    }

    private func missing(_ name: String) -> ControlFailure {
        ControlFailure(.unknownRequest, "request \"\(request)\" lacks its member \"\(name)\"")
    }

    private func wrong(_ name: String, _ expected: String) -> ControlFailure {
        ControlFailure(.unknownRequest, "member \"\(name)\" of request \"\(request)\" must be \(expected)")
    }
}

extension ControlFailure {
    static func unknown(_ name: String, known: [String]) -> ControlFailure {
        ControlFailure(
            .unknownRequest, "no request \"\(name)\" here: this daemon knows " + known.joined(separator: ", "))
    }
}
