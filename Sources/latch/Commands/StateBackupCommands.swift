import CommandInterface
import DaemonControl
import Glibc
import LockPersistence
import StatePersistence

/// `latch state backup` and `restore`.
extension StateCommands {
    static let backup = CommandSpec(
        path: ["state", "backup"], summary: "Copy the database as it is now, while its daemon runs.",
        details: [
            "The secrets in the copy stay wrapped: keep it apart from the machine key, and keep both.",
            "With --keep the copy is a new file of a directory, `latch-000001.sqlite` and so on. When it is there and sound, the oldest beyond so "
                + "many go; nothing goes before. Other files of the directory are left alone. latch-backup.timer does this once a day.",
        ],
        options: [
            state, database,
            .value(
                "to", "PATH", "The copy, which must not exist; with --keep the directory of the copies.",
                isRequired: true),
            .value("keep", "N", "How many copies the directory keeps, 1 to \(BackupDirectory.keptMaximum)."),
            Commands.json,
        ],
        examples: [
            "latch state backup --state /var/lib/latch --to /var/backups/latch.sqlite",
            "latch state backup --state /var/lib/latch --to /var/lib/latch-backup --keep 14",
        ]
    ) { arguments in
        try refusing {
            let target = try arguments.required("to")
            let path = try path(arguments)
            guard let count: Int = try arguments.integer("keep", in: 1...BackupDirectory.keptMaximum) else {
                try StateBackup.make(of: path, at: target)
                if arguments.has("json") { Output.line(["result": ["path": .string(target)]]) }
                return .ok
            }
            let made = try BackupDirectory.add(path, to: target, keeping: count)
            let fields: JSONObject = [
                "path": .string(made.path), "removed": .array(made.removed.map { .string($0) }),
            ]
            if arguments.has("json") { Output.line(["result": .object(fields)]) } else { Output.fields(fields) }
            return .ok
        }
    }

    static let restore = CommandSpec(
        path: ["state", "restore"], summary: "Put a backup in the database's place, while its daemons are stopped.",
        details: [
            "What is replaced stays beside the database, as latch.sqlite.replaced-1 and so on. A kill at any moment leaves the one or the other, "
                + "whole.",
            "A backup knows everybody whom you have revoked since. A lock that was launched since then is in doubt (`doubt`) and lets nobody in: "
                + "start it, compare `latch peripheral status` with what you know, confirm it with `latch peripheral confirm`, and remove "
                + "whom you have revoked.",
        ],
        options: [
            state, database, .value("from", "FILE", "The backup, of mode 0600.", isRequired: true),
            .value(
                "machine-key", "FILE",
                "The machine key, if not machine.key in the state directory; without --state: beside the database. The backup is held against "
                    + "it."),
            anchor, .flag("yes", "Do not ask. Without a terminal it is needed."), Commands.json,
        ],
        examples: ["latch state restore --state /var/lib/latch --from /var/lib/latch-backup/latch-000007.sqlite"]
    ) { arguments in
        try refusing {
            let source = try arguments.required("from")
            let path = try path(arguments)
            try Confirmation.require("restore", "This puts \(source) in the place of \(path).", arguments)
            let directory = try directory(arguments)
            try Dumps.forbid()
            let outcome = try StateRestoration.perform(
                source, at: path, identities: [StateDirectory.Role.peripheral, .central].map(\.rawValue),
                machineKeyFile: arguments["machine-key"] ?? directory + "/" + StateDirectory.machineKeyName,
                credentialsDirectory: arguments["machine-key"] == nil
                    ? Environment.variable("CREDENTIALS_DIRECTORY") : nil,
                components: components)
            var fields: JSONObject = ["restored": .string(path)]
            fields["replaced"] = outcome.replaced.map { .string($0) }
            // Under systemd it is a credential, which this command does not see.
            fields["machine_key"] = outcome.isKeyRight == true ? "right" : "unseen"
            if let anchor = try anchor(arguments) {
                fields["doubt"] = try sealLook(path, anchor).doubt.map { .string($0.name) }
            }
            if arguments.has("json") { Output.line(["result": .object(fields)]) } else { Output.fields(fields) }
            return .ok
        }
    }
}
