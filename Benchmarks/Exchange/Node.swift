import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CLinux
import CoreBluetoothEssentials
import Glibc
import HCITransport
import StatePersistence

/// One end of an exchange, composed as the daemons are: a loop, a controller, a store on disk, a host.
final class Node {
    let host: Host
    let bluetooth: CBHost
    private let driver: HostDriver
    private let directory: TemporaryDirectory

    init(transport: String, name: String) throws {
        directory = try TemporaryDirectory(name)
        let state = try StateStore(
            path: directory.path + "/latch.sqlite", machineKeyFile: directory.path + "/machine.key",
            credentialsDirectory: nil, components: [.host])
        let store = SQLiteHostStore(state, name: name)
        let loop = try EventLoop()
        let address = try TransportAddress(parsing: transport)
        let controller = ControllerConnection(
            .success(HCIStream(try Transport.open(address))), name: transport, canReopen: false, loop: loop
        ) { () throws(TransportError) in
            HCIStream(try Transport.open(address))
        }
        var configuration = HostConfiguration(deviceName: name)
        // The shortest that there is: what is measured is not the wait for an advertisement.
        configuration.advertisingInterval = 32
        host = Host(
            configuration: configuration, boot: BootID(bits: 1), snapshot: try store.load(), store: store,
            random: SystemRandomSource(), makeKeyPair: P256KeyPair.generate)
        host.beginIteration(now: SystemClock.now())
        driver = HostDriver(host: host, loop: loop, controller: controller, coordinator: state.database)
        bluetooth = CBHost(driver.executor)
        let database = state.database
        driver.onIdle = { try database.checkpointIfNeeded() }
        loop.onSignal = { [driver] _ in driver.stop() }
    }

    func run() throws { try driver.run() }
    func stop() { driver.stop() }
}

private struct SystemRandomSource: RandomSource {
    mutating func appendOctets(_ count: Int, to octets: inout [UInt8]) { octets += SystemRandom.bytes(count) }
}

/// What both sides of every exchange agree on.
enum Exchange {
    static let service: BluetoothUUID = 0xFFF0
    static let readable: BluetoothUUID = 0xFFF1
    static let writable: BluetoothUUID = 0xFFF2
    static let notifying: BluetoothUUID = 0xFFF3
    static let value = [UInt8](repeating: 0x5A, count: 20)
}
