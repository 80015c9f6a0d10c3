/// A radio process that the peers of an exchange connect to; it goes with the value.
final class Radio {
    enum Kind: String, CaseIterable { case virtual, rootcanal }

    let transport: String
    private let child: Child
    private let directory: TemporaryDirectory

    /// `cpu`: the one that it is pinned to.
    init(_ kind: Kind, cpu: Int, programs: Programs) throws {
        directory = try TemporaryDirectory("air")
        let socket = directory.path + "/air"
        let control = directory.path + "/control"
        let command =
            switch kind {
            case .virtual:
                [programs.lab, "radio", "--socket", socket, "--control", control, "--air", "immediate"]
            case .rootcanal: programs.rootcanal(socket: socket, control: control)
            }
        let log = directory.path + "/log"
        child = try Child(Programs.pinned(command, to: cpu), output: log)
        transport = "unix:" + socket
        try UnixSocket.await(socket)
    }
}

/// Where the programs of an exchange are.
struct Programs {
    let lab: String
    let benchmarks: String
    private let cache: String

    /// `cache`: where `scripts/interop/rootcanal` keeps what it has fetched.
    init(lab: String, cache: String) throws {
        self.lab = lab
        self.cache = cache
        benchmarks = try Executable.path()
    }

    func rootcanal(socket: String, control: String) -> [String] {
        let libraries = cache + "/rootcanal/glibc/usr/lib/x86_64-linux-gnu"
        return [
            libraries + "/ld-linux-x86-64.so.2", "--library-path", libraries, cache + "/rootcanal/rootcanal_radio",
            cache + "/rootcanal/librootcanal_ffi.so", socket, control,
        ]
    }

    /// Runs a server and a client on `radio`: the client's figures, and what the server says of itself at its end.
    func exchange(
        _ level: TableBenchmark.Level, on radio: Radio, client role: String = "client", _ steps: [String], cpu: Int
    ) throws -> (figures: [Figure], server: String) {
        let output = try TemporaryDirectory("figures")
        func start(_ role: String, _ steps: [String]) throws -> Child {
            let command = [benchmarks, "peer", level.rawValue, role, radio.transport] + steps
            return try Child(Self.pinned(command, to: cpu), output: output.path + "/" + role)
        }
        func said(_ role: String) throws -> String {
            String(decoding: try contents(output.path + "/" + role), as: UTF8.self)
        }
        let server = try start("server", [])
        defer { server.end() }
        let client = try start(role, steps)
        let status = client.wait()
        server.terminate()
        let figures = try said(role).split(separator: "\n").compactMap { Figure(line: $0) }
        guard status == 0, !figures.isEmpty else {
            throw BenchmarkError(
                "the client at level \(level.rawValue) failed: \(try said(role))\(try said("server"))")
        }
        return (figures, try said("server"))
    }

    static func pinned(_ command: [String], to cpu: Int) -> [String] {
        ["/usr/bin/taskset", "--cpu-list", String(cpu)] + command
    }
}
