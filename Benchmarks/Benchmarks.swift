import Glibc

/// Figures that anyone can take again. Each benchmark prints its floor from the same run: these machines are noisy, and
/// a ratio says more than a time.
@main
struct Benchmarks {
    static let usage = """
        usage: Benchmarks table   [--radio virtual|rootcanal|both] [--rounds N] [--format text|json]
                                  [--radio-cpu N] [--host-cpu N] [--lab PATH] [--cache DIR]
               Benchmarks allocations [--count N] [--lab PATH]
               Benchmarks startup [--enrolments N] [--runs N] [--format text|json] [--latch PATH] [--lab PATH]
               Benchmarks restored [--pending N] [--cached N] [--accept-list N] [--runs N] [--format text|json]
                                  [--app PATH] [--lab PATH]
               Benchmarks command [--commands N] [--pause-ms N] [--keys N] [--waves N] [--format text|json]
                                  [--latch PATH] [--lab PATH]
               Benchmarks scale   [--users N] [--records N] [--forgotten N] [--commands N] [--runs N]
                                  [--format text|json] [--latch PATH] [--lab PATH]
               Benchmarks open    [--runs N] [--format text|json]
               Benchmarks resolve [--bonds N] [--runs N]
               Benchmarks commit  [--runs N]
               Benchmarks bonds   [--bonds N] [--runs N]

        table     reads, writes, commands and notifications between two processes on a radio, beside bare ACL packets
                  there and back; scripts/bench builds and fetches what it needs. Radio and hosts share CPU 0, and the
                  virtual radio is measured apart from the hosts too, unless it is said who runs where
        allocations  what one operation allocates on either side, N times (10000); fails where it is to be nothing
        startup   from exec of `latch peripheral run` to LE Set Advertising Enable answered, and from a link behind that
                  to the receipt of its first signed command, by identity address and by private address, with all that N
                  enrolments (1000) and a command of each leave in the store, over N runs (41) of each; its floor is
                  exec to exit of `latch --version`
        restored  from exec of an app on Core Bluetooth that was killed with a scan, N pending connections (100) and N
                  peripherals that it has met (500), until its controller has answered that it scans and that it
                  connects, and until the app's first callback, over N runs (41); its floor is exec to exit of the
                  same app without Bluetooth. The controller takes N (the virtual radio's 16) into its accept list
        command   from a signed write's packet to the bolt's order and to the receipt's packet, N times (500), N ms (10)
                  apart; its floors are one overwritten page and fdatasync, and a process that does just that for a
                  packet, made in turn with it. The same to a strike whose keeper is `latch-lab door`. Then N keys (64)
                  at once, N times (20)
        scale     a lock with N users (10000), each with a credential and ten schedules, and N audit records (1000000) behind
                  N that were forgotten (50000), in turn with one of ten users and none: N commands (200) each to the
                  bolt's order, N launches (7) each, what a commit's signature costs, each page of the operator's lists
                  on the control socket, and the operator's commands on all of it with their memory
        open      a database with the logs that a kill leaves, N times (15) each; its floor is a copy of the log
        resolve   an unknown private address among N bonds (10000), whose floor is as many AES blocks, and a known one
        commit    one durable sign counter; its floor is one overwritten page and fdatasync
        bonds     what N bonds (1000) cost when the host is made, at the first private address and the next, and at
                  the first signed command

        `latch` and `latch-lab` are looked for beside this program; build all of them with
        `swift build -c release --static-swift-stdlib`.
        """

