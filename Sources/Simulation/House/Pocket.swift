import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockCentral
import LockPersistence
import LockProtocol
import SecurityManager
import StatePersistence

/// A key in somebody's pocket: the machine with its disk and controller, and the processes that come and go on it. What they tell
/// goes to the ledger, whichever process tells it.
package final class Pocket {
    package let name: String
    package let node: Node
    package let disk: SimulatedDisk
    package private(set) var key: KeyDaemon?
    private unowned let world: World
    private let ledger: Ledger
    private let number: Int

    init(_ world: World, _ number: Int, disk: SimulatedDisk, ledger: Ledger, seed: UInt64) {
        name = "pocket \(number)"
        self.number = number
        self.world = world
        self.ledger = ledger
        self.disk = disk
        node = world.add(name, seed: seed, disk: disk)
        node.onEnd = { [unowned self] in key = nil }
    }

    package func launch() throws {
        try node.begin { host in
            guard let state = disk.state, let loop = node.loop else { return }
            key = try KeyDaemon(
                KeyDaemon.Configuration(restoreIdentifier: "key", boot: node.boot, unlocksWhenNear: false), host: host,
                bluetooth: CBHost(loop), store: SQLiteKeyStore(state.database),
                observe: { [unowned self] in heard($0) })
        }
    }

    private func heard(_ event: KeyEvent) {
        switch event {
        case .ended(_, let id, let verdict): ledger.ended(number, id, verdict)
        case .outcome(_, let id, let result): ledger.outcome(number, id, result)
        default: break
        }
    }

    /// An operator asks, and watches.
    package func ask(_ operation: LockOperation, of door: Door, waitMilliseconds: UInt64) {
        ledger.asked(
            number, operation, of: door.number, until: world.now.advanced(byMilliseconds: waitMilliseconds))
        node.call { [unowned self] host in
            let lock = door.address.map { "\(host.peer(at: $0))" }
            key?.command(operation, lock: lock, waitMilliseconds: waitMilliseconds) { [unowned self] progress in
                if case .took(let id, _) = progress { ledger.took(number, id) }
            }
        }
    }

    /// Pairs with the lock whose window is open.
    package func enroll(
        _ code: SetupCode, waitMilliseconds: UInt64, report: @escaping (KeyEnrolmentProgress) -> Void
    ) {
        node.call { [unowned self] _ in key?.enroll(code, waitMilliseconds: waitMilliseconds, report: report) }
    }
}
