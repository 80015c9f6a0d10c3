import BluetoothCore
import BluetoothHost
import CommandInterface
import CoreBluetoothEssentials
import DaemonControl
import Glibc
import HCITransport
import LockCentral
import LockPersistence
import LockProtocol
import StatePersistence

/// Composes the key's daemon and runs it.
final class CentralDaemon {
    let runtime: DaemonRuntime
    let key: KeyDaemon
    private let companion: Companion
    private let reload: ConfigurationReload<CentralSettings>
    private let watch: WatchFeed

    static func run(_ source: ConfigurationSource<CentralSettings>) throws -> ExitCode {
        var backOff = RestartBackOff(role: .central, log: Log(CentralSettings().daemon), manager: ServiceManager())
        do {
            let settings = try source.load()
            backOff.log = Log(settings.daemon)
            if let user = source.user, settings.daemon.stateDirectory == user.state { try user.make() }
            let plan = try DaemonPlan(settings.daemon, role: .central)
            return try CentralDaemon(source, settings, DaemonHoldings(plan, manager: backOff.manager)).serve()
        } catch {
            backOff.wait(after: error)
            throw Failure(error)
        }
    }

    private init(
        _ source: ConfigurationSource<CentralSettings>, _ settings: CentralSettings, _ holdings: DaemonHoldings
    ) throws {
        runtime = try DaemonRuntime(holdings, deviceName: "Latch key", signals: source.signals(holdings.manager))
        // Of its live keys the log alone concerns it.
        reload = ConfigurationReload(source, settings, runtime.journal) { _ in }
        let companion = try Companion(
            user: getuid(), session: .session(), tellsOwnActs: settings.tellsOwnActs, program: settings.approachProgram,
            host: runtime.host, loop: runtime.loop
        ) { [journal = runtime.journal] in journal.record($0) }
        self.companion = companion
        key = try KeyDaemon(
            KeyDaemon.Configuration(
                restoreIdentifier: holdings.plan.restoreIdentifier, boot: runtime.boot,
                unlocksWhenNear: settings.unlocksByProximity, locksWhenLeaving: settings.locksOnLeaving,
                approach: settings.approach(isUsersOwn: source.user != nil), proximity: settings.proximity),
            host: runtime.host, bluetooth: runtime.bluetooth, store: SQLiteKeyStore(runtime.state.database)
        ) { [journal = runtime.journal] event in
            journal.record(event)
            companion.hear(event)
        }
        watch = WatchFeed(key, host: runtime.host)
        companion.decide = { [weak key] approach, opens in key?.decide(approach, opens: opens) }
    }

    private func serve() throws -> ExitCode {
        try runtime.serveControl { [unowned self] (line, exchange) throws(ControlFailure) in
            try answer(CentralRequest(line: line), exchange)
        }
        runtime.reload = { [reload] in _ = try? reload.perform() }
        return try runtime.run()
    }

    private func answer(_ request: CentralRequest, _ exchange: ControlExchange) throws(ControlFailure) {
        switch request {
        case .status: exchange.finish(key.status.json)
        case .events: runtime.journal.stream(to: exchange)
        case .watch: watch.stream(to: exchange)
        case .reload: exchange.finish(try reload.perform())
        case .stop:
            exchange.finish(["stopping": true])
            runtime.stop()
        case .enroll(let text, let seconds): try enroll(text, seconds, exchange)
        case .command(let command): perform(command, exchange)
        case .rename(let lock, let name):
            let former = try Self.telling { () throws(KeyLockRefusal) in try key.rename(lock, to: name) }
            exchange.finish(["lock": .string(name), "former": .string(former), "changed": .bool(former != name)])
        case .note(let lock, let change): exchange.finish(try note(change, of: lock))
        case .prefer(let lock, let isPreferred): exchange.finish(try prefer(lock, isPreferred))
        case .calibrate(let lock): try calibrate(lock, exchange)
        case .thresholds(let lock, let values): try setThresholds(values, of: lock, exchange)
        case .forget(let lock):
            let name = try Self.telling { () throws(KeyLockRefusal) in try key.forget(lock) }
            exchange.finish(["lock": .string(name), "forgotten": true])
        }
    }

    private func perform(_ command: CentralRequest.Command, _ exchange: ControlExchange) {
        let (operation, argument) = (command.operation.operation, command.relock.argument)
        let milliseconds = UInt64(command.waitSeconds) * 1_000
        let report: (KeyCommandProgress) -> Void = { [weak self] progress in
            if case .took(let id, let peer) = progress { self?.whenAbandoned(exchange) { $0.withdraw(id, at: peer) } }
            Self.tell(progress, exchange)
        }
        if command.isForNearest {
            whenAbandoned(exchange) { $0.withdrawNearest() }
            key.commandNearest(operation, argument, waitMilliseconds: milliseconds, report: report)
        } else {
            key.command(operation, argument, lock: command.lock, waitMilliseconds: milliseconds, report: report)
        }
    }

