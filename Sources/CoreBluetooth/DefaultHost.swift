import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import Foundation
import Glibc
import HCITransport
import HostComposition
import StatePersistence

extension CBHost {
    /// The process's host, which managers without another one stand on: composed at its first use from what the environment
    /// says, on a thread of its own. docs/COREBLUETOOTH.md has the variables.
    ///
    /// It always answers. Where there is no adapter managers hear a state that says so, and ``obstacle`` says why.
    public static let `default` = DefaultHost.start()
}

/// The composition behind ``CBHost/default``.
enum DefaultHost {
    /// What a host stands on, made on the thread that runs it.
    struct Composition {
        let runtime: HostRuntime
        /// Held for as long as the host runs.
        let claim: RestoreClaim?
    }

    /// Nothing blocks the caller: what it asks waits for the loop.
    static func start(composing compose: @escaping @Sendable () throws -> Composition = composeAsConfigured) -> CBHost {
        let executor = DeferredExecutor()
        let host = CBHost(executor, wallClockSeconds: { Int64(time(nil)) }, misuse: { Diagnosis.say($0) })
        // A thread starts with its maker's mask: signals are the app's, and SIGPIPE is nobody's.
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT] { sigdelset(&blocked, fault) }
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let thread = Thread { run(compose, host, executor) }
        thread.name = "CoreBluetooth"
        thread.start()
        return host
    }

    /// The thread: the host that was asked for, and when that cannot be or ends, one that says so.
    private static func run(
        _ compose: () throws -> Composition, _ bluetooth: CBHost, _ executor: DeferredExecutor
    ) {
        do {
            let composition: Composition
            do {
                composition = try compose()
            } catch {
                Diagnosis.report("\(error)", of: bluetooth)
                throw error
            }
            try withExtendedLifetime(composition) { try serve(composition.runtime, bluetooth, executor) }
        } catch {
            stand(for: error, executor)
        }
    }

    @Sendable private static func composeAsConfigured() throws -> Composition {
        let settings = try HostSettings.ofProcess()
        try StateStore.prepareDirectory(settings.stateDirectory)
        let (database, identity) = ("\(settings.stateDirectory)/bluetooth.sqlite", "app")
        let claim = try RestoreClaim(identity: identity, beside: database, components: [.host])
        let state = try StateStore(
            path: database,
            machineKeyFile: "\(settings.stateDirectory)/machine.key",
            credentialsDirectory: settings.credentialsDirectory, components: [.host])
        let store = SQLiteHostStore(state, name: identity)
        let runtime = try HostRuntime(
            settings.configuration, boot: settings.boot, state: state, store: store,
            air: settings.openAir(), loop: EventLoop(signals: []), misuse: { Diagnosis.say($0) })
        return Composition(runtime: runtime, claim: claim)
    }

    /// Runs until the host cannot go on; then managers have heard so.
    private static func serve(_ runtime: HostRuntime, _ bluetooth: CBHost, _ executor: DeferredExecutor) throws {
        let host = runtime.host
        runtime.driver.onTransportNotice = { notice in
            switch notice {
            case .unavailable(let error, _):
                Diagnosis.report(error.description, of: bluetooth)
                host.transportUnavailable(HostState(error))
            case .lost(let reason, _): Diagnosis.report(reason, of: bluetooth)
            case .found: bluetooth.setObstacle(nil)
            case .resynchronised(let octets): Diagnosis.say("the controller is in step again after \(octets) octets")
            }
        }
        runtime.driver.onControllerFailure = { failure, _ in Diagnosis.say("the controller failed: \(failure)") }
        do {
            let termination = try Termination(runtime)
            // What fails below ends as it would without a host: by the signal's default action.
            defer { termination?.end() }
            try runtime.driver.run { executor.reach(runtime.driver.executor) }
        } catch {
            Diagnosis.report("\(error)", of: bluetooth)
            // Who comes from now on is the next host's; who came before hears of the end.
            executor.reachNobody()
            runtime.loop.runPosted()
            host.abandon()
            host.releaseActs(clock: SystemClock.now) { act in if case .call(let call) = act { call() } }
            throw error
        }
    }

    /// A host without a controller or a store, for managers that are made when there is nothing to stand on.
    private static func stand(for error: any Error, _ executor: DeferredExecutor) {
        guard
            let runtime = try? HostRuntime(
                HostConfiguration(deviceName: ""), boot: BootID(bits: 0), store: MemoryHostStore(),
                coordinator: MemoryTransactionCoordinator(),
                air: .controller(.none), loop: EventLoop(signals: []),
                misuse: { Diagnosis.say($0) })
        else { return }
        let state = HostState(error)
        runtime.driver.onTransportNotice = { [host = runtime.host] _ in host.transportUnavailable(state) }
        executor.reach(runtime.driver.executor)
        try? runtime.driver.run()
    }
}

extension HostSettings {
    /// What was named; otherwise bluetoothd, which leaves the adapter to others too, or else the first adapter.
    func openAir() -> AirSource {
        switch transport {
        case .controller(let address): .controller(ControllerSource(address))
        case .blueZ(let adapter): .blueZ(adapter)
        case nil: .runningBlueZ ?? .controller(.firstAdapter)
        }
    }
}

extension ControllerSource {
    private static let noAdapter = TransportError(
        .notFound,
        "no Bluetooth adapter: plug one in (\"ls /sys/class/bluetooth\" names those that are), or name a controller with "
            + HostSettings.Variable.transport)

    /// Nothing, and nothing to wait for: what looks for it hardly ever does.
    static var none: Self {
        let anHour = TransportRecovery.BackOff(firstMilliseconds: 3_600_000, maximumMilliseconds: 3_600_000)
        return Self(name: "none", canReopen: true, backOff: anHour) { () throws(TransportError) in throw noAdapter }
    }

    /// The kernel's adapter with the least number, at each attempt: one that is plugged in later is found.
    static var firstAdapter: Self {
        Self(name: "the first adapter", canReopen: true) { () throws(TransportError) in
            guard let address = TransportAddress.adapters().first else { throw noAdapter }
            return HCIStream(try Transport.open(address))
        }
    }
}

extension HostState {
    /// What Apple's states say of a controller that cannot be opened, or of a host that cannot be.
    init(_ error: any Error) {
        switch error {
        case let error as TransportError:
            self =
                switch error.kind {
                case .notPermitted: .unauthorized
                case .busy, .notReady: .poweredOff
                case .malformedAddress, .notFound, .refused, .timedOut, .unsupported, .system: .unsupported
                }
        case StoreError.tooOpen, StoreError.unreadable: self = .unauthorized
        default: self = .unsupported
        }
    }
}

/// What people read who look for the reason.
enum Diagnosis {
    /// Keeps it as what is in the way, and says it.
    static func report(_ reason: String, of host: CBHost) {
        host.setObstacle(reason)
        say(reason)
    }

    /// One line on standard error.
    static func say(_ text: String) {
        let line = Array("CoreBluetooth: \(text)\n".utf8)
        _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
