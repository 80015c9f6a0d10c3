import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockPeripheral
import LockPersistence
import LockProtocol
import SecurityManager
import StatePersistence

/// A lock on its door: the machine with its disk and controller, the processes that come and go on it, and the metal.
package final class Door {
    let number: Int
    package let name: String
    package let node: Node
    package let disk: SimulatedDisk
    package let metal = MetalJournal()
    /// Where a strike moves it, and what is fitted then.
    let strike: KeeperProcess?
    let fit: DoorFit?
    private var link: SimulatedLink?
    package private(set) var lock: LockDaemon?
    private unowned let world: World
    /// Of its configuration.
    private var settings: LockSettings
    private var fixed = LockSettings.Fields.all
    /// What the present process takes from its configuration, whatever is kept.
    private(set) var runningFixed = LockSettings.Fields.all
    private var dice: Dice
    static let usualClockOrigin: Int64 = 1_800_000_000
    /// What its clock on the wall said when the world began; nil where nobody has set it.
    package var clockOrigin: Int64? = usualClockOrigin
    /// As it was furnished, and as it is configured.
    let homeCalendar: HouseCalendar
    private(set) var calendar: HouseCalendar
    /// Numbers of credentials by their names, as its journal has told them.
    private(set) var numbers: [String: CredentialID] = [:]
    private(set) var address: DeviceAddress?
    private var seal: LockSeal?
    var absences = Absences()
    /// Its process is killed behind the commit of the next record of a door that was forced, before it has told anybody.
    var diesBeforeTelling = false
    /// When the present process began, until it is on the air.
    var began: Instant?

    /// - Throws: What the keeper's configuration has wrong.
    init(_ world: World, _ number: Int, disk: SimulatedDisk, zone: Zone, seed: UInt64, fit: DoorFit? = nil) throws {
        self.fit = fit
        strike = try fit.map { [metal] fit in KeeperProcess(try fit.plan(), world, metal) }
        self.number = number
        name = "Door \(number)"
        self.world = world
        self.disk = disk
        (homeCalendar, calendar) = (HouseCalendar(zone: zone), HouseCalendar(zone: zone))
        settings = House.settings
        settings.calendar = homeCalendar.wording
        dice = Dice(seed: seed)
        node = world.add("door \(number)", seed: seed, disk: disk)
        node.onEnd = { [unowned self] in
            lock = nil
            seal = nil
            link?.hangUp()
            link = nil
        }
        guard let strike else { return }
        world.add(strike.scene)
        world.add(strike)
        // What its keeper has said.
        node.watched = (
            isReadable: { [unowned self] in lock != nil && link?.isReadable ?? false },
            take: { [unowned self] in lock?.actuatorIsReady() }
        )
    }

    /// A process begins, as the daemon composes it.
    ///
    /// - Throws: What the disk says.
    package func launch() throws {
        metal.boot = node.boot
        try node.begin { host in
            guard let state = disk.state, let loop = node.loop else { return }
            let seal = try LockSeal(
                state, anchor: FileAnchor(path: disk.directory + "/anchor", keys: state.keys))
            lock = try LockDaemon(
                LockDaemon.Configuration(
                    restoreIdentifier: "lock", name: name, settings: settings, fixed: fixed,
                    rules: fit?.rules ?? DoorRules(), boot: node.boot),
                host: host, bluetooth: CBHost(loop), store: SQLiteLockStore(state, seal: seal),
                actuator: actuator(),
                surroundings: LockDaemon.Surroundings(
                    random: { [unowned self] in dice.next() }, wallClockSeconds: { [unowned self] in wallClockSeconds },
                    bootTime: { [unowned world] in world.now }, observe: { [unowned self] in heard($0) },
                    fail: { [unowned self] in node.onFailure($0) }))
            self.seal = seal
            (address, runningFixed) = (host.identity.address.address, fixed)
        }
    }

    private var wallClockSeconds: Int64? { clockOrigin.map { $0 + Int64(world.now.nanoseconds / 1_000_000_000) } }

    /// Another one for each process.
    private func actuator() -> any Actuator {
        guard let strike, let fit else { return SimulatedBolt(journal: metal) }
        let link = SimulatedLink(strike, world)
        self.link = link
        let bolt = StrikeBolt(
            boot: node.boot, link: link, pulseMilliseconds: UInt32(fit.pulseMilliseconds),
            bootTime: { [unowned world] in world.now }, tell: { _ in })
        return TracedBolt(bolt) { [unowned strike] in strike.note($0) }
    }

    private func heard(_ event: LockEvent) {
        if case .alarm(let report, _) = event {
            strike?.scene.record.alarms.append((alarm: report.alarm, at: world.now))
        }
        guard case .audit(let record) = event else { return }
        switch record.event {
        case .enrolled(let number, let name, _, _): numbers[name] = number
        case .door(let door) where door.state == .forced: isForced()
        default: break
        }
    }

    /// The audit has it, on disk. The next thing to leave is the alarm.
    private func isForced() {
        strike?.scene.record.forcedRecords.append(world.now)
        guard diesBeforeTelling else { return }
        diesBeforeTelling = false
        node.killAfterActs = node.actCount
    }

    /// Whether there is somebody to say something to.
    var isListening: Bool { node.host != nil && !node.isSuspended }

    /// When it could not be expected to do anything, for whichever reason: it, its keeper or its metal.
    var allAbsences: [Stretch] { absences.all + (strike?.scene.record.absences.all ?? []) }

    // MARK: Its configuration

    /// From the next process on.
    func configure(_ calendar: HouseCalendar) {
        self.calendar = calendar
        settings.calendar = calendar.wording
        fixed = .all
    }

    /// From the next process on, managers may set what is none of a house's relock times.
    func leavesSettingsFree() { fixed = [.relock, .lockAndGo] }

    /// What the loop does while the radio is quiet.
    package func idle() {
        guard let host = node.host else { return }
        host.beginIteration(now: world.now)
        while seal?.checkSlice() == true || host.readOn() || lock?.readOn() == true {}
        _ = seal?.makeGenerationOfLaunch()
        node.settleIteration()
    }
}