    static func main() {
        var words = Array(CommandLine.arguments.dropFirst())
        guard let name = words.first, name != "--help" else {
            print(usage)
            exit(words.isEmpty ? 2 : 0)
        }
        words.removeFirst()
        do {
            switch name {
            case "table":
                try TableBenchmark(
                    Options(words, among: "radio", "rounds", "format", "radio-cpu", "host-cpu", "lab", "cache")
                ).run()
            case "allocations": try AllocationBenchmark(Options(words, among: "count", "lab", "cache")).run()
            // The processes of the table's exchanges.
            case "peer": try PeerProgram.run(words)
            case "startup":
                try StartupBenchmark(Options(words, among: "enrolments", "runs", "format", "latch", "lab")).run()
            case "restored":
                try RestoredBenchmark(
                    Options(words, among: "pending", "cached", "accept-list", "runs", "format", "app", "lab")
                ).run()
            // Whom its app meets.
            case "crowd": try Crowd.run(words)
            case "command":
                try CommandBenchmark(
                    Options(words, among: "commands", "pause-ms", "keys", "waves", "format", "latch", "lab")
                ).run()
            case "scale":
                try ScaleBenchmark(
                    Options(
                        words, among: "users", "records", "forgotten", "commands", "runs", "format", "latch", "lab")
                ).run()
            // Between it and the commands that it measures.
            case "measured": try MeasuredCommand.run(words)
            // The process beside a command.
            case "flush-peer": try FlushPeer.run(words)
            case "open": try OpenBenchmark(Options(words, among: "runs", "format")).run()
            // Whose log it opens.
            case "log-writer": try OpenBenchmark.writeLog(words)
            case "resolve": try ResolveBenchmark(Options(words, among: "bonds", "runs")).run()
            case "commit": try CommitBenchmark(Options(words, among: "runs")).run()
            case "bonds": try BondBenchmark(Options(words, among: "bonds", "runs")).run()
            default: throw BenchmarkError("there is no benchmark '\(name)': `Benchmarks --help` lists them")
            }
        } catch {
            let line = Array("Benchmarks: \(error)\n".utf8)
            _ = write(STDERR_FILENO, line, line.count)
            exit(1)
        }
    }
}

struct BenchmarkError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
    init(system what: String) { self.init("\(what): \(String(cString: strerror(errno)))") }
}

/// `--name value` pairs.
struct Options {
    private var values: [String: String] = [:]

    init(_ words: [String], among known: String...) throws {
        var words = words[...]
        while let name = words.popFirst() {
            guard name.hasPrefix("--"), let value = words.popFirst() else {
                throw BenchmarkError("'\(name)' is no option with a value")
            }
            guard known.contains(String(name.dropFirst(2))) else {
                throw BenchmarkError("there is no '\(name)' here, but --\(known.joined(separator: ", --"))")
            }
            values[String(name.dropFirst(2))] = value
        }
    }

    func integer(_ name: String, default number: Int, from least: Int = 1) throws -> Int {
        guard let text = values[name] else { return number }
        guard let value = Int(text), value >= least else {
            throw BenchmarkError("--\(name) takes a number from \(least) on")
        }
        return value
    }

    /// One of `choices`; the first of them when nothing is said.
    func choice(_ name: String, _ choices: [String]) throws -> String {
        guard let text = values[name] ?? choices.first, choices.contains(text) else {
            throw BenchmarkError("--\(name) takes \(choices.joined(separator: ", "))")
        }
        return text
    }

    func text(_ name: String) -> String? { values[name] }
}

extension String {
    func padded(to count: Int) -> String { self + String(repeating: " ", count: max(0, count - self.count)) }
}

/// Milliseconds of repeated runs.
struct Sample {
    private let sorted: [Double]
    private let digits: Int

    init(_ values: [Double], digits: Int = 2) {
        sorted = values.sorted()
        self.digits = digits
    }

    func percentile(_ percent: Int) -> Double { sorted[min(sorted.count - 1, sorted.count * percent / 100)] }

    var row: String {
        let figures = [sorted[0], percentile(50), percentile(99), sorted[sorted.count - 1]]
        return zip(["min", "p50", "p99", "max"], figures).map { "\($0) \(Self.text($1, digits: digits))" }
            .joined(separator: "  ") + " ms"
    }

    /// Members of a JSON object.
    var members: String {
        [("min", 0), ("p50", 50), ("p99", 99)].map { "\"\($0.0)\":\(Self.text(percentile($0.1), digits: 3))" }
            .joined(separator: ",")
    }

    static func text(_ value: Double, digits: Int) -> String {
        let scale = (0..<digits).reduce(1) { product, _ in product * 10 }
        // What is above a floor is below it where a machine is busy.
        let scaled = Int((value.magnitude * Double(scale)).rounded())
        let fraction = String(scaled % scale)
        return (value < 0 && scaled > 0 ? "-" : "") + "\(scaled / scale)."
            + String(repeating: "0", count: digits - fraction.count) + fraction
    }
}
