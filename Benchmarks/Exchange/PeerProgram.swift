import CLinux
import Glibc

/// `Benchmarks peer LEVEL ROLE TRANSPORT [OPERATION=COUNT…]`: one process of an exchange. Servers run until they are
/// ended; clients print a figure for each operation and end.
enum PeerProgram {
    static func run(_ words: [String]) throws {
        guard words.count >= 3 else { throw BenchmarkError("peer takes a level, a role and a transport") }
        let (level, role, transport) = (words[0], words[1], words[2])
        if (level, role) == ("host", "bonding") {
            guard let count = words.last.flatMap({ Int($0) }) else { throw BenchmarkError("bonding takes a number") }
            let node = try Node(transport: transport, name: "client")
            let client = BondingClient(node.host, count: count) { [unowned node] in node.stop() }
            return try withExtendedLifetime(client) { try node.run() }
        }
        let steps = try words.dropFirst(3).map(step)
        switch (level, role) {
        case ("bare", "server"):
            let controller = try BareController(transport, number: 2)
            controller.advertise()
            let answer = BareController.data(controller.awaitConnection(), count: 21)
            while true {
                controller.awaitData()
                controller.write(answer)
            }
        case ("bare", "client"):
            let controller = try BareController(transport, number: 1)
            controller.connect(to: 2)
            // As long as a read's request; the answer is as long as its response.
            let request = BareController.data(controller.awaitConnection(), count: 3)
            var isDone = false
            let workload = Workload(steps) { _ in
                controller.write(request)
            } finish: {
                isDone = true
            }
            workload.start()
            while !isDone {
                controller.awaitData()
                workload.answered()
            }
        case ("host", "server"):
            let node = try Node(transport: transport, name: "server")
            let server = try HostServer(node.host)
            try node.run()
            for (operation, count) in server.allocations {
                print(operation.rawValue, Sample.text(count, digits: 2))
            }
        case ("host", "client"):
            let node = try Node(transport: transport, name: "client")
            let client = HostClient(node.host, steps) { [unowned node] in node.stop() }
            try withExtendedLifetime(client) { try node.run() }
        case ("corebluetooth", "server"):
            let node = try Node(transport: transport, name: "server")
            let server = CoreBluetoothServer(node.bluetooth)
            try withExtendedLifetime(server) { try node.run() }
        case ("corebluetooth", "client"):
            let node = try Node(transport: transport, name: "client")
            let client = CoreBluetoothClient(node.bluetooth, steps) { [unowned node] in node.stop() }
            try withExtendedLifetime(client) { try node.run() }
        default: throw BenchmarkError("there is no \(role) at level \(level)")
        }
    }

    private static func step(_ word: String) throws -> Workload.Step {
        let parts = word.split(separator: "=")
        guard parts.count == 2, let operation = Workload.Operation(rawValue: String(parts[0])),
            let count = Int(parts[1]), count > 0
        else { throw BenchmarkError("'\(word)' is no OPERATION=COUNT") }
        return (operation, count)
    }
}

/// Ends this process of an exchange, and says why.
func fail(_ reason: String) -> Never {
    let line = Array("Benchmarks: \(reason)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(1)
}
