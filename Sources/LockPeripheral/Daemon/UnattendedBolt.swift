import BluetoothCore
import BluetoothHost
import LockProtocol

/// What the lock owes its bolt before its daemon is there, or while there is no radio: a movement that a kill cut off, a relock that
/// is due. A door does not stay open because something else has to be loaded first, or because a controller is gone.
package struct UnattendedBolt {
    /// What the shell cannot know by itself.
    package struct Surroundings {
        package var moment: () -> LockMoment
        package var commit: (any LockStore) throws -> Void
        /// Returns at that instant or before.
        package var wait: (Instant) -> Void
        package var observe: (LockEvent) -> Void
        /// As ``LockDaemon/Surroundings/alarmsTold``.
        package var alarmsTold: (UInt64) -> UInt64
        package var rules: DoorRules
        /// What the lock goes by, from what is kept.
        package var settings: (LockSettings) -> LockSettings

        package init(
            rules: DoorRules = DoorRules(), settings: @escaping (LockSettings) -> LockSettings = { $0 },
            moment: @escaping () -> LockMoment,
            commit: @escaping (any LockStore) throws -> Void,
            wait: @escaping (Instant) -> Void, observe: @escaping (LockEvent) -> Void,
            alarmsTold: @escaping (UInt64) -> UInt64 = { $0 }
        ) {
            self.rules = rules
            self.settings = settings
            self.moment = moment
            self.commit = commit
            self.wait = wait
            self.observe = observe
            self.alarmsTold = alarmsTold
        }
    }

    private let store: any LockStore
    private let actuator: any Actuator
    private let surroundings: Surroundings
    private var machine: LockMachine
    private var outputs: [LockOutput]
    private var observedAlarms: UInt64

    /// Settles it, by the rules of every launch, and returns once the bolt rests, with the alarms that this raised. Does nothing, and
    /// writes nothing, when nothing is owed now: what falls due later is for the lock that begins, or for a later
    /// launch. `alarms`: those of this program before.
    @discardableResult package static func settle(
        store: any LockStore, actuator: any Actuator, boot: BootID, alarms: AlarmBook = AlarmBook(),
        surroundings: Surroundings
    ) throws -> AlarmBook {
        try settle(store, actuator, boot, alarms, surroundings, isBegun: false)
    }

    /// The same, as far as the order to the bolt: the lock that begins next finds the movement under way, and waits for its end.
    @discardableResult package static func begin(
        store: any LockStore, actuator: any Actuator, boot: BootID, alarms: AlarmBook = AlarmBook(),
        surroundings: Surroundings
    ) throws -> AlarmBook {
        try settle(store, actuator, boot, alarms, surroundings, isBegun: true)
    }

    private static func settle(
        _ store: any LockStore, _ actuator: any Actuator, _ boot: BootID, _ alarms: AlarmBook,
        _ surroundings: Surroundings, isBegun: Bool
    ) throws -> AlarmBook {
        let snapshot = try store.launch()
        let now = surroundings.moment().now
        let isRelockDue = snapshot.relock.map { now >= $0.due(in: boot) } ?? false
        guard snapshot.intent != nil || isRelockDue else { return alarms }
        let reading = try actuator.reading(asking: snapshot.intent, now: now)
        var bolt = Self(
            restoring: snapshot, reading: reading, store: store, actuator: actuator, boot: boot,
            tellsLaunch: !isBegun, alarms: alarms, surroundings: surroundings)
        if isBegun { try bolt.commitAndAct() } else { try bolt.run() }
        bolt.hearOfAlarms()
        return bolt.machine.alarms
    }

    private init(
        restoring snapshot: LockSnapshot, reading: BoltReading, store: any LockStore, actuator: any Actuator,
        boot: BootID, tellsLaunch: Bool, alarms: AlarmBook, surroundings: Surroundings
    ) {
        self.store = store
        self.actuator = actuator
        self.surroundings = surroundings
        observedAlarms = alarms.reportCount
        var outputs: [LockOutput] = []
        machine = LockMachine(
            restoring: snapshot, reading: reading, boot: boot, configured: surroundings.settings(snapshot.settings),
            rules: surroundings.rules, tellsLaunch: tellsLaunch, keepsSettings: false, alarms: alarms,
            at: surroundings.moment(),
            into: &outputs)
        self.outputs = outputs
    }

    private mutating func run() throws {
        repeat {
            try commitAndAct()
            try awaitReport()
        } while !outputs.isEmpty
        hearOfAlarms()
        machine.takeBackAlarms(at: surroundings.moment(), into: &outputs)
        try commitAndAct()
    }

    private mutating func hearOfAlarms() { machine.alarmsTold(through: surroundings.alarmsTold(observedAlarms)) }

    private mutating func commitAndAct() throws {
        while !outputs.isEmpty {
            let turn = outputs
            outputs = []
            for case .persist(let fact) in turn { store.append(fact) }
            try surroundings.commit(store)
            for case .persist(.audit(let record)) in turn { surroundings.observe(.audit(record)) }
            for case .alarm(let report) in turn {
                surroundings.observe(.alarm(report, credential: nil))
                observedAlarms = report.number
            }
            for case .actuate(let order) in turn {
                surroundings.observe(.actuator(order))
                if let report = try actuator.perform(order, now: surroundings.moment().now) { feed(.actuator(report)) }
            }
        }
    }

    private mutating func awaitReport() throws {
        while outputs.isEmpty, machine.isMoving {
            guard let wake = [machine.deadline, actuator.deadline].compactMap({ $0 }).min() else { return }
            surroundings.wait(wake)
            if let report = try actuator.poll(now: surroundings.moment().now), !Self.isPress(report) {
                feed(.actuator(report))
            }
            feed(.timerFired)
        }
    }

    /// A press of the button inside. It may be a minute old: nobody waits at the door for it any more.
    private static func isPress(_ report: ActuatorReport) -> Bool {
        if case .input(.exit) = report { true } else { false }
    }

    /// Nobody is connected, so that no challenge is ever due.
    private mutating func feed(_ input: LockInput) {
        hearOfAlarms()
        machine.handle(input, at: surroundings.moment(), random: 0, into: &outputs)
    }
}
