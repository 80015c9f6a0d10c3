import BluetoothCore
import CLinux
import CommandInterface
import DaemonControl
import Glibc
import HCITransport
import LockPeripheral
import LockPersistence
import LockProtocol
import StatePersistence

/// What the lock does for its door when its daemon cannot run: without a radio by the rules of every launch, and without a
/// disk by ``UnrecordedSecuring``.
final class BoltDuty {
    let holdings: DaemonHoldings
    private let journalPath: String
    private let settings: BoltSettings
    private var opened: (any Actuator)?
    /// nil until the configuration has named one that can be served.
    private var hook: AlarmHook?
    /// nil while the configuration names none.
    private var hookPath: String?
    private(set) var rules: DoorRules
    private(set) var lockSettings: ConfiguredLockSettings
    private let lockName: String
    /// What was raised before there was a daemon.
    private(set) var alarms = AlarmBook()

    /// - Throws: ``ScheduleTextError`` for what no configuration file can have.
    init(_ holdings: DaemonHoldings, _ settings: PeripheralSettings) throws(ScheduleTextError) {
        self.holdings = holdings
        journalPath = settings.boltJournal ?? holdings.plan.directory.boltJournal
        self.settings = settings.bolt
        lockName = settings.name
        rules = settings.doorRules
        lockSettings = try settings.lockSettings()
        hookPath = settings.alarmHook
        hook = hookPath.map(hook(at:))
    }

    /// What a configuration that was read anew says.
    ///
    /// - Throws: What to do, where the kernel gives a hook no timer; ``ScheduleTextError`` as ever.
    func take(_ settings: PeripheralSettings, on loop: EventLoop) throws {
        let lockSettings = try settings.lockSettings()
        if let path = settings.alarmHook {
            let hook = hook(at: path)
            // No alarm waits for a hook that cannot be served.
            try hook.serve(on: loop)
            hook.path = path
            self.hook = hook
        }
        hookPath = settings.alarmHook
        self.lockSettings = lockSettings
        rules = settings.doorRules
    }

    /// The one that there is, or else one of this path. Alarms that wait go to the program that is named last.
    private func hook(at path: String) -> AlarmHook {
        hook
            ?? AlarmHook(path: path) { [holdings, weak self] in
                (try? holdings.journal())?.record($0, path: self?.hook?.path ?? path)
            }
    }

    /// - Throws: What to do, where the kernel gives no timer.
    func serveHook(on loop: EventLoop) throws { try hook?.serve(on: loop) }

    private var plan: DaemonPlan { holdings.plan }

    /// The process's one hand on the metal.
    func bolt() throws -> any Actuator {
        if let opened { return opened }
        let bolt: any Actuator =
            switch settings.kind {
            case .simulated: try simulated()
            case .exec: try command()
            case .gpio: try strike()
            }
        opened = bolt
        return bolt
    }

    /// What an earlier process secured without a record is at rest when it returns, so that the launch which tells of it finds a
    /// bolt and no movement that it never ordered.
    private func simulated() throws -> SimulatedBolt {
        let travelMilliseconds = UInt64(settings.travelMilliseconds)
        let journal = try boltJournal()
        if let last = journal.last, !last.isIntended, SystemClock.now() >= last.at {
            wait(until: last.at.advanced(byMilliseconds: travelMilliseconds))
        }
        return SimulatedBolt(journal: journal, travelMilliseconds: travelMilliseconds)
    }

    private func command() throws -> CommandBolt {
        let journal = try boltJournal()
        do throws(CommandProcess.Failure) {
            return CommandBolt(
                journal: journal, runner: try CommandProcess(settings.words, claim: plan.directory.boltCommand),
                limits: settings.limits, bootTime: SystemClock.now, tell: tellOperator)
        } catch .noDescriptor(let code) {
            throw Failure(
                .state, "the bolt's command has no descriptor: \(String(cString: strerror(code))): raise LimitNOFILE=")
        }
    }

    private func strike() throws -> StrikeBolt {
        do throws(StrikeSocketLink.Failure) {
            return StrikeBolt(
                boot: BootID(bits: SystemClock.bootIdentifier() ?? 0),
                link: try StrikeSocketLink(path: settings.keeper),
                pulseMilliseconds: UInt32(settings.pulseMilliseconds), bootTime: SystemClock.now
            ) { [self] reason in
                let fields: JSONObject = ["keeper": .string(settings.keeper), "reason": .string(reason)]
                (try? holdings.journal())?.record("bolt_keeper", fields, level: .warning)
            }
        } catch {
            throw Failure(
                .state,
                "the bolt's keeper has no descriptor: \(String(cString: strerror(error.number))): raise LimitNOFILE=")
        }
    }

    private func tellOperator(_ reason: String) {
        let fields: JSONObject = ["command": .string(settings.words.first ?? ""), "reason": .string(reason)]
        (try? holdings.journal())?.record("bolt_command_failed", fields, level: .warning)
    }