    /// What is done where the operator goes away before the end.
    func whenAbandoned(_ exchange: ControlExchange, _ body: @escaping (KeyDaemon) -> Void) {
        runtime.whenAbandoned(exchange) { [weak self] in if let self { body(key) } }
    }

    static func telling<Answer>(
        _ body: () throws(KeyLockRefusal) -> Answer
    ) throws(ControlFailure) -> Answer {
        do throws(KeyLockRefusal) { return try body() } catch {
            let code: ControlFailure.Code =
                switch error {
                case .unknown: .notFound
                case .isEnrolling, .isCalibrating: .busy
                case .nameIsTaken, .nameIsTooLong, .nameHasControls, .isNoNote: .refused
                }
            throw ControlFailure(code, error.description)
        }
    }

    private func enroll(
        _ text: SecretText, _ seconds: Int64, _ exchange: ControlExchange
    ) throws(ControlFailure) {
        let code: SetupCode
        do throws(SetupCodeError) {
            code = try text.withText { (text) throws(SetupCodeError) in try SetupCode(parsing: text) }
        } catch {
            throw ControlFailure(.refused, error.description)
        }
        // An exchange that has ended is not abandoned: this is an operator who went away.
        whenAbandoned(exchange) { $0.cancelEnrolment() }
        key.enroll(code, waitMilliseconds: UInt64(seconds) * 1_000) { Self.tell($0, exchange) }
    }

    private static func tell(_ progress: KeyEnrolmentProgress, _ exchange: ControlExchange) {
        switch progress {
        case .connecting: exchange.event("connecting")
        case .pairing: exchange.event("pairing")
        case .paired: exchange.event("paired")
        case .enrolled(let peer, let name):
            exchange.finish(["lock": .string(name), "id": .string("\(peer)")])
        case .failed(let failure):
            let code: ControlFailure.Code =
                switch failure {
                case .superseded: .busy
                case .notPoweredOn: .noRadio
                case .expired: .timeout
                case .pairing, .linkLost, .notALock, .notConfirmed, .needsProgramCode: .refused
                }
            exchange.fail(ControlFailure(code, failure.description))
        }
    }

    private static func tell(_ progress: KeyCommandProgress, _ exchange: ControlExchange) {
        switch progress {
        case .nearest(let peer, let name, let isByPreference):
            var fields: JSONObject = ["lock": .string(name), "id": .string("\(peer)")]
            if isByPreference { fields["by"] = "preference" }
            exchange.event("nearest", fields)
        case .took(let id, let peer):
            exchange.event("asked", ["request": JSONValue(id.rawValue), "lock": .string("\(peer)")])
        case .accepted: exchange.event("accepted")
        case .outcome(.done), .ended(.done): exchange.finish(["outcome": "done"])
        case .ended(.accepted): exchange.finish(["outcome": "accepted"])
        case .outcome(let result):
            exchange.fail(ControlFailure(.refused, result.end))
        case .unknownLock(let choice): exchange.fail(ControlFailure(.notFound, choice.description))
        case .notSought(let refusal): exchange.fail(ControlFailure(code(of: refusal), refusal.description))
        case .ended(let verdict): exchange.fail(failure(verdict))
        }
    }

    private static func code(of refusal: KeyNearestRefusal) -> ControlFailure.Code {
        switch refusal {
        case .radioIsOff: .noRadio
        case .isLooking: .busy
        case .nobody: .timeout
        case .several, .unmeasured: .refused
        }
    }

    private static func failure(_ verdict: KeyVerdict) -> ControlFailure {
        let code: ControlFailure.Code =
            switch verdict {
            case .expired, .unproven: .timeout
            case .declined: .busy
            case .done, .accepted, .refused, .aborted, .unknown, .cancelled: .refused
            }
        return ControlFailure(code, verdict.obstacle ?? verdict.name)
    }
}

extension CentralRequest.Command.Operation {
    fileprivate var operation: LockOperation {
        switch self {
        case .lock: .lock
        case .unlock: .unlock
        case .unlatch: .unlatch
        case .lockAndGo: .lockAndGo
        }
    }
}

extension CentralRequest.Command.Relock {
    fileprivate var argument: RelockArgument {
        switch self {
        case .setting: .setting
        case .after(let seconds): .after(seconds: seconds)
        case .held: .holdOpen
        }
    }
}
