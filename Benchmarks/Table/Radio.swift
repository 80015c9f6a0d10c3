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
                [programs.latch, "radio", "--socket", socket, "--control", control, "--air", "immediate"]
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
    let latch: String
    let benchmarks: String
    private let cache: String

    /// `cache`: where `scripts/interop/rootcanal` keeps what it has fetched.
    init(latch: String, cache: String) throws {
        self.latch = latch
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

    static func pinned(_ command: [String], to cpu: Int) -> [String] {
        ["/usr/bin/taskset", "--cpu-list", String(cpu)] + command
    }
}
