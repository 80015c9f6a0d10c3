import BluetoothCore
import BluetoothCrypto
import CommandInterface
import DaemonControl
import LockPersistence
import StatePersistence

/// `latch state rotate-key`.
extension StateCommands {
    static let rotateKey = CommandSpec(
        path: ["state", "rotate-key"], summary: "Give the database another machine key, while its daemons are stopped.",
        details: [
            "Everything that the old key wraps is wrapped by a new one, in one transaction. A kill or a power cut at any moment leaves a database "
                + "that opens with exactly one of them, and a daemon that starts; give the command again then.",
            "The new key takes the old one's place, which stays beside it as FILE.old-1: backups from before need it. Where the key is handed over "
                + "as a credential, name the file that it is made from with --machine-key. An encrypted one is decrypted into a file before, and "
                + "encrypted again behind it.",
            "The audit's key (`audit_key`) is another one from then on: what was exported before is checked with the former.",
        ],
        options: [
            state, database,
            .value(
                "machine-key", "FILE",
                "The machine key, if not machine.key in the state directory; without --state: beside the database."),
            .value(
                "anchor", "FILE",
                "The lock's anchor, if not lock.anchor in the state directory; without --state: beside the database."),
            Commands.json,
        ],
        examples: [
            "latch state rotate-key --state /var/lib/latch --machine-key /etc/latch/peripheral.key --anchor /var/lib/latch-anchor/lock.anchor"
        ]
    ) { arguments in
        try refusing {
            let path = try path(arguments)
            let directory = try directory(arguments)
            let key = arguments["machine-key"] ?? directory + "/" + StateDirectory.machineKeyName
            try Dumps.forbid()
            let outcome: MachineKeyRotation.Outcome
            do {
                outcome = try MachineKeyRotation.perform(
                    path, keyFile: key, anchor: arguments["anchor"] ?? directory + "/" + StateDirectory.anchorName,
                    identities: [StateDirectory.Role.peripheral, .central].map(\.rawValue), components: components)
            } catch MachineKeyRotation.Refusal.inDoubt(let doubt) {
                throw Failure(
                    .refused,
                    "\(path): \(doubt.explanation): start the lock, confirm it with `latch peripheral confirm`, stop it, and then "
                        + "give it another key; or name its anchor with --anchor")
            }
            var fields: JSONObject = ["machine_key": .string(key), "former_machine_key": .string(outcome.oldKey)]
            fields["audit_key"] = outcome.auditKeys.map { .string(HexText.encode($0.new.octets)) }
            fields["former_audit_key"] = outcome.auditKeys.map { .string(HexText.encode($0.old.octets)) }
            if arguments.has("json") { Output.line(["result": .object(fields)]) } else { Output.fields(fields) }
            return .ok
        }
    }
}
