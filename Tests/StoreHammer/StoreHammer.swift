import CLinux
import Glibc
import StatePersistence

/// What the store's tests need a process of its own for: one that commits until it is killed, one of two that share a
/// file, one without root's rights.
///
///     StoreHammer [--uid N] open DATABASE [NEWER]
///     StoreHammer [--uid N] commit DATABASE FIRST COUNT CHECKPOINT-EVERY
@main
enum StoreHammer {
    static let schema = SchemaComponent(
        "test", [Migration("1 numbers", "CREATE TABLE test_number (value INTEGER NOT NULL PRIMARY KEY) STRICT")])

    static func main() {
        var arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "--uid", arguments.count > 1, let uid = uid_t(arguments[1]) {
            guard setgid(uid) == 0, setuid(uid) == 0 else { exit(70) }
            arguments.removeFirst(2)
        }
        guard arguments.count >= 2 else { exit(64) }
        do {
            let database = try Database(path: arguments[1], components: [schema])
            switch arguments[0] {
            case "open": say("ok")
            case "commit":
                let numbers = arguments[2...].compactMap { Int($0) }
                guard numbers.count == 3 else { exit(64) }
                try commit(to: database, first: numbers[0], count: numbers[1], checkpointEvery: numbers[2])
            default: exit(64)
            }
        } catch {
            say("\(error)")
            exit(1)
        }
    }

    /// Says each number after it is on disk.
    private static func commit(to database: Database, first: Int, count: Int, checkpointEvery: Int) throws {
        for value in first..<first + count {
            while true {
                do {
                    try database.transaction {
                        try database.statement("INSERT OR REPLACE INTO test_number VALUES (?)").run([SQLValue(value)])
                    }
                    break
                } catch StoreError.busy {
                    continue
                }
            }
            say("\(value)")
            if (value + 1) % checkpointEvery == 0 { try database.checkpoint() }
        }
    }

    private static func say(_ line: String) {
        let octets = Array((line + "\n").utf8)
        _ = octets.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
    }
}
