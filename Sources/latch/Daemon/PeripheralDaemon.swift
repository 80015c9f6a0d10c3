import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CommandInterface
import CoreBluetoothEssentials
import DaemonControl
import Glibc
import HCITransport
import LockPeripheral
import LockPersistence
import LockProtocol
import StatePersistence

/// Composes the lock's daemon and runs it.
final class PeripheralDaemon {
    private let runtime: DaemonRuntime
    let lock: LockDaemon
    private let seal: LockSeal
    private let duty: BoltDuty
    private let reload: ConfigurationReload<PeripheralSettings>
    private let metrics: MetricsFile
    /// What the audit's signatures are checked with.
    private let auditKey: Ed25519PublicKey

    static func run(_ source: ConfigurationSource<PeripheralSettings>) throws -> ExitCode {
        var backOff = RestartBackOff(
            role: .peripheral, log: Log(PeripheralSettings().daemon), manager: ServiceManager())
        // Without a plan nobody knows what the door is owed, or where that is written.
        var duty: BoltDuty?
        do {
            let settings = try source.load()
            backOff.log = Log(settings.daemon)
            let plan = try DaemonPlan(settings.daemon, role: .peripheral)
            let made = try BoltDuty(DaemonHoldings(plan, manager: backOff.manager), settings)
            duty = made
            return try PeripheralDaemon(source, settings, plan, made).serve()
        } catch {
            duty?.secure(after: error)
            // A relock may fall due meanwhile.
            backOff.wait(
                after: error, doing: duty.map { duty in (duty.nextRelock, { duty.secure(after: error) }) })
            throw Failure(error)
        }
    }

    private init(
        _ source: ConfigurationSource<PeripheralSettings>, _ settings: PeripheralSettings, _ plan: DaemonPlan,
        _ duty: BoltDuty
    ) throws {
        let runtime = try DaemonRuntime(
            duty.holdings, deviceName: settings.name, preferredConnection: settings.preferredConnection,
            linksMaximum: settings.linksMaximum, signals: source.signals(duty.holdings.manager),
            first: duty.begin, withoutRadio: duty.settle)
        let seal = try LockSeal(runtime.state, anchor: FileAnchor(path: plan.anchor, keys: runtime.state.keys))
        let counts = Counts()
        // Nothing is raised before there is somebody to raise it.
        weak var raising: LockDaemon?
        seal.onDoubt = { [journal = runtime.journal] doubt in
            journal.record(doubt, anchor: plan.anchor)
            raising?.raise(Alarm(doubt))
        }
        seal.onAnchorStuck = { [journal = runtime.journal] error in
            journal.record("anchor_stuck", ["reason": .string(error.description)], level: .error)
        }
        let bolt = try duty.bolt()
        let store = SQLiteLockStore(runtime.state, seal: seal)
        lock = try LockDaemon(
            LockDaemon.Configuration(
                restoreIdentifier: plan.restoreIdentifier, name: settings.name, settings: duty.lockSettings.settings,
                fixed: duty.lockSettings.fixed, rules: duty.rules, boot: runtime.boot, alarms: duty.alarms),
            host: runtime.host, bluetooth: runtime.bluetooth,
            store: store, actuator: bolt,
            surroundings: LockDaemon.Surroundings(
                random: SystemRandom.uint64, wallClockSeconds: WallClock.seconds, bootTime: SystemClock.now,
                observe: { [journal = runtime.journal] in
                    duty.record($0, in: journal)
                    counts.take($0)
                },
                alarmsTold: duty.alarmsTold,
                fail: { [weak runtime] in runtime?.fail($0) }))
        let startSeconds = WallClock.seconds()
        metrics = MetricsFile(
            MetricsFile.Place(settings), host: runtime.host,
            render: { [unowned lock] in
                counts.metrics.families(lock.vitals, startSeconds: startSeconds).map(\.text).joined()
            },
            failed: { [journal = runtime.journal] reason in
                journal.record("metrics_failed", ["reason": .string(reason)], level: .warning)
            })
        counts.changed = { [unowned metrics] in metrics.touch() }
        runtime.journal.heard = { name in counts.take(eventOfLog: name) }
        metrics.touch()
        reload = ConfigurationReload(source, settings, runtime.journal) {
            [unowned lock, unowned runtime, metrics] settings in
            try duty.take(settings, on: runtime.loop)
            lock.configure(duty.lockSettings, rules: duty.rules)
            metrics.move(to: MetricsFile.Place(settings))
        }
        self.runtime = runtime
        self.seal = seal
        self.duty = duty
        auditKey = AuditSigner(runtime.state.keys).publicKey
        raising = lock
        if let doubt = seal.doubt { lock.raise(Alarm(doubt)) }
        if runtime.state.database.damagedRowCount > 0 { lock.raise(.tamper(.row)) }
        runtime.onDamagedRow = { [weak lock] in lock?.raise(.tamper(.row)) }
        if let descriptor = bolt.descriptor {
            let ask = { [unowned lock, host = runtime.host] in
                host.beginIteration(now: SystemClock.now())
                lock.actuatorIsReady()
            }
            _ = try runtime.loop.register(descriptor, .readable) { _ in ask() }
            // From now on its deadlines count, too.
            ask()
        }
        try duty.serveHook(on: runtime.loop)
        runtime.idleWork = { [unowned lock] in
            if seal.checkSlice() { return .more }
            let isMade = seal.makeGenerationOfLaunch()
            if lock.readOn() || store.countAudit() { return .more }
            return isMade ? .over : .held
        }
        runtime.housekeeping = ({ store.isAuditRoomDue }, { try store.makeAuditRoom() })
    }

