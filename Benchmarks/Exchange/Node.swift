import BluetoothCore
import BluetoothHost
import CLinux
import CoreBluetoothEssentials
import Glibc
import HCITransport
import HostComposition
import StatePersistence

/// One end of an exchange, composed as the daemons are: a loop, a controller, a store on disk, a host.
final class Node {
    private let runtime: HostRuntime
    private let directory: TemporaryDirectory

    init(transport: String, name: String) throws {
        directory = try TemporaryDirectory(name)
        let state = try StateStore(
            path: directory.path + "/latch.sqlite", machineKeyFile: directory.path + "/machine.key",
            credentialsDirectory: nil, components: [.host])
        let store = SQLiteHostStore(state, name: name)
        let controller = ControllerSource(try TransportAddress(parsing: transport))
        var configuration = HostConfiguration(deviceName: name)
        // The shortest that there is: what is measured is not the wait for an advertisement.
        configuration.advertisingInterval = 32
        runtime = try HostRuntime(
            configuration, boot: BootID(bits: SystemClock.bootIdentifier() ?? 0), state: state, store: store,
            air: .controller(controller, launched: .success(try controller.open())),
            loop: try EventLoop(), misuse: { print($0) })
        runtime.loop.onSignal = { [driver = runtime.driver] _ in driver.stop() }
    }

    var host: Host { runtime.host }
    var bluetooth: CBHost { runtime.bluetooth }

    func run() throws { try runtime.driver.run() }
    func stop() { runtime.driver.stop() }
}

/// What both sides of every exchange agree on.
enum Exchange {
    static let service: BluetoothUUID = 0xFFF0
    static let readable: BluetoothUUID = 0xFFF1
    static let writable: BluetoothUUID = 0xFFF2
    static let notifying: BluetoothUUID = 0xFFF3
    static let value = [UInt8](repeating: 0x5A, count: 20)
}
