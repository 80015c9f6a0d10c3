import BluetoothCore
import BluetoothCrypto
import CLinux
import CommandInterface
import DaemonControl
import Glibc
import LockPeripheral
import LockPersistence
import StatePersistence

/// `latch audit …`: who opened, who was refused, who changed what, and whether that record is whole. Reads the lock's database, whether or
/// not its daemon runs, and changes nothing.
enum AuditCommands {
    static let all = [list, verify, export]

    /// Lines of a list, if nobody says how many.
    static let listed = 50

    private static let list = CommandSpec(
        path: ["audit", "list"], summary: "Show the newest records of a lock's audit.",
        details: [
            "Times are UTC. A record from before the clock was set has none.",
            "--before shows the page before another one: give it the number of that page's first record. With --limit 0 all are "
                + "shown, the oldest first, as they are read.",
        ],
        options: [
            StateCommands.state, StateCommands.database,
            .value("credential", "NAME", "Only what is about this credential."),
            .value("limit", "N", "How many; \(listed) by default, 0 for all."),
            .value("before", "RECORD", "Only records before the one of this number."), Commands.json,
        ],
        examples: [
            "latch audit list --state /var/lib/latch",
            "latch audit list --state ./lock --credential anna --limit 0 --json",
            "latch audit list --state /var/lib/latch --before 812345 --limit 100",
        ]
    ) { arguments in
        let wanted: Int = try arguments.integer("limit", in: 0...10_000_000) ?? listed
        let before: UInt64? = try arguments.integer("before", in: 1...UInt64(Int64.max))
        let name = arguments["credential"]
        return try StateCommands.refusing {
            var listing = try AuditListing(try file(arguments), progress: "list")
            let output = try ExportFile("-")
            func show(_ line: AuditListing.Line) throws {
                try output.line(arguments.has("json") ? JSONValue.object(line.json).text : line.text)
            }
            if wanted > 0 {
                for line in try listing.newest(wanted, before: before, about: name) { try show(line) }
            } else {
                _ = try listing.forEach { line in
                    guard name == nil || line.credential == name else { return }
                    if line.row.sequence < before ?? .max { try show(line) }
                }
            }
            try output.finish()
            return .ok
        }
    }

    private static let verify = CommandSpec(
        path: ["audit", "verify"], summary: "Check that nobody has changed, removed or added records.",
        details: [
            "Each record continues the one before it, each gap is one that the lock signed when it made room, and the end is "
                + "signed too. So an edit, a gap and a cut end are found, wherever they are.",
            "Without --public-key the signatures are believed under the key that the file itself names, which whoever writes the "
                + "file can replace. `latch peripheral status` says the lock's own as audit_key: keep it elsewhere.",
            "An older copy of a whole database passes: `latch state check` and the lock's anchor are about that.",
        ],
        options: [
            StateCommands.state, StateCommands.database,
            .value("public-key", "HEX", "The lock's key, 64 digits: audit_key of its status."), Commands.json,
        ],
        examples: ["latch audit verify --state /var/lib/latch"]
    ) { arguments in
        let known = try publicKey(arguments)
        return try StateCommands.refusing {
            let found = try verification(file(arguments), known)
            let fields: JSONObject = [
                "path": .string(try StateCommands.path(arguments)), "records": JSONValue(found.records),
                "last": JSONValue(found.head.sequence), "cuts": JSONValue(found.cuts),
                "forgotten": JSONValue(found.forgotten),
                "signed_through": found.checkpoint.map { JSONValue($0.head.sequence) } ?? .null,
                "public_key": found.publicKey.map { .string(HexText.encode($0.octets)) } ?? .null,
                "key_given": .bool(known != nil),
                "faults": .array(found.faults.map { .string($0.description) }),
                "more_faults": JSONValue(found.untold),
            ]
            if arguments.has("json") { Output.line(.object(fields)) } else { Output.fields(fields) }
            guard found.isWhole else {
                throw Failure(
                    .state,
                    "the audit of \(try StateCommands.path(arguments)) is not as the lock wrote it: keep a copy of the file, and find "
                        + "out who could write it")
            }
            return .ok
        }
    }

    private static let export = CommandSpec(
        path: ["audit", "export"], summary: "Write the whole audit as JSON lines or CSV.",
        details: [
            "Each record has the octets that its hash is over, so that others can check the chain too; docs/PROTOCOL.md says how. "
                + "With jsonl the cuts and the signed end follow behind the records."
        ],
        options: [
            StateCommands.state, StateCommands.database,
            .choice("format", ["jsonl", "csv"], "jsonl by default."),
            .value("to", "FILE", "The copy; it must not exist. - is standard output.", isRequired: true),
        ],
        examples: [
            "latch audit export --state /var/lib/latch --to audit.jsonl",
            "latch audit export --state ./lock --format csv --to -",
        ]
    ) { arguments in
        let target = try arguments.required("to")
        return try StateCommands.refusing {
            let audit = try file(arguments)
            let output = try ExportFile(target)
            if arguments["format"] == "csv" { try writeCSV(audit, output) } else { try writeLines(audit, output) }
            try output.finish()
            return .ok
        }
    }

    private static func verification(
        _ file: AuditFile, _ known: Ed25519PublicKey?
    ) throws(StoreError) -> AuditVerification {
        var progress = ProgressLine("verify")
        return try file.verification(under: known) { progress.show($0) }
    }

    private static func writeCSV(_ audit: AuditFile, _ output: ExportFile) throws {
        try output.line(AuditListing.Line.csvHeader)
        var listing = try AuditListing(audit, progress: "export")
        _ = try listing.forEach { try output.line($0.csv) }
    }

    private static func writeLines(_ audit: AuditFile, _ output: ExportFile) throws {
        var listing = try AuditListing(audit, progress: "export")
        let behind = try listing.forEach { try output.line(JSONValue.object($0.json).text) }
        for row in behind.cuts {
            guard let cut = row.cut else {
                let fields: JSONObject = ["last": JSONValue(row.last), "what": "unreadable"]
                try output.line(JSONValue.object(["cut": .object(fields)]).text)
                continue
            }
            let fields: JSONObject = [
                "first": JSONValue(cut.first), "last": JSONValue(cut.last), "hash": .string(HexText.encode(cut.hash)),
                "signature": cut.signature.map { .string(HexText.encode($0)) } ?? .null,
            ]
            try output.line(JSONValue.object(["cut": .object(fields)]).text)
        }
        if let end = behind.signed {
            let head = end.checkpoint.head
            let fields: JSONObject = [
                "record": JSONValue(head.sequence), "hash": .string(HexText.encode(head.hash)),
                "signature": .string(HexText.encode(end.checkpoint.signature)),
                "public_key": .string(HexText.encode(end.publicKey.octets)),
            ]
            try output.line(JSONValue.object(["checkpoint": .object(fields)]).text)
        }
    }

    private static func file(_ arguments: ParsedArguments) throws -> AuditFile {
        try AuditFile(path: try StateCommands.path(arguments))
    }

    private static func publicKey(_ arguments: ParsedArguments) throws(Failure) -> Ed25519PublicKey? {
        guard let text = arguments["public-key"] else { return nil }
        guard let octets = HexText.decode(text), let key = Ed25519PublicKey(octets) else {
            throw Failure(
                .usage,
                "option `--public-key` is no key: give the 64 hexadecimal digits of audit_key, as `latch peripheral status` says them"
            )
        }
        return key
    }
}
