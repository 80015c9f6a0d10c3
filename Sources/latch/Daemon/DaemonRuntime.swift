import BluetoothCore
import BluetoothHost
import CLinux
import CommandInterface
import CoreBluetoothEssentials
import DaemonControl
import Glibc
import HCITransport
import HostComposition
import LockPeripheral
import LockPersistence
import LockProtocol
import StatePersistence

/// What both daemons stand on: one loop, one store, one host, one controller, one control socket.
final class DaemonRuntime {
    let plan: DaemonPlan
    let state: StateStore
    let boot: BootID
    let journal: EventJournal
    private let holdings: DaemonHoldings
    private let runtime: HostRuntime
    private var control: ControlServer?
    private let damage = DamageListener()
    /// Hears of each row that is found damaged from now on, beside the journal.
    var onDamagedRow: () -> Void {
        get { damage.hear }
        set { damage.hear = newValue }
    }
    private var fault: (any Error)?

    /// Opens everything, in the order in which an operator wants to hear what is wrong. Nothing has been sent when it
    /// returns. `signals`: those that end it, and the one that has it read its configuration. `first` goes before anything is
    /// read of the host, or opened for it. Without a controller `withoutRadio` does what cannot wait for one; one that may still
    /// come is waited for, and anything else is an error.
    init(
        _ holdings: DaemonHoldings, deviceName: String, preferredConnection: PreferredConnection? = nil,
        linksMaximum: Int = HostConfiguration.usualLinksMaximum, signals: [Int32] = [SIGTERM, SIGINT],
        first: (StateStore, BootID, EventJournal) throws -> Void = { _, _, _ in },
        withoutRadio: (StateStore, BootID, EventJournal) throws -> Void = { _, _, _ in }
    ) throws {
        self.holdings = holdings
        plan = holdings.plan
        // Whoever reads the log may go; the daemon stays.
        signal(SIGPIPE, SIG_IGN)
        try Dumps.forbid()
        guard let boot = SystemClock.bootIdentifier() else {
            throw Failure(.state, "/proc/sys/kernel/random/boot_id cannot be read: mount /proc")
        }
        self.boot = BootID(bits: boot)
        try plan.directory.requireUsable()
        journal = try holdings.journal()
        // Two roles in one file are two identities: each has its own adapter.
        try holdings.takeClaim()
        state = try plan.openState()
        state.database.onDamagedRow = { [journal, damage] row in
            journal.record(row)
            damage.hear()
        }
        state.database.onLogHeld = { [journal, path = plan.database] in
            journal.record("log_held", ["path": .string(path + "-wal")], level: .error)
        }
        if !state.database.isMediumProven {
            journal.record("medium_unproven", ["path": .string(plan.database)], level: .error)
        }
        try first(state, self.boot, journal)
        let store = SQLiteHostStore(state, name: plan.role.rawValue)
        if let sharing = try RoleSharing(plan, store) {
            journal.record("state_shared", sharing.fields, level: .warning)
        }
        let loop = try EventLoop(signals: signals)
        let capture = try plan.capture.map { try Self.openCapture($0) }
        capture?.onFailure = { [journal] error in
            journal.record("capture_stopped", ["reason": .string(error.description)], level: .error)
        }
        let address = plan.transport
        let air = try Self.air(at: address, capture)
        if let error = air.obstacle {
            try withoutRadio(state, self.boot, journal)
            guard address.canReopen, error.isMendedByWaiting else { throw error }
        }
        var configuration = HostConfiguration(deviceName: deviceName, preferredConnection: preferredConnection)
        configuration.linksMaximum = linksMaximum
        configuration.privacy = plan.isPrivate
        configuration.listsAbsentSubscribers = false
        let log = plan.log
        runtime = try HostRuntime(
            configuration, boot: self.boot, state: state, store: store, air: air,
            loop: loop,
            misuse: { message in log.error(message) })
        holdings.manager?.tellStatus(
            air.obstacle.map { "waits for its controller: \($0)" } ?? "serves over \(address)")
        driver.onTransportNotice = { [journal, manager = holdings.manager] in
            journal.record($0, of: address)
            manager?.tell($0, of: address)
        }
        runtime.host.onNotice = { [journal] in journal.record($0) }
        driver.onControllerFailure = { [journal] in journal.record($0, $1, of: address) }
    }

    /// At SIGHUP.
    var reload: () -> Void = {}
    /// Before the last commit of an end in order.
    var willStop: () -> Void = {}
    private var isStopping = false

    /// Slices of a daemon's own that can wait until the radio is quiet.
    var idleWork: () -> HostDriver.IdleSlice {
        get { runtime.idleWork }
        set { runtime.idleWork = newValue }
    }

    /// What a daemon has to do again and again.
    var housekeeping: HostDriver.Housekeeping {
        get { runtime.housekeeping }
        set { runtime.housekeeping = newValue }
    }

