import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CLinux
import GATT
import Glibc
import SecurityManager
import StatePersistence

/// What the store's tests need a process of its own for: one that commits until it is killed, one of two that share a
/// file, one without root's rights.
///
///     StoreHammer [--uid N] open DATABASE
///     StoreHammer hold DATABASE
///     StoreHammer [--uid N] commit DATABASE FIRST COUNT CHECKPOINT-EVERY
///     StoreHammer once DATABASE VALUE
///     StoreHammer launch DATABASE BONDS
///
/// `once` says when it has the file open, waits for an octet on its standard input, and says when its one commit is made; a
/// file that others hold for too long ends it. `hold` keeps the file open until it is killed. `launch` fills the database
/// with bonds at its first run and then says how long opening and loading took.
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
            if arguments[0] == "launch" {
                guard arguments.count == 3, let bonds = Int(arguments[2]) else { exit(64) }
                return try launch(arguments[1], bonds: bonds)
            }
            let database = try Database(path: arguments[1], components: [schema])
            switch arguments[0] {
            case "open": say("ok")
            case "hold":
                say("holds")
                withExtendedLifetime(database) { _ = pause() }
            case "once":
                guard arguments.count == 3, let value = Int(arguments[2]) else { exit(64) }
                say("open")
                // Until somebody says so on standard input.
                var go: UInt8 = 0
                guard read(0, &go, 1) == 1 else { exit(64) }
                try database.transaction {
                    try database.statement("INSERT INTO test_number VALUES (?)").run([SQLValue(value)])
                }
                say("\(value)")
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

    private static func launch(_ path: String, bonds: Int) throws {
        func milliseconds(since start: UInt64) -> Double {
            Double(latch_clock_nanoseconds(CLOCK_MONOTONIC) - start) / 1_000_000
        }
        let start = latch_clock_nanoseconds(CLOCK_MONOTONIC)
        let state = try StateStore(
            path: path, machineKeyFile: path + ".key", credentialsDirectory: nil, components: [.host])
        let opened = milliseconds(since: start)
        let store = SQLiteHostStore(state, name: "lock")
        let snapshot = try store.load()
        let loaded = milliseconds(since: start)
        say("\(snapshot.bonds.count) bonds: opened in \(opened) ms, loaded in \(loaded - opened) ms")
        guard snapshot.bonds.isEmpty else { return }
        for number in 1...Int64(max(1, bonds)) {
            let address = DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | UInt64(number))
            store.append(
                .bond(
                    .upsert(
                        Bond(
                            id: BondID(number), identity: IdentityAddress(address), peerIRK: SystemRandom.secret(),
                            ltk: SystemRandom.secret(), localCSRK: SystemRandom.secret(),
                            remoteCSRK: SystemRandom.secret(), model: .outOfBand, state: .confirmed,
                            credential: "credential \(number)", lastRemoteSignCounter: 7))))
            store.append(
                .gatt(
                    .clientCharacteristicConfiguration(
                        bond: UInt64(number), handle: AttributeHandle(9), value: .notification)))
            store.append(.gatt(.changeAware(bond: UInt64(number), databaseHash: SystemRandom.bytes(16))))
            store.append(
                .peer(
                    PeerRecord(
                        identifier: PeerIdentifier(bits: SystemRandom.uint128()), address: address, name: "\(number)")))
        }
        try state.database.commit([store])
        try state.database.checkpoint()
    }

    private static func say(_ line: String) {
        let octets = Array((line + "\n").utf8)
        _ = octets.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
    }
}
