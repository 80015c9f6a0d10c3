/// One line from a daemon: any number of events, then one result or one error.
package enum ControlReply: Equatable, Sendable {
    /// Progress: `{"event":"connected", …}`.
    case event(String, JSONObject)
    /// `{"result":{…}}`, and nothing after it.
    case result(JSONObject)
    /// `{"error":{"code":"…","message":"…"}}`, and nothing after it.
    case error(ControlFailure)
}

/// Why a daemon does not do what it was asked: a code for programs and a line for people.
package struct ControlFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// Codes that a newer daemon invents pass through.
    package struct Code: Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The line is no request.
        package static let malformed = Self(rawValue: "malformed")
        /// No request of this daemon has that name, or it lacks something.
        package static let unknownRequest = Self(rawValue: "unknown_request")
        /// Something else has to end first.
        package static let busy = Self(rawValue: "busy")
        /// The peer or the policy said no.
        package static let refused = Self(rawValue: "refused")
        /// The configuration file has a fault.
        package static let configuration = Self(rawValue: "configuration")
        /// Nothing happened in the time that was granted.
        package static let timeout = Self(rawValue: "timeout")
        /// What the request names is not known here.
        package static let notFound = Self(rawValue: "not_found")
        /// The radio is off, away or not answering.
        package static let noRadio = Self(rawValue: "no_radio")
        /// The answer has more octets than a client takes.
        package static let tooLong = Self(rawValue: "too_long")
        /// The daemon is about to end.
        package static let stopping = Self(rawValue: "stopping")
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}

extension ControlReply {
    /// Octets of a reply's line, its line feed not counted.
    package static let maximumLineOctets = 64 * 1024

    /// As one line, its line feed included. One that no client takes says so instead.
    package var line: [UInt8] {
        let line = unboundedLine
        guard isFinal, line.count > Self.maximumLineOctets + 1 else { return line }
        return Self.error(ControlFailure(.tooLong, "the answer is longer than \(Self.maximumLineOctets) octets"))
            .unboundedLine
    }

    private var unboundedLine: [UInt8] {
        var object = JSONObject()
        switch self {
        case .event(let name, let fields):
            object["event"] = .string(name)
            for member in fields.members where member.name != "event" { object[member.name] = member.value }
        case .result(let fields): object["result"] = .object(fields)
        case .error(let failure):
            object["error"] = ["code": .string(failure.code.rawValue), "message": .string(failure.message)]
        }
        return Array((JSONValue.object(object).text + "\n").utf8)
    }

    /// Whether the exchange is over with it.
    package var isFinal: Bool {
        switch self {
        case .event: false
        case .result, .error: true
        }
    }

    /// nil for a line that is no reply.
    package init?(line octets: [UInt8]) {
        guard let value = try? JSONValue(line: octets), var object = value.object else { return nil }
        if let name = object["event"]?.string {
            object["event"] = nil
            self = .event(name, object)
        } else if let result = object["result"]?.object {
            self = .result(result)
        } else if let error = object["error"]?.object, let code = error["code"]?.string,
            let message = error["message"]?.string
        {
            self = .error(ControlFailure(ControlFailure.Code(rawValue: code), message))
        } else {
            return nil
        }
    }
}
