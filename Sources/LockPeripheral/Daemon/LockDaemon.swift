import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CoreBluetoothEssentials
import FoundationEssentials
import LockProtocol

/// The lock's shell: hands what Core Bluetooth tells to ``LockMachine``, and what the machine wants to Core Bluetooth, the
/// store and the actuator. Confined to its host's loop, inline in its iterations: what a command persists and what it
/// sends are one commit.
package final class LockDaemon {
    package struct Configuration {
        package var restoreIdentifier: String
        package var name: String
        package var settings: ConfiguredLockSettings
        package var rules: DoorRules
        package var boot: BootID
        /// Raised by this program already, before its daemon was there (``UnattendedBolt``).
        package var alarms: AlarmBook

        package init(
            restoreIdentifier: String, name: String, settings: LockSettings,
            fixed: LockSettings.Fields = .all, rules: DoorRules = DoorRules(), boot: BootID,
            alarms: AlarmBook = AlarmBook()
        ) {
            self.restoreIdentifier = restoreIdentifier
            self.name = name
            self.settings = ConfiguredLockSettings(settings, fixed: fixed)
            self.rules = rules
            self.boot = boot
            self.alarms = alarms
        }
    }

    /// What the shell cannot know by itself.
    package struct Surroundings {
        /// 64 bits from the CSPRNG.
        package var random: () -> UInt64
        /// nil while the clock cannot be trusted.
        package var wallClockSeconds: () -> Int64?
        /// Boot time at this very moment, which an iteration's instant is not: a commit may have taken long.
        package var bootTime: () -> Instant
        package var observe: (LockEvent) -> Void
        /// Up to which alarm all have been told, of those that `observe` has taken up to this one, by their ``AlarmReport/number``.
        package var alarmsTold: (UInt64) -> UInt64
        /// What nothing more can be promised after: the process ends.
        package var fail: (any Error) -> Void

        package init(
            random: @escaping () -> UInt64, wallClockSeconds: @escaping () -> Int64?,
            bootTime: @escaping () -> Instant, observe: @escaping (LockEvent) -> Void,
            alarmsTold: @escaping (UInt64) -> UInt64 = { $0 }, fail: @escaping (any Error) -> Void
        ) {
            self.random = random
            self.wallClockSeconds = wallClockSeconds
            self.bootTime = bootTime
            self.observe = observe
            self.alarmsTold = alarmsTold
            self.fail = fail
        }
    }

    /// The Lock service at the host.
    enum Service {
        case none
        /// On its way there.
        case publishing(LockServiceTree)
        case published(LockServiceTree)
    }

    /// So many enrolment attempts in vain close the window; only the operator opens it again.
    package static let enrolmentFailuresMaximum = Host.pairingFailuresMaximum

    private(set) var configuration: Configuration
    let surroundings: Surroundings
    let host: Host
    let store: any LockStore
    /// What the launch left in the store.
    let rows: (any LockRows)?
    /// How far ``deleteOrphanedBonds()`` has come.
    var orphans = OrphanSearch.behind(nil)
    private let actuator: any Actuator
    private let machineTimer: TimerToken
    private let actuatorTimer: TimerToken
    var manager: CBPeripheralManager?
    var service = Service.none
    /// Restored, and not what this program publishes.
    var outdated: [CBMutableService] = []
    var advertisedName: String?
    /// Links that stand are its sessions; the shell keeps none beside them.
    private(set) var machine: LockMachine
    /// The ``AlarmReport/number`` of the last alarm that was handed over.
    private var observedAlarms: UInt64
    var enrolment = LockEnrolment()
    /// Of the window that is open.
    var enrolmentReport: ((EnrolmentProgress) -> Void)?
    /// The code of a window that a manager opened over the air, from its commit on. In memory only, as the window is.
    var remoteCode: SetupCode?
    let enrolmentTimer: TimerToken
    /// Until when bonds may prove themselves.
    var unproven: UnprovenBonds
    let unprovenTimer: TimerToken
    var challengeRead: CBATTRequest?
    /// The write to the Record Access Control Point that is being answered.
    var recordRequest: CBATTRequest?
    /// What an operator has asked of the bolt, and waits for.
    var operation = OperatorOperation()
    /// What links have asked of the audit: one thing each.
    var recordAccesses: [LockLink: RecordAccess] = [:]
    let recordTimer: TimerToken
    private var waitingUpdates = UpdateQueue<(CBMutableCharacteristic, [UInt8])>()

    /// Reads what is kept, and the bolt. The machine begins, and settles what was owed: the door is kept from here on, whenever the
    /// radio comes. The service is published without a word to the machine but its handle.
    package init(
        _ configuration: Configuration, host: Host, bluetooth: CBHost, store: any LockStore, actuator: any Actuator,
        surroundings: Surroundings
    ) throws {
        self.configuration = configuration
        self.surroundings = surroundings
        self.host = host
        self.store = store
        self.actuator = actuator
        rows = store.rows
        observedAlarms = configuration.alarms.reportCount
        let snapshot = try store.launch()
        let reading = try actuator.reading(asking: snapshot.intent, now: surroundings.bootTime())
        unproven = UnprovenBonds(snapshot.unproven)
        var outputs: [LockOutput] = []
        machine = LockMachine(
            restoring: snapshot, reading: reading, boot: configuration.boot,
            configured: configuration.settings.over(snapshot.settings), rules: configuration.rules,
            alarms: configuration.alarms,
            at: LockMoment(now: host.now, wallClockSeconds: surroundings.wallClockSeconds()), into: &outputs)
        machineTimer = host.makeTimer()
        actuatorTimer = host.makeTimer()
        enrolmentTimer = host.makeTimer()
        unprovenTimer = host.makeTimer()
        recordTimer = host.makeTimer()
        host.join(store)
        manager = CBPeripheralManager(
            callbacks: self, delivery: .inline,
            options: [CBPeripheralManagerOptionRestoreIdentifierKey: configuration.restoreIdentifier], host: bluetooth)
        begin(outputs)
    }

    private func begin(_ outputs: [LockOutput]) {
        carryOut(outputs)
        // Where everything has been read, it costs nothing now.
        if rows == nil { deleteOrphanedBonds() }
        reviewUnprovenBonds()
        armTimers()
        tell(.bolt(machine.state.bolt, machine.state.door))
    }

    var tree: LockServiceTree? {
        if case .published(let tree) = service { tree } else { nil }
    }

    /// The service is published, and these are its handles.
    func serve(_ tree: LockServiceTree) {
        service = .published(tree)
        machine.receiptHandle = tree.receipt.valueHandle
    }

    /// Whoever keeps the rows has found something wrong with them: in the middle of an answer to the machine, as a rule, which hears of
    /// it behind the next commit.
    package func raise(_ alarm: Alarm) {
        host.afterCommit { [weak self] in self?.feed(.alarm(alarm)) }
    }

    /// Of a credential that there is. One that a launch has left in the store is read there.
    func credentialName(_ id: CredentialID?) -> String? {
        guard let id else { return nil }
        if let known = machine.credentials[id] { return known.name }
        let before = CredentialID(rawValue: id.rawValue &- 1)
        return rows?.credentials(after: before, limit: 1).first { $0.id == id }?.name
    }

    /// From the first record that is kept to the last one. Some between them may be forgotten.
    var keptAudit: ClosedRange<UInt64>? {
        guard let cuts = try? store.auditCuts(after: 0, limit: 1) else { return nil }
        let last = machine.auditHead.sequence
        let forgotten = cuts.first.map { $0.first == 1 ? $0.last : 0 } ?? 0
        return forgotten < last ? forgotten + 1...last : nil
    }

    /// What the lock goes by.
    package var settings: LockSettings { machine.settings }

    var moment: LockMoment { LockMoment(now: host.now, wallClockSeconds: surroundings.wallClockSeconds()) }

    /// One input of the machine, and everything that it wants done.
    func feed(_ input: LockInput) {
        var outputs: [LockOutput] = []
        machine.alarmsTold(through: surroundings.alarmsTold(observedAlarms))
        machine.handle(input, at: moment, random: surroundings.random(), into: &outputs)
        carryOut(outputs)
        armTimers()
    }

    /// Everything that the store keeps for a bond is with the machine, from the first input on that is about it.
    func recall(_ bond: UInt64) {
        guard let rows else { return }
        machine.recall(bond, rows.holder(of: bond))
    }

    /// The configuration says this now. What it does not say any more stays as it is, and is the managers' again.
    package func configure(_ settings: ConfiguredLockSettings, rules: DoorRules) {
        configuration.settings = settings
        configuration.rules = rules
        let wanted = settings.over(machine.settings)
        if wanted != machine.settings { feed(.administration(.settings(wanted))) }
        feed(.administration(.rules(rules)))
    }

    /// The credentials of this name, all of them with the machine.
    func credentials(named name: String) -> [Credential] { credentials(in: .named(name)) }

    /// Those that a word is about, all of them with the machine.
    func credentials(in scope: CredentialScope) -> [Credential] {
        if let rows { machine.recall(rows.credentials(in: scope)) }
        return machine.credentials.values.filter { scope.covers($0) }
    }

    func keep(_ facts: [LockMutation]) { for fact in facts { store.append(fact) } }

    private func tell(_ report: AlarmReport) {
        let event = LockEvent.alarm(report, credential: credentialName(report.alarm.credential))
        host.afterActs { [weak self, surroundings] in
            surroundings.observe(event)
            self?.observedAlarms = report.number
        }
    }

    func tell(_ event: LockEvent) { host.afterActs { [surroundings] in surroundings.observe(event) } }

    private func armTimers() {
        host.setTimer(machineTimer, at: machine.deadline) { [weak self] _ in self?.feed(.timerFired) }
        host.setTimer(actuatorTimer, at: actuator.deadline) { [weak self] now in self?.pollActuator(now) }
    }

    /// ``Actuator/descriptor`` may be readable, in an iteration of the host's.
    package func actuatorIsReady() { pollActuator(surroundings.bootTime()) }

    private func pollActuator(_ now: Instant) {
        do {
            while let report = try actuator.poll(now: now) { feed(.actuator(report)) }
            armTimers()
        } catch {
            surroundings.fail(error)
        }
    }
}