    /// A movement that a kill cut off, a relock that is due: written down like everything else.
    func settle(_ state: StateStore, _ boot: BootID, _ journal: EventJournal) throws {
        alarms = try UnattendedBolt.settle(
            store: SQLiteLockStore(state, seal: nil), actuator: try bolt(), boot: boot, alarms: alarms,
            surroundings: surroundings(state, journal))
    }

    /// The bolt is told before anything else is loaded: whatever that meets, or waits for, the door is being secured.
    func begin(_ state: StateStore, _ boot: BootID, _ journal: EventJournal) throws {
        alarms = try UnattendedBolt.begin(
            store: SQLiteLockStore(state, seal: nil), actuator: try bolt(), boot: boot, alarms: alarms,
            surroundings: surroundings(state, journal))
    }

    private func surroundings(_ state: StateStore, _ journal: EventJournal) -> UnattendedBolt.Surroundings {
        UnattendedBolt.Surroundings(
            rules: rules, settings: lockSettings.over,
            moment: { LockMoment(now: SystemClock.now(), wallClockSeconds: WallClock.seconds()) },
            commit: { try state.database.commit([$0]) }, wait: wait, observe: { [self] in record($0, in: journal) },
            alarmsTold: alarmsTold)
    }

    /// In the log and the journal, and an alarm by the hook too.
    func record(_ event: LockEvent, in journal: EventJournal) {
        journal.record(event)
        guard case .alarm(let report, let credential) = event, let hook, hookPath != nil else { return }
        var line = report.json(credential: credential)
        line["lock"] = .string(lockName)
        line["seconds"] = WallClock.seconds().map { .number($0) }
        hook.put(line, report.number)
    }

    /// Up to which alarm all have been told, of those that were recorded up to this one: the hook's process has ended, whatever it said.
    func alarmsTold(of recorded: UInt64) -> UInt64 { hook?.firstUnfinished.map { min(recorded, $0 - 1) } ?? recorded }

    /// The daemon ends with `error`. If it left the door to be secured, that is done now, and written down where that is
    /// possible. Another daemon's bolt is left alone.
    func secure(after error: any Error) {
        if (error as? ControlSocketError)?.reason == .alreadyRunning { return }
        do throws(StoreError) { try holdings.takeClaim() } catch {
            if case .identityClaimed = error { return }
        }
        // In a boot that cannot be told every relock is due.
        let boot = BootID(bits: SystemClock.bootIdentifier() ?? 0)
        let journal = try? holdings.journal()
        if (error as? StoreError)?.isOfDisk != true, let journal, let state = try? plan.openState(),
            (try? settle(state, boot, journal)) != nil
        {
            return
        }
        do {
            _ = try UnrecordedSecuring.perform(
                try? SQLiteLockStore.duties(at: plan.database), by: try bolt(), boot: boot,
                surroundings: UnrecordedSecuring.Surroundings(
                    now: SystemClock.now, wait: wait, observe: { journal?.record($0) }))
        } catch let second {
            // The simulated bolt's file, which can only be read, says whether the door is locked all the same.
            if settings.kind == .simulated, (try? BoltJournal.isLocked(at: journalPath)) == true { return }
            let reason = Failure(second).message
            // What the daemon ends with is said already.
            if reason != Failure(error).message { say("bolt_not_secured", reason, journal) }
        }
    }

    /// When a relock falls due, by the last commit; nil where there is none, or where nobody can say.
    func nextRelock() -> Instant? {
        let relock = try? SQLiteLockStore.duties(at: plan.database).relock
        return relock?.due(in: BootID(bits: SystemClock.bootIdentifier() ?? 0))
    }

    private func say(_ event: String, _ reason: String, _ journal: EventJournal?) {
        let fields: JSONObject = ["reason": .string(reason)]
        if let journal { journal.record(event, fields, level: .error) } else { plan.log.error(event, fields) }
    }

    /// Or until the bolt has something to tell.
    private func wait(until: Instant) {
        holdings.manager?.tellAlive()
        // poll waits whole milliseconds: rounded up, so that the instant has come.
        let left = until.milliseconds(since: SystemClock.now())
        guard left > 0 else { return }
        var interest = pollfd(fd: opened?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
        _ = poll(&interest, 1, Int32(clamping: left + 1))
    }

    private func boltJournal() throws(Failure) -> BoltJournal {
        let path = journalPath
        do {
            let journal = try BoltJournal(path: path)
            if journal.damagedLineCount > 0 {
                plan.log.error(
                    "bolt_journal_damaged",
                    [
                        "path": .string(path), "lines": .number(Int64(journal.damagedLineCount)),
                        "position_known": .bool(journal.isLastKnown),
                    ])
            }
            return journal
        } catch let failure as BoltJournal.Failure {
            throw Failure(failure, of: "bolt journal \(path)")
        } catch {
            throw Failure(.state, "bolt journal \(path): \(error)")
        }
    }
}
