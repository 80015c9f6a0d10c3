import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import DaemonControl
import Glibc
import HCITransport
import HostComposition
import StatePersistence

/// What both sides stand on: one loop, one store, one host, one controller, and the commands on standard input.
final class PeerRuntime {
    private let runtime: HostRuntime
    private let commands: CommandTable
    private let claim: RestoreClaim
    private var lines = LineFramer()
    private var input: EventLoop.Registration?

    init(_ options: PeerOptions) throws {
        let identity = "peer"
        claim = try RestoreClaim(identity: identity, beside: options.database, components: [.host])
        let state = try StateStore(
            path: options.database, machineKeyFile: options.database + ".key", credentialsDirectory: nil,
            components: [.host])
        let store = SQLiteHostStore(state, name: identity)
        let capture = try options.capture.map { try BTSnoopWriter(path: $0) }
        let controller = ControllerSource(options.transport, capture: capture)
        let configuration = HostConfiguration(
            deviceName: options.deviceName, mtu: options.mtu, pairing: options.pairing)
        runtime = try HostRuntime(
            configuration, boot: BootID(bits: SystemClock.bootIdentifier() ?? 0), state: state, store: store,
            air: .controller(controller, launched: .success(try controller.open())),
            loop: try EventLoop(), misuse: { try? Descriptor.write($0 + "\n", to: STDERR_FILENO) })
        let (host, bluetooth) = (runtime.host, runtime.bluetooth)
        let voice = Voice(host: host)
        runtime.driver.onTransportNotice = { voice.event("transport", ["notice": .string("\($0)")]) }
        let channels = ChannelSide(voice)
        commands = CommandTable(
            voice: voice,
            sides: [
                CentralSide(bluetooth, voice, channels, restoreIdentifier: options.restoreIdentifier),
                PeripheralSide(bluetooth, host, voice, channels, restoreIdentifier: options.restoreIdentifier),
                channels,
                ProcedureSide(host),
                SecuritySide(host),
                ModeSide(host, voice),
                AgentSide(host, voice, options.ioCapability),
            ])
    }

    /// Until the input ends, a signal comes, or the controller is gone.
    func run() throws {
        runtime.loop.onSignal = { [driver = runtime.driver] _ in driver.stop() }
        input = try runtime.loop.register(STDIN_FILENO, .readable) { [unowned self] _ in readCommands() }
        try runtime.driver.run()
    }

    private func readCommands() {
        runtime.host.beginIteration(now: SystemClock.now())
        guard let octets = Descriptor.read(STDIN_FILENO), !octets.isEmpty, let lines = try? lines.receive(octets)
        else {
            if let input { runtime.loop.unregister(input) }
            return runtime.driver.stop()
        }
        for line in lines { commands.run(line) }
    }
}
