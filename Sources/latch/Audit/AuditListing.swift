import BluetoothCore
import CommandInterface
import DaemonControl
import LockPeripheral
import LockPersistence
import LockProtocol
import StatePersistence

/// Goes through the audit of a file, record by record, and says of each what an operator wants to read. Names are those of the
/// credentials that there are now, and of the others those that the audit itself has.
struct AuditListing {
    /// Records that are read at once.
    private static let page = 1_000

    private let file: AuditFile
    private var names: [CredentialID: String]

    init(_ file: AuditFile) throws(StoreError) {
        self.file = file
        names = try file.names()
    }

    struct Line {
        var record: AuditRecord
        /// Whom it is about; nil where nobody is, or nobody knows the name any more.
        var credential: String?
    }

    mutating func forEach(_ body: (Line) throws -> Void) throws {
        var last: UInt64 = 0
        while true {
            let records = try file.records(after: last, limit: Self.page)
            for record in records { try body(line(record)) }
            guard records.count == Self.page, let end = records.last else { return }
            last = end.sequence
        }
    }

    private mutating func line(_ record: AuditRecord) -> Line {
        switch record.event {
        case .administered(let id, let name, _), .enrolled(let id, let name, _, _), .managed(_, let id, let name, _),
            .spent(let id, let name, _), .duress(let id, let name), .userSet(let id, let name, _, _):
            names[id] = names[id] ?? name
            return Line(record: record, credential: name)
        case .windowOpened(let name, _), .windowClosed(let name, _), .windowManaged(_, let name, _):
            return Line(record: record, credential: name)
        case .granted(let command), .refused(let command, _):
            return Line(record: record, credential: command.credential.flatMap { names[$0] })
        default: return Line(record: record, credential: record.holder.credential.flatMap { names[$0] })
        }
    }
}

extension AuditListing.Line {
    /// UTC; nil while the lock had no clock to believe.
    var time: String? {
        record.wallClockSeconds.flatMap { LocalTime(seconds: $0) }.map { "\($0)Z" }
    }

    /// The record's own members, with `credential` where it is known.
    var json: JSONObject {
        var fields: JSONObject = ["record": JSONValue(record.sequence)]
        fields["time"] = time.map { .string($0) } ?? .null
        for member in record.json.members where member.name != "record" { fields[member.name] = member.value }
        if let credential { fields["credential"] = .string(credential) }
        fields["boot"] = .string(HexText.encode(withUnsafeBytes(of: record.boot.bits.bigEndian) { Array($0) }))
        fields["boot_ns"] = JSONValue(record.at.nanoseconds)
        fields["octets"] = .string(HexText.encode(record.event.encoded))
        fields["hash"] = .string(HexText.encode(record.hash))
        return fields
    }

    /// What is not said by the columns.
    private var details: [JSONObject.Member] {
        record.json.members.filter { !["record", "what", "credential"].contains($0.name) }
    }

    private var what: String { record.json["what"]?.string ?? "" }

    /// For people: the time, what, who, and the rest as `name=value`.
    var text: String {
        let number = Self.padded(String(record.sequence), 8, isRight: true)
        let rest = details.map { "\($0.name)=\($0.value.string ?? $0.value.text)" }.joined(separator: " ")
        let columns = [
            number, Self.padded(time ?? "no clock", 20), Self.padded(what, 23), Self.padded(shownName, 16), rest,
        ]
        return columns.joined(separator: "  ").trimmingSpaces
    }

    private var shownName: String { credential.map(Output.shown) ?? "-" }

    static let csvHeader = "record,time,what,credential,details,boot,boot_ns,octets,hash"

    var csv: String {
        var rest = JSONObject()
        for member in details { rest[member.name] = member.value }
        let members = json
        return [
            String(record.sequence), time ?? "", what, credential ?? "", JSONValue.object(rest).text,
            members["boot"]?.string ?? "", String(record.at.nanoseconds), members["octets"]?.string ?? "",
            members["hash"]?.string ?? "",
        ].map(Self.cell).joined(separator: ",")
    }

    /// RFC 4180. A cell that a spreadsheet would take for a formula begins with an apostrophe.
    private static func cell(_ text: String) -> String {
        let isFormula = text.utf8.first.map { "=+-@\t\r".utf8.contains($0) } ?? false
        let safe = isFormula ? "'" + text : text
        guard safe.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return safe }
        return "\"" + safe.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    private static func padded(_ text: String, _ width: Int, isRight: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, width - text.count))
        return isRight ? spaces + text : text + spaces
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