// MARK: What the machine wants done

extension LockDaemon {
    private func carryOut(_ outputs: [LockOutput]) {
        var endsWindow = false
        var changesRights = false
        for output in outputs {
            switch output {
            case .persist(let mutation):
                store.append(mutation)
                if case .audit(let record) = mutation { tell(.audit(record)) }
                follow(mutation)
                endsWindow = endsWindow || endsRemoteWindow(mutation)
                changesRights = changesRights || mutation.changesRights
            case .actuate(let order): host.afterCommit { [weak self] in self?.perform(order) }
            case .notifyChallenge(let link, let value): update(tree?.challenge, value, link)
            case .notifyReceipt(let link, let value): update(tree?.receipt, value, link)
            case .notifyLockState(let link, let value): update(tree?.lockState, value, link)
            case .indicateControlPoint(let link, let value): update(tree?.controlPoint, value, link)
            case .recordAccess(let link, let verdict): begin(verdict, link)
            case .challengeValue(_, let value): answerChallengeRead(value)
            case .credentialRemoved(let name, let bonds): endCredential(name, bonds: bonds)
            case .openWindow(let link, let opening, let manager): openWindow(opening, by: manager, link)
            case .closeWindow: cancelEnrolment()
            case .stateChanged(let bolt, let door): tell(.bolt(bolt, door))
            case .alarm(let report): tell(report)
            case .notifyAlarm(let link, let value): update(tree?.alarm, value, link)
            case .disconnect(let link): manager?.disconnect(link.id)
            }
        }
        if changesRights { reviewRecordAccesses() }
        // Its record continues the chain behind those of this turn.
        if endsWindow { cancelEnrolment() }
    }