    var host: Host { runtime.host }
    var bluetooth: CBHost { runtime.bluetooth }
    var loop: EventLoop { runtime.loop }
    private var driver: HostDriver { runtime.driver }

    private static func air(at address: AirAddress, _ capture: BTSnoopWriter?) throws(Failure) -> AirSource {
        switch address {
        case .controller(let address):
            let controller = ControllerSource(address, capture: capture)
            return .controller(controller)
        case .blueZ(let adapter):
            guard capture == nil else {
                throw Failure(.usage, "bluetoothd's packets are not this program's to record: use btmon")
            }
            return .blueZ(adapter)
        }
    }

    private static func openCapture(_ path: String) throws(Failure) -> BTSnoopWriter {
        do {
            return try BTSnoopWriter(path: path)
        } catch {
            throw Failure(.state, "\(error): name another file with --capture")
        }
    }

    /// Answers operators. `handle` runs in an iteration of the loop, and throws what the operator is to read.
    func serveControl(_ handle: @escaping ([UInt8], ControlExchange) throws(ControlFailure) -> Void) throws {
        let group = try plan.controlGroup.map { (name) throws(ControlSocketError) in try ControlGroup(named: name) }
        control = try ControlServer(
            path: plan.controlSocket, group: group, loop: EventLoopReadiness(loop),
            release: { [host] in host.afterCommit($0) }
        ) { [host] line, exchange in
            host.beginIteration(now: SystemClock.now())
            do throws(ControlFailure) { try handle(line, exchange) } catch { exchange.fail(error) }
        }
    }

    /// What is done where the operator of an exchange goes away before its end.
    func whenAbandoned(_ exchange: ControlExchange, _ body: @escaping () -> Void) {
        exchange.onAbandoned = { [host] in
            host.beginIteration(now: SystemClock.now())
            body()
        }
    }

    /// Runs until a signal, a request to stop, or something after which nothing can be promised.
    func run() throws -> ExitCode {
        loop.onSignal = { [unowned self] signal in
            guard signal == SIGHUP else { return stop() }
            host.beginIteration(now: SystemClock.now())
            reload()
        }
        journal.record("started", ["role": .string(plan.role.rawValue), "transport": .string("\(plan.transport)")])
        defer { control?.close() }
        try holdings.manager?.giveSigns(on: loop)
        holdings.manager?.tellReady()
        try driver.run()
        if let fault { throw fault }
        journal.record("stopped")
        // Everything is on disk: what is left to be told, and no packet, still goes.
        host.releaseActs(clock: SystemClock.now) { act in if case .call(let call) = act { call() } }
        return .ok
    }

    /// Ends in order: with what is left to be said in the last commit.
    func stop() {
        guard !isStopping else { return }
        isStopping = true
        holdings.manager?.tellStopping()
        host.beginIteration(now: SystemClock.now())
        willStop()
        driver.stop()
    }

    func fail(_ error: any Error) {
        fault = fault ?? error
        driver.stop()
    }
}

/// Who comes when rows have been read already.
private final class DamageListener {
    var hear: () -> Void = {}
}

extension ConfigurationSource {
    /// SIGHUP has a daemon read its file where somebody has named one, and a user's own key where `manager` has started it. Elsewhere a
    /// terminal that goes ends the daemon, whatever is in the user's place.
    func signals(_ manager: ServiceManager?) -> [Int32] {
        [SIGTERM, SIGINT] + (isNamed || user != nil && manager != nil ? [SIGHUP] : [])
    }
}

/// When it is, for schedules and validity.
enum WallClock {
    /// 2026-01-01: a clock that says less has never been set.
    private static let plausibleSeconds: Int64 = 1_767_225_600

    /// nil while the clock cannot be trusted.
    static func seconds() -> Int64? {
        let now = Int64(time(nil))
        return now >= plausibleSeconds ? now : nil
    }
}

extension Failure {
    /// What a daemon ended with, as a line and a number.
    init(_ error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as StoreError: self.init(.state, error.description)
        case let error as ControlSocketError:
            self.init(error.reason == .misconfigured ? .configuration : .state, error.description)
        case let error as TransportError: self.init(.transport, error.description)
        case let error as BoltJournal.Failure: self.init(error, of: "the bolt's journal")
        default: self.init(.refused, String(describing: error))
        }
    }

    /// `journal`: how its operator knows it.
    init(_ failure: BoltJournal.Failure, of journal: String) {
        switch failure {
        case .inUse:
            self.init(
                .state,
                "\(journal) is in use by another lock: stop that one, or name another file with bolt_journal")
        case .io(let call, let code): self.init(.state, "\(journal): \(call): \(String(cString: strerror(code)))")
        }
    }
}
