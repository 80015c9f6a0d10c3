import BluetoothCore
import LockCentral
import LockPeripheral
import LockProtocol
import MemoryStores
import Simulation
import Testing

/// A key on a host of its own in a household that has one already.
final class FurtherKey {
    private let node: Node
    private let household: Household
    private var daemon: KeyDaemon?

    init(_ name: String, seed: UInt64, in household: Household) {
        self.household = household
        let node = household.world.add(name, seed: seed)
        self.node = node
        node.launchApp { bluetooth in
            guard let host = node.host else { return }
            daemon = try? KeyDaemon(
                .init(restoreIdentifier: "key", boot: BootID(bits: 1), unlocksWhenNear: false), host: host,
                bluetooth: bluetooth, store: MemoryKeyStore(), observe: { _ in })
        }
        household.world.run(forMilliseconds: 1_000)
    }

    /// With the code of the window that is open.
    func enroll(_ code: SetupCode) throws {
        var isEnrolled = false
        household.call(node) {
            daemon?.enroll(code, waitMilliseconds: 60_000) { if case .enrolled = $0 { isEnrolled = true } }
        }
        try #require(household.world.run(forMilliseconds: 60_000) { isEnrolled })
        household.world.run(forMilliseconds: 2_000)
    }

    /// What the lock says to a command that it gets at once.
    func command(_ operation: LockOperation = .unlock) -> KeyVerdict? {
        var verdict: KeyVerdict?
        household.call(node) {
            daemon?.command(operation, lock: nil, waitMilliseconds: 20_000) { progress in
                switch progress {
                case .accepted, .outcome: verdict = verdict ?? .accepted
                case .ended(let end): verdict = verdict ?? end
                case .nearest, .took, .unknownLock, .notSought: break
                }
            }
        }
        household.world.run(forMilliseconds: 60_000) { verdict != nil }
        return verdict
    }
}
