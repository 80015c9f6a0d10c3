import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CoreBluetoothEssentials
import DaemonControl
import Glibc
import HCITransport
import StatePersistence

/// What both sides stand on: one loop, one store, one host, one controller, and the commands on standard input.
final class PeerRuntime {
    private let loop: EventLoop
    private let host: Host
    private let driver: HostDriver
    private let commands: CommandTable
    private let restoreClaims: [RestoreClaim]
    private var lines = LineFramer()
    private var input: EventLoop.Registration?

    init(_ options: PeerOptions) throws {
        let state = try StateStore(
            path: options.database, machineKeyFile: options.database + ".key", credentialsDirectory: nil,
            components: [.host])
        let store = SQLiteHostStore(state, name: "peer")
        restoreClaims =
            try options.restoreIdentifier.map { identifier in
                try [RestoreKey.Role.central, .peripheral].map {
                    try store.claim(RestoreKey(role: $0, identifier: identifier))
                }
            } ?? []
        loop = try EventLoop()
        let capture = try options.capture.map { try BTSnoopWriter(path: $0) }
        let address = options.transport
        func openStream() throws(TransportError) -> HCIStream {
            HCIStream(try Transport.open(address), capture: capture)
        }
        let controller = ControllerConnection(
            .success(try openStream()), name: "\(address)", canReopen: address.canReopen, loop: loop,
            reopenedBy: openStream)
        let configuration = HostConfiguration(
            deviceName: options.deviceName, mtu: options.mtu, pairing: options.pairing)
        host = Host(
            configuration: configuration, boot: BootID(bits: SystemClock.bootIdentifier() ?? 0),
            snapshot: try store.load(), store: store, random: OperatingSystemRandom(), makeKeyPair: P256KeyPair.generate
        )
        host.beginIteration(now: SystemClock.now())
        driver = HostDriver(host: host, loop: loop, controller: controller, coordinator: state.database)
        let voice = Voice(host: host)
        driver.onTransportNotice = { voice.event("transport", ["notice": .string("\($0)")]) }
        let bluetooth = CBHost(
            driver.executor, wallClockSeconds: { Int64(time(nil)) },
            misuse: { try? Descriptor.write($0 + "\n", to: STDERR_FILENO) })
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
        loop.onSignal = { [driver] _ in driver.stop() }
        input = try loop.register(STDIN_FILENO, .readable) { [unowned self] _ in readCommands() }
        try driver.run()
    }

    private func readCommands() {
        host.beginIteration(now: SystemClock.now())
        guard let octets = Descriptor.read(STDIN_FILENO), !octets.isEmpty, let lines = try? lines.receive(octets)
        else {
            if let input { loop.unregister(input) }
            return driver.stop()
        }
        for line in lines { commands.run(line) }
    }
}

/// getrandom, for the host.
private struct OperatingSystemRandom: RandomSource {
    mutating func appendOctets(_ count: Int, to octets: inout [UInt8]) { octets += SystemRandom.bytes(count) }
}
