import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import GATT
import Glibc
import HCITransport
import HostComposition

/// `Benchmarks crowd TRANSPORT COUNT`: peripherals that come one behind the other, each with an address, a name and a tree of its own. Each
/// goes when somebody who connected to it has let it go.
enum Crowd {
    static func run(_ words: [String]) throws {
        guard words.count == 2, let count = Int(words[1]) else {
            throw BenchmarkError("crowd takes a transport and a number")
        }
        let controller = ControllerSource(try TransportAddress(parsing: words[0]))
        for number in 0..<count {
            var configuration = HostConfiguration(deviceName: "peripheral \(number)")
            configuration.advertisingInterval = 32
            let runtime = try HostRuntime(
                configuration, boot: BootID(bits: SystemClock.bootIdentifier() ?? 0), store: MemoryHostStore(),
                coordinator: MemoryTransactionCoordinator(),
                air: .controller(controller, launched: .success(try controller.open())),
                loop: try EventLoop(signals: []), misuse: { print($0) })
            let server = try HostServer(runtime.host, name: "peripheral \(number)", beside: services)
            server.onDisconnection = { [driver = runtime.driver] in driver.stop() }
            try withExtendedLifetime(server) { try runtime.driver.run() }
        }
    }

    /// About what a sensor has: a battery's service, and who has made it.
    private static let services = [
        ServiceDefinition(
            uuid: 0x180F,
            characteristics: [
                CharacteristicDefinition(
                    uuid: 0x2A19, properties: [.read, .notify], access: AttributeAccess(read: .open, subscribe: .open))
            ]),
        ServiceDefinition(
            uuid: 0x180A,
            characteristics: [0x2A29, 0x2A24, 0x2A25, 0x2A26].map {
                CharacteristicDefinition(
                    uuid: BluetoothUUID($0), properties: .read, access: AttributeAccess(read: .open))
            }),
    ]
}
