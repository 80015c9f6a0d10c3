import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockCentral
import LockPeripheral
import LockProtocol
import SecurityManager
import Testing

/// The bolt of a lock that nobody moves.
private final class StillBolt: Actuator {
    func reading(asking intent: Intent?, now: Instant) -> BoltReading {
        BoltReading(position: .locked, door: .closed)
    }
    func perform(_ order: ActuatorOrder, now: Instant) -> ActuatorReport? { nil }
    var deadline: Instant? { nil }
    func poll(now: Instant) -> ActuatorReport? { nil }
}

/// The shells of a lock and a key, each on its host in one world.
private final class Household {
    let world = World()
    let door: Machine
    let pocket: Machine
    private(set) var lock: LockDaemon?
    private(set) var key: KeyDaemon?
    private(set) var code: SetupCode?
    private(set) var progress: [KeyEnrolmentProgress] = []
    /// When the key was connected and when it was not any more.
    private(set) var links: [(from: Instant, to: Instant?)] = []

    init() throws {
        door = world.add("door", seed: 51)
        pocket = world.add("pocket", seed: 52)
        let boot = BootID(bits: 1)
        var random: UInt64 = 1
        door.launch { bluetooth in
            guard let host = door.host else { return }
            lock = try? LockDaemon(
                .init(restoreIdentifier: "lock", name: "Front", settings: LockSettings(), boot: boot), host: host,
                bluetooth: bluetooth, store: MemoryLockStore(), actuator: StillBolt(),
                surroundings: .init(
                    random: {
                        random = random &* 0x9E37_79B9_7F4A_7C15 &+ 1
                        return random
                    }, wallClockSeconds: { 1_800_000_000 }, bootTime: { [world] in world.now }, observe: { _ in },
                    fail: { Issue.record($0) }))
        }
        pocket.launch { bluetooth in
            guard let host = pocket.host else { return }
            key = try? KeyDaemon(
                .init(restoreIdentifier: "key", boot: boot, unlocksWhenNear: false), host: host, bluetooth: bluetooth,
                store: MemoryKeyStore(), observe: { [unowned self] in heard($0) })
        }
        world.run(forMilliseconds: 1_000)
    }

    private func heard(_ event: KeyEvent) {
        switch event {
        case .connected: links.append((world.now, nil))
        case .disconnected: if !links.isEmpty { links[links.count - 1].to = world.now }
        default: break
        }
    }

    /// A call of an operator, as an iteration of its own.
    func call<R>(_ machine: Machine, _ body: () throws -> R) rethrows -> R {
        machine.host?.beginIteration(now: world.now)
        defer {
            machine.loop?.execute { _ in }
            world.settle()
        }
        return try body()
    }

    func openWindow(_ credential: String) throws {
        let request = EnrolmentRequest(credential: credential, role: .owner, method: .outOfBand, seconds: 120)
        try call(door) {
            try lock?.openEnrolment(request) { [unowned self] in if case .opened(let code) = $0 { self.code = code } }
        }
    }

    func enroll() throws {
        let code = try #require(code)
        call(pocket) { key?.enroll(code, waitMilliseconds: 120_000) { [unowned self] in progress.append($0) } }
    }

    var isPaired: Bool { progress.contains { if case .paired = $0 { true } else { false } } }
    var isEnrolled: Bool { progress.contains { if case .enrolled = $0 { true } else { false } } }
}

/// Connects to the first that it hears, and stays without a word.
private final class SilentCaller: CBCentralManagerDelegate, @unchecked Sendable {
    private var manager: CBCentralManager?
    private var lock: CBPeripheral?
    private(set) var isConnected = false

    init(_ bluetooth: CBHost) { manager = CBCentralManager(delegate: self, delivery: .inline, host: bluetooth) }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state == .poweredOn { central.scanForPeripherals(withServices: nil) }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {
        guard lock == nil else { return }
        lock = peripheral
        central.stopScan()
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { isConnected = true }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        isConnected = false
    }
}

@Suite("A lock and a key")
struct HouseholdTests {
    @Test("A key is enrolled by a setup code")
    func enrolment() throws {
        let household = try Household()
        try household.openWindow("alice")
        try household.enroll()
        #expect(household.world.run(forMilliseconds: 30_000) { household.isEnrolled })
    }

    @Test("A lock that takes Key Status and never answers keeps no link: the key leaves, comes back and asks again")
    func silentLock() throws {
        let household = try Household()
        try household.openWindow("alice")
        try household.enroll()
        #expect(household.world.run(forMilliseconds: 30_000) { household.isPaired })
        // Handle Value Indication, on the attribute channel.
        household.door.loses = { $0.count > 9 && $0[0] == 2 && $0[7...9] == [4, 0, 0x1D] }
        household.world.run(forMilliseconds: 60_000)
        #expect(!household.isEnrolled)
        let asked = household.links.dropFirst().filter { $0.to != nil }
        #expect(asked.count > 2)
        for link in asked {
            let lasted = link.to?.milliseconds(since: link.from) ?? 0
            #expect((KeyMachine.statusWaitMilliseconds...KeyMachine.statusWaitMilliseconds + 3_000).contains(lasted))
        }
        household.door.loses = { _ in false }
        #expect(household.world.run(forMilliseconds: 30_000) { household.isEnrolled })
    }

    @Test("Recorded address: of two links under one address the lock ends the one whose time is up, and not the other")
    func oneAddressTwice() throws {
        let household = try Household()
        let world = household.world
        // One seed, one identity.
        var callers: [SilentCaller] = []
        for name in ["first", "second"] {
            world.add(name, seed: 77).launch { callers.append(SilentCaller($0)) }
            #expect(world.run(forMilliseconds: 3_000) { callers.last?.isConnected == true })
            if name == "first" { world.run(forMilliseconds: 3_000) }
        }
        #expect(callers[0].isConnected && household.lock?.status.links.count == 2)
        #expect(Set(household.lock?.status.links.map(\.peer) ?? []).count == 1)
        #expect(world.run(forMilliseconds: 6_000) { callers.contains { !$0.isConnected } })
        #expect(!callers[0].isConnected && callers[1].isConnected)
        #expect(world.run(forMilliseconds: 6_000) { !callers[1].isConnected })
    }

    @Test("A credential's name may be as long as it may, one octet more opens no window, and the next one does")
    func credentialName() throws {
        let household = try Household()
        let longest = String(repeating: "a", count: Credential.nameOctetsMaximum)
        #expect(throws: EnrolmentRefusal.badName) { try household.openWindow(longest + "b") }
        try household.openWindow(longest)
        #expect(household.code != nil)
    }
}