    private func serve() throws -> ExitCode {
        try runtime.serveControl { [unowned self] (line, exchange) throws(ControlFailure) in
            let request = try PeripheralRequest(line: line)
            try lock.asked(by: exchange.user) { () throws(ControlFailure) in try answer(request, exchange) }
        }
        // What it says is in the journal.
        runtime.reload = { [reload] in _ = try? reload.perform() }
        runtime.willStop = { [unowned lock] in lock.willStop() }
        // Whatever ends it.
        defer { metrics.remove() }
        return try runtime.run()
    }

    private func answer(_ request: PeripheralRequest, _ exchange: ControlExchange) throws(ControlFailure) {
        switch request {
        case .statusPage(let page):
            var status = try lock.statusPage(LockStatus.Page(page)).json
            status["audit_key"] = .string(HexText.encode(auditKey.octets))
            status["doubt"] = seal.doubt.map { .string($0.name) }
            let damaged = runtime.state.database.damagedRowCount
            if damaged > 0 { status["damaged_rows"] = JSONValue(damaged) }
            exchange.finish(status)
        case .bondsPage(let page): exchange.finish(try bondPage(page).json)
        case .usersPage(let page): exchange.finish(userPage(page).json)
        case .deleteBond(let bond): try deleteBond(bond, exchange)
        case .confirmState: confirmState(exchange)
        case .reset: try reset(exchange)
        case .events: runtime.journal.stream(to: exchange)
        case .reload: exchange.finish(try reload.perform())
        case .stop:
            exchange.finish(["stopping": true])
            runtime.stop()
        case .enroll(let enrolment): try enroll(enrolment, exchange)
        case .administer(let administration): try administer(administration, exchange)
        case .schedule(let schedule): try answer(schedule, exchange)
        case .mode(let mode): try answer(mode, exchange)
        case .operate(let operation): try operate(operation, exchange)
        }
    }

    /// The owner answers for what is in the database: the next commit seals it, together with the audit's record of this.
    private func confirmState(_ exchange: ControlExchange) {
        guard let doubt = seal.doubt else { return exchange.finish(["changed": false]) }
        lock.confirmState(doubt)
        seal.confirm()
        exchange.finish(["changed": true, "doubt": .string(doubt.name)])
    }

    /// Nobody is enrolled or revoked on rows that are not believed: it would be done to an old copy.
    func requireTrust() throws(ControlFailure) {
        guard !seal.isTrusted, let doubt = seal.doubt else { return }
        throw ControlFailure(
            .refused, "\(doubt.explanation): look at `status`, then confirm it with `latch peripheral confirm`")
    }

    private func administer(
        _ administration: PeripheralRequest.Administration, _ exchange: ControlExchange
    ) throws(ControlFailure) {
        try requireTrust()
        let change: CredentialChange =
            switch administration.act {
            case .disable: .disabled
            case .enable: .enabled
            case .remove: .removed
            }
        try administer(administration.whom, change, exchange)
    }

    func administer(
        _ whom: PeripheralRequest.Whom, _ change: CredentialChange, _ exchange: ControlExchange
    ) throws(ControlFailure) {
        do throws(RevocationRefusal) {
            let isChanged = try lock.administer(CredentialScope(whom), change)
            var answer = whom.field
            answer["state"] = .string("\(change.act)")
            answer["changed"] = .bool(isChanged)
            exchange.finish(answer)
        } catch {
            throw ControlFailure(error)
        }
    }

