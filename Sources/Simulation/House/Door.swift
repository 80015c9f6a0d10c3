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
    package private(set) var lock: LockDaemon?
    private unowned let world: World
    private let settings: LockSettings
    private var dice: Dice
    /// What its clock on the wall says; nil where nobody has set it.
    package var wallClockSeconds: Int64? = 1_800_000_000
    private var seal: LockSeal?
    /// What a key calls it: the address that it had when it was enrolled. It keeps that for good.
    private(set) var nameForKeys: String?
    var absences = Absences()
    /// When the present process began, until it is on the air.
    var began: Instant?

    init(_ world: World, _ number: Int, disk: SimulatedDisk, settings: LockSettings, seed: UInt64) {
        self.number = number
        name = "Door \(number)"
        self.world = world
        self.disk = disk
        self.settings = settings
        dice = Dice(seed: seed)
        node = world.add("door \(number)", seed: seed, disk: disk)
        node.onEnd = { [unowned self] in
            lock = nil
            seal = nil
        }
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
                    restoreIdentifier: "lock", name: name, settings: settings, boot: node.boot),
                host: host, bluetooth: CBHost(loop), store: SQLiteLockStore(state, seal: seal),
                actuator: SimulatedBolt(journal: metal),
                surroundings: LockDaemon.Surroundings(
                    random: { [unowned self] in dice.next() }, wallClockSeconds: { [unowned self] in wallClockSeconds },
                    bootTime: { [unowned world] in world.now }, observe: { _ in },
                    fail: { [unowned self] in node.onFailure($0) }))
            self.seal = seal
            nameForKeys = "\(host.identity.address)"
        }
    }

    /// What the loop does while the radio is quiet.
    package func idle() {
        guard let host = node.host else { return }
        host.beginIteration(now: world.now)
        while seal?.checkSlice() == true || host.readOn() || lock?.readOn() == true {}
        _ = seal?.makeGenerationOfLaunch()
        node.settleIteration()
    }
}