    /// The intent is on disk: the bolt may move, if it is not too late by now for an opening. An actuator that cannot say
    /// whether it moved ends the process, and the next launch reads the bolt.
    private func perform(_ order: ActuatorOrder) {
        do {
            tell(.actuator(order))
            if let report = try actuator.perform(order, now: surroundings.bootTime()) {
                feed(.actuator(report))
            } else {
                armTimers()
            }
        } catch {
            surroundings.fail(error)
        }
    }

    private func answerChallengeRead(_ value: [UInt8]) {
        guard let request = challengeRead else { return }
        challengeRead = nil
        request.value = Data(value)
        manager?.respond(to: request, withResult: .success)
    }

    /// Nobody has asked for values of what is not published.
    func update(_ characteristic: CBMutableCharacteristic?, _ value: [UInt8], _ link: LockLink) {
        guard let characteristic else { return }
        waitingUpdates.put((characteristic, value), for: link, send: sender)
    }

    /// Says whether there was room. By the link and not by the central: somebody under a recorded address, and the owner
    /// beside him, are one central on two links.
    private var sender: ((CBMutableCharacteristic, [UInt8]), LockLink) -> Bool {
        { [manager] update, link in
            manager?.updateValue(update.1, for: update.0, onLink: link.id) ?? true
        }
    }

    /// Whether an answer to this link waits for room in the controller.
    func isAnswerWaiting(_ link: LockLink) -> Bool {
        waitingUpdates.contains(for: link) { $0.0 === tree?.controlPoint || $0.0 === tree?.recordAccess }
    }

    func sendWaiting() { waitingUpdates.drain(send: sender) }

    func dropWaiting(for link: LockLink) { waitingUpdates.drop(link) }
}
