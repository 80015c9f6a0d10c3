import BluetoothCrypto
import BluetoothHost
import Glibc
import SecurityManager
import StatePersistence

/// What opening a database costs that a killed process left with a log, by the log's length, beside a copy of that log: its octets
/// read, written to another file, and flushed. What opening costs without a log is the first row.
struct OpenBenchmark {
    private let runs: Int
    private let isJSON: Bool

    private static let logKilobytes = [0, 256, 512, 1024, 2048, 4096]

    init(_ options: Options) throws {
        runs = try options.integer("runs", default: 15)
        isJSON = try options.choice("format", ["text", "json"]) == "json"
    }

    private struct Row {
        let kilobytes: Int
        let opening: Sample
        let copying: Sample
    }

    func run() throws {
        let scratch = try TemporaryDirectory("open")
        var rows: [Row] = []
        for kilobytes in Self.logKilobytes {
            let left = scratch.path + "/left-\(kilobytes)"
            let status = try Child([try Executable.path(), "log-writer", left, String(kilobytes * 1024)]).wait()
            guard status == 0 else { throw BenchmarkError("the log of \(kilobytes) kB cannot be made") }
            var (openings, copies) = ([Double](), [Double]())
            for run in 0..<runs {
                let state = scratch.path + "/\(kilobytes)-\(run)"
                guard mkdir(state, 0o700) == 0 else { throw BenchmarkError(system: state) }
                for name in ["latch.sqlite", "latch.sqlite-wal", "machine.key"] {
                    let time = try Self.copy(left + "/" + name, to: state + "/" + name)
                    if name == "latch.sqlite-wal" { copies.append(time) }
                }
                let begin = Clock.milliseconds
                _ = try StateStore(
                    path: state + "/latch.sqlite", machineKeyFile: state + "/machine.key", credentialsDirectory: nil,
                    components: [.host], check: .brief)
                openings.append(Clock.milliseconds - begin)
            }
            rows.append(
                Row(kilobytes: kilobytes, opening: Sample(openings), copying: Sample(copies, digits: 3)))
        }
        report(rows)
    }

    private func report(_ rows: [Row]) {
        let bare = rows[0].opening.percentile(50)
        let figures = rows.map { row in
            let (opening, copying) = (row.opening.percentile(50), row.copying.percentile(50))
            return (
                row.kilobytes, Sample.text(opening, digits: 2), Sample.text(copying, digits: 2),
                Sample.text(max(0, opening - bare) / copying, digits: 2)
            )
        }
        if isJSON {
            let fields = figures.map {
                "{\"log_kilobytes\":\($0.0),\"open\":\($0.1),\"copy\":\($0.2),\"log_to_copy\":\($0.3)}"
            }
            print("{\"runs\":\(runs),\"unit\":\"ms\",\"logs\":[\(fields.joined(separator: ","))]}")
            return
        }
        print(
            "\(runs) runs, medians".padded(to: 24) + "open".padded(to: 12) + "copy of the log".padded(to: 18)
                + "what the log adds, to its copy")
        for (kilobytes, opening, copying, ratio) in figures {
            print(
                "a log of \(kilobytes) kB".padded(to: 24) + "\(opening) ms".padded(to: 12)
                    + "\(copying) ms".padded(to: 18) + (kilobytes == 0 ? "" : ratio))
        }
    }

    /// In milliseconds.
    private static func copy(_ path: String, to other: String) throws -> Double {
        let begin = Clock.milliseconds
        let from = open(path, O_RDONLY)
        guard from >= 0 else { throw BenchmarkError(system: path) }
        defer { close(from) }
        let to = open(other, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard to >= 0 else { throw BenchmarkError(system: other) }
        defer { close(to) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(from, &buffer, buffer.count), count > 0 {
            guard write(to, buffer, count) == count else { throw BenchmarkError(system: other) }
        }
        guard fdatasync(to) == 0 else { throw BenchmarkError(system: other) }
        return Clock.milliseconds - begin
    }

    /// `Benchmarks log-writer DIRECTORY OCTETS`: leaves a log of about that length, as a killed process does.
    static func writeLog(_ words: [String]) throws {
        guard words.count == 2, let octets = Int(words[1]) else { throw BenchmarkError("a directory and a length") }
        try StateStore.prepareDirectory(words[0])
        let path = words[0] + "/latch.sqlite"
        let store = try StateStore(
            path: path, machineKeyFile: words[0] + "/machine.key", credentialsDirectory: nil, components: [.host])
        let host = SQLiteHostStore(store, name: "lock")
        let bonds = (1...1000).map {
            Bond(
                id: BondID(Int64($0)), identity: nil, ltk: SystemRandom.secret(), model: .outOfBand, state: .confirmed)
        }
        for bond in bonds { host.append(.bond(.upsert(bond))) }
        try store.database.commit([host])
        try store.database.checkpoint()
        var (number, length) = (0, 0)
        while length < octets {
            host.append(.bond(.remoteSignCounter(bonds[number * 7 % bonds.count].id, UInt32(number + 1))))
            try store.database.commit([host])
            number += 1
            length = store.database.logOctets
        }
        _exit(0)
    }
}
