import CommandInterface
import DaemonControl
import LockPersistence
import StatePersistence

/// `latch state …`: looks at a database, whether or not its daemon runs, and changes nothing, but for ``forget``, ``restore`` and
/// ``rotateKey``.
enum StateCommands {
    static let all = [inspect, check, backup, restore, rotateKey, forget]

    static let state = OptionSpec.value("state", "DIR", "The daemon's state directory, mode 0700.")
    static let database = OptionSpec.value(
        "database", "FILE", "The database itself, instead of latch.sqlite in a state directory.")
    static let anchor = OptionSpec.value(
        "anchor", "FILE", "The lock's anchor, if not lock.anchor in the state directory.")
    static let components: [SchemaComponent] = [.host, .lock, .key]

    private static let inspect = CommandSpec(
        path: ["state", "inspect"], summary: "Show what is kept, without the secrets.",
        details: [
            "Shows \(StateInspector.rowsMaximum) rows of a table at most, and says how many more there are (`rows_left_out`): `sqlite3 -readonly` "
                + "reads those."
        ],
        options: [state, database, Commands.json], examples: ["latch state inspect --state /var/lib/latch"]
    ) { arguments in
        try refusing {
            let tables = try StateInspector(path: try path(arguments)).tables()
            for table in tables {
                if arguments.has("json") { Output.line(json(table)) } else { show(table) }
            }
            return .ok
        }
    }

    private static let check = CommandSpec(
        path: ["state", "check"], summary: "Check that the database is sound.",
        details: [
            "Of a lock's database it says whether it is in the state that the lock's anchor names (doubt, where it is not): an "
                + "old copy is told so before it is launched. That tells mistakes, and no attacks: whether this machine wrote "
                + "either of them only a launch can say, which has the machine key."
        ],
        options: [
            state, database,
            anchor, Commands.json,
        ],
        examples: ["latch state check --state /var/lib/latch --json"]
    ) { arguments in
        try refusing {
            let path = try path(arguments)
            let summary = try StateInspector(path: path).check(components: components)
            var fields: JSONObject = [
                "path": .string(summary.path), "file_octets": JSONValue(summary.fileOctets),
                "log_octets": JSONValue(summary.logOctets),
                "migrations": .array(summary.migrations.map { .string("\($0.component) \($0.name)") }),
                "faults": .array(summary.faults.map { .string($0) }),
            ]
            if summary.faults.isEmpty, let anchor = try anchor(arguments) {
                let seal = try sealLook(path, anchor)
                fields["anchor"] = .string(anchor)
                fields["generation"] = seal.generation.map { JSONValue($0) }
                fields["doubt"] = seal.doubt.map { .string($0.name) }
            }
            if arguments.has("json") { Output.line(.object(fields)) } else { Output.fields(fields) }
            guard summary.faults.isEmpty else {
                throw Failure(.state, "\(path) is damaged: stop the daemon and restore its last backup")
            }
            return .ok
        }
    }

    /// nil where none is named and none lies in the state directory: it may lie elsewhere.
    static func anchor(_ arguments: ParsedArguments) throws -> String? {
        if let named = arguments["anchor"] { return named }
        guard let directory = arguments["state"] else { return nil }
        let usual = try StateDirectory(directory).anchor
        return try FileAnchor.exists(usual) ? usual : nil
    }

    /// A running lock may be between its anchor and its database: what stays the same while the database is read counts.
    static func sealLook(_ path: String, _ anchor: String) throws -> SealLook {
        var reading = try FileAnchor.look(at: anchor)
        while true {
            let look = try SealLook(StateInspector(path: path), anchor: reading)
            let later = try FileAnchor.look(at: anchor)
            if look.doubt == nil || later == reading { return look }
            reading = later
        }
    }

    static func path(_ arguments: ParsedArguments) throws(Failure) -> String {
        if let database = arguments["database"] { return database }
        guard let directory = arguments["state"] else {
            throw Failure(
                .usage,
                "no database is named: give `--state DIR`, or `--database FILE` (see `\(arguments.command) --help`)")
        }
        return try StateDirectory(directory).database
    }

    /// Where the machine key and the anchor are unless they are named: in the state directory, as for the daemon, wherever its database
    /// is; beside a database that is named alone.
    static func directory(_ arguments: ParsedArguments) throws(Failure) -> String {
        if let directory = arguments["state"] { return try StateDirectory(directory).path }
        return StateFile.directory(of: try path(arguments))
    }

    static func refusing(_ body: () throws -> ExitCode) throws -> ExitCode {
        do { return try body() } catch { throw Failure(error) }
    }

    private static func show(_ table: StateTable) {
        Output.line("\(table.name) (\(table.rows.count + table.rowsLeftOut))")
        for row in table.rows {
            Output.line("  " + zip(table.columns, row).map { "\($0)=\(json($1).text)" }.joined(separator: " "))
        }
        if table.rowsLeftOut > 0 { Output.line("  rows_left_out: \(table.rowsLeftOut)") }
    }

    /// `rows_left_out` is missing where there are none.
    static func json(_ table: StateTable) -> JSONValue {
        let rows = table.rows.map { row -> JSONValue in
            var object = JSONObject()
            for (column, cell) in zip(table.columns, row) { object[column] = json(cell) }
            return .object(object)
        }
        var fields: JSONObject = ["table": .string(table.name), "rows": .array(rows)]
        if table.rowsLeftOut > 0 { fields["rows_left_out"] = JSONValue(table.rowsLeftOut) }
        return .object(fields)
    }

    private static func json(_ cell: StateTable.Cell) -> JSONValue {
        switch cell {
        case .null: .null
        case .integer(let integer): .number(integer)
        case .text(let text), .octets(let text): .string(text)
        case .secret: "(secret)"
        }
    }
}
