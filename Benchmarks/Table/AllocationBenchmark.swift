/// What one operation allocates on either side, counted at the C library's allocator: no clock is in it, so it can be held
/// to a bound.
struct AllocationBenchmark {
    /// What one operation may allocate, client first: what it does now, so that it becomes no more. Commands are counted by
    /// ``Workload/commandsPerRead`` and the read that ends them.
    private static let hostBounds: [Workload.Operation: (client: Double, server: Double)] = [
        .read: (0, 0), .write: (0, 2), .command: (0, 2), .notification: (0, 0),
    ]
    /// On Apple's API, at the client: the octets of the `Data` that the app gets or gives, and its object. Of
    /// commands each has such octets.
    private static let coreBluetoothBounds: [Workload.Operation: Double] = [
        .read: 2, .write: 1, .command: Double(Workload.commandsPerRead) + 2, .notification: 2,
    ]

    private let count: Int
    private let programs: Programs

    init(_ options: Options) throws {
        count = try options.integer("count", default: 10_000)
        programs = try Programs(
            lab: options.text("lab") ?? Executable.directory() + "/latch-lab",
            cache: options.text("cache") ?? ".build/interop")
    }

    /// Throws when something allocates more than its bound.
    func run() throws {
        print("allocations for each of \(count) operations, once warm; virtual radio, 20-octet values")
        var excess: [String] = []
        for level in [TableBenchmark.Level.host, .corebluetooth] {
            for operation in Workload.Operation.allCases {
                let radio = try Radio(.virtual, cpu: 0, programs: programs)
                let steps = ["\(operation.rawValue)=\(count)"]
                let (figures, said) = try programs.exchange(level, on: radio, steps, cpu: 0)
                let words = said.split(separator: "\n").map { $0.split(separator: " ") }
                let server = words.first { $0.first.map(String.init) == operation.rawValue }?.last.map(String.init)
                let client = figures[0].allocations
                let counted =
                    operation == .command
                    ? "\(Workload.commandsPerRead) commands and a read" : operation.rawValue
                print(
                    "  \(level.rawValue) \(counted): client \(Sample.text(client, digits: 2))"
                        + (server.map { ", server \($0)" } ?? ""))
                if level == .corebluetooth {
                    if client > Self.coreBluetoothBounds[operation] ?? 0 {
                        excess.append("Core Bluetooth's \(operation.rawValue)")
                    }
                    continue
                }
                guard let bound = Self.hostBounds[operation] else { continue }
                if client > bound.client { excess.append("the client's \(operation.rawValue)") }
                if server.flatMap(Double.init) ?? .infinity > bound.server {
                    excess.append("the server's \(operation.rawValue)")
                }
            }
        }
        guard excess.isEmpty else {
            throw BenchmarkError("these allocate more than they did: \(excess.joined(separator: ", "))")
        }
    }
}
