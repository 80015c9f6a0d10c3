import BluetoothCore
import CommandInterface
import DaemonControl
import LockPeripheral
import LockPersistence
import LockProtocol
import StatePersistence

/// Goes through the audit of a file, record by record, and says of each what an operator wants to read. Names are those of the
/// credentials that there are now, and of the others those that the audit itself has. Holds one slice of it at a time.
struct AuditListing: ~Copyable {
    private let file: AuditFile
    private var names: [CredentialID: String]
    /// The audit has been asked for the names of those that are gone.
    private var hasAllNames = false
    private var progress: ProgressLine

    init(_ file: AuditFile, progress word: String) throws(StoreError) {
        let names = try file.names()
        self.file = file
        self.names = names
        progress = ProgressLine(word)
    }

    struct Line {
        var row: AuditRow
        /// Whom it is about; nil where nobody is, or nobody knows the name any more.
        var credential: String?
    }

    /// What stands behind all records.
    struct End {
        var cuts: [AuditCutRow] = []
        var signed: SignedAuditEnd?
    }

    /// All, the oldest first.
    mutating func forEach(_ body: (Line) throws -> Void) throws -> End {
        var end = End()
        var last: AuditFile.Slice?
        while last?.isLast != true {
            let slice = try file.slice(behind: last)
            for row in slice.rows { try body(line(row)) }
            end.cuts += slice.cuts
            end.signed = slice.end
            progress.show(slice.progress)
            last = slice
        }
        return end
    }

    /// The newest records before this one, nil: of all, that are about this credential, nil: about anybody. The oldest of them first.
    mutating func newest(_ wanted: Int, before sequence: UInt64?, about name: String?) throws -> [Line] {
        var lines: [Line] = []
        var place = sequence
        while lines.count < wanted {
            let limit = name == nil ? min(wanted - lines.count, AuditFile.sliceRecords) : AuditFile.sliceRecords
            let rows = try file.rows(before: place, limit: limit)
            for row in rows where lines.count < wanted {
                let line = try namedLine(row)
                if name == nil || line.credential == name { lines.append(line) }
            }
            guard rows.count == limit, let first = rows.last else { break }
            place = first.sequence
        }
        return lines.reversed()
    }

    /// A record that is met before the one that has its name.
    private mutating func namedLine(_ row: AuditRow) throws -> Line {
        let line = line(row)
        guard line.credential == nil, !hasAllNames, Self.credential(of: row) != nil else { return line }
        hasAllNames = true
        var found = names
        var shown = ProgressLine("names")
        try file.forEachNaming(progress: { shown.show($0) }) { id, name in found[id] = found[id] ?? name }
        names = found
        return self.line(row)
    }

    private mutating func line(_ row: AuditRow) -> Line {
        if let (id, name) = row.record?.event.naming {
            names[id] = names[id] ?? name
            return Line(row: row, credential: name)
        }
        switch row.record?.event {
        case .windowOpened(let name, _), .windowClosed(let name, _), .windowManaged(_, let name, _):
            return Line(row: row, credential: name)
        default: return Line(row: row, credential: Self.credential(of: row).flatMap { names[$0] })
        }
    }

    /// Of a record without a name.
    private static func credential(of row: AuditRow) -> CredentialID? {
        switch row.record?.event {
        case .granted(let command), .refused(let command, _): command.credential
        default: row.record?.holder.credential
        }
    }
}

extension ProgressLine {
    mutating func show(_ progress: AuditProgress) { show(progress.record, of: progress.last) }
}

extension AuditListing.Line {
    /// UTC; nil while the lock had no clock to believe.
    private var time: String? {
        parts.wallClockSeconds.flatMap { LocalTime(seconds: $0) }.map { "\($0)Z" }
    }

    private var parts: AuditRemains {
        switch row {
        case .unreadable(let rest): rest
        case .record(let record): AuditRemains(record)
        }
    }

    /// What happened, as far as that can be read.
    private var said: JSONObject {
        row.record?.json ?? ["record": JSONValue(row.sequence), "what": "unreadable"]
    }

    /// The record's own members, with `credential` where it is known. Of one that cannot be read, what is left.
    var json: JSONObject {
        let parts = parts
        var fields: JSONObject = ["record": JSONValue(row.sequence)]
        fields["time"] = time.map { .string($0) } ?? .null
        for member in said.members where member.name != "record" { fields[member.name] = member.value }
        if let credential { fields["credential"] = .string(credential) }
        fields["boot"] = parts.boot.map { boot in
            .string(HexText.encode(withUnsafeBytes(of: boot.bits.bigEndian) { Array($0) }))
        }
        fields["boot_ns"] = parts.at.map { JSONValue($0.nanoseconds) }
        fields["octets"] = parts.event.map { .string(HexText.encode($0)) }
        fields["hash"] = parts.hash.map { .string(HexText.encode($0)) }
        return fields
    }

    /// What is not said by the columns.
    private var details: [JSONObject.Member] {
        said.members.filter { !["record", "what", "credential"].contains($0.name) }
    }

    private var what: String { said["what"]?.string ?? "" }

    /// For people: the time, what, who, and the rest as `name=value`.
    var text: String {
        let number = Self.padded(String(row.sequence), 8, isRight: true)
        let columns = [
            number, Self.padded(time ?? "no clock", 20), Self.padded(what, 23), Self.padded(shownName, 16),
        ]
        return (columns.joined(separator: "  ") + " " + Output.pairs(details)).trimmingSpaces
    }

    private var shownName: String { credential.map(Output.shown) ?? "-" }

    static let csvHeader = "record,time,what,credential,details,boot,boot_ns,octets,hash"

    var csv: String {
        var rest = JSONObject()
        for member in details { rest[member.name] = member.value }
        let members = json
        let cells: [String] = [
            String(row.sequence), time ?? "", what, credential ?? "", JSONValue.object(rest).text,
            members["boot"]?.string ?? "", parts.at.map { String($0.nanoseconds) } ?? "",
            members["octets"]?.string ?? "",
            members["hash"]?.string ?? "",
        ]
        return cells.map(Self.cell).joined(separator: ",")
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