    /// The window is open for as long as the operator holds on to it.
    private func enroll(_ enrolment: PeripheralRequest.Enrolment, _ exchange: ControlExchange) throws(ControlFailure) {
        try requireTrust()
        let request = EnrolmentRequest(
            credential: enrolment.credential, role: Role(enrolment.role),
            method: EnrolmentRequest.Method(enrolment.method), seconds: UInt64(enrolment.seconds),
            user: enrolment.user, kind: enrolment.kind.map { UserKind($0, minutes: enrolment.minutes) })
        do throws(EnrolmentRefusal) {
            try lock.openEnrolment(request) { Self.tell($0, enrolment, exchange) }
        } catch {
            switch error {
            case .windowIsOpen: throw ControlFailure(.busy, error.description)
            case .notPoweredOn: throw ControlFailure(.noRadio, error.description)
            case .stateUnreadable: throw ControlFailure(.stopping, error.description)
            case .badName, .badUser, .otherUser, .otherKind, .tooManyDevices:
                throw ControlFailure(.refused, error.description)
            }
        }
        runtime.whenAbandoned(exchange) { [weak self] in self?.lock.cancelEnrolment() }
    }

    private static func tell(
        _ progress: EnrolmentProgress, _ enrolment: PeripheralRequest.Enrolment, _ exchange: ControlExchange
    ) {
        switch progress {
        case .opened(let code):
            var fields: JSONObject = [
                "method": .string(enrolment.method.rawValue), "seconds": .number(enrolment.seconds),
            ]
            // To the operator's terminal and nowhere else.
            fields["setup_code"] = code.map { .string($0.text) }
            exchange.event("window", fields)
        case .passkey(let passkey):
            let digits = String(passkey)
            let padded = String(repeating: "0", count: max(0, 6 - digits.count)) + digits
            exchange.event("passkey", ["passkey": .string(padded)])
        case .attemptFailed(let reason): exchange.event("attempt_failed", ["reason": .string(reason)])
        case .paired(let bond): exchange.event("paired", ["bond": .string("\(bond)")])
        case .ended(.enrolled(let bond)):
            exchange.finish(["credential": .string(enrolment.credential), "bond": .string("\(bond)")])
        case .ended(.expired):
            exchange.fail(ControlFailure(.timeout, "nobody enrolled in \(enrolment.seconds) s: the window is closed"))
        case .ended(.burnt):
            exchange.fail(
                ControlFailure(.refused, "the attempt failed and the setup code is burnt: open a new window"))
        case .ended(.tooManyFailures):
            exchange.fail(
                ControlFailure(.refused, "\(LockDaemon.enrolmentFailuresMaximum) attempts failed: the window is closed")
            )
        case .ended(.cancelled): exchange.fail(ControlFailure(.stopping, "the window was closed"))
        }
    }
}

/// Who counts before there is a file to write it into.
private final class Counts {
    var metrics = LockMetrics()
    var changed: () -> Void = {}

    func take(_ event: LockEvent) {
        metrics.take(event)
        changed()
    }

    func take(eventOfLog name: String) {
        if metrics.take(eventOfLog: name) { changed() }
    }
}

extension MetricsFile.Place {
    fileprivate init?(_ settings: PeripheralSettings) {
        guard let path = settings.metricsFile else { return nil }
        self.init(path: path, intervalSeconds: UInt64(settings.metricsIntervalSeconds))
    }
}

extension ControlFailure {
    init(_ refusal: RevocationRefusal) {
        switch refusal {
        case .unknown, .unknownUser: self.init(.notFound, refusal.description)
        case .unreadable: self.init(.refused, refusal.description)
        case .stateUnreadable: self.init(.stopping, refusal.description)
        }
    }
}

extension LockStatus.Page {
    fileprivate init(_ page: PeripheralRequest.StatusPage) throws(ControlFailure) {
        self.init(limit: Int(page.limit))
        guard let text = page.after else { return }
        after = LockStatus.Cursor(text)
        guard after != nil else {
            throw ControlFailure(
                .unknownRequest, "member \"after\" of request \"status\" must be what a status gave as \"next\"")
        }
    }
}

extension Role {
    fileprivate init(_ role: PeripheralRequest.Enrolment.Role) {
        self =
            switch role {
            case .owner: .owner
            case .administrator: .administrator
            case .resident: .resident
            case .guest: .guest
            case .lockOnly: .lockOnly
            }
    }
}

extension PeripheralSettings {
    /// What keys are asked to make of their links.
    var preferredConnection: PreferredConnection? {
        switch latency {
        case "low": PreferredConnection(.low)
        case "medium": PreferredConnection(.medium)
        case "high": PreferredConnection(.high)
        default: nil
        }
    }
}

extension EnrolmentRequest.Method {
    fileprivate init(_ method: PeripheralRequest.Enrolment.Method) {
        self =
            switch method {
            case .oob: .outOfBand
            case .passkey: .passkey
            case .program: .program
            }
    }
}
